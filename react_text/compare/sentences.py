"""The sentences of a report: the headline, what stands under it, and how the figures are to be read.

The same words for the page, the Markdown report and models.md.
"""

from __future__ import annotations

from collections.abc import Sequence

from react_text.compare.findings import (
    Paired,
    Row,
    alike,
    best,
    comparable,
    compare,
    p_value,
    percent,
    points,
    rows,
    span,
)
from react_text.compare.report_data import Measured, View

SPOKEN = {"text": "free text", "text+grammar": "text under a grammar", "structured": "structured calls"}
"""The arms in a sentence."""


def headline(view: View) -> str:
    """The one sentence: what the best arm of the best model solved, and what its furthest other arm did."""
    tops = _tops(view)
    top = tops[0]
    sentence = f"{top.model} solved {percent(top.solved.share, top.solved.n)} of its tasks with {spoken(top)}"
    own = comparable([row for row in rows(view) if row.model == top.model])
    others = [row for row in own if row is not top and row.tally.cell != top.tally.cell]
    others = [row for row in others if alike(row, top)] or others
    if not others:
        return f"{sentence}."
    rival = max(others, key=lambda row: abs(top.solved.share - row.solved.share))
    if rival.solved.share == top.solved.share:
        return f"{sentence}, and as many with {spoken(rival)}."
    return f"{sentence}, and {percent(rival.solved.share, rival.solved.n)} with {spoken(rival)}."


def _tops(view: View) -> list[Row]:
    """The best row of each model, the best model first."""
    found = rows(view)
    return sorted(
        (best([row for row in found if row.model == model]) for model in view.models),
        key=lambda row: -row.solved.share,
    )


def spoken(row: Row) -> str:
    """An arm in a sentence."""
    _, _, particulars = row.label.partition(" · ")
    words = SPOKEN.get(row.tally.arm, row.tally.arm)
    return f"{words} ({particulars})" if particulars else words


def summary(view: View) -> list[str]:
    """Under the headline: for each model, the best first, its best arm with the interval, and what could be read."""
    found = rows(view)
    return [_about(top, [row for row in found if row.model == top.model]) for top in _tops(view)]


def _about(top: Row, own: Sequence[Row]) -> str:
    solved = top.solved
    sentence = (
        f"{top.model} did best with {spoken(top)}: {solved.k:,} of {solved.n:,} runs solved "
        f"({percent(solved.share, solved.n)}, 95 % interval {span(solved.low, solved.high, solved.n)})."
    )
    texts = [row for row in own if row.tally.arm == "text"]
    for free in ([row for row in texts if alike(row, top)] or texts)[:1]:
        n, failed = free.failed.n, free.failed
        sentence += (
            f" Asked for {spoken(free)}, {percent(free.strict.share, n)} of its first replies kept to the format, "
            f"{percent(free.repaired.share, n)} were read after repair, and {percent(failed.share, n)} "
            f"({span(failed.low, failed.high, n)}, n {n:,}) could not be read."
        )
    return sentence


def auto_check(view: View) -> list[str]:
    """For each model with an `auto` arm: whether it did as well as the better of the others, and if not, why.

    It is held against the arms of the same dialect and settings, on the tasks and seeds that both ran.
    """
    said = []
    found = rows(view)
    for auto in (row for row in found if row.tally.arm == "auto"):
        others = [row for row in found if row.model == auto.model and row is not auto and alike(row, auto)]
        pairs = [(compare(row.tally, auto.tally, view), row) for row in others]
        pairs = [(pair, row) for pair, row in pairs if pair.n]
        if pairs:
            said.append(_auto_sentence(auto, *min(pairs, key=lambda found: found[0].difference)))
    return said


def _auto_sentence(auto: Row, pair: Paired, rival: Row) -> str:
    figures = f"{pair.both + pair.gained:,} against {pair.both + pair.lost:,} of the same {pair.n:,}"
    if pair.gained >= pair.lost:
        return f"{auto.model}: {auto.label} did at least as well as the best other arm, {rival.label} ({figures})."
    modes = " and ".join(f"{count:,} in {name} mode" for name, count in sorted(auto.tally.modes.items()))
    verdict = "within chance" if pair.p >= 0.05 else "more than chance"
    return (
        f"{auto.model}: {auto.label} did worse than {rival.label} ({figures}; {points(pair)}, exact McNemar "
        f"p {_equals(pair.p)}, {verdict}). It asked for {auto.tally.replies:,} replies, {modes}, and changed its "
        f"mode in {auto.tally.changed_mode:,} runs; {auto.failed.k:,} of its {auto.failed.n:,} first replies could "
        f"not be read, {rival.failed.k:,} of the other's {rival.failed.n:,}."
    )


def _equals(p: float) -> str:
    return p_value(p) if p < 0.0001 else f"= {p_value(p)}"


def shown_sentence(measured: Measured) -> str:
    """How many of which outputs the browser holds."""
    names = {
        "failed": "that could not be read",
        "wrong": "read but not solved",
        "repaired": "solved after repair",
        "strict": "solved to the letter",
    }
    parts = [
        f"{'all ' if some == every else ''}{some:,}{'' if some == every else f' of {every:,}'} {names[name]}"
        for name, (some, every) in measured.shown.items()
        if every
    ]
    whole = all(some == every for some, every in measured.shown.values())
    if whole:
        return f"Every output is here: {', '.join(parts)}."
    return f"A bounded sample, the unreadable ones first: {', '.join(parts)}. All are in records.jsonl."


def reading_notes(measured: Measured) -> list[str]:
    """How the figures are to be read."""
    found = measured.all.tallies
    notes = [
        "n counts runs: one task with one seed. Intervals are Wilson 95 % intervals.",
        "To the letter, after repair and could not be read are said of the first reply of a run; repairs and faults "
        "are counted over all replies.",
    ]
    if any(len(tally.seeds) > 1 for tally in found):
        notes.append(
            "Tasks were run with several seeds. Runs of one task resemble each other, so intervals and p are "
            "somewhat too sure."
        )
    if any(tally.arm == "structured" for tally in found):
        notes.append("In the structured arm a JSON call found in the content counts as an answer read by repair.")
    if any(tally.idle for tally in found):
        notes.append(
            "On tasks that need no call, declining in words and writing what cannot be read are counted apart."
        )
    if len(found) > len(measured.all.models):
        notes.append("p are exact two-sided McNemar probabilities, each for itself: of many some are small by chance.")
    return notes

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
from react_text.compare.first_calls import PREFIX
from react_text.compare.report_data import Measured, View

SPOKEN = {"text": "free text", "text+grammar": "text under a grammar", "structured": "structured calls"}
"""The arms in a sentence."""

POLICIES = "What each policy gives"

ABLATION = (
    "`auto` with other steering policies, against `auto` itself on the tasks and seeds that both ran. Differences are "
    "the row's figure minus that of `auto`: minus points are what a policy gives that the row is without, minus tokens "
    "and seconds what it costs a run."
)


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


def auto_checks(measured: Measured) -> list[str]:
    """For each model and task set with an `auto` arm and others: whether it did as well as they, and if not, why."""
    suites = measured.settled
    return [
        f"{model}, {view.name}: {sentence}" if len(suites) > 1 else f"{model}: {sentence}"
        for view in suites
        for model in view.models
        for sentence in auto_check(view, model)
    ]


def auto_check(view: View, model: str) -> list[str]:
    """The sentences for one model and task set.

    Each `auto` is held against the arms of the same dialect and settings, on the tasks and seeds that both ran.
    """
    said = []
    found = [row for row in rows(view) if row.model == model]
    for auto in (row for row in found if row.tally.arm == "auto"):
        others = [row for row in found if row is not auto and alike(row, auto)]
        held = [(compare(row.tally, auto.tally, view), row) for row in others]
        if held := [(pair, row) for pair, row in held if pair.n]:
            said.append(_auto_sentence(auto, held))
    return said


def _auto_sentence(auto: Row, held: Sequence[tuple[Paired, Row]]) -> str:
    worse = sorted((one for one in held if one[0].gained < one[0].lost), key=lambda one: one[0].difference)
    no_worse = [one for one in held if one[0].gained >= one[0].lost]
    if not worse:
        nearest, rival = min(held, key=lambda one: one[0].difference)
        which = "" if len(held) == 1 else f"nearest {rival.label}: "
        return (
            f"{auto.label} is at least as accurate as {_listed(held)} here "
            f"({_figures(held)}; {which}{_tested(nearest)})."
        )
    against = "; ".join(f"{row.label}: {_figures([(pair, row)])}, {_tested(pair)}" for pair, row in worse)
    sentence = f"{auto.label} is less accurate than {_listed(worse)} here ({against})"
    if no_worse:
        sentence += f", and at least as accurate as {_listed(no_worse)} ({_figures(no_worse)})"
    rival = worse[0][1]
    modes = " and ".join(f"{count:,} in {name} mode" for name, count in sorted(auto.tally.modes.items()))
    return (
        f"{sentence}. It asked for {auto.tally.replies:,} replies, {modes}, and changed its mode in "
        f"{auto.tally.changed_mode:,} runs; {auto.failed.k:,} of its {auto.failed.n:,} first replies could not be "
        f"read, {rival.failed.k:,} of the {rival.failed.n:,} of {rival.label}."
    )


def _listed(held: Sequence[tuple[Paired, Row]]) -> str:
    """The names of arms in a sentence."""
    *names, last = [row.label for _, row in held]
    return f"{', '.join(names)} and {last}" if names else last


def _figures(held: Sequence[tuple[Paired, Row]]) -> str:
    """What auto solved against each other arm, on the same runs."""
    auto = {(pair.both + pair.gained, pair.n) for pair, _ in held}
    if len(auto) > 1:
        each = (f"{p.both + p.gained:,} against {p.both + p.lost:,} of the same {p.n:,} of {r.label}" for p, r in held)
        return ", ".join(each)
    ((own, n),) = auto
    others = ", ".join(f"{pair.both + pair.lost:,}" for pair, _ in held)
    return f"{own:,} against {others} of the same {n:,}"


def _tested(pair: Paired) -> str:
    verdict = ", which chance alone may explain" if pair.p >= 0.05 else ""
    return f"{points(pair)}, exact McNemar p {_equals(pair.p)}{verdict}"


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
    if any(name.startswith(PREFIX) for tally in found for name in tally.called_for):
        notes.append(
            "BFCL's calls are judged by its own rule, but a whole number in JSON is a float wherever BFCL declares "
            "one, in lists too."
        )
    if any(tally.idle for tally in found):
        notes.append(
            "On tasks that need no call, declining in words and writing what cannot be read are counted apart."
        )
    if any(tally.ladder for tally in found):
        notes.append(
            "A reply that could not be used is asked for again with a correction; from the second correction in a row "
            "on under the grammar, where the arm has one, and at a higher temperature. Given up are runs that ended as "
            "stuck; not asked again are replies at which the steps of a run were spent."
        )
    if any(view.for_development for view in measured.suites) and measured.settled != measured.suites:
        notes.append(
            "Runs on development tasks (dev) are shown apart and have no part in the figures of the other task sets."
        )
    if len(found) > len(measured.all.models):
        notes.append("p are exact two-sided McNemar probabilities, each for itself: of many some are small by chance.")
    return notes

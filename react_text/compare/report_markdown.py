"""The report as Markdown: the same figures as the page, as tables, always with n and interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from react_text.catalog import FAULTS, REPAIRS
from react_text.compare import findings, sentences
from react_text.compare.ablations import Ablation, ablations
from react_text.compare.findings import Rate, Row
from react_text.compare.first_calls import FirstCalls, first_calls
from react_text.compare.report_data import Measured, View
from react_text.compare.run_facts import commands_of, run_facts

RATES = {
    "strict": "to the letter",
    "repaired": "after repair",
    "failed": "could not be read",
    "right_tool": "right tool",
    "right_arguments": "right arguments",
    "solved": "solved",
}
"""The rates of a row in the order of the tables, with their headings."""


def markdown(measured: Measured) -> str:
    """The report."""
    parts = [f"# {escaped(sentences.headline(measured.all))}", bullets(sentences.summary(measured.all))]
    if measured.notes:
        parts.append("## What to know first\n\n" + bullets(measured.notes))
    auto = sentences.auto_checks(measured)
    if auto:
        parts.append("## auto against the other arms\n\n" + bullets(auto))
    for view in measured.views:
        parts += _view(view, len(measured.views) > 1)
    parts += _ablations(measured)
    parts.append("## How this was measured\n\n" + bullets(sentences.reading_notes(measured)))
    parts += [_run(meta) for meta in measured.metas]
    return "\n\n".join(parts) + "\n"


def _view(view: View, several: bool) -> list[str]:
    rows = findings.rows(view)
    head = f"## {escaped(view.name)}" if several else "## Figures"
    parts = [head, "### Reading", reading_table(rows), "### Result", result_table(rows), "### Cost", cost_table(rows)]
    if any(row.declined.n for row in rows):
        parts += ["### With and without need of a call", idle_table(rows)]
    if calls := [line for model in view.models for line in first_calls([view], model, view)]:
        parts += ["### Right first calls on BFCL", first_calls_table(calls)]
    if any(row.tally.ladder for row in rows):
        parts += ["### Corrections", ladder_table(rows)]
    pairs = findings.paired(view)
    if pairs:
        parts += ["### Paired differences", pairs_table(pairs)]
    parts += ["### Categories", _categories(view)]
    for title, kind, meanings in (("Repairs", "repairs", REPAIRS), ("Faults", "faults", FAULTS)):
        parts += [f"### {title}", _named(view, kind, meanings)]
    return [*parts, "### Why runs ended", _stops(view)]


def _ablations(measured: Measured) -> list[str]:
    parts = []
    for view in measured.ablated:
        for model in view.models:
            if found := ablations(view, model):
                parts += [f"### {escaped(model)}, {escaped(view.name)}", ablations_table(found)]
    return [f"## {sentences.POLICIES}", sentences.ABLATION, *parts] if parts else []


def reading_table(rows: Sequence[Row]) -> str:
    """How the first replies were read."""
    return table(
        ["model", "arm", "n", "to the letter", "after repair", "could not be read"],
        ([*_who(row), *map(cell, (row.strict, row.repaired, row.failed))] for row in rows),
    )


def result_table(rows: Sequence[Row]) -> str:
    """What was right."""
    return table(
        ["model", "arm", "n", "right tool", "right arguments", "solved"],
        ([*_who(row), *map(cell, (row.right_tool, row.right_arguments, row.solved))] for row in rows),
    )


def figures_table(rows: Sequence[Row]) -> str:
    """All rates of one model's arms in a line each."""
    return table(
        ["arm", "n", *RATES.values(), "tokens a run", "median seconds"],
        (
            [
                row.label,
                f"{row.tally.n:,}",
                *(cell(getattr(row, name)) for name in RATES),
                f"{row.tokens:,.1f}",
                f"{row.seconds[0]:.2f}",
            ]
            for row in rows
        ),
    )


def cost_table(rows: Sequence[Row]) -> str:
    """Tokens and seconds."""
    return table(
        ["model", "arm", "n", "tokens a run", "after completion", "prompt tokens a run", "median seconds", "9 of 10"],
        (
            [
                *_who(row),
                f"{row.tokens:,.1f}",
                f"{100 * row.tokens_after:.1f} % of {sum(row.tally.tokens):,}",
                f"{row.tally.prompt_tokens / row.tally.n:,.0f}",
                *(f"{value:.2f}" for value in row.seconds),
            ]
            for row in rows
        ),
    )


def idle_table(rows: Sequence[Row], *, named: bool = True) -> str:
    """What was made of tasks that need a call and of those that need none; `named` with the models' names."""
    return table(
        _headed(
            named,
            "arm",
            "tasks that need a call, solved",
            "tasks that need none, declined in words",
            "called a tool",
            "could not be read",
        ),
        (
            _headed(named and row.model, row.label, *map(cell, (row.needing, row.declined, row.called, row.unreadable)))
            for row in rows
            if row.declined.n
        ),
    )


def pairs_table(pairs: Sequence[findings.Paired], *, named: bool = True) -> str:
    """Arms of a model against each other on the same tasks."""
    return table(
        _headed(named, "arm", "against", "n", "difference", "only this", "only the other", "exact McNemar p"),
        (
            _headed(
                named and pair.model,
                pair.second,
                pair.first,
                f"{pair.n:,}",
                findings.points(pair),
                f"{pair.gained:,}",
                f"{pair.lost:,}",
                findings.p_value(pair.p),
            )
            for pair in pairs
        ),
    )


def ablations_table(found: Sequence[Ablation]) -> str:
    """Ablated arms against `auto`, on the runs that both have."""
    return table(
        [
            "auto, but",
            "solved",
            "auto on the same",
            "difference",
            "exact McNemar p",
            "tokens a run",
            "seconds a run",
            "calls made on no-call questions",
        ],
        (
            [
                one.name,
                str(one.solved),
                f"{one.auto_solved.k:,} of {one.auto_solved.n:,}",
                findings.points(one.pair),
                findings.p_value(one.pair.p),
                amount(one.tokens, 1),
                amount(one.seconds, 2),
                f"{one.called.k:,} of {one.called.n:,} (auto {one.auto_called.k:,})" if one.called.n else "–",
            ]
            for one in found
        ),
    )


def first_calls_table(found: Sequence[FirstCalls], *, named: bool = True) -> str:
    """Right first calls by categories and arm."""
    return table(
        _headed(named, "categories", "arm", "n", "right tool", "right arguments"),
        (
            _headed(
                named and one.model,
                one.categories,
                one.label,
                f"{one.right_tool.n:,}",
                *map(cell, (one.right_tool, one.right_arguments)),
            )
            for one in found
        ),
    )


def ladder_table(rows: Sequence[Row], *, named: bool = True) -> str:
    """What became of the replies that could not be used, by how many of them stood in a row."""
    head, *lines = ladder_lines(rows)
    return table(*(head, lines) if named else (head[1:], [line[1:] for line in lines]))


def ladder_lines(rows: Sequence[Row]) -> list[list[str]]:
    """The heading of that table and a line for each row."""
    most = max((rung for row in rows for rung, came in row.tally.ladder if came in ("usable", "again")), default=0)
    heads = [f"usable after correction {number}" for number in range(1, most + 1)]
    lines = [["model", "arm", "replies that could not be used", *heads, "given up", "not asked again"]]
    for row in rows:
        ladder = row.tally.ladder
        corrected = ((ladder[rung, "usable"], ladder[rung, "again"]) for rung in range(1, most + 1))
        ended = [sum(count for (_, came), count in ladder.items() if came == name) for name in ("given up", "limit")]
        lines.append(
            [
                row.model,
                row.label,
                f"{ladder.total():,} of {row.tally.replies:,}",
                *(f"{usable:,} of {usable + again:,}" if usable + again else "–" for usable, again in corrected),
                *(f"{count:,}" for count in ended),
            ]
        )
    return lines


def _categories(view: View) -> str:
    names = sorted({category for tally in view.tallies for category in tally.tried})
    return table(
        ["model", "arm", "category", "solved"],
        (
            [
                tally.model,
                findings.label(tally, view),
                name,
                str(findings.rate(tally.done[name], tally.tried[name])),
            ]
            for tally in view.tallies
            for name in names
            if tally.tried[name]
        ),
    )


def _named(view: View, kind: str, meanings: Any) -> str:
    total = Counter[str]()
    for tally in view.tallies:
        total.update(getattr(tally, kind))
    replies = sum(tally.replies for tally in view.tallies)
    if not total:
        return f"None in {replies:,} replies."
    return table(
        ["name", "replies with it", *(f"{tally.model}, {findings.label(tally, view)}" for tally in view.tallies), ""],
        (
            [
                f"`{name}`",
                str(findings.rate(count, replies)),
                *(f"{getattr(tally, kind)[name]:,} of {tally.replies:,}" for tally in view.tallies),
                meanings.get(name, ""),
            ]
            for name, count in sorted(total.items(), key=lambda item: (-item[1], item[0]))
        ),
    )


def _stops(view: View) -> str:
    names = sorted({name for tally in view.tallies for name in tally.stops})
    return table(
        ["model", "arm", "n", *names],
        (
            [tally.model, findings.label(tally, view), f"{tally.n:,}", *(f"{tally.stops[name]:,}" for name in names)]
            for tally in view.tallies
        ),
    )


def _run(meta: dict[str, Any]) -> str:
    lines = [f"### {escaped(str(meta.get('folder')))}"]
    if commands := commands_of([meta]):
        lines.append("\n".join(f"    {command}" for command in commands))
    return "\n\n".join(lines) + "\n\n" + bullets(f"{name}: {value}" for name, value in run_facts(meta))


def amount(difference: float, digits: int) -> str:
    """A difference of amounts with its sign."""
    return f"{difference:+,.{digits}f}".replace("-", "−")


def cell(rate: Rate) -> str:
    """A rate in a table; n stands beside it only where it is not the row's."""
    return str(rate) if rate.n else "–"


def _who(row: Row) -> list[str]:
    return [row.model, row.label, f"{row.tally.n:,}"]


def _headed(model: str | bool, *cells: str) -> list[str]:
    """A line with the model's name in front, with the heading for it where it is True, or without it."""
    return ["model" if model is True else model, *cells] if model else [*cells]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [list(head), ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(escaped(text) for text in line) + " |" for line in lines)


def bullets(lines: Iterable[str]) -> str:
    """A Markdown list."""
    return "\n".join(f"- {escaped(line)}" for line in lines)


def escaped(text: str) -> str:
    """A text that stays within its cell and is no markup of its own."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")

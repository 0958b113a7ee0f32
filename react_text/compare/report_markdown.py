"""The report as Markdown: the same figures as the page, as tables, always with n and interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from react_text.catalog import FAULTS, REPAIRS
from react_text.compare import findings, sentences
from react_text.compare.findings import Rate, Row
from react_text.compare.report_data import Measured, View
from react_text.compare.run_facts import run_facts

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
    auto = sentences.auto_check(measured.all)
    if auto:
        parts.append("## auto against the other arms\n\n" + bullets(auto))
    for view in measured.views:
        parts += _view(view, len(measured.views) > 1)
    parts.append("## How this was measured\n\n" + bullets(sentences.reading_notes(measured)))
    parts += [_run(meta) for meta in measured.metas]
    return "\n\n".join(parts) + "\n"


def _view(view: View, several: bool) -> list[str]:
    rows = findings.rows(view)
    head = f"## {escaped(view.name)}" if several else "## Figures"
    parts = [head, "### Reading", reading_table(rows), "### Result", result_table(rows), "### Cost", cost_table(rows)]
    if any(row.declined.n for row in rows):
        parts += ["### Tasks that need no call", idle_table(rows)]
    pairs = findings.paired(view)
    if pairs:
        parts += ["### Paired differences", pairs_table(pairs)]
    parts += ["### Categories", _categories(view)]
    for title, kind, meanings in (("Repairs", "repairs", REPAIRS), ("Faults", "faults", FAULTS)):
        parts += [f"### {title}", _named(view, kind, meanings)]
    return [*parts, "### Why runs ended", _stops(view)]


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


def idle_table(rows: Sequence[Row]) -> str:
    """What was made of tasks that need no call."""
    return table(
        ["model", "arm", "n", "declined in words", "called a tool", "could not be read"],
        (
            [row.model, row.label, f"{row.declined.n:,}", *map(cell, (row.declined, row.called, row.unreadable))]
            for row in rows
            if row.declined.n
        ),
    )


def pairs_table(pairs: Sequence[findings.Paired]) -> str:
    """Arms of a model against each other on the same tasks."""
    return table(
        ["model", "arm", "against", "n", "difference", "only this", "only the other", "exact McNemar p"],
        (
            [
                pair.model,
                pair.second,
                pair.first,
                f"{pair.n:,}",
                findings.points(pair),
                f"{pair.gained:,}",
                f"{pair.lost:,}",
                findings.p_value(pair.p),
            ]
            for pair in pairs
        ),
    )


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
    if meta.get("command"):
        lines.append("    " + " ".join(str(meta["command"]).split()))
    return "\n\n".join(lines) + "\n\n" + bullets(f"{name}: {value}" for name, value in run_facts(meta))


def cell(rate: Rate) -> str:
    """A rate in a table; n stands beside it only where it is not the row's."""
    return str(rate) if rate.n else "–"


def _who(row: Row) -> list[str]:
    return [row.model, row.label, f"{row.tally.n:,}"]


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

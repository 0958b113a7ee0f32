"""models.md: for each model measured its figures and the settings to use, and apart from it what others run.

A recommendation is chosen on the runs over development tasks, where there are any, and its figures are then given on
the others; where there are none, that is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from react_text.compare import findings, sentences
from react_text.compare.elsewhere import NOT_MEASURED, Elsewhere
from react_text.compare.report_data import Measured, View
from react_text.compare.report_markdown import bullets, escaped, figures_table, pairs_table, table
from react_text.compare.run_facts import model_words, run_facts
from react_text.compare.stats import mcnemar
from react_text.compare.tally import Cell

OPTIONS = {
    "text": "--mode text --grammar never",
    "text+grammar": "--mode text --grammar always",
    "structured": "--mode structured",
    "auto": "--mode auto",
}
"""What each arm is on the command line of `react-text run`."""


@dataclass(frozen=True)
class Recommended:
    """The cell to use for a model with its name, the views it was chosen on, and each rival with its comparison.

    A rival is an arm's name, the runs that only the recommended one and only the rival solved, and McNemar's p.
    """

    name: str
    cell: Cell
    chosen_on: tuple[View, ...]
    held_out: tuple[View, ...]
    rivals: tuple[tuple[str, int, int, float], ...]


def models_page(measured: Measured) -> str:
    """The page."""
    models = measured.all.models
    parts = [
        "# Models",
        "Made by `react-text report RUN... --models-md models.md` from run folders of `react-text compare`; nothing "
        "here is written by hand. Each rate has its Wilson 95 % interval and its counts.",
        bullets(sentences.reading_notes(measured)),
    ]
    if measured.notes:
        parts.append("To know first:\n\n" + bullets(measured.notes))
    parts += ["## Measured here", _glance(measured, models)]
    for model in models:
        parts += _model(measured, model)
    parts += ["## Not measured here", _elsewhere()]
    return "\n\n".join(parts) + "\n"


def recommend(measured: Measured, model: str) -> Recommended:
    """The arm that solved most on the development tasks, or on all where no run is on such."""
    views = [view for view in measured.suites if view.of(model)]
    development = [view for view in views if view.name.endswith("(dev)")]
    chosen_on = development or views
    held_out = [view for view in views if view not in chosen_on]
    sums: dict[Cell, tuple[int, int, int, int]] = {}
    for row in (row for view in chosen_on for row in findings.rows(view) if row.model == model):
        key = row.tally.cell
        solved, n, failed, tokens = sums.get(key, (0, 0, 0, 0))
        sums[key] = (
            solved + row.solved.k,
            n + row.solved.n,
            failed + row.failed.k,
            tokens + sum(row.tally.tokens),
        )
    most = max(n for _, n, _, _ in sums.values())
    candidates = {key: found for key, found in sums.items() if found[1] >= findings.FEWEST * most}
    own = max(candidates, key=lambda key: _merit(*candidates[key]))
    rivals = [(_named(measured, key), *_rival(chosen_on, own, key)) for key in candidates if key != own]
    return Recommended(_named(measured, own), own, tuple(chosen_on), tuple(held_out), tuple(rivals))


def _merit(solved: int, n: int, failed: int, tokens: int) -> tuple[float, float, float]:
    return solved / n, -failed / n, -tokens / n


def _rival(views: Iterable[View], own: Cell, other: Cell) -> tuple[int, int, float]:
    gained = lost = 0
    for view in views:
        found = {tally.cell: tally for tally in view.tallies}
        if own in found and other in found:
            pair = findings.compare(found[other], found[own], view)
            gained, lost = gained + pair.gained, lost + pair.lost
    return gained, lost, mcnemar(gained, lost)


def _named(measured: Measured, cell: Cell) -> str:
    return findings.label(next(tally for tally in measured.all.tallies if tally.cell == cell), measured.all)


def _glance(measured: Measured, models: Sequence[str]) -> str:
    lines = []
    for model in models:
        chosen = recommend(measured, model)
        for view in chosen.held_out or chosen.chosen_on:
            rows = [row for row in findings.rows(view) if row.model == model]
            own = next((row for row in rows if row.tally.cell == chosen.cell), None)
            free = next((row for row in rows if row.tally.arm == "text"), None)
            lines.append(
                [
                    model,
                    view.name,
                    chosen.name,
                    str(own.solved) if own else "not run",
                    str(free.failed) if free else "not run",
                ]
            )
    return table(["model", "tasks", "recommended", "solved with it", "free text that could not be read"], lines)


def _model(measured: Measured, model: str) -> list[str]:
    metas = [meta for meta in measured.metas if model in [entry.get("name") for entry in meta.get("models") or []]]
    entry = next((one for meta in metas for one in meta["models"] if one.get("name") == model), {"name": model})
    chosen = recommend(measured, model)
    parts = [f"### {escaped(model)}", escaped(model_words(entry)) + ".", _recommendation(chosen, model, metas)]
    for view in measured.suites:
        rows = [row for row in findings.rows(view) if row.model == model]
        if rows:
            parts += [f"#### {escaped(view.name)}", figures_table(rows)]
            pairs = [pair for pair in findings.paired(view) if pair.model == model]
            parts += [pairs_table(pairs)] if pairs else []
    parts += [bullets(check) for check in [_auto(measured, model)] if check]
    commands = list(dict.fromkeys(" ".join(str(meta["command"]).split()) for meta in metas if meta.get("command")))
    if commands:
        parts.append("Made again by:\n\n" + "\n".join(f"    {command}" for command in commands))
    return [*parts, *(_run(meta) for meta in metas)]


def _auto(measured: Measured, model: str) -> list[str]:
    found = []
    for view in measured.suites:
        only = View(view.name, tuple(view.of(model)))
        found += [f"{view.name}: {sentence}" for sentence in sentences.auto_check(only)]
    return found


def _recommendation(chosen: Recommended, model: str, metas: Sequence[Mapping[str, Any]]) -> str:
    arm, dialect = chosen.cell.arm, chosen.cell.dialect
    options = OPTIONS.get(arm, "") + (f" --dialect {dialect}" if dialect and arm != "structured" else "")
    lines = [f"**Recommended:** {chosen.name} (`{options}`)."]
    where = " and ".join(view.name for view in chosen.chosen_on)
    held = " and ".join(view.name for view in chosen.held_out)
    if chosen.held_out:
        lines.append(f"It solved most on {where}; on {held}, which had no part in the choice, it did as follows.")
        lines += [_on(view, model, chosen) for view in chosen.held_out]
    else:
        lines.append(
            f"It solved most on {where}. The choice was made on the same tasks as are reported here, so its own figure "
            "is somewhat too good."
        )
    settings = [dict(run_facts(meta)).get("settings") for meta in metas if meta["variant"] == chosen.cell.variant]
    lines += [f"Settings: {text}." for text in dict.fromkeys(filter(None, settings))]
    return escaped(" ".join(lines)) + "\n\n" + bullets(_against(*rival) for rival in chosen.rivals)


def _on(view: View, model: str, chosen: Recommended) -> str:
    row = next((row for row in findings.rows(view) if row.model == model and row.tally.cell == chosen.cell), None)
    return f"On {view.name}: {row.solved} solved." if row else f"On {view.name} it was not run."


def _against(name: str, gained: int, lost: int, p: float) -> str:
    verdict = "" if p < 0.05 else ", a difference that chance alone may explain"
    sign = "p" if p < 0.0001 else "p ="
    figures = f"{gained:,} that the other did not, and missed {lost:,}"
    return f"Against {name} it solved {figures} ({sign} {findings.p_value(p)}{verdict})."


def _run(meta: Mapping[str, Any]) -> str:
    facts = [f"{name}: {value}" for name, value in run_facts(meta) if name not in ("model", "settings")]
    return f"Run {escaped(str(meta.get('folder')))}:\n\n" + bullets(facts)


def _elsewhere() -> str:
    introduction = (
        "Models that others run, with what is documented about how they write a call. **No figure of this page is "
        "about them.** `react-text parse` reads all of these formats where they leak into text, and "
        "`react-text compare --model NAME --base-url URL` measures any of them."
    )
    return "\n\n".join([introduction, *(_family(entry) for entry in NOT_MEASURED)])


def _family(entry: Elsewhere) -> str:
    lines = [f"### {entry.models} (not measured here)", f"A call is {entry.marks}. {entry.known}".strip()]
    return "\n\n".join([*lines, f"```text\n{entry.example}\n```"])

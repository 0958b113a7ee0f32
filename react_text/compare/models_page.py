"""models.md: for each model measured its figures and the settings to use, and apart from it what others run.

A recommendation is chosen on the runs over development tasks, where there are any, and its figures are then given on
the others; where there are none, that is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from react_text.compare import findings, sentences
from react_text.compare.ablations import ablations
from react_text.compare.elsewhere import NOT_MEASURED, Elsewhere
from react_text.compare.first_calls import first_calls
from react_text.compare.recommended import Recommended, recommend
from react_text.compare.report_data import Measured, View, telling_settings
from react_text.compare.report_markdown import (
    ablations_table,
    bullets,
    escaped,
    figures_table,
    first_calls_table,
    idle_table,
    ladder_table,
    pairs_table,
    table,
)
from react_text.compare.run_facts import commands_of, model_words, run_facts, setting_word

OPTIONS = {
    "text": "--mode text --grammar never",
    "text+grammar": "--mode text --grammar always",
    "structured": "--mode structured",
    "auto": "--mode auto",
}
"""What each arm is on the command line of `react-text run`."""


def models_page(measured: Measured) -> str:
    """The page."""
    models = measured.whole.models
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


def _glance(measured: Measured, models: Sequence[str]) -> str:
    lines = []
    for model in models:
        chosen = recommend(measured, model)
        for view in _reported(measured, model):
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
    parts = [f"### {escaped(model)}", escaped(model_words(entry)) + ".", *_recommendation(chosen, model, metas)]
    reported = _reported(measured, model)
    for view in reported:
        parts += _suite(view, model)
    parts += _first_calls(measured, reported, model)
    parts += _ablations(measured, model)
    parts += _development([view for view in measured.suites if view.of(model) and view not in reported], model)
    if commands := commands_of(metas):
        parts.append("Made again by:\n\n" + "\n".join(f"    {command}" for command in commands))
    return [*parts, *_runs(metas)]


def _reported(measured: Measured, model: str) -> list[View]:
    """The task sets that a model's figures are given on: those for development only where there are no others."""
    views = [view for view in measured.suites if view.of(model)]
    return [view for view in views if not view.for_development] or views


def _suite(view: View, model: str) -> list[str]:
    rows = [row for row in findings.rows(view) if row.model == model]
    parts = [f"#### {escaped(view.name)}", *map(escaped, sentences.auto_check(view, model)), figures_table(rows)]
    if pairs := [pair for pair in findings.paired(view) if pair.model == model]:
        parts += ["The arms against each other on the same runs:", pairs_table(pairs, named=False)]
    if any(row.declined.n for row in rows):
        parts += ["By whether a call is needed:", idle_table(rows, named=False)]
    if any(row.tally.ladder for row in rows):
        parts += ["What correcting gave:", ladder_table(rows, named=False)]
    return parts


def _first_calls(measured: Measured, views: Sequence[View], model: str) -> list[str]:
    found = first_calls(views, model, measured.whole)
    return ["#### Right first calls on BFCL", first_calls_table(found, named=False)] if found else []


def _ablations(measured: Measured, model: str) -> list[str]:
    parts = []
    for view in measured.ablated:
        if found := ablations(view, model):
            parts += [f"On {escaped(view.name)}:", ablations_table(found)]
    return [f"#### {sentences.POLICIES}", sentences.ABLATION, *parts] if parts else []


def _development(views: Sequence[View], model: str) -> list[str]:
    """A line for each arm on tasks that settings were chosen with."""
    lines = [
        [view.name, row.label, str(row.solved), str(row.declined) if row.declined.n else "–"]
        for view in views
        for row in findings.rows(view)
        if row.model == model
    ]
    head = "Development tasks, with which settings were chosen; none of them is in the figures above:"
    return [head, table(["tasks", "arm", "solved", "declined in words"], lines)] if lines else []


def _recommendation(chosen: Recommended, model: str, metas: Sequence[Mapping[str, Any]]) -> list[str]:
    arm, dialect = chosen.cell.arm, chosen.cell.dialect
    options = OPTIONS.get(arm, "") + (f" --dialect {dialect}" if dialect and arm != "structured" else "")
    lines = [f"**Recommended:** {chosen.name} (`{options}`)." if options else f"**Recommended:** {chosen.name}."]
    where = " and ".join(view.name for view in chosen.chosen_on)
    held = " and ".join(view.name for view in chosen.held_out)
    if not chosen.rivals:
        lines.append(f"It is the only way of asking that was run on all or nearly all tasks of {where}.")
    elif all(view.for_development for view in chosen.chosen_on) and chosen.held_out:
        lines.append(f"It was chosen on {where}, where {_reason(chosen)}; {held} had no part in the choice.")
    else:
        lines.append(
            f"On {where} {_reason(chosen)}. The choice was made on the same tasks as are reported here, so its own "
            "figure is somewhat too good."
        )
    lines += [_on(view, model, chosen) for view in chosen.held_out]
    settings = _settings(meta for meta in metas if meta["variant"] == chosen.cell.variant)
    lines += [f"Settings: {settings}."] if settings else []
    against = bullets(_against(*rival) for rival in chosen.rivals)
    return [escaped(" ".join(lines)), *([against] if against else [])]


def _reason(chosen: Recommended) -> str:
    if chosen.solved_most:
        return "it solved most"
    return "none solved more by more than chance, and of those that solved as many it was run on most tasks in all"


def _settings(metas: Iterable[Mapping[str, Any]]) -> str:
    """The settings of runs that are the same in all that can tell, without those that are off."""
    joined: dict[str, Any] = {}
    for meta in metas:
        joined |= telling_settings(meta)
    said = {name: value for name, value in joined.items() if value is not False and value not in ("", {})}
    return ", ".join(f"{name} {setting_word(value)}" for name, value in said.items())


def _on(view: View, model: str, chosen: Recommended) -> str:
    row = next((row for row in findings.rows(view) if row.model == model and row.tally.cell == chosen.cell), None)
    return f"On {view.name}: {row.solved} solved." if row else f"On {view.name} it was not run."


def _against(name: str, gained: int, lost: int, p: float) -> str:
    verdict = "" if p < 0.05 else ", a difference that chance alone may explain"
    sign = "p" if p < 0.0001 else "p ="
    figures = f"{gained:,} that the other did not, and missed {lost:,}"
    return f"Against {name} it solved {figures} ({sign} {findings.p_value(p)}{verdict})."


def _runs(metas: Sequence[Mapping[str, Any]]) -> list[str]:
    """The runs behind a model's figures, and what they ran on."""
    if not metas:
        return []
    facts = [(str(meta.get("folder")), dict(run_facts(meta))) for meta in metas]
    lines = [
        [folder, said.get("tasks", "unknown"), said.get("seed") or said.get("seeds", "unknown"), said.get("begun", "–")]
        for folder, said in facts
    ]
    places = dict.fromkeys(
        "; ".join(said[name] for name in ("machine", "versions") if name in said) for _, said in facts
    )
    return [
        table(["run", "tasks", "seeds", "begun"], lines),
        *(f"Run on {escaped(place)}." for place in places if place),
    ]


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

"""The report as one HTML page that needs nothing else: figures, charts and a browser of single outputs.

Lays out what `findings` says in the template `page.html`; what models wrote reaches the page as escaped data only.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from react_text.catalog import FAULTS, REPAIRS
from react_text.compare import charts, findings, sentences
from react_text.compare.ablations import ablations
from react_text.compare.findings import Rate, Row, rate
from react_text.compare.outputs import laid_out
from react_text.compare.report_data import ARM_ORDER, Measured, View
from react_text.compare.report_markdown import amount, ladder_lines
from react_text.compare.run_facts import commands_of, run_facts
from react_text.errors import MissingExtra

TEMPLATES = Path(__file__).resolve().parent / "page"
MOST_BYTES = 8_000_000
"""Most bytes of single outputs in a page; where they are more, the last are left out."""


def page(measured: Measured, title: str = "") -> str:
    """The page."""
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
        from markupsafe import Markup
    except ImportError:
        raise MissingExtra("compare", "A report") from None
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters |= {
        "amount": amount,
        "percent": _percent,
        "interval": _interval,
        "p": findings.p_value,
        "signed": findings.signed,
        "points": findings.points,
    }
    outputs = [laid_out(record) for record in measured.outputs]
    style, script = ((TEMPLATES / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    return environment.get_template("page.html").render(
        title=title or _title(measured),
        headline=_unbroken(sentences.headline(measured.all)),
        summary=[_unbroken(sentence) for sentence in sentences.summary(measured.all)],
        auto=[_unbroken(sentence) for sentence in sentences.auto_checks(measured)],
        facts=_facts(measured),
        notes=measured.notes,
        reading=sentences.reading_notes(measured),
        views=[_view(view) for view in measured.views],
        policies=sentences.POLICIES,
        ablation=sentences.ABLATION.replace("`", ""),
        ablations=[
            (f"{model}, {view.name}", found)
            for view in measured.ablated
            for model in view.models
            if (found := ablations(view, model))
        ],
        arms=_arms(measured.all),
        runs=[(meta["folder"], commands_of([meta]), run_facts(meta)) for meta in measured.metas],
        shown=sentences.shown_sentence(measured),
        style=Markup(style),
        script=Markup(script),
        script_digest=Markup(f"sha256-{b64encode(sha256(script.encode()).digest()).decode()}"),
        data=Markup(embedded({"outputs": _within(outputs), "sentences": {**REPAIRS, **FAULTS}})),
    )


def _unbroken(sentence: str) -> str:
    """A sentence whose numbers stay on one line with their percent signs."""
    return sentence.replace(" %", "\u00a0%")


def embedded(value: Any) -> str:
    """A value as JSON that may stand in a script element: no text in it can end the element or begin a comment."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), default=str)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _within(outputs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """As many outputs as a page has room for."""
    room, kept = MOST_BYTES, []
    for output in outputs:
        room -= len(json.dumps(output, default=str))
        if room < 0:
            break
        kept.append(output)
    return kept


def colour(arm: str) -> str:
    """The class that colours an arm."""
    return f"arm-{ARM_ORDER.index(arm)}" if arm in ARM_ORDER else "arm-other"


def _title(measured: Measured) -> str:
    models = measured.all.models
    return f"{models[0] if len(models) == 1 else f'{len(models)} models'}: text against structured calls"


def _facts(measured: Measured) -> list[tuple[str, str]]:
    tallies = measured.all.tallies
    runs = sum(tally.n for tally in tallies)
    replies = sum(tally.replies for tally in tallies)
    seeds = sorted({seed for tally in tallies for seed in tally.seeds})
    days = sorted({str(meta["created"])[:10] for meta in measured.metas if meta.get("created")})
    facts = [
        ("runs", f"{runs:,}"),
        ("replies", f"{replies:,}"),
        ("models", f"{len(measured.all.models):,}"),
        ("arms", f"{len({tally.arm for tally in tallies}):,}"),
        ("task sets", f"{len(measured.suites):,}"),
        ("seed" if len(seeds) == 1 else "seeds", str(seeds[0]) if len(seeds) == 1 else f"{len(seeds):,}"),
    ]
    return facts + ([("measured", days[0] if len(days) == 1 else f"{days[0]} – {days[-1]}")] if days else [])


def _arms(view: View) -> list[tuple[str, str]]:
    return [(arm, colour(arm)) for arm in dict.fromkeys(tally.arm for tally in view.tallies)]


def _view(view: View) -> dict[str, Any]:
    """What the template draws of one view."""
    rows = findings.rows(view)
    pairs = findings.paired(view)
    reach = max([abs(end) for pair in pairs for end in (pair.low, pair.high)] or [0.1])
    reach = max(0.1, -(-int(reach * 100) // 10) / 10)
    seconds = charts.log_axis([value for row in rows for value in (min(row.tally.seconds), max(row.tally.seconds))])
    return {
        "name": view.name,
        "models": [
            {"name": model, "rows": [_row(row, seconds) for row in rows if row.model == model]} for model in view.models
        ],
        "percent_ruler": charts.ruler(charts.PERCENT, " %"),
        "seconds_ruler": charts.ruler(seconds, " s"),
        "categories": _categories(view),
        "idle": any(tally.idle for tally in view.tallies),
        "repairs": _named(view, "repairs", REPAIRS),
        "faults": _named(view, "faults", FAULTS),
        "stops": _stops(view),
        "ladder": ladder_lines(rows) if any(row.tally.ladder for row in rows) else [],
        "scatter": _scatter(view, rows),
        "marks": [(model, charts.MARKS[number % len(charts.MARKS)]) for number, model in enumerate(view.models)],
        "pairs": [
            (model, [{"pair": pair, "chart": charts.difference(pair, reach)} for pair in pairs if pair.model == model])
            for model in dict.fromkeys(pair.model for pair in pairs)
        ],
        "difference_ruler": charts.ruler(_points_axis(reach)),
    }


def _points_axis(reach: float) -> charts.Axis:
    end = round(100 * reach)
    return charts.Axis(-end, end, (-end, -end / 2, 0, end / 2, end))


def _row(row: Row, seconds: charts.Axis) -> dict[str, Any]:
    own = colour(row.tally.arm)
    parts = [("failed", row.failed.share), ("repaired", row.repaired.share), ("strict", row.strict.share)]
    return {
        "row": row,
        "colour": own,
        "reading": charts.stacked(parts, row.failed),
        "solved": charts.bar(row.solved, own),
        "latency": charts.histogram(row.tally.seconds, seconds, own, row.seconds),
    }


def _categories(view: View) -> dict[str, Any]:
    names = sorted({category for tally in view.tallies for category in tally.tried})
    columns = [
        (findings.label(tally, view), tally.model if len(view.models) > 1 else "", colour(tally.arm))
        for tally in view.tallies
    ]
    cells = [
        (
            name,
            [rate(tally.done[name], tally.tried[name]) for tally in view.tallies],
            sum(t.tried[name] for t in view.tallies),
        )
        for name in names
    ]
    return {"columns": columns, "rows": cells}


def _named(view: View, kind: str, meanings: Any) -> list[dict[str, Any]]:
    """The repairs or faults of a view, the most frequent first, each with its rate per reply and its arms."""
    by_arm: dict[str, Counter[str]] = {}
    for tally in view.tallies:
        by_arm.setdefault(tally.arm, Counter()).update(getattr(tally, kind))
    replies = sum(tally.replies for tally in view.tallies)
    total: Counter[str] = sum(by_arm.values(), Counter())
    most = max(total.values(), default=1)
    return [
        {
            "name": name,
            "sentence": meanings.get(name, ""),
            "rate": rate(count, replies),
            "arms": [(arm, counts[name]) for arm, counts in by_arm.items() if counts[name]],
            "chart": charts.stacked([(colour(arm), counts[name] / most) for arm, counts in by_arm.items()], height=18),
        }
        for name, count in sorted(total.items(), key=lambda item: (-item[1], item[0]))
    ]


def _stops(view: View) -> dict[str, Any]:
    names = Counter[str]()
    for tally in view.tallies:
        names.update(tally.stops)
    ordered = [name for name, _ in names.most_common()]
    return {
        "names": ordered,
        "rows": [
            (tally.model, findings.label(tally, view), tally.n, [tally.stops[name] for name in ordered])
            for tally in view.tallies
        ],
    }


def _scatter(view: View, rows: Sequence[Row]) -> str:
    axis = charts.linear_axis([row.tokens for row in rows])
    points = [
        charts.Point(
            row.tokens,
            row.solved.share,
            row.solved.low,
            row.solved.high,
            colour(row.tally.arm),
            view.models.index(row.model),
            row.label,
            f"{row.model}, {row.label}: {row.solved} solved, {row.tokens:.0f} tokens a run",
        )
        for row in rows
    ]
    return charts.scatter(points, axis)


def _percent(value: Rate) -> str:
    return findings.percent(value.share, value.n) if value.n else "–"


def _interval(value: Rate) -> str:
    return findings.span(value.low, value.high, value.n) if value.n else "not counted"

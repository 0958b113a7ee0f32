"""Right first calls on BFCL: by category, and over the two categories that are reported together. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from react_text.compare.findings import Rate, label, rate
from react_text.compare.report_data import View
from react_text.compare.tally import Cell

PREFIX = "bfcl:"
TOGETHER = ("bfcl:simple", "bfcl:multiple")


@dataclass(frozen=True)
class FirstCalls:
    """What one arm's first calls of some categories were."""

    model: str
    categories: str
    label: str
    right_tool: Rate
    right_arguments: Rate


def first_calls(views: Sequence[View], model: str, whole: View) -> list[FirstCalls]:
    """A model's first calls over several task sets: by categories, the two together first, then by arm.

    `whole` decides what tells its arms apart.
    """
    called: dict[Cell, Counter[str]] = {}
    tool: dict[Cell, Counter[str]] = {}
    arguments: dict[Cell, Counter[str]] = {}
    names: dict[Cell, str] = {}
    for tally in (tally for view in views for tally in view.of(model)):
        names[tally.cell] = label(tally, whole)
        called.setdefault(tally.cell, Counter()).update(tally.called_for)
        tool.setdefault(tally.cell, Counter()).update(tally.right_tool)
        arguments.setdefault(tally.cell, Counter()).update(tally.right_arguments)
    seen = {name for counts in called.values() for name in counts if name.startswith(PREFIX)}
    groups = [[name] for name in sorted(seen, key=lambda name: (name not in TOGETHER, name != TOGETHER[0], name))]
    if seen.issuperset(TOGETHER):
        groups.insert(0, list(TOGETHER))
    return [
        FirstCalls(
            model,
            " + ".join(name.removeprefix(PREFIX) for name in group),
            names[cell],
            rate(sum(tool[cell][name] for name in group), n),
            rate(sum(arguments[cell][name] for name in group), n),
        )
        for group in groups
        for cell in called
        if (n := sum(called[cell][name] for name in group)) and all(called[cell][name] for name in group)
    ]

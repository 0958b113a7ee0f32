"""What each steering policy gives: `auto` without it against `auto`, on the tasks and seeds that both ran.

A run is such an ablation where nothing but `policies` is set of the agent. Pure; it knows run descriptions and tallies.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from react_text.compare.findings import Paired, Rate, compare, label, rate, shared
from react_text.compare.report_data import View
from react_text.compare.tally import CALLED, Tally


@dataclass(frozen=True)
class Ablation:
    """One ablated arm against `auto`, both on the tasks and seeds that both ran.

    `tokens` and `seconds` are the mean differences of a run, the ablated arm's minus auto's; `called` and `auto_called`
    count the questions that need no call and got one.
    """

    name: str
    solved: Rate
    auto_solved: Rate
    pair: Paired
    tokens: float
    seconds: float
    called: Rate
    auto_called: Rate


def ablations(view: View, model: str) -> list[Ablation]:
    """The ablated arms of a model on one task set, those that cost most first; without `auto` there, none."""
    tallies = view.of(model)
    found = [_against(auto, tally, view) for tally in tallies if tally.ablated for auto in _counterpart(tally, tallies)]
    return sorted((one for one in found if one.pair.n), key=lambda one: (one.pair.difference, one.name))


def _counterpart(tally: Tally, tallies: Iterable[Tally]) -> Sequence[Tally]:
    cell = tally.cell._replace(arm="auto")
    return [other for other in tallies if other.cell == cell][:1]


def _against(auto: Tally, tally: Tally, view: View) -> Ablation:
    import numpy

    ours, theirs = shared(auto, tally)
    pair = compare(auto, tally, view)

    def amount(name: str, kind: Any) -> float:
        before, after = numpy.frombuffer(getattr(auto, name), kind), numpy.frombuffer(getattr(tally, name), kind)
        return float(after[theirs].mean(dtype=float) - before[ours].mean(dtype=float)) if pair.n else 0.0

    def called(one: Tally, at: Any) -> Rate:
        needless = numpy.frombuffer(one.needless, numpy.uint8)[at]
        return rate(int((needless == CALLED).sum()), int((needless > 0).sum()))

    return Ablation(
        label(tally, view).removeprefix("auto "),
        rate(pair.both + pair.gained, pair.n),
        rate(pair.both + pair.lost, pair.n),
        pair,
        amount("tokens", numpy.uint32),
        amount("seconds", numpy.float32),
        called(tally, theirs),
        called(auto, ours),
    )

"""Which arm to use for a model: chosen on development tasks where several arms ran on them, else on all. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from react_text.compare import findings
from react_text.compare.report_data import Measured, View
from react_text.compare.stats import mcnemar
from react_text.compare.tally import Cell

_CHANCE = 0.05
"""McNemar's p from which on two arms are not told apart."""


@dataclass(frozen=True)
class Recommended:
    """The cell to use for a model with its name, the views it was chosen on, and each rival with its comparison.

    `held_out` are the views to report on that had no part in the choice. A rival is an arm's name, the runs that only
    the recommended one and only the rival solved, and McNemar's p; there is none where only one arm was run.
    """

    name: str
    cell: Cell
    chosen_on: tuple[View, ...]
    held_out: tuple[View, ...]
    rivals: tuple[tuple[str, int, int, float], ...]

    @property
    def solved_most(self) -> bool:
        """Whether no rival solved more; else one did, within chance, on the fewer tasks that it was run on."""
        return all(gained >= lost for _, gained, lost, _ in self.rivals)


def recommend(measured: Measured, model: str) -> Recommended:
    """The arm that solved most on the development tasks, or on the others where there is no choice on such.

    Of arms that solved as many as that one within chance, the one that was run on most tasks in all.
    """
    views = [view for view in measured.suites if view.of(model)]
    reported = [view for view in views if not view.for_development] or views
    with_choice = [view for view in views if len(view.of(model)) > 1]
    development = [view for view in with_choice if view.for_development]
    chosen_on = development or with_choice or reported
    held_out = [view for view in reported if view not in chosen_on]
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
    best = max(candidates, key=lambda key: _merit(*candidates[key]))
    as_good = [key for key in candidates if key == best or _rival(chosen_on, best, key)[2] >= _CHANCE]
    ran: Counter[Cell] = Counter()
    for row in (row for view in views for row in findings.rows(view)):
        ran[row.tally.cell] += row.solved.n
    own = max(as_good, key=lambda key: (ran[key], *_merit(*candidates[key])))
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
    whole = measured.whole
    return findings.label(next(tally for tally in whole.tallies if tally.cell == cell), whole)

"""What the counts of a comparison say: rates with their intervals, paired differences, and how both are written.

Takes tallies and returns values; what is said about them is in `sentences`, where it is shown is not known here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any

from react_text.compare.report_data import View
from react_text.compare.stats import mcnemar, wilson
from react_text.compare.tally import Tally

FEWEST = 0.9
"""An arm is only called the best where it has at least this share of the runs of the arm with the most."""

MOST_PAIRS = 15
"""Up to so many pairs of a model's arms, all are compared."""


@dataclass(frozen=True)
class Rate:
    """`k` of `n`, with the ends of its Wilson 95 % interval."""

    k: int
    n: int
    low: float
    high: float

    @property
    def share(self) -> float:
        """`k / n`, 0.0 where there is nothing to count."""
        return self.k / self.n if self.n else 0.0

    def __str__(self) -> str:
        if not self.n:
            return "not counted (n = 0)"
        return f"{percent(self.share, self.n)} ({span(self.low, self.high, self.n)}), {self.k:,} of {self.n:,}"


@dataclass(frozen=True)
class Row:
    """One model, arm and dialect, with its rates; `label` names the arm, and the dialect where there are several.

    `needing` is what was solved of tasks that need a call, `declined`, `unreadable` and `called` are of those that do
    not. Seconds are medians and ninth deciles of a run, `tokens` the mean of those generated in a run.
    """

    label: str
    tally: Tally
    strict: Rate
    repaired: Rate
    failed: Rate
    right_tool: Rate
    right_arguments: Rate
    solved: Rate
    needing: Rate
    declined: Rate
    unreadable: Rate
    called: Rate
    tokens: float
    tokens_after: float
    seconds: tuple[float, float]

    @property
    def model(self) -> str:
        """The model's name."""
        return self.tally.model


@dataclass(frozen=True)
class Paired:
    """Two arms of a model on the same tasks and seeds.

    `gained` were solved by the second only, `lost` by the first only; `difference` is second minus first with a 95 %
    interval (Newcombe 1998, method 10), `p` the exact two-sided McNemar probability.
    """

    model: str
    first: str
    second: str
    n: int
    both: int
    gained: int
    lost: int
    difference: float
    low: float
    high: float
    p: float


@cache
def rate(k: int, n: int) -> Rate:
    """A rate with its interval; 0 to 1 where there is nothing to count."""
    low, high = wilson(k, n) if n else (0.0, 1.0)
    return Rate(k, n, low, high)


def rows(view: View) -> list[Row]:
    """The rates of a view, one row for each tally."""
    return [_row(tally, label(tally, view)) for tally in view.tallies]


def label(tally: Tally, view: View) -> str:
    """An arm's name, with its dialect and variant where the view has several for that arm."""
    return " · ".join([tally.arm, *_particulars(tally, view)])


def _particulars(tally: Tally, view: View) -> list[str]:
    same = [other.cell for other in view.tallies if other.arm == tally.arm]
    several = len({cell.dialect for cell in same}) > 1, len({cell.variant for cell in same}) > 1
    return [text for text, told in zip(tally.cell[2:], several, strict=True) if told and text]


def _row(tally: Tally, name: str) -> Row:
    import numpy

    idle = sum(tally.idle.values())
    generated = sum(tally.tokens)
    needed = numpy.frombuffer(tally.needless, dtype=numpy.uint8) == 0
    solved = numpy.frombuffer(tally.solved, dtype=numpy.uint8).astype(bool)
    seconds = numpy.frombuffer(tally.seconds, dtype=numpy.float32)
    median, tenth = (float(value) for value in numpy.quantile(seconds, (0.5, 0.9)))
    return Row(
        name,
        tally,
        strict=rate(tally.read["strict"], tally.n),
        repaired=rate(tally.read["repaired"], tally.n),
        failed=rate(tally.read["failed"], tally.n),
        right_tool=rate(tally.yes["right_tool"], tally.known["right_tool"]),
        right_arguments=rate(tally.yes["right_arguments"], tally.known["right_arguments"]),
        solved=rate(sum(tally.solved), tally.n),
        needing=rate(int((needed & solved).sum()), int(needed.sum())),
        declined=rate(tally.idle["declined"], idle),
        unreadable=rate(tally.idle["unreadable"], idle),
        called=rate(tally.idle["called"], idle),
        tokens=generated / tally.n,
        tokens_after=tally.tokens_after / generated if generated else 0.0,
        seconds=(median, tenth),
    )


def comparable(rows: Sequence[Row]) -> list[Row]:
    """Those of a model's rows that ran on nearly all that any of them ran on; the others would be compared unfairly."""
    most = max(row.tally.n for row in rows)
    return [row for row in rows if row.tally.n >= FEWEST * most]


def best(rows: Sequence[Row]) -> Row:
    """The row that solved most; of equals the one that was read more often, then the one with fewer tokens."""
    return max(comparable(rows), key=lambda row: (row.solved.share, -row.failed.share, -row.tokens))


def alike(row: Row, other: Row) -> bool:
    """Whether two rows differ in their arm alone."""
    return row.tally.cell[2:] == other.tally.cell[2:]


def paired(view: View) -> list[Paired]:
    """The arms of each model compared two by two on the tasks and seeds that both have.

    Where a model has many arms, dialects and variants, those that differ in one of the three, and each with the best.
    """
    found = []
    for model in view.models:
        tallies = view.of(model)
        couples = list(combinations(tallies, 2))
        if len(couples) > MOST_PAIRS:
            top = max(tallies, key=lambda tally: sum(tally.solved) / tally.n)
            couples = [
                couple for couple in couples if any(tally is top for tally in couple) or _differences(*couple) == 1
            ]
        found += [pair for pair in (compare(first, second, view) for first, second in couples) if pair.n]
    return found


def _differences(first: Tally, second: Tally) -> int:
    return sum(one != other for one, other in zip(first.cell, second.cell, strict=True))


def compare(first: Tally, second: Tally, view: View) -> Paired:
    """Two tallies on the tasks and seeds that both have."""
    import numpy

    left, right = shared(first, second)
    a = numpy.frombuffer(first.solved, dtype=numpy.uint8)[left].astype(bool)
    b = numpy.frombuffer(second.solved, dtype=numpy.uint8)[right].astype(bool)
    n, both, gained, lost = len(a), int((a & b).sum()), int((~a & b).sum()), int((a & ~b).sum())
    difference, low, high = paired_interval(both, gained, lost, n) if n else (0.0, -1.0, 1.0)
    names = label(first, view), label(second, view)
    return Paired(first.model, *names, n, both, gained, lost, difference, low, high, mcnemar(gained, lost))


def shared(first: Tally, second: Tally) -> tuple[Any, Any]:
    """Where the records of the tasks and seeds that both have stand in each of two tallies, in the same order."""
    import numpy

    ours, theirs = (numpy.frombuffer(tally.pairs, dtype=numpy.uint64) for tally in (first, second))
    _, left, right = numpy.intersect1d(ours, theirs, assume_unique=True, return_indices=True)
    return left, right


def paired_interval(both: int, gained: int, lost: int, n: int) -> tuple[float, float, float]:
    """The paired difference of two rates and its 95 % interval, from Wilson intervals (Newcombe 1998, method 10)."""
    neither = n - both - gained - lost
    k_new, k_old = both + gained, both + lost
    new, old = k_new / n, k_old / n
    (low_new, high_new), (low_old, high_old) = wilson(k_new, n), wilson(k_old, n)
    margins = k_new * (n - k_new) * k_old * (n - k_old)
    product = float(both * neither - gained * lost)
    if product > 0:
        product = max(product - n / 2, 0)
    phi = product / margins**0.5 if margins else 0.0
    below, above = new - low_new, high_new - new
    under, over = old - low_old, high_old - old
    low = (below**2 - 2 * phi * below * over + over**2) ** 0.5
    high = (above**2 - 2 * phi * above * under + under**2) ** 0.5
    return new - old, new - old - low, new - old + high


def percent(share: float, n: int = 0) -> str:
    """A share in words: whole percent, with one decimal where 1,000 or more were counted."""
    return f"{100 * share:.1f} %" if n >= 1000 else f"{100 * share:.0f} %"


def span(low: float, high: float, n: int = 0) -> str:
    """An interval of shares in words."""
    digits = 1 if n >= 1000 else 0
    return f"{100 * low:.{digits}f}–{100 * high:.{digits}f} %"


def points(pair: Paired) -> str:
    """A paired difference in words."""
    return f"{signed(pair.difference)} points ({signed(pair.low)} to {signed(pair.high)})"


def signed(share: float) -> str:
    """A difference of shares in points, with a true minus sign."""
    return f"{100 * share:+.1f}".replace("-", "−")


def p_value(p: float) -> str:
    """A probability in words."""
    return "< 0.0001" if p < 0.0001 else f"{p:.{4 if p < 0.01 else 3 if p < 0.1 else 2}f}"

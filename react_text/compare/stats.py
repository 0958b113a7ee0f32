"""Intervals of rates and tests of differences, from scipy. A rate is always two counts: how many, and of how many."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from react_text.errors import MissingExtra


def wilson(k: int, n: int) -> tuple[float, float]:
    """The ends of the Wilson 95 % interval of `k` of `n`; (0, 1) where nothing was counted.

    Raises MissingExtra without scipy, and ValueError for counts that cannot be.
    """
    if not 0 <= k <= n:
        raise ValueError(f"{k} of {n} is no rate.")
    if n == 0:
        return 0.0, 1.0
    interval = _binomtest(k, n).proportion_ci(0.95, method="wilson")
    return float(interval.low), float(interval.high)


def mcnemar(b: int, c: int) -> float:
    """The exact two-sided McNemar probability, where `b` pairs differ in one direction and `c` in the other."""
    return float(_binomtest(b, b + c).pvalue) if b + c else 1.0


def discordant(pairs: Iterable[tuple[bool, bool]]) -> tuple[int, int]:
    """How many pairs are right on the left only, and how many on the right only."""
    left = right = 0
    for one, other in pairs:
        left += one and not other
        right += other and not one
    return left, right


def _binomtest(k: int, n: int) -> Any:
    try:
        from scipy.stats import binomtest
    except ImportError:
        raise MissingExtra("compare", "A comparison") from None
    return binomtest(k, n, 0.5)

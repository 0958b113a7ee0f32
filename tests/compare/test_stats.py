"""Intervals and tests of rates."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from react_text.compare.stats import discordant, mcnemar, wilson


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [(15, 20, 0.5313, 0.8881), (0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (81, 263, 0.2553, 0.3662)],
)
def test_wilson_gives_the_published_intervals(k: int, n: int, low: float, high: float) -> None:
    assert wilson(k, n) == pytest.approx((low, high), abs=5e-4)


def test_nothing_counted_says_nothing() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize(("k", "n"), [(3, 2), (-1, 5)])
def test_counts_that_cannot_be_are_refused(k: int, n: int) -> None:
    with pytest.raises(ValueError, match="is no rate"):
        wilson(k, n)


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_holds_the_rate_and_mirrors(counts: tuple[int, int]) -> None:
    k, n = counts
    low, high = wilson(k, n)
    assert 0 <= low <= k / n + 1e-9
    assert k / n - 1e-9 <= high <= 1
    mirrored = wilson(n - k, n)
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=1e-9)


@pytest.mark.parametrize(
    ("b", "c", "p"), [(10, 2, 0.03857), (2, 10, 0.03857), (0, 5, 0.0625), (7, 7, 1.0), (0, 0, 1.0)]
)
def test_mcnemar_is_the_exact_sign_test(b: int, c: int, p: float) -> None:
    assert mcnemar(b, c) == pytest.approx(p, abs=1e-5)


def test_only_pairs_that_differ_are_counted() -> None:
    assert discordant([(True, True), (True, False), (False, False), (False, True), (True, False)]) == (2, 1)

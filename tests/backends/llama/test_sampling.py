from __future__ import annotations

import math
from collections import Counter

import numpy as np
import numpy.typing as npt
import pytest

from react_text.backends.base import Sampling
from react_text.backends.llama.sampling import Sampler
from react_text.errors import BackendError

SCORES = np.log(np.array([0.4, 0.3, 0.2, 0.06, 0.04], np.float32))
DRAWS = 4000


class Only:
    """A grammar that allows some tokens."""

    def __init__(self, *tokens: int) -> None:
        self.tokens = tokens
        self.asked = 0

    def allowed(self, ids: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        self.asked += len(ids)
        return np.isin(ids, self.tokens)


def shares(sampling: Sampling, grammar: Only | None = None) -> dict[int, float]:
    """How often each token is drawn, each time as the first of a reply."""
    drawn = Counter(Sampler(sampling, seed, grammar).pick(SCORES) for seed in range(DRAWS))
    return {token: count / DRAWS for token, count in drawn.items() if token is not None}


def assert_shares(found: dict[int, float], wanted: dict[int, float]) -> None:
    assert set(found) == set(wanted)
    for token, share in wanted.items():
        assert abs(found[token] - share) < 5 * math.sqrt(share * (1 - share) / DRAWS) + 1e-9


def test_temperature_zero_takes_the_best_token() -> None:
    assert Sampler(Sampling(), 0).pick(SCORES) == 0


def test_draws_follow_the_distribution() -> None:
    assert_shares(shares(Sampling(temperature=1)), {0: 0.4, 1: 0.3, 2: 0.2, 3: 0.06, 4: 0.04})


def test_temperature_sharpens_the_distribution() -> None:
    weights = np.array([0.4, 0.3, 0.2, 0.06, 0.04]) ** 2
    assert_shares(shares(Sampling(temperature=0.5)), dict(enumerate(weights / weights.sum())))


def test_top_p_keeps_the_fewest_tokens_that_hold_the_mass() -> None:
    assert_shares(shares(Sampling(temperature=1, top_p=0.65)), {0: 4 / 7, 1: 3 / 7})


def test_min_p_drops_tokens_far_below_the_best() -> None:
    assert_shares(shares(Sampling(temperature=1, min_p=0.45)), {0: 4 / 9, 1: 3 / 9, 2: 2 / 9})


def test_a_grammar_gives_exactly_the_masked_distribution() -> None:
    assert_shares(shares(Sampling(temperature=1), Only(1, 2, 4)), {1: 30 / 54, 2: 20 / 54, 4: 4 / 54})


def test_a_grammar_masks_what_top_p_left_and_otherwise_the_whole_vocabulary() -> None:
    assert_shares(shares(Sampling(temperature=1, top_p=0.65), Only(1, 4)), {1: 1.0})
    assert_shares(shares(Sampling(temperature=1, top_p=0.65), Only(3, 4)), {3: 0.6, 4: 0.4})


def test_greedy_under_a_grammar_takes_the_best_allowed_token() -> None:
    assert Sampler(Sampling(), 0, Only(4, 2)).pick(SCORES) == 2


def test_only_the_chosen_token_is_checked_while_the_grammar_agrees() -> None:
    grammar = Only(0, 1, 2, 3, 4)
    Sampler(Sampling(), 0, grammar).pick(SCORES)
    Sampler(Sampling(temperature=1), 0, grammar).pick(SCORES)
    assert grammar.asked == 2


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_no_allowed_token_is_none(temperature: float) -> None:
    assert Sampler(Sampling(temperature=temperature), 0, Only()).pick(SCORES) is None


def test_a_repeat_penalty_moves_on_from_a_repeated_token() -> None:
    scores = np.array([2.0, 1.9, -1.0], np.float32)
    sampler = Sampler(Sampling(repeat_penalty=1.5), 0)
    assert [sampler.pick(scores) for _ in range(2)] == [0, 1]
    assert scores.tolist() == pytest.approx([2.0, 1.9, -1.0])


def test_equal_seeds_give_equal_tokens_and_other_seeds_others() -> None:
    def run(seed: int) -> list[int | None]:
        sampler = Sampler(Sampling(temperature=1), seed)
        return [sampler.pick(SCORES) for _ in range(40)]

    assert run(7) == run(7) != run(8)


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(temperature=-1),
        Sampling(top_p=0),
        Sampling(min_p=2),
        Sampling(repeat_penalty=0),
        Sampling(temperature=math.nan),
    ],
)
def test_a_setting_out_of_range_is_refused(sampling: Sampling) -> None:
    with pytest.raises(BackendError, match="must lie between"):
        Sampler(sampling, 0)

"""Choosing the next token from scores: penalty, temperature, min-p, top-p, a seed, and a grammar.

Pure array work. What a grammar allows is asked of an object; nothing here knows llama.cpp.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Protocol

from react_text.backends.base import Sampling
from react_text.errors import BackendError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

PENALTY_WINDOW = 64
"""Tokens of the reply, counted back from its end, that the repeat penalty looks at. The prompt is not penalised: the
labels that the model must write again stand in it."""

COLDEST = 1e-4
"""Temperatures below this are greedy: scores divided by them would leave the range of a float."""

FIRST_LOOK = 64
"""Tokens that are shown to the grammar, after the first was refused, before the whole vocabulary is."""


class Allows(Protocol):
    """What a grammar can say about the next token."""

    def allowed(self, ids: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]: ...


class Sampler:
    """Draws the tokens of one reply. Equal seeds and equal scores give equal tokens."""

    def __init__(self, sampling: Sampling, seed: int, grammar: Allows | None = None) -> None:
        import numpy as np

        _check(sampling)
        self._sampling = sampling
        self._random = np.random.default_rng(seed)
        self._grammar = grammar
        self._recent: deque[int] = deque(maxlen=PENALTY_WINDOW)

    def pick(self, scores: npt.NDArray[np.float32]) -> int | None:
        """The next token, or None when the grammar allows none."""
        scores = self._penalised(scores)
        token = self._greedy(scores) if self._sampling.temperature < COLDEST else self._draw(scores)
        if token is not None:
            self._recent.append(token)
        return token

    def note(self, token: int) -> None:
        """Count a token as part of the reply that was not drawn."""
        self._recent.append(token)

    def _penalised(self, scores: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        import numpy as np

        penalty = self._sampling.repeat_penalty
        if penalty == 1.0 or not self._recent:
            return scores
        scores = scores.copy()
        seen = np.fromiter(set(self._recent), np.int64)
        scores[seen] = np.where(scores[seen] > 0, scores[seen] / penalty, scores[seen] * penalty)
        return scores

    def _greedy(self, scores: npt.NDArray[np.float32]) -> int | None:
        import numpy as np

        best = int(np.argmax(scores))
        if self._grammar is None or self._grammar.allowed(np.array([best], np.int32))[0]:
            return best
        for count in (min(FIRST_LOOK, len(scores)), len(scores)):
            ids = np.argpartition(-scores, count - 1)[:count].astype(np.int32)
            ids = ids[self._grammar.allowed(ids)]
            if len(ids):
                return int(ids[np.argmax(scores[ids])])
        return None

    def _draw(self, scores: npt.NDArray[np.float32]) -> int | None:
        """Draw first, ask the grammar about that token, draw again while it refuses, and mask only as a last resort.

        Drawing until a token is allowed gives each allowed token t the probability p(t) / A, with A the mass of the
        allowed tokens: exactly the masked distribution, and it stays so when the draws end with one from the masked
        distribution itself. A check of few tokens is a hundred times cheaper than one of the vocabulary. The grammar
        chooses among what min-p and top-p left; only when that holds no allowed token, among the whole vocabulary.
        """
        import numpy as np

        probabilities = _softmax(scores / self._sampling.temperature)
        ids = self._truncated(probabilities, np.arange(len(probabilities), dtype=np.int32))
        if self._grammar is None:
            return int(self._choose(probabilities, ids, 1)[0])
        for count in (1, FIRST_LOOK):
            drawn = self._choose(probabilities, ids, count)
            drawn = drawn[self._grammar.allowed(drawn)]
            if len(drawn):
                return int(drawn[0])
        left = ids[self._grammar.allowed(ids)]
        if not len(left) or not probabilities[left].any():
            everything = np.arange(len(probabilities), dtype=np.int32)
            left = everything[self._grammar.allowed(everything)]
            if not len(left):
                return None
            probabilities = np.zeros_like(probabilities)
            probabilities[left] = _softmax(scores[left] / self._sampling.temperature)
            left = self._truncated(probabilities, left)
        return int(self._choose(probabilities, left, 1)[0])

    def _truncated(self, probabilities: npt.NDArray[np.float64], ids: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """Of `ids`, those that min-p and top-p leave."""
        import numpy as np

        if self._sampling.min_p > 0:
            ids = ids[probabilities[ids] >= self._sampling.min_p * probabilities[ids].max()]
        if self._sampling.top_p < 1:
            wanted = self._sampling.top_p * float(probabilities[ids].sum())
            ids = _likeliest(probabilities, ids, wanted)
            mass = np.cumsum(probabilities[ids])
            ids = ids[: int(np.searchsorted(mass, wanted)) + 1]
        return ids

    def _choose(
        self, probabilities: npt.NDArray[np.float64], ids: npt.NDArray[np.int32], count: int
    ) -> npt.NDArray[np.int32]:
        """`count` independent draws among `ids`."""
        import numpy as np

        mass = np.cumsum(probabilities[ids])
        at = np.searchsorted(mass, self._random.random(count) * mass[-1], side="right")
        drawn: npt.NDArray[np.int32] = ids[np.minimum(at, len(ids) - 1)]
        return drawn


def _likeliest(
    probabilities: npt.NDArray[np.float64], ids: npt.NDArray[np.int32], mass: float
) -> npt.NDArray[np.int32]:
    """Enough of `ids` to hold `mass`, likeliest first. Sorting a whole vocabulary can take as long as a small model."""
    import numpy as np

    count = min(FIRST_LOOK, len(ids))
    while True:
        top = ids if count == len(ids) else ids[np.argpartition(-probabilities[ids], count)[:count]]
        if count == len(ids) or probabilities[top].sum() >= mass:
            return top[np.argsort(-probabilities[top], kind="stable")]
        count = min(count * 16, len(ids))


def _softmax(scores: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    import numpy as np

    weights: npt.NDArray[np.float64] = np.exp(scores.astype(np.float64) - float(scores.max()))
    weights /= weights.sum()
    return weights


def _check(sampling: Sampling) -> None:
    limits = (
        ("temperature", sampling.temperature, 0.0, 1000.0),
        ("top_p", sampling.top_p, 1e-9, 1.0),
        ("min_p", sampling.min_p, 0.0, 1.0),
        ("repeat_penalty", sampling.repeat_penalty, 1e-3, 1000.0),
    )
    for name, value, low, high in limits:
        if not low <= value <= high:
            raise BackendError(f"{name} is {value}; it must lie between {low:g} and {high:g}.")

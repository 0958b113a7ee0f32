"""How likely a model finds given continuations of what it has read.

Works in tokens on an engine that already holds the prompt; nothing here knows messages or texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from react_text.backends.llama.engine import PROMPT_CHUNK, Engine

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def log_probabilities(engine: Engine, continuations: Sequence[Sequence[int]]) -> tuple[float, ...]:
    """The natural logarithm of the probability of each token sequence after what the engine holds.

    The engine holds the same tokens afterwards. An empty sequence is certain: 0.0.
    """
    held = list(engine.cached)
    first = _log_softmax(engine.logits())
    found = []
    for tokens in continuations:
        if len(engine.cached) != len(held):
            _restore(engine, held)
        total = float(first[tokens[0]]) if tokens else 0.0
        for start in range(0, len(tokens) - 1, PROMPT_CHUNK):
            following = tokens[start + 1 : start + 1 + PROMPT_CHUNK]
            engine.evaluate(tokens[start : start + len(following)], outputs=len(following))
            for back, token in enumerate(reversed(following)):
                total += float(_log_softmax(engine.logits(back))[token])
        found.append(total)
    _restore(engine, held)
    return tuple(found)


def _restore(engine: Engine, held: Sequence[int]) -> None:
    """Bring the cache back to `held`; where it can only be cleared, that means evaluating it again."""
    for start in range(engine.keep(len(held)), len(held), PROMPT_CHUNK):
        engine.evaluate(held[start : start + PROMPT_CHUNK])


def _log_softmax(scores: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    import numpy as np

    shifted = scores.astype(np.float64) - float(scores.max())
    logarithms: npt.NDArray[np.float64] = shifted - np.log(np.exp(shifted).sum())
    return logarithms

"""How likely a model finds given continuations of what it has read.

Works in tokens on an engine that already holds the prompt; nothing here knows messages or texts.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from react_text.backends.llama.batch import Node
from react_text.backends.llama.engine import PROMPT_CHUNK, Engine

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def log_probabilities(engine: Engine, continuations: Sequence[Sequence[int]]) -> tuple[float, ...]:
    """The natural logarithm of the probability of each token sequence after what the engine holds.

    The engine holds the same tokens afterwards. An empty sequence is certain: 0.0. Where the engine can, several are
    evaluated at once, and what they begin with in common once.
    """
    first = _log_softmax(engine.logits())
    found = [float(first[tokens[0]]) if tokens else 0.0 for tokens in continuations]
    room = min(PROMPT_CHUNK, engine.context_length - len(engine.cached))
    together: list[int] = []
    nodes = 0
    for index, tokens in enumerate(continuations):
        if len(tokens) < 2:
            continue
        if engine.branches == 1 or len(tokens) > room:
            found[index] += _alone(engine, tokens)
            continue
        if len(together) == engine.branches or nodes + len(tokens) > room:
            _at_once(engine, continuations, together, found)
            together, nodes = [], 0
        together.append(index)
        nodes += len(tokens)
    if together:
        _at_once(engine, continuations, together, found)
    return tuple(found)


def sure_tokens(engine: Engine, ends: Collection[int], least: float, most: int) -> list[int] | None:
    """The likeliest tokens to come next, at most `most` and none of `ends`; None where one is too unlikely.

    `least` is the natural logarithm of the probability that each needs. A line break or a full stop ends them too. The
    engine holds the same tokens afterwards.
    """
    held = list(engine.cached)
    found: list[int] = []
    while True:
        scores = _log_softmax(engine.logits())
        token = int(scores.argmax())
        if scores[token] < least:
            _restore(engine, held)
            return None
        piece = engine.vocabulary.piece(token)
        if token in ends or (found and b"\n" in piece):
            break
        found.append(token)
        if piece.endswith(b".") or len(found) == most:
            break
        engine.evaluate([token], decoding=True)
    _restore(engine, held)
    return found


def _at_once(
    engine: Engine, continuations: Sequence[Sequence[int]], together: Sequence[int], found: list[float]
) -> None:
    """Add to `found` how likely the tokens behind the first of these continuations are, by one evaluation."""
    paths: dict[tuple[int, ...], list[int]] = {}
    for branch, index in enumerate(together):
        for end in range(1, len(continuations[index])):
            paths.setdefault(tuple(continuations[index][:end]), []).append(branch)
    engine.evaluate_tree([Node(path[-1], len(path) - 1, branches) for path, branches in paths.items()])
    for back, (path, branches) in enumerate(reversed(paths.items())):
        scores = _log_softmax(engine.logits(back))
        for branch in branches:
            index = together[branch]
            found[index] += float(scores[continuations[index][len(path)]])


def _alone(engine: Engine, tokens: Sequence[int]) -> float:
    """How likely the tokens behind the first are."""
    held = list(engine.cached)
    total = 0.0
    for start in range(0, len(tokens) - 1, PROMPT_CHUNK):
        following = tokens[start + 1 : start + 1 + PROMPT_CHUNK]
        engine.evaluate(tokens[start : start + len(following)], outputs=len(following))
        for back, token in enumerate(reversed(following)):
            total += float(_log_softmax(engine.logits(back))[token])
    _restore(engine, held)
    return total


def _restore(engine: Engine, held: Sequence[int]) -> None:
    """Bring the cache back to `held`; where it can only be cleared, that means evaluating it again."""
    for start in range(engine.keep(len(held)), len(held), PROMPT_CHUNK):
        engine.evaluate(held[start : start + PROMPT_CHUNK])


def _log_softmax(scores: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    import numpy as np

    shifted = scores.astype(np.float64) - float(scores.max())
    logarithms: npt.NDArray[np.float64] = shifted - np.log(np.exp(shifted).sum())
    return logarithms

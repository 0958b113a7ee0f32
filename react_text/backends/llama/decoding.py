"""The tokens of one reply, one after the other: drawn by the sampler, or appended where a grammar leaves no choice.

Works in tokens on an engine that already holds the prompt; nothing here knows text, stop strings or limits.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from react_text.backends.llama.engine import PROMPT_CHUNK, Engine
from react_text.backends.llama.forcing import Forcing, Stretch
from react_text.backends.llama.sampling import Sampler
from react_text.errors import GrammarError

MOST_GUESSED = 8
"""Tokens that are evaluated before the model has chosen them."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The next token of a reply. `ends` says that nothing comes after it, `forced` that it was not drawn."""

    token: int
    ends: bool = False
    forced: bool = False


def decode(engine: Engine, sampler: Sampler, grammar: Forcing | None, ends: Collection[int]) -> Iterator[Chosen]:
    """Choose tokens until one of `ends`, the end of the grammar, or, without a last word, the end of the context.

    A token is evaluated when the one after it is to be drawn. Forced tokens go into one evaluation with the token
    before them and with a guess at the next ones, the end of the forced text, which the model has still to choose:
    where it draws them, as it nearly always does, their evaluation is already done; else they are dropped again.
    """
    pending: list[int] = []
    while True:
        stretch = grammar.ahead() if grammar else Stretch()
        for index, token in enumerate(stretch.tokens, 1):
            if len(engine.cached) + len(pending) > engine.context_length:
                return
            assert grammar is not None
            grammar.accept(token)
            sampler.note(token)
            pending.append(token)
            ended = index == len(stretch.tokens) and grammar.complete
            yield Chosen(token, ended, forced=True)
            if ended:
                return
        room = engine.context_length - len(engine.cached) - len(pending)
        if room < 0:
            return
        guess = stretch.guess[: min(room, MOST_GUESSED)] if stretch.tokens and engine.can_drop else ()
        if pending:
            _evaluate(engine, pending, guess)
        for index in range(len(guess) + 1):
            drawn = sampler.pick(engine.logits(len(guess) - index))
            if drawn is None:
                raise GrammarError("No token of this model can continue the grammar here; widen the grammar.")
            ended = drawn in ends
            if grammar and not ended:
                grammar.accept(drawn)
                ended = grammar.complete
            yield Chosen(drawn, ended)
            if ended:
                return
            if index == len(guess) or drawn != guess[index]:
                if index < len(guess):
                    engine.keep(len(engine.cached) - len(guess) + index)
                pending = [drawn]
                break


def _evaluate(engine: Engine, tokens: Sequence[int], guess: Sequence[int]) -> None:
    """Append the tokens and the guess, with scores after the last token and after each of the guess."""
    start = 0
    batch = [*tokens, *guess]
    while len(batch) - start > PROMPT_CHUNK:
        engine.evaluate(batch[start : start + PROMPT_CHUNK // 2], decoding=True)
        start += PROMPT_CHUNK // 2
    engine.evaluate(batch[start:], outputs=len(guess) + 1, decoding=True)

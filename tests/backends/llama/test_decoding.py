"""Forced text on a vocabulary small enough to follow every way a reply can go, with its exact probability."""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from react_text.backends.llama.decoding import decode
from react_text.backends.llama.forcing import Forcing, Stretch
from react_text.backends.llama.grammar import Outlook

END = 0
PIECES = [b"<end>", *(bytes([byte]) for byte in b'xyzpqabc12"'), b"pq", b"ab", b"ac1", b'c"', b"zz", b'12"']
NEVER_SPELLED = {b"p", b"q"}
"""The model always writes these two as one token, as its tokeniser does."""


class Tiny:
    """A vocabulary of single bytes and a few longer tokens; texts are spelled longest token first."""

    pieces = PIECES
    end_ids = frozenset({END})
    longest_piece = 3
    first_of = np.array([piece[0] for piece in PIECES], np.int16)

    def __init__(self) -> None:
        self.single_bytes = {piece[0]: token for token, piece in enumerate(PIECES) if len(piece) == 1}
        order = sorted(range(1, len(PIECES)), key=PIECES.__getitem__)
        self.sorted_pieces = [PIECES[token] for token in order], np.array(order, np.int32)

    def tokenize(self, text: str) -> list[int]:
        tokens, rest = [], text.encode()
        while rest:
            fitting = [token for token in range(1, len(PIECES)) if rest.startswith(PIECES[token])]
            tokens.append(max(fitting, key=lambda token: len(PIECES[token])))
            rest = rest[len(PIECES[tokens[-1]]) :]
        return tokens


class Language:
    """A grammar that is a list of texts."""

    def __init__(self, texts: Sequence[bytes], said: bytes = b"") -> None:
        self.texts, self.said = texts, said

    def look(self) -> Outlook:
        rests = [text[len(self.said) :] for text in self.texts if text.startswith(self.said)]
        return Outlook(bytes(sorted({rest[0] for rest in rests if rest})), b"" in rests)

    def allowed(self, ids: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        return np.array([self.allows(int(token)) for token in ids], np.bool_)

    def allows(self, token: int) -> bool:
        if token == END:
            return self.said in self.texts
        return any(text.startswith(self.said + PIECES[token]) for text in self.texts)

    def accept(self, token: int) -> None:
        assert self.allows(token)
        self.said += PIECES[token]

    def copy(self) -> Language:
        return Language(self.texts, self.said)

    def close(self) -> None:
        pass


class Engine:
    """Scores that depend on the text so far, and on nothing else, as far as the cache holds it."""

    def __init__(self, seed: int, *, can_drop: bool) -> None:
        self.seed, self.can_drop = seed, can_drop
        self.context_length = 64
        self.cached: list[int] = [1]
        self.evaluations = 0

    def evaluate(self, tokens: Sequence[int], *, outputs: int = 1, decoding: bool = False) -> None:
        self.cached += tokens
        self.evaluations += 1
        self.outputs = outputs

    def logits(self, back: int = 0) -> npt.NDArray[np.float32]:
        assert back == 0 or back < self.outputs
        said = b"".join(PIECES[token] for token in self.cached[: len(self.cached) - back])
        scores = np.random.default_rng(zlib.crc32(said) + self.seed).normal(0, 2, len(PIECES)).astype(np.float32)
        scores[[PIECES.index(piece) for piece in NEVER_SPELLED]] = -np.inf
        return scores

    def keep(self, kept: int) -> int:
        del self.cached[kept:]
        return kept


class Path:
    """Goes one way through a reply, choice by choice, and knows how probable it was and which others there are."""

    def __init__(self, choices: tuple[int, ...], grammar: Any) -> None:
        self.choices, self.grammar = choices, grammar
        self.taken: list[int] = []
        self.probability = 1.0
        self.others: list[tuple[int, ...]] = []

    def note(self, token: int) -> None:
        pass

    def pick(self, scores: npt.NDArray[np.float32]) -> int:
        ids = np.arange(len(scores), dtype=np.int32)
        weights = np.exp(scores.astype(np.float64)) * self.grammar.allowed(ids)
        weights /= weights.sum()
        options = [int(token) for token in np.flatnonzero(weights)]
        if len(self.taken) < len(self.choices):
            token = self.choices[len(self.taken)]
        else:
            token, *rest = options
            self.others += [(*self.taken, other) for other in rest]
        self.taken.append(token)
        self.probability *= weights[token]
        return token


def replies(
    texts: Sequence[bytes], seed: int, *, forced: bool, can_drop: bool = True
) -> tuple[dict[bytes, float], int]:
    """Every text that can come, with its probability, and how many evaluations all of it took."""
    found: dict[bytes, float] = defaultdict(float)
    evaluations = 0
    waiting: list[tuple[int, ...]] = [()]
    vocabulary: Any = Tiny()
    while waiting:
        grammar: Any = Language(texts)
        forcing = Forcing(grammar, vocabulary, vocabulary.tokenize)
        if not forced:
            forcing.ahead = lambda: Stretch()  # type: ignore[method-assign]
        engine: Any = Engine(seed, can_drop=can_drop)
        path: Any = Path(waiting.pop(), forcing)
        chosen = list(decode(engine, path, forcing, {END}))
        assert chosen[-1].ends
        found[b"".join(PIECES[one.token] for one in chosen if one.token != END)] += path.probability
        waiting += path.others
        evaluations += engine.evaluations
    return dict(found), evaluations


LANGUAGES = {
    "a choice after forced text": [b"xpqab1", b"xpqac2", b"yzz"],
    "a token over the end of forced text": [b'xpqac12"', b'xpqac"', b"xpqab"],
    "an end in the middle": [b"xpq", b"xpqab", b"yab", b"y"],
    "nothing but forced text": [b'pqzzab12"'],
    "a list": [b'x"' + b"zz" * times + b'"c' for times in range(4)],
}


@pytest.mark.parametrize("texts", LANGUAGES.values(), ids=LANGUAGES)
@pytest.mark.parametrize("can_drop", [True, False])
def test_texts_come_exactly_as_often_as_when_every_token_is_drawn_under_the_mask(
    texts: list[bytes], can_drop: bool
) -> None:
    for seed in range(3):
        wanted, _ = replies(texts, seed, forced=False)
        found, _ = replies(texts, seed, forced=True, can_drop=can_drop)
        assert set(found) == set(wanted) == set(texts)
        assert found == pytest.approx(wanted, abs=1e-9)
        assert sum(found.values()) == pytest.approx(1)


def test_forced_text_takes_fewer_evaluations() -> None:
    texts = LANGUAGES["a choice after forced text"]
    _, drawn = replies(texts, 3, forced=False)
    _, forced = replies(texts, 3, forced=True)
    assert forced < drawn
    assert replies(LANGUAGES["nothing but forced text"], 3, forced=True) == ({b'pqzzab12"': 1.0}, 0)


def stretches(texts: Sequence[bytes], said: bytes = b"") -> Iterator[list[bytes]]:
    """What is forced, and what is guessed, once `said` has been said."""
    vocabulary: Any = Tiny()
    grammar: Any = Language(texts, said)
    stretch = Forcing(grammar, vocabulary, vocabulary.tokenize).ahead()
    for tokens in (stretch.tokens, stretch.guess):
        yield [PIECES[token] for token in tokens]


def test_forced_text_is_spelled_as_the_tokeniser_spells_it() -> None:
    assert list(stretches([b"pqzz2x", b"pqzz2y"])) == [[b"pq", b"zz", b"2"], []]


def test_a_token_that_may_reach_over_the_end_is_left_to_the_model() -> None:
    assert list(stretches([b"zzab", b"zzac"])) == [[b"zz"], []]
    assert list(stretches([b"zzax", b"zzaz"])) == [[b"zz", b"a"], []]
    assert list(stretches([b'zz12"', b"zz12x"])) == [[b"zz"], [b"1", b"2"]]


def test_nothing_is_forced_where_the_text_may_end() -> None:
    assert list(stretches([b"x", b"xpq"], b"x")) == [[], []]


def test_a_full_context_ends_the_reply_without_a_last_word() -> None:
    vocabulary: Any = Tiny()
    for room in range(8):
        grammar: Any = Language([b"pq" * 20])
        forcing = Forcing(grammar, vocabulary, vocabulary.tokenize)
        engine: Any = Engine(0, can_drop=True)
        engine.context_length = len(engine.cached) + room
        chosen = list(decode(engine, Path((), forcing), forcing, {END}))  # type: ignore[arg-type]
        assert len(chosen) == room + 1
        assert not any(one.ends for one in chosen)
        assert len(engine.cached) <= engine.context_length


def test_a_reply_without_a_grammar_ends_with_an_end_token() -> None:
    engine: Any = Engine(5, can_drop=True)
    everything: Any = type("Everything", (), {"allowed": lambda self, ids: np.ones(len(ids), np.bool_)})()
    script = Path((3, 4, END), everything)
    chosen = list(decode(engine, script, None, {END}))  # type: ignore[arg-type]
    assert [one.token for one in chosen] == [3, 4, END]
    assert [one.ends for one in chosen] == [False, False, True]

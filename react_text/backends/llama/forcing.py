"""Text that a grammar leaves no choice about, in the tokens the model itself would spell it with.

The bytes that must come next are found by walking a copy of the grammar. Their spelling is the tokeniser's, but only up
to where a token could begin inside the forced text and reach beyond it: from there on the model chooses, under the
grammar, so that ` Paris` may still follow a forced `Action:` as one token. Knows nothing of the model's scores.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from react_text.backends.llama.grammar import Outlook, TokenGrammar
from react_text.backends.llama.vocabulary import Vocabulary

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

LONGEST_STRETCH = 4096
"""Bytes that are looked ahead at most."""
FEW = 128
"""Up to this many tokens the grammar is asked about straight away."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Tokens that come next without a choice, and after them some that are likely but the model's to choose."""

    tokens: tuple[int, ...] = ()
    guess: tuple[int, ...] = ()


class Forcing:
    """A grammar on its way through one reply that also knows the forced text in front of it."""

    def __init__(self, grammar: TokenGrammar, vocabulary: Vocabulary, tokenize: Callable[[str], Sequence[int]]) -> None:
        self._grammar = grammar
        self._vocabulary = vocabulary
        self._tokenize = tokenize
        self._outlook: Outlook | None = None
        self._path = b""
        self._beyond: Outlook | None = None

    @property
    def complete(self) -> bool:
        """Whether the text may end here and nothing else may follow."""
        return not self._path and self._look().complete

    def ahead(self) -> Stretch:
        """What comes next whatever the model thinks of it."""
        if not self._path:
            self._walk()
        text = self._path.decode("utf-8", "ignore")
        if not text or self._beyond is None:
            return Stretch()
        tokens = self._tokenize(text)
        spelled = text.encode()
        if b"".join(self._vocabulary.pieces[token] for token in tokens) != spelled:
            return Stretch()
        cut = self._path[len(spelled) : len(spelled) + 1]
        beyond = cut or self._beyond.following
        count = self._certain(tokens, beyond)
        return Stretch(tuple(tokens[:count]), tuple(tokens[count : self._steady(text, tokens, beyond)]))

    def allowed(self, ids: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        """For each token id, whether it may come next."""
        import numpy as np

        if len(ids) == 1:
            return np.array([self._grammar.allows(int(ids[0]))])
        if len(ids) <= FEW:
            return self._grammar.allowed(ids)
        possible = self._possible(ids)
        fits = np.zeros(len(ids), np.bool_)
        fits[possible] = self._grammar.allowed(ids[possible])
        return fits

    def accept(self, token: int) -> None:
        """Move on past `token`. Raises GrammarError, and stays put, when it does not fit."""
        self._grammar.accept(token)
        piece = self._vocabulary.pieces[token]
        rest = self._path[len(piece) :] if self._path.startswith(piece) else b""
        self._outlook = self._beyond if self._path and piece == self._path else None
        self._path = rest

    def _look(self) -> Outlook:
        if self._outlook is None:
            self._outlook = self._grammar.look()
        return self._outlook

    def _walk(self) -> None:
        """Find the bytes that must come next, and what may come after them."""
        outlook = self._look()
        path = bytearray()
        if _forced_byte(outlook) is not None:
            scout = self._grammar.copy()
            try:
                while (byte := _forced_byte(outlook)) is not None and len(path) < LONGEST_STRETCH:
                    token = self._vocabulary.single_bytes.get(byte)
                    if token is None:
                        break
                    scout.accept(token)
                    path.append(byte)
                    outlook = scout.look()
            finally:
                scout.close()
        self._path, self._beyond = bytes(path), outlook

    def _certain(self, tokens: Sequence[int], beyond: bytes) -> int:
        """How many of `tokens` come before any place where another token could begin and reach beyond them all."""
        pieces = self._vocabulary.pieces
        certain, tail = len(tokens), b""
        for index in range(len(tokens) - 1, -1, -1):
            tail = pieces[tokens[index]] + tail
            if len(tail) >= self._vocabulary.longest_piece:
                break
            if any(self._begins(tail + bytes([byte])) for byte in beyond):
                certain = index
        return certain

    def _steady(self, text: str, tokens: Sequence[int], beyond: bytes) -> int:
        """How many of `tokens` stay the same when the text goes on, judged by one way to go on."""
        ascii_only = [byte for byte in beyond if byte < 0x80]
        if not ascii_only:
            return 0
        following = next((byte for byte in ascii_only if chr(byte).isalnum()), ascii_only[0])
        longer = self._tokenize(text + chr(following))
        differing = (index for index, pair in enumerate(zip(tokens, longer, strict=False)) if pair[0] != pair[1])
        return next(differing, min(len(tokens), len(longer)))

    def _begins(self, start: bytes) -> bool:
        """Whether some token begins with these bytes."""
        pieces, _ = self._vocabulary.sorted_pieces
        at = bisect_left(pieces, start)
        return at < len(pieces) and pieces[at].startswith(start)

    def _possible(self, ids: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        """The few of many tokens that the grammar need be asked about."""
        import numpy as np

        if self._path:
            possible: npt.NDArray[np.bool_] = np.isin(ids, list(self._along_the_path()))
            return possible
        outlook = self._look()
        firsts = np.zeros(257, np.bool_)
        firsts[list(outlook.following)] = True
        possible = firsts[self._vocabulary.first_of[ids]]
        if outlook.may_end:
            possible |= np.isin(ids, list(self._vocabulary.end_ids))
        return possible

    def _along_the_path(self) -> Iterator[int]:
        """Tokens that are a beginning of the forced text, or begin with all of it."""
        pieces, ids = self._vocabulary.sorted_pieces
        for size in range(1, min(len(self._path), self._vocabulary.longest_piece) + 1):
            start = self._path[:size]
            at = bisect_left(pieces, start)
            while at < len(pieces) and (
                pieces[at] == start or (size == len(self._path) and pieces[at].startswith(start))
            ):
                yield int(ids[at])
                at += 1


def _forced_byte(outlook: Outlook) -> int | None:
    return outlook.following[0] if len(outlook.following) == 1 and not outlook.may_end else None

"""A GBNF grammar at work on one reply, token by token.

llama.cpp ends the process when a token that does not fit is accepted, so every token is checked first.
"""

from __future__ import annotations

import contextlib
import ctypes
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from react_text.backends.gbnf import check_grammar
from react_text.backends.llama.engine import Engine, library
from react_text.backends.llama.vocabulary import Vocabulary
from react_text.errors import GrammarError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


LONGEST_LOOK = 2.0
"""Processor seconds that one question to the grammar may take; a good one takes milliseconds."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What may come next: the bytes that may, in order, and whether the text may end here."""

    following: bytes
    may_end: bool

    @property
    def complete(self) -> bool:
        """Whether the text may end here and nothing else may follow."""
        return self.may_end and not self.following


class TokenGrammar:
    """What may come next under a grammar. Close it before its engine.

    Raises GrammarError for a text that is no usable grammar. Control tokens never fit, even where their names would.
    """

    def __init__(self, engine: Engine, text: str) -> None:
        check_grammar(text)
        handle = engine.grammar_handle(text)
        if not handle:
            raise GrammarError("llama.cpp refused the grammar; look for an undefined rule or left recursion.")
        self._start(handle, engine.vocabulary)

    def _start(self, handle: Any, vocabulary: Vocabulary) -> None:
        self._lib = library()
        self._handle: Any = handle
        self._vocabulary = vocabulary
        self._one = _Candidates(self._lib, [0])
        # every continuation begins with some byte, so the tokens of one byte show all of them
        self._beginnings = _Candidates(self._lib, [*vocabulary.first_bytes, *sorted(vocabulary.end_ids)[:1]])

    def allowed(self, ids: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        """For each token id, whether it may come next."""
        import numpy as np

        fits = self._ask(_Candidates(self._lib, ids))
        return fits & ~np.isin(ids, self._vocabulary.control_array)

    def allows(self, token: int) -> bool:
        """Whether this one token may come next."""
        if token in self._vocabulary.control_ids:
            return False
        self._one.table["id"] = token
        return bool(self._ask(self._one)[0])

    def accept(self, token: int) -> None:
        """Move on past `token`. Raises GrammarError, and stays put, when it does not fit."""
        if not self.allows(token):
            raise GrammarError("A token that does not fit the grammar cannot be accepted.")
        with _patience():
            self._lib.llama_sampler_accept(self._handle, token)

    def look(self) -> Outlook:
        """What may come next, byte by byte."""
        fits = self._ask(self._beginnings)
        count = len(self._vocabulary.first_bytes)
        firsts = self._vocabulary.first_of[self._beginnings.table["id"][:count][fits[:count]]]
        return Outlook(bytes(sorted(set(firsts.tolist()))), bool(fits[count:].any()))

    def complete(self) -> bool:
        """Whether the text may end here and nothing else may follow."""
        return self.look().complete

    def copy(self) -> TokenGrammar:
        """The same grammar at the same place, to be moved on and closed by itself."""
        self._check_open()
        other = object.__new__(TokenGrammar)
        other._start(self._lib.llama_sampler_clone(self._handle), self._vocabulary)
        return other

    def close(self) -> None:
        if self._handle:
            self._lib.llama_sampler_free(self._handle)
        self._handle = None

    def _ask(self, candidates: _Candidates) -> npt.NDArray[np.bool_]:
        self._check_open()
        with _patience():
            return candidates.ask(self._handle)

    def _check_open(self) -> None:
        if not self._handle:
            raise GrammarError("This grammar was closed.")


class _Candidates:
    """Token ids as llama.cpp's samplers take them; asked again and again they cost no allocation."""

    def __init__(self, lib: Any, ids: npt.NDArray[np.int32] | Sequence[int]) -> None:
        import numpy as np

        self.table = np.zeros(len(ids), np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)]))
        self.table["id"] = ids
        self._logits = self.table["logit"]
        self._apply = lib.llama_sampler_apply
        pointer = self.table.ctypes.data_as(ctypes.POINTER(lib.llama_token_data))
        self._array = lib.llama_token_data_array(pointer, len(ids), -1, False)

    def ask(self, handle: Any) -> npt.NDArray[np.bool_]:
        self._logits[:] = 0.0
        if len(self._logits):
            self._apply(handle, ctypes.byref(self._array))
        fits: npt.NDArray[np.bool_] = self._logits == 0.0
        return fits


@contextlib.contextmanager
def _patience() -> Iterator[None]:
    """Refuse a grammar that is getting out of hand: the ways to read a text under it may double with every token."""
    began = time.thread_time()
    yield
    if time.thread_time() - began > LONGEST_LOOK:
        raise GrammarError("The grammar is too ambiguous to follow; make it say in one way what it allows.")

"""A GBNF grammar at work on one reply, token by token.

llama.cpp ends the process when a token that does not fit is accepted, so every token is checked first.
"""

from __future__ import annotations

import contextlib
import ctypes
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from react_text.backends.gbnf import check_grammar
from react_text.backends.llama.engine import Engine, library
from react_text.errors import GrammarError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


LONGEST_LOOK = 2.0
"""Processor seconds that one question to the grammar may take; a good one takes milliseconds."""


class TokenGrammar:
    """What may come next under a grammar. Close it before its engine.

    Raises GrammarError for a text that is no usable grammar. Control tokens never fit, even where their names would.
    """

    def __init__(self, engine: Engine, text: str) -> None:
        check_grammar(text)
        self._lib = library()
        self._vocabulary = engine.vocabulary
        self._handle: Any = engine.grammar_handle(text)
        if not self._handle:
            raise GrammarError("llama.cpp refused the grammar; look for an undefined rule or left recursion.")

    def allowed(self, ids: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        """For each token id, whether it may come next."""
        import numpy as np

        if not self._handle:
            raise GrammarError("This grammar was closed.")
        table = np.zeros(len(ids), np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)]))
        if not len(ids):
            return np.zeros(0, np.bool_)
        table["id"] = ids
        pointer = table.ctypes.data_as(ctypes.POINTER(self._lib.llama_token_data))
        candidates = self._lib.llama_token_data_array(pointer, len(ids), -1, False)
        with _patience():
            self._lib.llama_sampler_apply(self._handle, ctypes.byref(candidates))
        fits: npt.NDArray[np.bool_] = np.isfinite(table["logit"]) & ~np.isin(ids, self._vocabulary.control_array)
        return fits

    def accept(self, token: int) -> None:
        """Move on past `token`. Raises GrammarError, and stays put, when it does not fit."""
        import numpy as np

        if not self.allowed(np.array([token], np.int32))[0]:
            raise GrammarError("A token that does not fit the grammar cannot be accepted.")
        with _patience():
            self._lib.llama_sampler_accept(self._handle, token)

    def complete(self) -> bool:
        """Whether the text may end here and nothing else may follow.

        Every continuation begins with some byte, so it is enough to ask about the tokens of one byte.
        """
        import numpy as np

        ends = np.fromiter(self._vocabulary.end_ids, np.int32)
        return bool(self.allowed(ends).any()) and not self.allowed(self._vocabulary.first_bytes).any()

    def close(self) -> None:
        if self._handle:
            self._lib.llama_sampler_free(self._handle)
        self._handle = None


@contextlib.contextmanager
def _patience() -> Iterator[None]:
    """Refuse a grammar that is getting out of hand: the ways to read a text under it may double with every token."""
    began = time.thread_time()
    yield
    if time.thread_time() - began > LONGEST_LOOK:
        raise GrammarError("The grammar is too ambiguous to follow; make it say in one way what it allows.")

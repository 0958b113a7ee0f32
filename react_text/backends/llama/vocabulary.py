"""Text to token ids and back for one loaded model, with control tokens let in only on request.

Knows the C library's vocabulary calls; nothing of contexts, templates or replies.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Collection
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from react_text.errors import BackendError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

LONGEST_TEXT = 1_000_000
"""Characters of one text that is handed to the tokeniser."""

_USER_DEFINED = 1 << 4
_MARKER = re.compile(rb"[<\[]\S*[>\]]")


class Vocabulary:
    """The tokens of one model. `handle` gives the C library's vocabulary, or raises once the model is closed.

    `end_ids` end a reply; `control_ids` are the other control tokens, which no text may bring about.
    """

    def __init__(self, library: Any, handle: Callable[[], Any]) -> None:
        self._lib = library
        self._handle = handle
        vocab = handle()
        self.size: int = library.llama_vocab_n_tokens(vocab)
        ids = range(self.size)
        is_end, is_control = library.llama_vocab_is_eog, library.llama_vocab_is_control
        self.end_ids = frozenset(token for token in ids if is_end(vocab, token))
        self.control_ids = frozenset(token for token in ids if is_control(vocab, token)) - self.end_ids
        self._never = self.control_ids | self.end_ids
        self.bos = int(library.llama_vocab_bos(vocab))
        self.eos = int(library.llama_vocab_eos(vocab))
        self.adds_bos = bool(library.llama_vocab_get_add_bos(vocab)) and 0 <= self.bos < self.size
        # some vocabularies put a space before the first piece of every call; a line break in front of the text takes it
        probe = self._raw("a", False) if self.size else []
        self._guard = "\n" if probe and self.piece(probe[0]).startswith(b" ") else ""

    def tokenize(self, text: str, *, special: bool, protected: Collection[int] = ()) -> list[int]:
        """Token ids of `text`, exactly that text: no BOS, no leading space added.

        With `special` off no control token comes out, whatever the text says; nor does any of the `protected` ids,
        the markers of a template whose file declares them as ordinary tokens.
        """
        if len(text) > LONGEST_TEXT:
            raise BackendError(f"A text of {len(text)} characters is more than a prompt may hold ({LONGEST_TEXT}).")
        ids = self._exact(text, special)
        if special or not (unwanted := (self._never.union(protected)).intersection(ids)):
            return ids
        markers = {self.piece(token).decode("utf-8", "replace").strip() for token in unwanted}
        return [token for part in _broken(text, markers) for token in self._exact(part, False)]

    def markers(self, text: str) -> frozenset[int]:
        """Ids in a template's own text that look like markers although the file declares them as ordinary tokens."""
        attributes, vocab = self._lib.llama_vocab_get_attr, self._handle()
        ids = set(self.tokenize(text, special=True)) - self._never
        return frozenset(
            token for token in ids if attributes(vocab, token) & _USER_DEFINED and _MARKER.fullmatch(self.piece(token))
        )

    def piece(self, token: int) -> bytes:
        """The bytes one token stands for; they may be part of a character. Control tokens give their name."""
        vocab = self._handle()
        if not 0 <= token < self.size:
            raise BackendError(f"Token {token} is outside the vocabulary of {self.size}.")
        buffer = ctypes.create_string_buffer(64)
        size = self._lib.llama_token_to_piece(vocab, token, buffer, len(buffer), 0, True)
        if size < 0:
            buffer = ctypes.create_string_buffer(-size)
            size = self._lib.llama_token_to_piece(vocab, token, buffer, len(buffer), 0, True)
        return buffer.raw[:size]

    @cached_property
    def pieces(self) -> list[bytes]:
        """The bytes of every token."""
        vocab, read, buffer = self._handle(), self._lib.llama_token_to_piece, ctypes.create_string_buffer(512)
        sizes = ((token, read(vocab, token, buffer, len(buffer), 0, True)) for token in range(self.size))
        return [ctypes.string_at(buffer, size) if size >= 0 else self.piece(token) for token, size in sizes]

    @cached_property
    def longest_piece(self) -> int:
        """Bytes of the longest token."""
        return max(map(len, self.pieces), default=0)

    @cached_property
    def first_of(self) -> npt.NDArray[np.int16]:
        """The first byte of every token, -1 where a token stands for nothing."""
        import numpy as np

        return np.fromiter((piece[0] if piece else -1 for piece in self.pieces), np.int16)

    @cached_property
    def first_bytes(self) -> npt.NDArray[np.int32]:
        """Tokens that between them can begin every text: for each byte the token that is this byte alone, or, where
        the vocabulary has none, all tokens that begin with it."""
        import numpy as np

        alone = self.single_bytes
        rest = [
            token
            for token, piece in enumerate(self.pieces)
            if piece and piece[0] not in alone and token not in self._never
        ]
        return np.fromiter((*alone.values(), *rest), np.int32)

    @cached_property
    def single_bytes(self) -> dict[int, int]:
        """For each byte that is a token by itself, one such token."""
        return {
            piece[0]: token for token, piece in enumerate(self.pieces) if len(piece) == 1 and token not in self._never
        }

    @cached_property
    def sorted_pieces(self) -> tuple[list[bytes], npt.NDArray[np.int32]]:
        """The bytes of all tokens that may stand in a text, in order, and the tokens in the same order."""
        import numpy as np

        pieces = self.pieces
        order = sorted((token for token in range(self.size) if token not in self._never), key=pieces.__getitem__)
        return [pieces[token] for token in order], np.fromiter(order, np.int32)

    @cached_property
    def control_array(self) -> npt.NDArray[np.int32]:
        import numpy as np

        return np.fromiter(sorted(self.control_ids), np.int32)

    def _exact(self, text: str, special: bool) -> list[int]:
        if not self._guard:
            return self._raw(text, special)
        guard = self._raw(self._guard, False)
        ids = self._raw(self._guard + text, special)
        return ids[len(guard) :] if ids[: len(guard)] == guard else self._raw(text, special)

    def _raw(self, text: str, special: bool) -> list[int]:
        vocab = self._handle()
        if not text:
            return []
        data = text.encode("utf-8", "replace")
        room = len(data) + 8
        ids = (self._lib.llama_token * room)()
        count = self._lib.llama_tokenize(vocab, data, len(data), ids, room, False, special)
        if count < 0:
            raise BackendError("llama.cpp could not tokenise the prompt.")
        return list(ids[:count])


def _broken(text: str, markers: Collection[str]) -> list[str]:
    """The text cut after the first letter of every marker, so that no part holds a whole one."""
    pattern = "|".join(re.escape(marker) for marker in sorted(markers, key=len, reverse=True) if marker)
    inner = [match.start() + 1 for match in re.finditer(pattern, text)] if pattern else []
    return [text[start:end] for start, end in pairwise([0, *inner, len(text)])]

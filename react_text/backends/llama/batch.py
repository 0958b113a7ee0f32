"""The tokens of one evaluation in the memory layout that llama.cpp reads.

Knows arrays only: which tokens are evaluated where, and after which of them scores are wanted.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any


class Batch:
    """Room for `size` tokens of one sequence, filled anew for each evaluation."""

    def __init__(self, library: Any, size: int) -> None:
        self._tokens = (library.llama_token * size)()
        self._positions = (library.llama_pos * size)()
        self._outputs = (ctypes.c_int8 * size)()
        sequence = ctypes.pointer(library.llama_seq_id(0))
        sequences = (ctypes.POINTER(library.llama_seq_id) * size)(*([sequence] * size))
        counts = (ctypes.c_int32 * size)(*([1] * size))
        self._keep_alive = (sequence, sequences, counts)
        self._batch = library.llama_batch(0, self._tokens, None, self._positions, counts, sequences, self._outputs)

    def fill(self, tokens: Sequence[int], *, start: int, outputs: int) -> Any:
        """The C library's batch of `tokens` from position `start` on, with scores after each of the last `outputs`."""
        count = len(tokens)
        self._tokens[:count] = tokens
        self._positions[:count] = range(start, start + count)
        self._outputs[:count] = [int(index >= count - outputs) for index in range(count)]
        self._batch.n_tokens = count
        return self._batch

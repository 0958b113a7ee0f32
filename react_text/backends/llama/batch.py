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
        self._sequences = (library.llama_seq_id * size)()
        self._tokens = (library.llama_token * size)()
        self._positions = (library.llama_pos * size)()
        self._outputs = (ctypes.c_int8 * size)()
        width = ctypes.sizeof(library.llama_seq_id)
        each = [library.llama_seq_id.from_buffer(self._sequences, width * index) for index in range(size)]
        pointers = (ctypes.POINTER(library.llama_seq_id) * size)(*(ctypes.pointer(one) for one in each))
        counts = (ctypes.c_int32 * size)(*([1] * size))
        self._keep_alive = (each, pointers, counts)
        self._batch = library.llama_batch(0, self._tokens, None, self._positions, counts, pointers, self._outputs)

    def fill(self, tokens: Sequence[int], *, start: int, sequence: int, outputs: int) -> Any:
        """The C library's batch of `tokens` from position `start` on, with scores after each of the last `outputs`."""
        count = len(tokens)
        self._tokens[:count] = tokens
        self._positions[:count] = range(start, start + count)
        self._sequences[:count] = [sequence] * count
        self._outputs[:count] = [int(index >= count - outputs) for index in range(count)]
        self._batch.n_tokens = count
        return self._batch

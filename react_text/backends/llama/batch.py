"""The tokens of one evaluation in the memory layout that llama.cpp reads.

Knows arrays only: which tokens are evaluated where, and after which of them scores are wanted.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Node:
    """One token of a tree of continuations: how far it is behind the text that they continue (the first of each 0), and
    the numbers of the continuations that it belongs to, from 0 on."""

    token: int
    depth: int
    branches: Sequence[int]


class Batch:
    """Room for `size` tokens, filled anew for each evaluation."""

    def __init__(self, library: Any, size: int) -> None:
        self._tokens = (library.llama_token * size)()
        self._positions = (library.llama_pos * size)()
        self._outputs = (ctypes.c_int8 * size)()
        self._counts = (ctypes.c_int32 * size)(*([1] * size))
        self._id = library.llama_seq_id
        self._only = ctypes.pointer(self._id(0))
        self._sequences = (ctypes.POINTER(self._id) * size)(*([self._only] * size))
        self._batch = library.llama_batch(
            0, self._tokens, None, self._positions, self._counts, self._sequences, self._outputs
        )

    def fill(self, tokens: Sequence[int], *, start: int, outputs: int) -> Any:
        """The C library's batch of `tokens` from position `start` on, with scores after each of the last `outputs`."""
        count = len(tokens)
        self._tokens[:count] = tokens
        self._counts[:count] = [1] * count
        self._sequences[:count] = [self._only] * count
        self._positions[:count] = range(start, start + count)
        self._outputs[:count] = [int(index >= count - outputs) for index in range(count)]
        self._batch.n_tokens = count
        return self._batch

    def fill_tree(self, nodes: Sequence[Node], *, start: int) -> Any:
        """The C library's batch of a tree whose first tokens come at position `start`, with scores after each node."""
        batch = self.fill([node.token for node in nodes], start=start, outputs=len(nodes))
        for index, node in enumerate(nodes):
            self._positions[index] = start + node.depth
            self._counts[index] = len(node.branches)
            numbers = (self._id * len(node.branches))(*node.branches)
            self._sequences[index] = ctypes.cast(numbers, ctypes.POINTER(self._id))
        return batch

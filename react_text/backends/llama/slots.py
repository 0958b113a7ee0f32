"""Several conversations on one context: the live one in the KV cache, the others' keys and values put aside.

Putting aside and taking back are copies in memory, quicker by orders of magnitude than evaluating a prompt again, and
the live conversation is as fast as if it were alone. Knows the C library's memory calls; nothing of models or text.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

LEAST_SAVED = 32
"""Tokens that must be at stake for a conversation to be put aside."""


@dataclass(eq=False)
class Slot:
    """One conversation: its tokens from position 0 on, how many of them were given to the model, its last use, and,
    where it is put aside, its keys and values."""

    tokens: list[int] = field(default_factory=list)
    given: int = 0
    used: int = 0
    state: Any = None


class Slots:
    """At most `count` conversations; those put aside hold at most `limit` tokens together, so that they never take more
    memory than the KV cache. The one that waited longest goes first.

    `context` gives the C library's handle, or raises once the model is closed.
    """

    def __init__(self, library: Any, context: Callable[[], Any], count: int, limit: int) -> None:
        self._lib = library
        self._context = context
        self._count = count
        self._limit = limit
        self._live = Slot()
        self._aside: list[Slot] = []

    @property
    def tokens(self) -> list[int]:
        """The tokens of the live conversation."""
        return self._live.tokens

    def enter(self, prompt: Sequence[int], given: int) -> list[int]:
        """Make the conversation live that `prompt` is best gone on from; returns the tokens it was chosen for.

        The first `given` tokens of the prompt are the conversation, what follows is a reply that was begun.
        """
        found = choose([self._live, *self._aside], prompt)
        live, chosen = self._live, found.slot
        before = list(chosen.tokens)
        if chosen is not live or not found.goes_on:
            kept = found.shared if chosen is live else 0
            if len(live.tokens) - kept >= LEAST_SAVED:
                self._put_aside()
            if chosen is not live:
                self._take_back(chosen)
                if found.goes_on:
                    self._aside.remove(chosen)
            self._drop_oldest()
        self._live.given = given
        self._live.used = 1 + max(slot.used for slot in (live, *self._aside, self._live))
        return before

    def keep(self, count: int) -> int:
        """Drop all but the first `count` live tokens; returns how many are left, `count` or where that fails 0."""
        memory, tokens = self._memory(), self.tokens
        count = min(count, len(tokens))
        # an interrupt may have come between a computation and the note of it, so the context is asked, not the list
        held = self._lib.llama_memory_seq_pos_max(memory, 0) + 1
        if held < count or (held > count and not (count and self._lib.llama_memory_seq_rm(memory, 0, count, -1))):
            self._lib.llama_memory_clear(memory, True)
            count = 0
        del tokens[count:]
        return count

    def clear(self) -> None:
        """Forget all conversations."""
        self._lib.llama_memory_clear(self._memory(), True)
        self._live, self._aside = Slot(), []

    def _put_aside(self) -> None:
        """Copy the live conversation; it stays live."""
        live = self._live
        if self._count < 2 or not self.keep(len(live.tokens)):
            return
        size = self._lib.llama_state_seq_get_size(self._context(), 0)
        state = (ctypes.c_uint8 * size)()
        if self._lib.llama_state_seq_get_data(self._context(), state, size, 0) == size:
            self._aside.append(Slot(list(live.tokens), live.given, live.used, state))

    def _take_back(self, slot: Slot) -> None:
        """Make a copy of what was put aside live."""
        self._lib.llama_memory_clear(self._memory(), False)
        self._live = Slot(used=slot.used)
        size = len(slot.state)
        if self._lib.llama_state_seq_set_data(self._context(), slot.state, size, 0) == size:
            self._live.tokens = list(slot.tokens)
        else:
            self._lib.llama_memory_clear(self._memory(), True)

    def _drop_oldest(self) -> None:
        self._aside.sort(key=lambda slot: slot.used)
        while self._aside and (
            len(self._aside) >= self._count or sum(len(slot.tokens) for slot in self._aside) > self._limit
        ):
            del self._aside[0]

    def _memory(self) -> Any:
        return self._lib.llama_get_memory(self._context())


@dataclass(frozen=True, slots=True)
class Choice:
    """The conversation whose first `shared` tokens a prompt begins with, and whether it is the same that `goes_on`."""

    slot: Slot
    shared: int
    goes_on: bool


def choose(slots: Sequence[Slot], prompt: Sequence[int]) -> Choice:
    """The conversation with the longest beginning in common.

    It is the same one, and only a reply may be lost, if the prompt repeats all that was given to the model there. A
    prompt that differs earlier is another conversation.
    """
    shared, _, index = max((common_prefix(slot.tokens, prompt), slot.used, at) for at, slot in enumerate(slots))
    slot = slots[index]
    return Choice(slot, shared, shared >= min(slot.given, len(slot.tokens)))


def common_prefix(left: Sequence[int], right: Sequence[int]) -> int:
    """How many tokens two sequences begin with in common."""
    for index, (one, other) in enumerate(zip(left, right, strict=False)):
        if one != other:
            return index
    return min(len(left), len(right))

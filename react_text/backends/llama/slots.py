"""Several conversations in one KV cache: which tokens each slot holds, and which slot a prompt goes on in.

All slots share the cells of one context, and what two conversations have in common is stored once. When the cells are
used up, the conversation that waited longest is forgotten. Knows the C library's memory calls; nothing of models.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Slot:
    """One conversation: its tokens from position 0 on, how many of them were given to the model, and its last use."""

    tokens: list[int] = field(default_factory=list)
    given: int = 0
    used: int = 0


class Slots:
    """The conversations of one context. `context` gives the C library's handle, or raises once the model is closed."""

    def __init__(self, library: Any, context: Callable[[], Any], count: int, *, can_share: bool) -> None:
        self._lib = library
        self._context = context
        self._can_share = can_share
        self._slots = [Slot() for _ in range(count)]
        self.active = 0

    @property
    def tokens(self) -> list[int]:
        """The tokens of the active slot."""
        return self._slots[self.active].tokens

    def enter(self, prompt: Sequence[int], given: int) -> list[int]:
        """Make the slot active in which `prompt` is best gone on with; returns the tokens it was chosen for.

        The first `given` tokens of the prompt are the conversation, what follows is a reply that was begun.
        """
        found = choose(self._slots, prompt)
        before = list(self._slots[found.source].tokens)
        self.active = found.slot
        if found.slot != found.source:
            self._forget(found.slot)
            if self._can_share and found.shared:
                self._lib.llama_memory_seq_cp(self._memory(), found.source, found.slot, 0, found.shared)
                self.tokens.extend(before[: found.shared])
        slot = self._slots[found.slot]
        slot.given = given
        slot.used = 1 + max(one.used for one in self._slots)
        return before

    def keep(self, count: int) -> int:
        """Drop all but the first `count` tokens of the active slot; returns how many are left, `count` or else 0."""
        memory, slot, tokens = self._memory(), self.active, self.tokens
        count = min(count, len(tokens))
        # an interrupt may have come between a computation and the note of it, so the context is asked, not the list
        held = self._lib.llama_memory_seq_pos_max(memory, slot) + 1
        if held < count or (held > count and not (count and self._lib.llama_memory_seq_rm(memory, slot, count, -1))):
            self._lib.llama_memory_seq_rm(memory, slot, -1, -1)
            count = 0
        del tokens[count:]
        return count

    def evict(self) -> bool:
        """Forget the conversation that waited longest; False where only the active one is left."""
        others = [index for index, one in enumerate(self._slots) if one.tokens and index != self.active]
        if not others:
            return False
        self._forget(min(others, key=lambda index: self._slots[index].used))
        return True

    def clear(self) -> None:
        """Forget all conversations."""
        self._lib.llama_memory_clear(self._memory(), True)
        self._slots = [Slot() for _ in self._slots]
        self.active = 0

    def _forget(self, index: int) -> None:
        self._lib.llama_memory_seq_rm(self._memory(), index, -1, -1)
        self._slots[index] = Slot()

    def _memory(self) -> Any:
        return self._lib.llama_get_memory(self._context())


@dataclass(frozen=True, slots=True)
class Choice:
    """The slot to go on in, and the one whose first `shared` tokens the prompt begins with."""

    slot: int
    source: int
    shared: int


def choose(slots: Sequence[Slot], prompt: Sequence[int]) -> Choice:
    """The slot with the longest beginning in common, if the prompt repeats all that was given to the model there.

    Then it is the same conversation, and only a reply may be lost. A prompt that differs earlier is another one: it
    gets an empty slot, else the one that waited longest, and the other conversation stays as it is.
    """
    shared = [common_prefix(slot.tokens, prompt) for slot in slots]
    source = max(range(len(slots)), key=lambda index: (shared[index], slots[index].used))
    best = slots[source]
    if shared[source] >= min(best.given, len(best.tokens)):
        return Choice(source, source, shared[source])
    others = [index for index in range(len(slots)) if index != source] or [source]
    slot = min(others, key=lambda index: (bool(slots[index].tokens), slots[index].used))
    return Choice(slot, source, shared[source])


def common_prefix(left: Sequence[int], right: Sequence[int]) -> int:
    """How many tokens two sequences begin with in common."""
    for index, (one, other) in enumerate(zip(left, right, strict=False)):
        if one != other:
            return index
    return min(len(left), len(right))

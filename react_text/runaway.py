"""Noticing a reply that leads nowhere while it is being written: no label for too long, or the same text over and over.

Small models otherwise spend their whole token limit on such replies. Pure: fed the text, it answers whether to stop.
"""

from __future__ import annotations

from collections.abc import Sequence

from react_text.events import Section
from react_text.parsing.stream import StreamReader
from react_text.tools import Tool

LABEL_WITHIN = 160
"""Tokens within which a reply must reach an action or an answer."""
REPEATS = 4
_LONGEST_PERIOD = 120
_SHORTEST_RUN = 48
_CHECK_EVERY = 32
_SECTIONS: dict[str, Section] = {"thought": "thought", "call_started": "call", "arguments": "call", "final": "final"}


class Watch:
    """Reads one reply as it comes: splits it into sections, and says when nothing more is worth generating."""

    def __init__(self, tools: Sequence[Tool], reply_start: str, *, single: bool) -> None:
        self.reader = StreamReader(tools, single=single)
        self.reader.feed(reply_start)
        self.runaway = False
        self.pieces = 0
        self.labelled = False
        self.sections: list[tuple[Section, str]] = []
        self._checked_at = 0

    def feed(self, text: str) -> bool:
        """Take the next piece (about one token); True when generation should stop."""
        self.pieces += 1
        for event in self.reader.feed(text):
            if section := _SECTIONS.get(event.kind):
                self.labelled |= section != "thought"
                self.sections.append((section, event.text or event.name))
        if self.reader.done:
            return True
        whole = self.reader.text
        if len(whole) - self._checked_at >= _CHECK_EVERY:
            self._checked_at = len(whole)
            self.runaway = repeats_itself(whole)
        self.runaway |= not self.labelled and self.pieces >= LABEL_WITHIN
        return self.runaway

    def take_sections(self) -> list[tuple[Section, str]]:
        """The pieces of sections since the last time."""
        taken, self.sections = self.sections, []
        return taken


def repeats_itself(text: str) -> bool:
    """Whether `text` ends in the same piece at least REPEATS times, over at least a line's worth of characters."""
    tail = text[-_LONGEST_PERIOD * REPEATS :]
    for period in range(1, len(tail) // REPEATS + 1):
        length = max(period * REPEATS, _SHORTEST_RUN)
        if length <= len(tail) and tail[-length:-period] == tail[-length + period :] and tail[-length:].strip():
            return True
    return False

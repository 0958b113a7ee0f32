"""Noticing a reply that leads nowhere while it is being written: no label for too long, or the same text over and over.

Small models otherwise spend their whole token limit on such replies. Pure: fed the text, it answers whether to stop.
"""

from __future__ import annotations

from collections.abc import Sequence

from react_text.events import Section
from react_text.parsing.stream import StreamEvent, StreamReader
from react_text.tools import Tool

LABEL_WITHIN = 160
"""Tokens within which a reply must reach an action or an answer."""
REPEATS = 4
_LONGEST_PERIOD = 120
_SHORTEST_RUN = 48
_CHECK_EVERY = 32
_SECTIONS: dict[str, Section] = {"thought": "thought", "call_started": "call", "arguments": "call", "final": "final"}


class Watch:
    """Reads one reply as it comes: splits it into sections, and says when nothing more is worth generating.

    `single` ends a reply with its first whole call. A reply without labels (a structured one, a begun answer) is only
    watched for repetition; all its text belongs to the section `unlabelled`.
    """

    def __init__(
        self, tools: Sequence[Tool], reply_start: str, *, single: bool, unlabelled: Section | None = None
    ) -> None:
        self.reader = None if unlabelled else StreamReader(tools, reply_start=reply_start, single=single)
        self._unlabelled: Section = unlabelled or "thought"
        self.runaway = False
        self._pieces = 0
        self._reached_label = False
        self._sections: list[tuple[Section, str]] = []
        self._events: list[StreamEvent] = []
        self._tail = ""
        self._unchecked = 0

    def feed(self, text: str) -> bool:
        """Take the next piece (about one token); True when generation should stop."""
        self._pieces += 1
        if self.reader is None:
            self._sections.append((self._unlabelled, text))
        else:
            events = self.reader.feed(text)
            self._events += events
            for event in events:
                if section := _SECTIONS.get(event.kind):
                    self._reached_label |= section != "thought"
                    self._sections.append((section, event.text or event.name))
            if self.reader.done:
                return True
            self.runaway |= not self._reached_label and self._pieces >= LABEL_WITHIN
        self._tail = (self._tail + text)[-_LONGEST_PERIOD * REPEATS :]
        self._unchecked += len(text)
        if self._unchecked >= _CHECK_EVERY:
            self._unchecked = 0
            self.runaway |= repeats_itself(self._tail)
        return self.runaway

    def take_sections(self) -> list[tuple[Section, str]]:
        """The pieces of sections since the last time."""
        taken, self._sections = self._sections, []
        return taken

    def take_events(self) -> list[StreamEvent]:
        """What the reader saw since the last time, event by event."""
        taken, self._events = self._events, []
        return taken


def repeats_itself(text: str) -> bool:
    """Whether `text` ends in the same piece at least REPEATS times, over at least a line's worth of characters."""
    tail = text[-_LONGEST_PERIOD * REPEATS :]
    for period in range(1, len(tail) // REPEATS + 1):
        length = max(period * REPEATS, _SHORTEST_RUN)
        if length <= len(tail) and tail[-length:-period] == tail[-length + period :] and tail[-length:].strip():
            return True
    return False

"""Stop strings in a stream: what may be shown now, and where the reply ends.

Knows nothing of tokens or models: text pieces in, text pieces out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache


class StopStrings:
    """Cuts a streamed text at the first of some stop strings, which may straddle pieces.

    `feed` returns the text that can no longer become part of a stop string; `stopped` turns True when one was found,
    and the text from there on is dropped. `flush` returns what was held back when the stream ends without one.
    """

    def __init__(self, stops: Iterable[str]) -> None:
        self._stops = tuple(stop for stop in stops if stop)
        self._beginning = _beginning(self._stops)
        self._held = ""
        self.stopped = False

    def feed(self, piece: str) -> str:
        if self.stopped:
            return ""
        text = self._held + piece
        if self._beginning.search(text) is None:
            self._held = ""
            return text
        size = end = len(text)
        for stop in self._stops:
            found = text.find(stop)
            if found >= 0:
                self.stopped = True
                end = min(end, found)
        if self.stopped:
            self._held = ""
            return text[:end]
        for stop in self._stops:
            # the first place from which the rest of the text is a beginning of the stop string
            at = text.find(stop[0], max(0, size - len(stop) + 1))
            while at >= 0 and not stop.startswith(text[at:]):
                at = text.find(stop[0], at + 1)
            if 0 <= at < end:
                end = at
        self._held = text[end:]
        return text[:end]

    def flush(self) -> str:
        held, self._held = self._held, ""
        return held


@lru_cache(maxsize=64)
def _beginning(stops: tuple[str, ...]) -> re.Pattern[str]:
    """A letter that one of the stop strings begins with."""
    return re.compile("|".join(sorted({re.escape(stop[0]) for stop in stops})) or r"(?!)")

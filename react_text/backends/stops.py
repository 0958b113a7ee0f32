"""Stop strings in a stream: what may be shown now, and where the reply ends.

Knows nothing of tokens or models: text pieces in, text pieces out.
"""

from __future__ import annotations

from collections.abc import Iterable


class StopStrings:
    """Cuts a streamed text at the first of some stop strings, which may straddle pieces.

    `feed` returns the text that can no longer become part of a stop string; `stopped` turns True when one was found,
    and the text from there on is dropped. `flush` returns what was held back when the stream ends without one.
    """

    def __init__(self, stops: Iterable[str]) -> None:
        self._stops = tuple(stop for stop in stops if stop)
        self._held = ""
        self.stopped = False

    def feed(self, piece: str) -> str:
        if self.stopped:
            return ""
        text = self._held + piece
        found = [at for at in (text.find(stop) for stop in self._stops) if at >= 0]
        if found:
            self.stopped = True
            self._held = ""
            return text[: min(found)]
        keep = max((_overlap(text, stop) for stop in self._stops), default=0)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]

    def flush(self) -> str:
        held, self._held = self._held, ""
        return held


def _overlap(text: str, stop: str) -> int:
    """Length of the longest end of `text` that is a beginning of `stop` (and not all of it)."""
    for size in range(min(len(text), len(stop) - 1), 0, -1):
        if text.endswith(stop[:size]):
            return size
    return 0

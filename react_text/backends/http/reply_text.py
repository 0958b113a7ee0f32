"""The text of a reply as it comes over a wire: begun reply, stop strings, `until` and the token limit.

Shared by the HTTP backends. Knows nothing of wire formats: pieces of text in, Deltas out.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from react_text.backends.base import Delta, FinishReason, Request
from react_text.backends.stops import StopStrings
from react_text.messages import Usage


class ReplyText:
    """Collects one reply. `continued` says that the server went on from `request.reply_start`.

    Where it did not, a model that writes the beginning itself is read as if it had continued, and one that begins
    otherwise keeps its own text. Stop strings are looked for here in any case: some servers ignore them.
    """

    def __init__(self, request: Request, *, continued: bool, stops: tuple[str, ...] = ()) -> None:
        self._request = request
        self._stops = StopStrings((*request.stop, *stops))
        self._awaited = "" if continued else request.reply_start
        self._held = ""
        self._start = request.reply_start if continued else ""
        self._said: list[str] = []
        self._began = time.monotonic()
        self._first: float | None = None
        self.tokens = 0
        self.ended: FinishReason | None = None
        """Set once the reply was ended on this side."""

    @property
    def text(self) -> str:
        """The whole reply so far, the begun part included."""
        return self._start + "".join(self._said)

    def add(self, piece: str) -> Iterator[Delta]:
        """Take a piece, which counts as a token; "" is one that holds no text, such as a fragment of a call."""
        self.tokens += 1
        self._first = self._first or time.monotonic()
        shown = self._begun(self._stops.feed(piece))
        if shown:
            yield from self._show(shown)
        elif not piece:
            yield Delta("", self.tokens)
        if self._stops.stopped:
            self.ended = "stop"
        elif self.tokens > 2 * self._request.max_tokens + 64 and self.ended is None:
            # the endpoint ignores the limit
            self.ended = "length"

    def flush(self) -> Iterator[Delta]:
        """What was held back, at the end of a reply that was not ended here."""
        rest = "" if self.ended else self._begun(self._stops.flush())
        rest += self._held
        self._held = self._awaited = ""
        if rest:
            yield from self._show(rest)

    def usage(self) -> Usage:
        """What could be counted here, where the server gave no numbers."""
        now = time.monotonic()
        first = self._first or now
        return Usage(generated=self.tokens, prompt_seconds=first - self._began, generate_seconds=now - first)

    def _show(self, text: str) -> Iterator[Delta]:
        self._said.append(text)
        if self._request.until is not None and self._request.until(text):
            self.ended = "stop"
        yield Delta(text, self.tokens)

    def _begun(self, text: str) -> str:
        """`text` without a beginning that repeats the one awaited."""
        if not self._awaited:
            return text
        self._held += text
        written = self._held.lstrip()
        if written.startswith(self._awaited):
            self._start, text = self._awaited, written[len(self._awaited) :]
        elif self._awaited.startswith(written):
            return ""
        else:
            text = self._held
        self._held = self._awaited = ""
        return text

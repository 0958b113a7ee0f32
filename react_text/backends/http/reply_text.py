"""The text of a reply as it comes over a wire: begun reply, stop strings, `until` and the token limit.

Shared by the HTTP backends. Knows nothing of wire formats: pieces of text in, Deltas out.
"""

from __future__ import annotations

import time

from react_text.backends.base import Delta, FinishReason, Reply, Request, StreamItem
from react_text.backends.stops import StopStrings
from react_text.messages import Message, Usage

BYTES_PER_TOKEN = 4
"""How long a token of a prompt is taken to be where no server counted: the usual estimate for English and code."""


class ReplyText:
    """Collects one reply. `continued` says that the server went on from `request.reply_start`.

    Where it did not, a model that writes the beginning itself is read as if it had continued, and one that begins
    otherwise keeps its own text. Stop strings are looked for here in any case: some servers ignore them.
    """

    def __init__(self, request: Request, *, continued: bool, stops: tuple[str, ...] = ()) -> None:
        self._request = request
        self._until = request.until
        # past this the endpoint ignores the limit
        self._most = 2 * request.max_tokens + 64
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
        self.done = False
        """Whether nothing more of the answer needs to be read."""

    @property
    def text(self) -> str:
        """The whole reply so far, the begun part included."""
        return self._start + "".join(self._said)

    @property
    def started(self) -> bool:
        """Whether anything was handed on."""
        return self.tokens > 0

    @property
    def complete(self) -> bool:
        """Whether the answer came to its own end."""
        return self.done and self.ended is None

    def add(self, piece: str) -> list[StreamItem]:
        """Take a piece, which counts as a token; "" is one that holds no text, such as a fragment of a call."""
        self.tokens += 1
        if self._first is None:
            self._first = time.monotonic()
        shown = self._stops.feed(piece)
        if self._awaited:
            shown = self._begun(shown)
        items: list[StreamItem] = []
        if shown:
            items.append(self._show(shown))
        elif not piece:
            items.append(Delta("", self.tokens))
        if self._stops.stopped:
            self.ended = "stop"
        elif self.tokens > self._most and self.ended is None:
            self.ended = "length"
        return items

    def sign_of_life(self) -> list[StreamItem]:
        """A Delta without text: whoever reads may want to stop here."""
        return [Delta("", self.tokens)]

    def flush(self) -> list[StreamItem]:
        """What was held back, at the end of a reply that was not ended here."""
        rest = "" if self.ended else self._begun(self._stops.flush())
        rest += self._held
        self._held = self._awaited = ""
        return [self._show(rest)] if rest else []

    def salvage(self, text: str, message: Message | None) -> list[StreamItem]:
        """A Reply of the text that a server wrote into its complaint about it."""
        shown = [] if self.started else [*self.add(text), *self.flush()]
        return [*shown, Reply(text, "stop", self.usage(), message)]

    def usage(self) -> Usage:
        """What could be counted here, where the server gave no numbers.

        A piece counts as a generated token. The tokens of the prompt are an estimate by its length, and all of them
        count as evaluated: what the server found in its cache cannot be seen.
        """
        now = time.monotonic()
        first = self._first or now
        return Usage(
            evaluated=prompt_bytes(self._request) // BYTES_PER_TOKEN,
            generated=self.tokens,
            prompt_seconds=first - self._began,
            generate_seconds=now - first,
        )

    def _show(self, text: str) -> Delta:
        self._said.append(text)
        if self._until is not None and self._until(text):
            self.ended = "stop"
        return Delta(text, self.tokens)

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


def prompt_bytes(request: Request) -> int:
    """Bytes of the conversation and of the tools, without what the chat template adds."""
    contents = [message.get("content") or "" for message in request.messages]
    extra = [*(message["tool_calls"] for message in request.messages if message.get("tool_calls")), *request.tools]
    parts = [request.reply_start, *(one if isinstance(one, str) else str(one) for one in (*contents, *extra))]
    return sum(len(part.encode("utf-8", "replace")) for part in parts)

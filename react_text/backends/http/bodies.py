"""Response bodies of bounded length and time: lines as they come, and whole texts. Pure: bytes in, text out."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator

from react_text.errors import EndpointError

LONGEST_LINE = 16 * 2**20


class LineSplitter:
    """Lines out of chunks of bytes, of bounded length. Blank lines and comments are no sign of life."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._heard = time.monotonic()
        self._held = bytearray()

    def feed(self, chunk: bytes) -> list[str]:
        """The lines that a chunk completes."""
        self._held += chunk
        lines: list[str] = []
        if b"\n" in chunk:
            whole, _, rest = bytes(self._held).rpartition(b"\n")
            self._held = bytearray(rest)
            lines = [line.rstrip("\r") for line in whole.decode("utf-8", "replace").split("\n")]
            if any(line and not line.startswith(":") for line in lines):
                self._heard = time.monotonic()
        if len(self._held) > LONGEST_LINE:
            raise EndpointError("The endpoint sent a line without an end; the answer was given up.", reason="malformed")
        if time.monotonic() - self._heard > self._timeout:
            raise EndpointError(
                f"The endpoint sent nothing but signs of life for {self._timeout:g} seconds.", reason="timeout"
            )
        return lines

    def rest(self) -> list[str]:
        """The last line, where the body ends without a line break."""
        held, self._held = self._held, bytearray()
        return [held.decode("utf-8", "replace").rstrip("\r")] if held else []


class _Capped:
    """A whole body, bounded in size and time."""

    def __init__(self, most: int, seconds: float) -> None:
        self._most = most
        self._until = time.monotonic() + seconds
        self._seconds = seconds
        self._body = bytearray()

    def add(self, chunk: bytes) -> bool:
        """Take a chunk; False once the body is as long as it may be."""
        if time.monotonic() > self._until:
            raise EndpointError(f"The endpoint did not end its answer in {self._seconds:g} seconds.", reason="timeout")
        self._body += chunk
        return len(self._body) < self._most

    def text(self) -> str:
        return self._body[: self._most].decode("utf-8", "replace")


def capped(chunks: Iterator[bytes], most: int, seconds: float) -> str:
    """At most the first `most` bytes of a body as text; EndpointError where it has no end after `seconds`."""
    body = _Capped(most, seconds)
    for chunk in chunks:
        if not body.add(chunk):
            break
    return body.text()


async def acapped(chunks: AsyncIterator[bytes], most: int, seconds: float) -> str:
    """The async twin of `capped`."""
    body = _Capped(most, seconds)
    async for chunk in chunks:
        if not body.add(chunk):
            break
    return body.text()

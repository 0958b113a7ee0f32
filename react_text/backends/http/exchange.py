"""The way of one request over HTTP: post it, read the answer as it comes, and ask again in another form if need be.

What the forms are is the exchange's own business; this drives one, synchronously or asynchronously. An answer that
fails before anything of it was handed on is asked for again, with the same back-off as a request that fails.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any, Protocol

from react_text.backends.base import StreamItem
from react_text.backends.http.connection import Connection
from react_text.errors import EndpointError


class Reader(Protocol):
    """Reads one answer line by line.

    `started` once anything of it was handed on, `done` once nothing more needs to be read, `complete` where that is
    because the answer came to its own end.
    """

    @property
    def started(self) -> bool: ...

    @property
    def done(self) -> bool: ...

    @property
    def complete(self) -> bool: ...

    def feed(self, line: str) -> Iterator[StreamItem]: ...


class Exchange(Protocol):
    """One request in as many forms as the endpoint makes necessary; `open` until its Reply was given."""

    open: bool

    @property
    def seconds(self) -> float | None:
        """How long the endpoint may be waited for."""
        ...

    @property
    def url(self) -> str: ...

    @property
    def reader(self) -> Reader: ...

    def body(self) -> dict[str, Any]:
        """The next form of the request; begins a new reader."""
        ...

    def ended(self) -> Iterator[StreamItem]:
        """What an answer that ended gives: the Reply, or nothing, and the exchange stays open."""
        ...

    def failed(self, error: EndpointError) -> Iterator[StreamItem]:
        """The same for one that failed; raises where nothing can be done."""
        ...


def drive(connection: Connection, exchange: Exchange) -> Iterator[StreamItem]:
    """All items of an exchange. Closing the iterator closes the connection."""
    pauses, deadline = connection.pauses(), _deadline(exchange)
    while exchange.open:
        answering = False
        try:
            with connection.post(exchange.url, exchange.body(), deadline) as lines:
                answering = True
                for line in lines:
                    yield from exchange.reader.feed(line)
                    if exchange.reader.done:
                        break
                if exchange.reader.complete:
                    lines.finish()
        except EndpointError as error:
            if answering and _is_worth_another(error, exchange) and (pause := next(pauses, None)) is not None:
                time.sleep(pause)
                continue
            yield from exchange.failed(error)
        else:
            yield from exchange.ended()


async def adrive(connection: Connection, exchange: Exchange) -> AsyncIterator[StreamItem]:
    """The async twin of `drive`. Cancelling the task closes the connection."""
    pauses, deadline = connection.pauses(), _deadline(exchange)
    while exchange.open:
        answering = False
        try:
            async with connection.apost(exchange.url, exchange.body(), deadline) as lines:
                answering = True
                async for line in lines:
                    for item in exchange.reader.feed(line):
                        yield item
                    if exchange.reader.done:
                        break
                if exchange.reader.complete:
                    await lines.finish()
        except EndpointError as error:
            if answering and _is_worth_another(error, exchange) and (pause := next(pauses, None)) is not None:
                await asyncio.sleep(pause)
                continue
            for item in exchange.failed(error):
                yield item
        else:
            for item in exchange.ended():
                yield item


def _deadline(exchange: Exchange) -> float | None:
    return None if exchange.seconds is None else time.monotonic() + exchange.seconds


def _is_worth_another(error: EndpointError, exchange: Exchange) -> bool:
    return error.retryable and not exchange.reader.started

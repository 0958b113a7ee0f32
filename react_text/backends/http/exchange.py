"""The way of one request over HTTP: post it, read the answer as it comes, and ask again in another form if need be.

What the forms are is the exchange's own business; this drives one, synchronously or asynchronously. An answer that
fails before anything of it was handed on is asked for again, with the same back-off as a request that fails.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, Protocol

from react_text.backends.base import StreamItem
from react_text.backends.http.connection import Connection
from react_text.backends.http.endpoint_errors import ErrorBody, salvaged
from react_text.backends.http.reply_text import ReplyText
from react_text.errors import EndpointError


class Reader(Protocol):
    """Reads one answer line by line into its `text`."""

    text: ReplyText

    def feed(self, line: str) -> Sequence[StreamItem]: ...

    def salvage(self, text: str) -> Sequence[StreamItem]:
        """A Reply of the text that a server wrote into its complaint about it."""
        ...


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

    def ended(self) -> Sequence[StreamItem]:
        """What an answer that ended gives: the Reply, or nothing, and the exchange stays open.

        Raises EndpointError for one that is incomplete.
        """
        ...

    def failed(self, error: EndpointError) -> Sequence[StreamItem] | None:
        """The same for one that failed; None where nothing can be done."""
        ...


def drive(connection: Connection, exchange: Exchange) -> Iterator[StreamItem]:
    """All items of an exchange. Closing the iterator closes the connection."""
    pauses, deadline = connection.pauses(), _deadline(exchange)
    while exchange.open:
        answering = False
        try:
            with connection.post(exchange.url, exchange.body(), deadline) as lines:
                answering = True
                feed, text = exchange.reader.feed, exchange.reader.text
                for line in lines:
                    yield from feed(line)
                    if text.done:
                        break
                if text.complete:
                    lines.finish()
            yield from exchange.ended()
        except EndpointError as error:
            if answering and _is_worth_another(error, exchange) and (pause := next(pauses, None)) is not None:
                time.sleep(pause)
                continue
            yield from _after(error, exchange)


async def adrive(connection: Connection, exchange: Exchange) -> AsyncIterator[StreamItem]:
    """The async twin of `drive`. Cancelling the task closes the connection."""
    pauses, deadline = connection.pauses(), _deadline(exchange)
    while exchange.open:
        answering = False
        try:
            async with connection.apost(exchange.url, exchange.body(), deadline) as lines:
                answering = True
                feed, text = exchange.reader.feed, exchange.reader.text
                async for line in lines:
                    for item in feed(line):
                        yield item
                    if text.done:
                        break
                if text.complete:
                    await lines.finish()
            for item in exchange.ended():
                yield item
        except EndpointError as error:
            if answering and _is_worth_another(error, exchange) and (pause := next(pauses, None)) is not None:
                await asyncio.sleep(pause)
                continue
            for item in _after(error, exchange):
                yield item


def _deadline(exchange: Exchange) -> float | None:
    return None if exchange.seconds is None else time.monotonic() + exchange.seconds


def _is_worth_another(error: EndpointError, exchange: Exchange) -> bool:
    return error.retryable and not exchange.reader.text.started


def _after(error: EndpointError, exchange: Exchange) -> Sequence[StreamItem]:
    """What can still be made of an answer that failed; raises the error where that is nothing."""
    said = salvaged(error.body) if isinstance(error.body, ErrorBody) else None
    if said is not None:
        exchange.open = False
        return exchange.reader.salvage(said)
    items = exchange.failed(error)
    if items is None:
        error.partial = exchange.reader.text.text
        raise error
    return items

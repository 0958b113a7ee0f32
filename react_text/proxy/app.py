"""The ASGI app: keys, limits, the queue, and what is counted and logged around each request.

What is answered is decided in react_text/chat; here it gets its place among the others and its way to the client.
"""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from react_text.chat import FallbackChat
from react_text.chat.turn import Outcome
from react_text.chat.wire import DONE, Answer, error_answer, event, json_bytes, read_body, route
from react_text.errors import ChatError, MissingExtra
from react_text.proxy.address import is_loopback
from react_text.proxy.gate import Gate
from react_text.proxy.log import RequestLog
from react_text.proxy.metrics import Metrics

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.types import Message, Receive, Scope, Send

_LONGEST_LENGTH = 18
"""Digits of a content length that are worth reading."""
BODY_SECONDS = 30.0
"""The longest that a client may take to send its request."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a server allows. `max_body` is in bytes; `concurrency` and `queue` count chat completions.

    `foreign_pages` lets web pages of other machines ask where there is no API key: a browser sends their requests to
    loopback too.
    """

    api_key: str | None = None
    concurrency: int = 1
    queue: int = 32
    max_body: int = 4 * 2**20
    log_contents: bool = False
    foreign_pages: bool = False


def make_app(chat: FallbackChat, settings: Settings | None = None) -> Starlette:
    """The app in front of `chat`; it is closed when the app shuts down. Raises MissingExtra."""
    try:
        from starlette.applications import Starlette
        from starlette.routing import Route
    except ImportError as error:
        raise MissingExtra("serve", "The server") from error
    service = Service(chat, settings or Settings())

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        yield
        await chat.aclose()

    every = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]
    app = Starlette(
        routes=[
            Route("/health", service.health),
            Route("/metrics", service.metrics_text),
            Route("/{path:path}", service.api, methods=every),
        ],
        lifespan=lifespan,
    )
    app.state.service = service
    return app


class Service:
    """The endpoints and what they share."""

    def __init__(self, chat: FallbackChat, settings: Settings) -> None:
        self.chat = chat
        self.settings = settings
        self.gate = Gate(settings.concurrency, settings.queue)
        self.metrics = Metrics(self.gate)
        self.log = RequestLog(settings.log_contents)

    async def health(self, _request: Any) -> Any:
        from starlette.responses import JSONResponse

        state = {"running": self.gate.running, "waiting": self.gate.waiting}
        return JSONResponse({"status": "ok", "model": self.chat.name, **state})

    async def metrics_text(self, request: Any) -> Any:
        from starlette.responses import Response

        if not self._let_in(request.scope):
            return _Sent(_no_key())
        text, content_type = self.metrics.text()
        return Response(text, media_type=content_type)

    async def api(self, request: Any) -> Any:
        """Everything else: the API of chat completions."""
        if not self._let_in(request.scope):
            return self._counted(_no_key())
        if self.settings.api_key is None and not self.settings.foreign_pages and _foreign(request.headers):
            return self._counted(error_answer(_from_elsewhere()))
        answer = route(request.method, request.url.path, self.chat)
        return _Exchange(self) if answer is None else self._counted(answer)

    def _counted(self, answer: Answer) -> _Sent:
        self.metrics.requests.labels("/v1/models" if answer.status == 200 else "other", answer.status).inc()
        return _Sent(answer)

    def _let_in(self, scope: Scope) -> bool:
        key = self.settings.api_key
        if key is None:
            return True
        given = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
        scheme, _, token = given.partition(b" ")
        return scheme.lower() == b"bearer" and hmac.compare_digest(
            token.strip(), key.encode("utf-8", "surrogateescape")
        )


@dataclass
class _Record:
    """What becomes known of one request on its way, for the counters and the log."""

    began: float = field(default_factory=time.monotonic)
    status: int = 200
    waited: float = 0.0
    first: float | None = None
    stream: bool = False
    body: dict[str, Any] | None = None
    outcome: Outcome | None = None
    hung_up: bool = False


class _Sent:
    """An ASGI response for a whole answer."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        await _send_answer(send, self.answer)


class _Exchange:
    """An ASGI response for one chat completion: it reads the body, waits its turn, and ends when the client is gone."""

    def __init__(self, service: Service) -> None:
        self.service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        record = _Record()
        try:
            await self._exchange(scope, receive, send, record)
        except OSError:  # what a server may raise where nobody listens any more
            record.hung_up = True
        finally:
            self._count(record)

    async def _exchange(self, scope: Scope, receive: Receive, send: Send, record: _Record) -> None:
        try:
            body = await _body(scope, receive, self.service.settings.max_body)
        except _HungUp:
            record.hung_up = True
        except ChatError as error:
            record.status = error.status
            await _send_answer(send, error_answer(error))
        else:
            work = asyncio.ensure_future(self._answer(body, send, record))
            gone = asyncio.ensure_future(_disconnected(receive))
            try:
                await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
                record.hung_up = not work.done()
            finally:
                gone.cancel()
                if not work.done():
                    work.cancel()
                with suppress(asyncio.CancelledError):
                    await work

    async def _answer(self, content: bytes, send: Send, record: _Record) -> None:
        """Answer in the order of arrival; whatever goes wrong before the first byte gets its own status."""
        try:
            record.body = body = read_body(content)
            record.stream = bool(body.get("stream"))
            async with self.service.gate.turn() as record.waited:
                made = await self.service.chat.aanswer(body, lambda outcome: setattr(record, "outcome", outcome))
                if record.stream:
                    await self._stream(made, send, record)
                    return
        except OSError:
            raise
        except Exception as error:
            answer = error_answer(error)
            record.status = answer.status
            await _send_answer(send, answer)
        else:
            await _send_answer(send, Answer(200, made))

    async def _stream(self, chunks: Any, send: Send, record: _Record) -> None:
        async with aclosing(chunks):
            first = await anext(chunks)
            record.first = time.monotonic() - record.began
            await send({"type": "http.response.start", "status": 200, "headers": _STREAM})
            await _part(send, event(first))
            try:
                async for one in chunks:
                    await _part(send, event(one))
                await _part(send, DONE)
            except Exception as error:
                answer = error_answer(error)
                record.status = answer.status
                await _part(send, event(answer.body))
        await send({"type": "http.response.body", "body": b""})

    def _count(self, record: _Record) -> None:
        metrics, seconds = self.service.metrics, time.monotonic() - record.began
        metrics.requests.labels("/v1/chat/completions", "hung_up" if record.hung_up else record.status).inc()
        metrics.seconds.observe(seconds)
        metrics.waited.observe(record.waited)
        if record.first is not None:
            metrics.first.observe(record.first)
        if record.hung_up:
            metrics.hung_up.inc()
        if record.outcome is not None:
            metrics.turn(record.outcome)
        self.service.log.request(
            status=record.status,
            seconds=seconds,
            waited=record.waited,
            first=record.first,
            stream=record.stream,
            hung_up=record.hung_up,
            outcome=record.outcome,
            body=record.body,
        )


class _HungUp(Exception):
    """The client went away before its request was there."""


_STREAM = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
]


async def _body(scope: Scope, receive: Receive, most: int) -> bytes:
    """The body of a request. Raises ChatError when it is too long or takes too long."""
    told = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
    if told.isdigit() and (len(told) > _LONGEST_LENGTH or int(told) > most):
        raise _too_long(most)
    try:
        return await asyncio.wait_for(_received(receive, most), BODY_SECONDS)
    except (asyncio.TimeoutError, TimeoutError):
        raise ChatError("The request did not arrive in time.", status=408, code="request_timeout") from None


async def _received(receive: Receive, most: int) -> bytes:
    parts, length = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _HungUp
        part = message.get("body", b"")
        length += len(part)
        if length > most:
            raise _too_long(most)
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


def _too_long(most: int) -> ChatError:
    return ChatError(f"The request is longer than {most} bytes.", status=413, code="request_too_large")


def _foreign(headers: Mapping[str, str]) -> bool:
    """Whether a request comes from a web page that is not of this machine."""
    origin = headers.get("origin")
    if origin is None:
        return False
    try:
        return not is_loopback(urlsplit(origin).hostname or "")
    except ValueError:
        return True


def _from_elsewhere() -> ChatError:
    told = "Web pages of other hosts may not ask here without an API key: serve with --api-key."
    return ChatError(told, status=403, code="foreign_origin")


def _no_key() -> Answer:
    told = "The API key is missing or wrong; send it as Authorization: Bearer KEY."
    answer = error_answer(ChatError(told, status=401, code="invalid_api_key"))
    return Answer(answer.status, answer.body, {"www-authenticate": "Bearer"})


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _part(send: Send, content: bytes) -> None:
    await send({"type": "http.response.body", "body": content, "more_body": True})


async def _send_answer(send: Send, answer: Answer) -> None:
    content = json_bytes(answer.body)
    headers = {"content-type": "application/json", "content-length": str(len(content)), **answer.headers}
    start: Message = {
        "type": "http.response.start",
        "status": answer.status,
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    await send(start)
    await send({"type": "http.response.body", "body": content})

"""An httpx client that is answered in this process: hand it to any client that speaks chat completions.

    OpenAI(base_url="http://in-process/v1", api_key="none", http_client=client("smollm2"))

No socket is opened. `/v1/chat/completions` and `/v1/models` are answered, whatever the host; all else is answered as
the public API would.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx

from react_text.backends.base import Backend
from react_text.chat import FallbackChat
from react_text.chat.wire import DONE, Answer, error_answer, event, json_bytes, read_body, route

__all__ = ["Transport", "async_client", "client"]

BASE_URL = "http://in-process/v1"


def client(model: FallbackChat | Backend | str, **options: Any) -> httpx.Client:
    """An httpx client in front of a model: a FallbackChat, a backend, a GGUF path or "smollm2".

    `options` are those of FallbackChat.
    """
    return httpx.Client(transport=Transport(model, **options), base_url=BASE_URL)


def async_client(model: FallbackChat | Backend | str, **options: Any) -> httpx.AsyncClient:
    """The async twin of `client`."""
    return httpx.AsyncClient(transport=Transport(model, **options), base_url=BASE_URL)


class Transport(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Answers requests with a model in this process, for sync and async clients alike."""

    def __init__(self, model: FallbackChat | Backend | str, **options: Any) -> None:
        self.chat = model if isinstance(model, FallbackChat) else FallbackChat(model, **options)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = route(request.method, request.url.path, self.chat)
        if answer is not None:
            return _response(answer)
        try:
            body = read_body(request.read())
            made = self.chat.create(**body)
            if not body.get("stream"):
                return _response(Answer(200, made))
            return httpx.Response(200, headers=_STREAM, stream=_Events(next(made), made))
        except Exception as error:
            return _response(error_answer(error))

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        answer = route(request.method, request.url.path, self.chat)
        if answer is not None:
            return _response(answer)
        try:
            body = read_body(await request.aread())
            made = await self.chat.acreate(**body)
            if not body.get("stream"):
                return _response(Answer(200, made))
            return httpx.Response(200, headers=_STREAM, stream=_AsyncEvents(await anext(made), made))
        except Exception as error:
            return _response(error_answer(error))


_STREAM = {"content-type": "text/event-stream; charset=utf-8"}


class _Events(httpx.SyncByteStream):
    """Chunks as server-sent events; closing it stops the generation.

    The first chunk is there before the answer begins, so that what goes wrong until then has its own status.
    """

    def __init__(self, first: dict[str, Any], chunks: Iterator[dict[str, Any]]) -> None:
        self._first = first
        self._chunks = chunks

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield event(self._first)
            for one in self._chunks:
                yield event(one)
            yield DONE
        except Exception as error:
            yield event(error_answer(error).body)

    def close(self) -> None:
        self._chunks.close()  # type: ignore[attr-defined]


class _AsyncEvents(httpx.AsyncByteStream):
    """The async twin of `_Events`."""

    def __init__(self, first: dict[str, Any], chunks: AsyncIterator[dict[str, Any]]) -> None:
        self._first = first
        self._chunks = chunks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            yield event(self._first)
            async for one in self._chunks:
                yield event(one)
            yield DONE
        except Exception as error:
            yield event(error_answer(error).body)

    async def aclose(self) -> None:
        await self._chunks.aclose()  # type: ignore[attr-defined]


def _response(answer: Answer) -> httpx.Response:
    headers = {"content-type": "application/json", **answer.headers}
    return httpx.Response(answer.status, headers=headers, content=json_bytes(answer.body))

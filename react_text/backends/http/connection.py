"""One endpoint over HTTP: kept-alive connections, timeouts, retries with back-off, small questions and their answers.

Shared by the chat-completions and the Ollama backend. Knows nothing of messages, models or replies: lines come out.
httpx is imported when the first connection is made, tenacity at the first failure.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
import threading
import time
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from react_text.backends.http.address import Address, ApiKey
from react_text.backends.http.bodies import LineSplitter, acapped, capped
from react_text.backends.http.endpoint_errors import read_body, reason_of
from react_text.backends.http.failures import Failures
from react_text.backends.http.retries import RetryPolicy
from react_text.errors import BackendError, EndpointError

if TYPE_CHECKING:
    import httpx

LONGEST_BODY = 64 * 2**20
LONGEST_ERROR = 256 * 2**10
LONGEST_SILENCE = 10.0
"""Seconds that a small question waits for an answer."""

JSON = {"Content-Type": "application/json"}

KEPT_ALIVE = 60.0
"""Seconds that an unused connection is kept: tools run between two requests of a run."""

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Ask:
    """One small question to a server. `patient` is one that makes it generate, and waits as long as a reply may."""

    method: str
    url: str
    json: Any = None
    patient: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: `value` is the JSON of the body, or None where it was none. Header names are lower case."""

    status: int
    headers: Mapping[str, str]
    value: Any
    text: str = ""


def encoded(body: Mapping[str, Any]) -> bytes:
    """A body as JSON in UTF-8; half a surrogate pair, which a model may have written, becomes a replacement character.

    Raises BackendError for what JSON cannot hold.
    """
    try:
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise BackendError(f"The request cannot be written as JSON: {error}.", hint="Check what body= holds.") from None
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


class Connection:
    """Kept-alive connections to one endpoint, for threads and for event loops.

    `timeout` is the longest silence in seconds, and also bounds a whole body that is no stream. `retries` are further
    attempts after the first, `backoff` the seconds before the first of them, doubled each time and spread at random.
    At most `max_connections` are open at once; more requests wait for their turn.
    """

    def __init__(
        self,
        address: Address,
        key: ApiKey,
        *,
        timeout: float = 300.0,
        connect_timeout: float = 5.0,
        max_connections: int = 16,
        retries: int = 2,
        backoff: float = 0.5,
        headers: Mapping[str, str] | None = None,
        hints: Mapping[str, str] | None = None,
    ) -> None:
        self.address = address
        self.key = key
        self.timeout = timeout
        self.retries = retries
        self.backoff = backoff
        self._connect_timeout = connect_timeout
        self._max_connections = max_connections
        self._headers = dict(headers or {})
        for name, value in self._headers.items():
            if not (f"{name}{value}".isascii() and f"{name}{value}".isprintable()):
                raise BackendError(f"The header {name!r} holds a character that no HTTP header can carry.")
        self.failures = Failures(address, key, timeout=timeout, connect_timeout=connect_timeout, hints=hints)
        self._silent = False
        self._client: httpx.Client | None = None
        self._opening = threading.Lock()
        self._async_clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncClient]
        self._async_clients = weakref.WeakKeyDictionary()
        self._lifetimes: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncIterator[None]]
        self._lifetimes = weakref.WeakKeyDictionary()

    def __repr__(self) -> str:
        return f"Connection({self.address.base!r})"

    @contextlib.contextmanager
    def post(self, url: str, body: Mapping[str, Any], deadline: float | None = None) -> Iterator[Lines]:
        """The lines of the answer to a POST, as they come. Leaving the context early closes the connection.

        `deadline` is a time of `time.monotonic` after which silence is no longer waited for.
        Raises EndpointError, ToolsRefused or ContextOverflow, after the retries that make sense.
        """
        response = self._retrying(lambda: self._open(url, body, deadline))
        try:
            yield Lines(self, response)
        finally:
            response.close()

    @contextlib.asynccontextmanager
    async def apost(
        self, url: str, body: Mapping[str, Any], deadline: float | None = None
    ) -> AsyncIterator[AsyncLines]:
        """The async twin of `post`."""

        async def attempt() -> httpx.Response:
            return await self._aopen(url, body, deadline)

        response = await self._aretrying(attempt)
        lines = AsyncLines(self, response)
        try:
            yield lines
        finally:
            await lines.aclose()
            await response.aclose()

    def _open(self, url: str, body: Mapping[str, Any], deadline: float | None) -> httpx.Response:
        client = self.client()
        with self.failures.translated():
            request = client.build_request(
                "POST", _url(url), content=encoded(body), headers=JSON, timeout=self._until(deadline)
            )
            response = client.send(request, stream=True)
        if response.is_success:
            return response
        try:
            with self.failures.translated():
                text = capped(response.iter_bytes(), LONGEST_ERROR, self.timeout)
        finally:
            response.close()
        raise self.failures.error(response.status_code, read_body(text), response.headers, sent_tools="tools" in body)

    async def _aopen(self, url: str, body: Mapping[str, Any], deadline: float | None) -> httpx.Response:
        client = await self.async_client()
        with self.failures.translated():
            request = client.build_request(
                "POST", _url(url), content=encoded(body), headers=JSON, timeout=self._until(deadline)
            )
            response = await client.send(request, stream=True)
        if response.is_success:
            return response
        try:
            with self.failures.translated():
                text = await acapped(response.aiter_bytes(), LONGEST_ERROR, self.timeout)
        finally:
            await response.aclose()
        raise self.failures.error(response.status_code, read_body(text), response.headers, sent_tools="tools" in body)

    def ask(self, ask: Ask) -> Answer | None:
        """The answer to a small question, whatever its status, or None where none came. Never raises.

        Only a server that is still loading its model is asked again. Once one question was met by silence no other is
        asked: a server that never answers costs one wait and not one for each.
        """
        if self._silent:
            return None

        def attempt() -> Answer:
            seconds = self._patience(ask)
            with self.client().stream(ask.method, ask.url, **_sent(ask), timeout=self._timeout(seconds)) as response:
                return _answer(response, capped(response.iter_bytes(), LONGEST_BODY, seconds))

        try:
            return self._retrying(attempt)
        except _no_answer() as error:
            self._silent = self._silent or _is_silence(error)
            return None

    async def aask(self, ask: Ask) -> Answer | None:
        """The async twin of `ask`."""
        if self._silent:
            return None

        async def attempt() -> Answer:
            client, seconds = await self.async_client(), self._patience(ask)
            async with client.stream(ask.method, ask.url, **_sent(ask), timeout=self._timeout(seconds)) as response:
                return _answer(response, await acapped(response.aiter_bytes(), LONGEST_BODY, seconds))

        try:
            return await self._aretrying(attempt)
        except _no_answer() as error:
            self._silent = self._silent or _is_silence(error)
            return None

    def pauses(self) -> Iterator[float]:
        """Seconds to wait before each further attempt at an answer that broke off at its very beginning."""
        return self._policy().pauses()

    def drive(self, questions: Generator[Ask, Answer | None, _Result]) -> _Result:
        """Put the questions of a generator one by one and send it the answers; gives what it returns."""
        try:
            ask = next(questions)
            while True:
                answer = self.ask(ask)
                ask = questions.send(answer)
        except StopIteration as end:
            result: _Result = end.value
            return result

    async def adrive(self, questions: Generator[Ask, Answer | None, _Result]) -> _Result:
        """The async twin of `drive`."""
        try:
            ask = next(questions)
            while True:
                answer = await self.aask(ask)
                ask = questions.send(answer)
        except StopIteration as end:
            result: _Result = end.value
            return result

    def _until(self, deadline: float | None) -> httpx.Timeout:
        """The timeout of one attempt: at most what is left until the deadline."""
        left = self.timeout if deadline is None else max(0.001, min(self.timeout, deadline - time.monotonic()))
        return self._timeout(left)

    def _timeout(self, seconds: float) -> httpx.Timeout:
        # waiting for one of the connections is no silence
        import httpx

        return httpx.Timeout(seconds, connect=min(seconds, self._connect_timeout), pool=None)

    def _patience(self, ask: Ask) -> float:
        return self.timeout if ask.patient else min(self.timeout, LONGEST_SILENCE)

    def client(self) -> httpx.Client:
        import httpx

        with self._opening:
            if self._client is None:
                self._client = httpx.Client(**self._options())
            return self._client

    async def async_client(self) -> httpx.AsyncClient:
        """The client of the running event loop, closed when that loop ends."""
        loop = asyncio.get_running_loop()
        client = self._async_clients.get(loop)
        if client is None:
            import httpx

            client = httpx.AsyncClient(**self._options())
            self._async_clients[loop] = client
            # an event loop closes its unfinished async generators when it ends, and this one closes the client
            self._lifetimes[loop] = lifetime = _lifetime(client)
            await lifetime.__anext__()
        return client

    def _options(self) -> dict[str, Any]:
        import httpx

        address = self.address
        headers = {"User-Agent": "react-text", **self._headers}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key.reveal()}"
        return {
            "headers": headers,
            "auth": (address.user, address.password) if address.user and not self.key else None,
            "timeout": self._timeout(self.timeout),
            "limits": httpx.Limits(
                max_connections=self._max_connections,
                max_keepalive_connections=self._max_connections,
                keepalive_expiry=KEPT_ALIVE,
            ),
            "trust_env": not address.is_loopback,
            # for plain http no certificates are read: loading them takes longer than a local request
            "verify": ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if address.base.startswith("http:") else True,
        }

    def close(self) -> None:
        """Close what is open. Clients of event loops that still run are closed when those end."""
        with self._opening:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    async def aclose(self) -> None:
        """Close the connections of the running event loop too."""
        self.close()
        loop = asyncio.get_running_loop()
        self._async_clients.pop(loop, None)
        lifetime = self._lifetimes.pop(loop, None)
        if lifetime is not None:
            await lifetime.aclose()  # type: ignore[attr-defined]

    def _retrying(self, attempt: Callable[[], _Result]) -> _Result:
        try:
            return attempt()
        except EndpointError as error:
            failed = [error]

        # from here on it is tenacity's business, which begins with the failure that was just met
        def again() -> _Result:
            if failed:
                raise failed.pop()
            return attempt()

        import tenacity

        retrying: Any = tenacity.Retrying(**self._policy().options())
        result: _Result = retrying(again)
        return result

    async def _aretrying(self, attempt: Callable[[], Awaitable[_Result]]) -> _Result:
        try:
            return await attempt()
        except EndpointError as error:
            failed = [error]

        async def again() -> _Result:
            if failed:
                raise failed.pop()
            return await attempt()

        import tenacity

        retrying: Any = tenacity.AsyncRetrying(**self._policy().options())
        result: _Result = await retrying(again)
        return result

    def _policy(self) -> RetryPolicy:
        return RetryPolicy(self.retries, self.backoff, self.address.base)


class Lines:
    """The lines of an answer that are not empty."""

    def __init__(self, connection: Connection, response: httpx.Response) -> None:
        self._response = response
        self._lines = self._read(connection, response)

    def __iter__(self) -> Iterator[str]:
        return self._lines

    def _read(self, connection: Connection, response: httpx.Response) -> Iterator[str]:
        splitter = LineSplitter(connection.timeout)
        with connection.failures.translated():
            for chunk in response.iter_bytes():
                yield from filter(None, splitter.feed(chunk))
        yield from splitter.rest()

    def finish(self) -> None:
        """Read to the end of an answer that is known to be complete, so that its connection serves again.

        Nothing is read where only the end of the connection would end the answer.
        """
        if _ends_itself(self._response):
            with contextlib.suppress(EndpointError):
                for _ in self._lines:
                    pass


class AsyncLines:
    """The async twin of `Lines`."""

    def __init__(self, connection: Connection, response: httpx.Response) -> None:
        self._response = response
        self._lines = self._read(connection, response)

    def __aiter__(self) -> AsyncIterator[str]:
        return self._lines

    async def aclose(self) -> None:
        await self._lines.aclose()  # type: ignore[attr-defined]

    async def _read(self, connection: Connection, response: httpx.Response) -> AsyncIterator[str]:
        splitter = LineSplitter(connection.timeout)
        with connection.failures.translated():
            async for chunk in response.aiter_bytes():
                for line in filter(None, splitter.feed(chunk)):
                    yield line
        for line in splitter.rest():
            yield line

    async def finish(self) -> None:
        """The async twin of `Lines.finish`."""
        if _ends_itself(self._response):
            with contextlib.suppress(EndpointError):
                async for _ in self._lines:
                    pass


@lru_cache(maxsize=64)
def _url(text: str) -> httpx.URL:
    """An address taken apart, which costs httpx more than the rest of a request."""
    import httpx

    return httpx.URL(text)


def _sent(ask: Ask) -> dict[str, Any]:
    return {} if ask.json is None else {"content": encoded(ask.json), "headers": JSON}


def _ends_itself(response: httpx.Response) -> bool:
    """Whether an answer says where it ends."""
    return "content-length" in response.headers or "transfer-encoding" in response.headers


def _answer(response: httpx.Response, text: str) -> Answer:
    if response.status_code == 503 and reason_of(503, read_body(text)) == "loading":
        raise EndpointError("The server is loading its model.", reason="loading", status=503, retryable=True)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    return Answer(response.status_code, {name.lower(): one for name, one in response.headers.items()}, value, text)


def _no_answer() -> tuple[type[Exception], ...]:
    import httpx

    return EndpointError, httpx.HTTPError, httpx.StreamError, httpx.InvalidURL


def _is_silence(error: Exception) -> bool:
    """Whether somebody is there who does not answer, or is not getting done with loading."""
    import httpx

    reason = error.reason if isinstance(error, EndpointError) else ""
    return isinstance(error, httpx.TimeoutException) or reason in ("timeout", "loading")


async def _lifetime(client: httpx.AsyncClient) -> AsyncIterator[None]:
    try:
        yield
    finally:
        await client.aclose()

"""One endpoint over HTTP: addresses, keys, kept-alive connections, retries with back-off, errors a person can act on.

Shared by the chat-completions and the Ollama backend. Knows nothing of messages, models or replies: lines come out.
httpx is imported when the first connection is made, tenacity at the first failure.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import ssl
import threading
import time
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from react_text.backends.http.address import EXPECTED_AT_PORT, Address, ApiKey
from react_text.backends.http.bodies import LineSplitter, acapped, capped
from react_text.backends.http.endpoint_errors import ErrorBody, overflow_numbers, read_body, reason_of
from react_text.backends.http.retries import LONGEST_WAIT, RetryPolicy
from react_text.errors import BackendError, ContextOverflow, EndpointError, ToolsRefused

if TYPE_CHECKING:
    import httpx

LONGEST_BODY = 64 * 2**20
LONGEST_ERROR = 256 * 2**10
LONGEST_SILENCE = 10.0
"""Seconds that a small question waits for an answer."""

JSON = {"Content-Type": "application/json"}

KEPT_ALIVE = 60.0
"""Seconds that an unused connection is kept: tools run between two requests of a run."""

RETRIED = frozenset({"unreachable", "disconnected", "busy", "loading", "server"})
"""Reasons for which the same request may work a moment later; a generation changes nothing on the user's side."""

HINTS = {
    "key": "Give the right api_key, or set OPENAI_API_KEY.",
    "model": "GET /v1/models lists the names it serves.",
}
"""The next step for a person, by reason of the error."""

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
    except (TypeError, ValueError) as error:
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
        self._hints = {**HINTS, **(hints or {})}
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
        with self.translated():
            request = client.build_request(
                "POST", _url(url), content=encoded(body), headers=JSON, timeout=self._until(deadline)
            )
            response = client.send(request, stream=True)
        if response.is_success:
            return response
        try:
            with self.translated():
                text = capped(response.iter_bytes(), LONGEST_ERROR, self.timeout)
        finally:
            response.close()
        raise self.error(response.status_code, read_body(text), response.headers, sent_tools="tools" in body)

    async def _aopen(self, url: str, body: Mapping[str, Any], deadline: float | None) -> httpx.Response:
        client = await self.async_client()
        with self.translated():
            request = client.build_request(
                "POST", _url(url), content=encoded(body), headers=JSON, timeout=self._until(deadline)
            )
            response = await client.send(request, stream=True)
        if response.is_success:
            return response
        try:
            with self.translated():
                text = await acapped(response.aiter_bytes(), LONGEST_ERROR, self.timeout)
        finally:
            await response.aclose()
        raise self.error(response.status_code, read_body(text), response.headers, sent_tools="tools" in body)

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

    def error(
        self, status: int | None, body: ErrorBody, headers: Mapping[str, str] | None = None, *, sent_tools: bool = False
    ) -> BackendError:
        """The error that an answer stands for."""
        body = replace(body, message=self.key.hide(body.message), param=self.key.hide(body.param))
        reason = reason_of(status, body, sent_tools=sent_tools)
        if reason == "overflow" and (numbers := overflow_numbers(body)):
            return ContextOverflow(*numbers)
        said = " ".join(body.message.split())[:400].rstrip(".")
        told = f"answered {status}" if status else "broke off"
        message = f"The endpoint at {self.address.base} {told}" + (f": {said}." if said else ".")
        kind = ToolsRefused if reason == "tools" else EndpointError
        wait = _retry_after(headers or {})
        retryable = reason in RETRIED
        hint = self._hint(reason, status)
        if retryable and wait is not None and wait > LONGEST_WAIT:
            retryable, hint = False, f"It asks to wait {wait:.0f} seconds."
        return kind(message, reason=reason, status=status, retryable=retryable, retry_after=wait, body=body, hint=hint)

    def _hint(self, reason: str, status: int | None) -> str | None:
        base = self.address.base
        if 300 <= (status or 0) < 400:
            return "It redirects to another address; use that as the base URL."
        if reason == "address" and reason not in self._hints:
            versions = re.findall(r"/v\d+(?=/|$)", urlsplit(base).path)
            if len(versions) > 1:
                return f"The base URL holds {versions[0]} twice; use {self.address.root}{versions[0]}."
            if not versions:
                return f"The base URL has no /v1 at its end; try {base}/v1."
            return f"Is there an OpenAI-compatible server at {self.address.root}?"
        return self._hints.get(reason)

    @contextlib.contextmanager
    def translated(self) -> Iterator[None]:
        """What httpx raises, as an EndpointError that names the endpoint and the next step."""
        import httpx

        base = self.address.base
        try:
            yield
        except httpx.ConnectTimeout:
            raise EndpointError(
                f"The endpoint at {base} did not take a connection in {self._connect_timeout:g} seconds.",
                reason="unreachable",
                retryable=True,
                hint=self._how_to_start(),
            ) from None
        except httpx.ConnectError as error:
            said = self.key.hide(str(error)) or "no connection"
            what = "is not there (connection refused)" if _is_refusal(error) else f"cannot be reached: {said}"
            raise EndpointError(
                f"The endpoint at {base} {what.rstrip('.')}.",
                reason="unreachable",
                retryable=True,
                hint=self._how_to_start(),
            ) from None
        except httpx.TimeoutException:
            raise EndpointError(
                f"The endpoint at {base} was silent for {self.timeout:g} seconds.",
                reason="timeout",
                hint="Raise timeout= if the model needs longer to read the prompt.",
            ) from None
        except (httpx.TransportError, httpx.StreamError) as error:
            said = self.key.hide(str(error)).rstrip(".")
            raise EndpointError(
                f"The endpoint at {base} closed the connection" + (f" ({said})." if said else "."),
                reason="disconnected",
                retryable=True,
            ) from None
        except httpx.DecodingError:
            raise EndpointError(
                f"The endpoint at {base} sent a body whose compression cannot be undone.", reason="malformed"
            ) from None

    def _how_to_start(self) -> str:
        address = self.address
        if not address.is_loopback and address.port not in EXPECTED_AT_PORT:
            return "Check the address and the network."
        server, command = EXPECTED_AT_PORT.get(
            address.port or 80,
            ("An OpenAI-compatible server", f"llama-server -m MODEL.gguf --port {address.port or 80}"),
        )
        return f"{server} is expected there; start it with: {command}"

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
        with connection.translated():
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
        with connection.translated():
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


def _is_refusal(error: BaseException | None) -> bool:
    """Whether nobody listens at the port; how that is said differs between the sync and the async transport."""
    while error is not None:
        if isinstance(error, ConnectionRefusedError) or "refused" in str(error).lower():
            return True
        if any(_is_refusal(one) for one in getattr(error, "exceptions", ())):
            return True
        error = error.__cause__ or error.__context__
    return False


def _no_answer() -> tuple[type[Exception], ...]:
    import httpx

    return EndpointError, httpx.HTTPError, httpx.StreamError, httpx.InvalidURL


def _is_silence(error: Exception) -> bool:
    """Whether somebody is there who does not answer, or is not getting done with loading."""
    import httpx

    reason = error.reason if isinstance(error, EndpointError) else ""
    return isinstance(error, httpx.TimeoutException) or reason in ("timeout", "loading")


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a Retry-After header asks to wait: a number, a date, or OpenAI's milliseconds."""
    found = {name.lower(): value for name, value in headers.items()}
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = found.get(name)
        if value is None:
            continue
        try:
            seconds = float(value) * scale
        except ValueError:
            try:
                seconds = parsedate_to_datetime(value).timestamp() - time.time()
            except (ValueError, TypeError):
                continue
        if seconds == seconds:
            return max(0.0, seconds)
    return None


async def _lifetime(client: httpx.AsyncClient) -> AsyncIterator[None]:
    try:
        yield
    finally:
        await client.aclose()

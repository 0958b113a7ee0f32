"""What a failed request means: an error that names the endpoint, the reason and the next step for a person.

Knows nothing of messages or replies. httpx is imported when the first failure is translated.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from react_text.backends.http.address import EXPECTED_AT_PORT, Address, ApiKey
from react_text.backends.http.endpoint_errors import ErrorBody, overflow_numbers, reason_of
from react_text.backends.http.retries import LONGEST_WAIT
from react_text.errors import BackendError, ContextOverflow, EndpointError, ToolsRefused

RETRIED = frozenset({"unreachable", "disconnected", "busy", "loading", "server"})
"""Reasons for which the same request may work a moment later; a generation changes nothing on the user's side."""

HINTS = {
    "key": "Give the right api_key, or set OPENAI_API_KEY.",
    "model": "GET /v1/models lists the names it serves.",
}
"""The next step for a person, by reason of the error."""


class Failures:
    """Makes the errors of one endpoint. `hints` are next steps by reason, in place of the usual ones.

    `timeout` and `connect_timeout` are the seconds that errors speak of. No secret of `key` shows in any of them.
    """

    def __init__(
        self,
        address: Address,
        key: ApiKey,
        *,
        timeout: float,
        connect_timeout: float,
        hints: Mapping[str, str] | None = None,
    ) -> None:
        self._address = address
        self._key = key
        self._timeout = timeout
        self._connect_timeout = connect_timeout
        self._hints = {**HINTS, **(hints or {})}

    def error(
        self, status: int | None, body: ErrorBody, headers: Mapping[str, str] | None = None, *, sent_tools: bool = False
    ) -> BackendError:
        """The error that an answer stands for."""
        body = replace(body, message=self._key.hide(body.message), param=self._key.hide(body.param))
        reason = reason_of(status, body, sent_tools=sent_tools)
        if reason == "overflow" and (numbers := overflow_numbers(body)):
            return ContextOverflow(*numbers)
        said = " ".join(body.message.split())[:400].rstrip(".")
        told = f"answered {status}" if status else "broke off"
        message = f"The endpoint at {self._address.base} {told}" + (f": {said}." if said else ".")
        kind = ToolsRefused if reason == "tools" else EndpointError
        wait = retry_after(headers or {})
        retryable = reason in RETRIED
        hint = self._hint(reason, status)
        if retryable and wait is not None and wait > LONGEST_WAIT:
            retryable, hint = False, f"It asks to wait {wait:.0f} seconds."
        return kind(message, reason=reason, status=status, retryable=retryable, retry_after=wait, body=body, hint=hint)

    def _hint(self, reason: str, status: int | None) -> str | None:
        base = self._address.base
        if 300 <= (status or 0) < 400:
            return "It redirects to another address; use that as the base URL."
        if reason == "address" and reason not in self._hints:
            versions = re.findall(r"/v\d+(?=/|$)", urlsplit(base).path)
            if len(versions) > 1:
                return f"The base URL holds {versions[0]} twice; use {self._address.root}{versions[0]}."
            if not versions:
                return f"The base URL has no /v1 at its end; try {base}/v1."
            return f"Is there an OpenAI-compatible server at {self._address.root}?"
        return self._hints.get(reason)

    @contextlib.contextmanager
    def translated(self) -> Iterator[None]:
        """What httpx raises, as an EndpointError that names the endpoint and the next step."""
        import httpx

        base = self._address.base
        try:
            yield
        except httpx.ConnectTimeout:
            raise EndpointError(
                f"The endpoint at {base} did not take a connection in {self._connect_timeout:g} seconds.",
                reason="unreachable",
                retryable=True,
                hint=self.how_to_start(),
            ) from None
        except httpx.ConnectError as error:
            said = self._key.hide(str(error)) or "no connection"
            what = "is not there (connection refused)" if _is_refusal(error) else f"cannot be reached: {said}"
            raise EndpointError(
                f"The endpoint at {base} {what.rstrip('.')}.",
                reason="unreachable",
                retryable=True,
                hint=self.how_to_start(),
            ) from None
        except httpx.TimeoutException:
            raise EndpointError(
                f"The endpoint at {base} was silent for {self._timeout:g} seconds.",
                reason="timeout",
                hint="Raise timeout= if the model needs longer to read the prompt.",
            ) from None
        except (httpx.TransportError, httpx.StreamError) as error:
            said = self._key.hide(str(error)).rstrip(".")
            raise EndpointError(
                f"The endpoint at {base} closed the connection" + (f" ({said})." if said else "."),
                reason="disconnected",
                retryable=True,
            ) from None
        except httpx.DecodingError:
            raise EndpointError(
                f"The endpoint at {base} sent a body whose compression cannot be undone.", reason="malformed"
            ) from None

    def how_to_start(self) -> str:
        """Which server is expected at the address, and how it is started."""
        address = self._address
        if not address.is_loopback and address.port not in EXPECTED_AT_PORT:
            return "Check the address and the network."
        if "unreachable" in self._hints:
            return self._hints["unreachable"]
        server, command = EXPECTED_AT_PORT.get(
            address.port or 80,
            ("An OpenAI-compatible server", f"llama-server -m MODEL.gguf --port {address.port or 80}"),
        )
        return f"{server} is expected there; start it with: {command}"


def retry_after(headers: Mapping[str, str]) -> float | None:
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


def _is_refusal(error: BaseException | None) -> bool:
    """Whether nobody listens at the port; how that is said differs between the sync and the async transport."""
    while error is not None:
        if isinstance(error, ConnectionRefusedError) or "refused" in str(error).lower():
            return True
        if any(_is_refusal(one) for one in getattr(error, "exceptions", ())):
            return True
        error = error.__cause__ or error.__context__
    return False

"""The operations of an OpenAPI document as tools, called over HTTP.

Only hosts that the caller names are ever called, whatever the document or an answer says.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from react_text.adapters.choosing import chosen_names
from react_text.adapters.openapi_document import Operation, operations_of, read_document, server_of, title_of
from react_text.errors import ToolFailed, ToolSourceError, ToolUnavailable
from react_text.tools import Tool

if TYPE_CHECKING:
    import httpx

_DOWN = (429, 502, 503, 504)
"""Statuses that say to come back later."""
_MOST_READ = 1_000_000
"""Bytes of an answer that are read."""
_LONGEST_ERROR = 1000
_MOST_REDIRECTS = 5


def openapi_tools(
    document: Mapping[str, Any] | str | Path,
    *,
    hosts: Iterable[str],
    base_url: str | None = None,
    headers: Mapping[str, str] | None = None,
    allow: Iterable[str] | None = None,
    deny: Iterable[str] = (),
    timeout: float = 30.0,
    client: httpx.Client | None = None,
) -> list[Tool]:
    """Tools from an OpenAPI 3 document: a dict, or the path of a JSON or YAML file (YAML needs the extra `openapi`).

    `hosts` are the only ones that may be called, as "api.example.org" or with a port. `base_url` stands for the
    document's own first server. `headers` go with every request, such as the authorization. `allow` and `deny` are
    patterns of operation names. `timeout` is in seconds; a `client` of your own keeps its own, and is never closed.
    GET operations count as safe. Raises ToolSourceError and MissingExtra.
    """
    read = document if isinstance(document, Mapping) else read_document(Path(document))
    operations = operations_of(read)
    wanted = chosen_names([one.name for one in operations], allow, deny, f'the API "{title_of(read)}"')
    permitted = frozenset(host.casefold() for host in ([hosts] if isinstance(hosts, str) else hosts))
    base = base_url or server_of(read)
    _check_base(base, permitted)
    caller = _Caller(base.rstrip("/"), permitted, headers or {}, timeout, client)
    return [
        Tool(
            name=one.name,
            description=one.description,
            parameters=one.parameters,
            function=caller.function(one),
            safe=one.method in ("get", "head"),
        )
        for one in operations
        if one.name in wanted
    ]


def _check_base(base: str, permitted: frozenset[str]) -> None:
    parts = urlsplit(base)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ToolSourceError(f'The address of the API, "{base}", is no http(s) URL; give one as base_url (--api-url).')
    if not _is_permitted(parts.hostname, parts.port, permitted):
        raise ToolSourceError(
            f"The API is at {parts.hostname}, which may not be called; name it in hosts (--allow-host)."
        )


def _is_permitted(host: str, port: int | None, permitted: frozenset[str]) -> bool:
    return host.casefold() in permitted or f"{host.casefold()}:{port}" in permitted


class _Caller:
    """Sends the requests of one API and reads the answers."""

    def __init__(
        self,
        base: str,
        permitted: frozenset[str],
        headers: Mapping[str, str],
        timeout: float,
        client: httpx.Client | None,
    ) -> None:
        self._base = base
        self._permitted = permitted
        self._headers = headers
        self._timeout = timeout
        self._client = client

    def function(self, operation: Operation) -> Callable[..., str]:
        def call(**arguments: Any) -> str:
            import httpx

            request = request_of(operation, arguments, self._base, self._headers)
            try:
                if self._client is not None:
                    return self._answer(self._client, self._client.build_request(**request))
                with httpx.Client(timeout=self._timeout, verify=_certificates()) as client:
                    return self._answer(client, client.build_request(**request))
            except httpx.TransportError as error:
                raise ToolUnavailable(f"the API does not answer ({type(error).__name__})") from error

        return call

    def _answer(self, client: httpx.Client, request: httpx.Request) -> str:
        for _ in range(_MOST_REDIRECTS):
            if not _is_permitted(request.url.host, request.url.port, self._permitted):
                raise ToolFailed("The API sends the call on to another host, which may not be called.")
            response = client.send(request, stream=True, follow_redirects=False)
            try:
                if response.next_request is None:
                    return _read(response)
                request = response.next_request
            finally:
                response.close()
        raise ToolFailed("The API sends the call on and on.")


@cache
def _certificates() -> Any:
    """What servers are checked against; reading it for every call would cost more than the call."""
    import httpx

    return httpx.create_ssl_context()


def request_of(
    operation: Operation, arguments: Mapping[str, Any], base: str, headers: Mapping[str, str]
) -> dict[str, Any]:
    """The request of a call, as httpx takes it. Raises ToolFailed for a value that no path can hold."""
    path, sent, whole = operation.path, dict(headers), None
    query: dict[str, Any] = {}
    body: dict[str, Any] = {}
    for argument, value in arguments.items():
        place = operation.places.get(argument)
        if place is None or value is None:
            continue
        match place.where:
            case "path":
                path = path.replace(f"{{{place.name}}}", _segment(argument, value))
            case "query":
                query[place.name] = (
                    [_plain(one) for one in value] if isinstance(value, list) and place.spread else _plain(value)
                )
            case "header":
                sent.setdefault(place.name, _header(argument, value))
            case "property":
                body[place.name] = value
            case "body":
                whole = value
    content = body if whole is None else whole
    request = {"method": operation.method.upper(), "url": base + path, "headers": sent}
    if query:
        request["params"] = query
    if operation.media_type is not None and (body or whole is not None):
        request |= _content(operation.media_type, content, sent)
    return request


def _content(media_type: str, value: Any, headers: dict[str, str]) -> dict[str, Any]:
    kind = media_type.partition(";")[0].strip().casefold()
    if isinstance(value, dict) and kind == "application/x-www-form-urlencoded":
        return {"data": {name: _plain(one) for name, one in value.items()}}
    if isinstance(value, dict) and kind == "multipart/form-data":
        return {"files": {name: (None, _plain(one)) for name, one in value.items()}}
    headers.setdefault("Content-Type", media_type)
    as_json = kind == "application/json" or kind.endswith("+json") or not isinstance(value, str)
    return {"content": (json.dumps(value, ensure_ascii=False) if as_json else value).encode()}


def _segment(argument: str, value: Any) -> str:
    """A value inside a path: it can neither end the segment nor climb out of it."""
    text = _plain(value)
    if text in ("", ".", ".."):
        raise ToolFailed(f'Argument "{argument}" cannot be "{text}".')
    return quote(text, safe="")


def _header(argument: str, value: Any) -> str:
    text = _plain(value)
    if not text.isprintable():
        raise ToolFailed(f'Argument "{argument}" must be one line of plain text.')
    return text


def _plain(value: Any) -> str:
    """A value as it is written in a URL, a header or a form."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ",".join(_plain(one) for one in value)
    return json.dumps(value, ensure_ascii=False)


def _read(response: httpx.Response) -> str:
    """The answer as text. Raises ToolFailed with what an error says, ToolUnavailable where it says to come back."""
    status = f"HTTP {response.status_code} {response.reason_phrase}".strip()
    if response.status_code in _DOWN:
        raise ToolUnavailable(f"the API answers {status}")
    content = bytearray()
    for chunk in response.iter_bytes():
        content += chunk
        if len(content) > _MOST_READ:
            break
    text = _text(bytes(content), response)
    if response.status_code >= 400:
        raise ToolFailed(f"{status}: {text[:_LONGEST_ERROR]}" if text else status)
    return text or f"{status}, without content."


def _text(content: bytes, response: httpx.Response) -> str:
    kind = response.headers.get("content-type", "").partition(";")[0].strip().casefold()
    if kind.partition("/")[0] in ("image", "audio", "video") or b"\0" in content[:1000]:
        return f"[{kind or 'binary'}, {len(content)} bytes, not shown]"
    return content.decode(response.encoding or "utf-8", errors="replace").strip()

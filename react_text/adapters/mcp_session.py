"""The connection to one MCP server: opened when needed, opened again after the server died, and ended cleanly.

All of it runs in one event loop. It knows the SDK and nothing of tools.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shlex
import threading
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, TextIO

from react_text.adapters.mcp_results import result_text
from react_text.errors import ToolFailed, ToolSourceError, ToolUnavailable

_log = logging.getLogger("react_text")
_MOST_PAGES = 100
"""Pages of a tool list that are read: a server that never ends its list must not hang the start."""
_HTTP_SECONDS = 30.0
"""Seconds to connect and to send."""


@dataclass(frozen=True)
class Target:
    """Where a server is: a command with its arguments and environment, or a URL with the headers sent to it."""

    command: tuple[str, ...] = ()
    url: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """What the server is called in messages; holds no argument, since that may be a secret."""
        if self.url is None:
            return PurePath(self.command[0]).name
        from urllib.parse import urlsplit

        return urlsplit(self.url).netloc.rpartition("@")[2]


def read_target(source: str | Sequence[str], env: Mapping[str, str], headers: Mapping[str, str]) -> Target:
    """A target from a URL, a command line or a list of words. Raises ToolSourceError."""
    if isinstance(source, str) and source.lower().startswith(("http://", "https://")):
        return Target(url=source, headers=headers)
    try:
        words = shlex.split(source) if isinstance(source, str) else [str(word) for word in source]
    except ValueError as error:
        raise ToolSourceError(f"The command of an MCP server cannot be read: {error}.") from None
    own = dict(env)
    while words and "=" in words[0] and words[0].partition("=")[0].isidentifier():
        name, _, value = words.pop(0).partition("=")
        own[name] = value
    if not words:
        raise ToolSourceError("An MCP server is a command such as 'uvx mcp-server-time', or an http(s) URL.")
    return Target(command=tuple(words), env=own)


class Session:
    """The SDK's client for one target. `name` is the server's own name once it has said it."""

    def __init__(self, target: Target, start_timeout: float) -> None:
        self.name = target.label
        self._target = target
        self._start_timeout = start_timeout
        self._client: Any = None
        self._leaving = asyncio.Event()
        self._holders: set[asyncio.Task[None]] = set()
        self._starting: asyncio.Task[None] | None = None
        self._opening = asyncio.Lock()
        self._closed = False

    async def tools(self) -> list[Any]:
        """The server's list of tools, as the SDK's objects. Raises ToolSourceError."""
        from mcp import MCPError

        client = await self._opened()
        found: list[Any] = []
        cursor = None
        for _ in range(_MOST_PAGES):
            try:
                page = await client.list_tools(cursor=cursor)
            except MCPError as error:
                raise ToolSourceError(f"The MCP server {self.name} does not list its tools: {error.message}.") from None
            found += page.tools
            cursor = page.next_cursor
            if not cursor:
                break
        return found

    async def call(self, name: str, arguments: dict[str, Any]) -> str:
        """The result of a call as text. Raises ToolFailed for what the server says, ToolUnavailable when it is gone."""
        from mcp import MCPError
        from mcp.types import CONNECTION_CLOSED

        try:
            client = await self._opened()
        except ToolSourceError as error:
            raise ToolUnavailable(str(error)) from error
        try:
            result = await client.call_tool(name, arguments)
        except MCPError as error:
            if error.code != CONNECTION_CLOSED:
                raise ToolFailed(error.message) from None
            if self._client is client:
                self._leave()
            raise ToolUnavailable(f"the MCP server {self.name} ended") from None
        text = result_text(result)
        if result.is_error:
            raise ToolFailed(text or "the server gave no reason")
        return text

    async def close(self) -> None:
        """End the connection; a server that was started here has ended when this returns."""
        self._closed = True
        self._leave()
        if self._starting is not None:
            self._starting.cancel()
        if self._holders:
            await asyncio.wait(self._holders)

    def _leave(self) -> None:
        self._client = None
        self._leaving.set()

    async def _opened(self) -> Any:
        async with self._opening:
            if self._closed:
                raise ToolSourceError(f"The MCP server {self.name} was closed.")
            if self._client is None:
                self._client = await self._started()
            return self._client

    async def _started(self) -> Any:
        self._leaving = asyncio.Event()
        ready: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._starting = holder = asyncio.create_task(self._hold(ready, self._leaving))
        self._holders.add(holder)
        holder.add_done_callback(self._holders.discard)
        await asyncio.wait({ready, holder}, timeout=self._start_timeout, return_when=asyncio.FIRST_COMPLETED)
        self._starting = None
        if ready.done():
            return ready.result()
        holder.cancel()
        await asyncio.wait({holder})
        waited = f"within {self._start_timeout:g} s" if not self._closed else "before it was closed"
        raise ToolSourceError(f"The MCP server {self.name} did not answer {waited}.")

    async def _hold(self, ready: asyncio.Future[Any], leaving: asyncio.Event) -> None:
        """Open the client and keep it until it is left: the SDK wants both in one task."""
        said = _Said()
        try:
            async with self._connected(said) as client:
                if client.server_info is not None:
                    self.name = client.server_info.name
                ready.set_result(client)
                await leaving.wait()
        except Exception as error:
            if not ready.done():
                ready.set_exception(ToolSourceError(await self._start_failure(error, said)))
            elif not leaving.is_set():
                _log.warning("The connection to the MCP server %s broke.", self.name, exc_info=error)
        finally:
            if self._leaving is leaving:
                self._client = None

    @contextlib.asynccontextmanager
    async def _connected(self, said: _Said) -> AsyncIterator[Any]:
        from importlib.metadata import version

        from mcp import Client, StdioServerParameters, stdio_client
        from mcp.client.streamable_http import streamable_http_client
        from mcp.types import Implementation

        target = self._target
        about = Implementation(name="react-text", version=version("react-text"))
        async with contextlib.AsyncExitStack() as opened:
            if target.url is None:
                command, *arguments = target.command
                parameters = StdioServerParameters(command=command, args=arguments, env=dict(target.env))
                transport = stdio_client(parameters, errlog=opened.enter_context(said.writing()))
            else:
                import httpx2

                timeout = httpx2.Timeout(_HTTP_SECONDS, read=None)  # how long a call may take is the toolbox's business
                http = httpx2.AsyncClient(headers=dict(target.headers), timeout=timeout)
                transport = streamable_http_client(target.url, http_client=await opened.enter_async_context(http))
            yield await opened.enter_async_context(Client(transport, client_info=about))

    async def _start_failure(self, error: BaseException, said: _Said) -> str:
        cause = _root_cause(error)
        if self._target.url is not None:
            return f"The MCP server {self.name} does not answer: {cause}; check the URL, and that the server runs."
        if isinstance(cause, OSError):
            program = self._target.command[0]
            return f"The MCP server {program} does not start: {cause.strerror}; install it, or give its full path."
        line = await said.last_line()
        end = f"; it said: {line}" if line else "."
        return f"The MCP server {self.name} does not answer as an MCP server: {cause}{end}"


class _Said:
    """What a server writes on its standard error: logged, and its last line kept to explain a failed start."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=1)
        self._reader: threading.Thread | None = None

    @contextlib.contextmanager
    def writing(self) -> Iterator[TextIO]:
        """A file for the server to write to."""
        reads, writes = os.pipe()
        self._reader = threading.Thread(target=self._read, args=(reads,), name="react-text-mcp-log", daemon=True)
        self._reader.start()
        with os.fdopen(writes, "w") as file:
            yield file

    def _read(self, reads: int) -> None:
        with os.fdopen(reads, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if line.strip():
                    self._lines.append(line.strip())
                    _log.debug("An MCP server says: %s", line.rstrip())

    async def last_line(self) -> str:
        if self._reader is not None:
            await asyncio.to_thread(self._reader.join, 1.0)
        return self._lines[-1] if self._lines else ""


def _root_cause(error: BaseException) -> BaseException:
    """The first error inside nested groups of them."""
    while inner := getattr(error, "exceptions", None):
        error = inner[0]
    return error

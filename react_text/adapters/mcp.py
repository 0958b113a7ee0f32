"""Tools of MCP servers: a command that speaks over its standard input and output, or a URL (streamable HTTP).

A server is kept in an event loop of its own thread, so that sync and async callers share it. It knows nothing of
models. Needs the official SDK (extra `mcp`), which is loaded when a server is opened.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import weakref
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from react_text.adapters.choosing import chosen_names, tool_name
from react_text.adapters.mcp_session import Session, read_target
from react_text.errors import MissingExtra, ToolUnavailable
from react_text.schema.validator import unsound
from react_text.tools import Tool

_log = logging.getLogger("react_text")

Source: TypeAlias = "str | Sequence[str]"


class MCPServer:
    """One MCP server that runs, and its tools.

    `source` is a command line (a text or a list of words; words NAME=VALUE in front of it set its environment) or an
    http(s) URL. `start_timeout` is in seconds. A server that died is started again by the next call.
    Raises ToolSourceError when the server does not start, and MissingExtra.
    """

    def __init__(
        self,
        source: Source,
        *,
        env: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        start_timeout: float = 60.0,
    ) -> None:
        try:
            import mcp  # noqa: F401
            from anyio.from_thread import start_blocking_portal
        except ImportError:
            raise MissingExtra("mcp", "An MCP server") from None
        target = read_target(source, env or {}, headers or {})
        opened = contextlib.ExitStack()
        self._portal = opened.enter_context(start_blocking_portal(name="react-text-mcp"))
        self._session = self._portal.call(Session, target, start_timeout)
        opened.callback(self._portal.call, self._session.close)
        self._finalizer = weakref.finalize(self, _shut, opened)  # also at the end of the interpreter
        try:
            listed = self._portal.call(self._session.tools)
        except BaseException:
            self.close()
            raise
        self.name = self._session.name
        self.tools = tuple(made for one in listed if (made := self._tool(one)) is not None)

    def close(self) -> None:
        """End the connection, and the server where it was started here. May be called twice."""
        self._finalizer()

    def __enter__(self) -> MCPServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _tool(self, listed: Any) -> Tool | None:
        name, schema = listed.name, listed.input_schema
        if why := unsound(schema):
            _log.warning("The tool %s of the MCP server %s is left out: its parameters %s.", name, self.name, why)
            return None
        hints = listed.annotations

        async def call(**arguments: Any) -> str:
            return await self._call(name, arguments)

        return Tool(
            name=tool_name(name),
            description=(listed.description or listed.title or (hints and hints.title) or "").strip(),
            parameters=schema,
            function=call,
            safe=bool(hints and hints.read_only_hint),
        )

    async def _call(self, name: str, arguments: dict[str, Any]) -> str:
        if not self._finalizer.alive:
            raise ToolUnavailable(f"the MCP server {self.name} was closed")
        return await asyncio.wrap_future(self._portal.start_task_soon(self._session.call, name, arguments))


def open_servers(sources: Iterable[Source], **options: Any) -> list[MCPServer]:
    """Servers for all sources, with the same options; all are closed again when one of them does not start."""
    with contextlib.ExitStack() as opened:
        servers = [opened.enter_context(MCPServer(source, **options)) for source in sources]
        opened.pop_all()
    return servers


def tools_of(
    servers: Sequence[MCPServer],
    *,
    allow: Iterable[str] | None = None,
    deny: Iterable[str] = (),
    taken: Iterable[str] = (),
) -> list[Tool]:
    """The tools of all servers that a pattern of `allow` fits and none of `deny`.

    A name that is in `taken`, or that two servers have, gets the server's name in front.
    """
    every = [(server, tool) for server in _told_apart(servers) for tool in server[1].tools]
    source = f"the MCP {'server' if len(servers) == 1 else 'servers'} {', '.join(one.name for one in servers)}"
    wanted = chosen_names([tool.name for _, tool in every], allow, deny, source)
    counts = Counter([*taken, *(tool.name for _, tool in every if tool.name in wanted)])
    return [
        tool if counts[tool.name] == 1 else replace(tool, name=tool_name(f"{label}_{tool.name}"))
        for (label, _), tool in every
        if tool.name in wanted
    ]


def _told_apart(servers: Sequence[MCPServer]) -> list[tuple[str, MCPServer]]:
    """Each server with its name, from the second of a name on with a number."""
    before: Counter[str] = Counter()
    labelled = []
    for server in servers:
        before[server.name] += 1
        number = before[server.name]
        labelled.append((server.name if number == 1 else f"{server.name}_{number}", server))
    return labelled


def _shut(opened: contextlib.ExitStack) -> None:
    try:
        opened.close()
    except Exception as error:
        _log.warning("An MCP server did not end cleanly.", exc_info=error)

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
from react_text.adapters.mcp_session import Session, Target, read_target
from react_text.errors import MissingExtra, ToolUnavailable
from react_text.observations import clean
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
        self._link = _Link(read_target(source, env or {}, headers or {}), start_timeout)
        listed = self._link.listed()
        self.name = self._link.session.name
        self.tools = tuple(_tool(one, self._link) for one in listed if self._is_usable(one))

    def close(self) -> None:
        """End the connection, and the server where it was started here. May be called twice."""
        self._link.close()

    def __enter__(self) -> MCPServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _is_usable(self, listed: Any) -> bool:
        if why := unsound(listed.input_schema):
            _log.warning("The tool %s of the server %s is left out: its parameters %s.", listed.name, self.name, why)
        return not why


class _Link:
    """A session in an event loop of its own thread; ended when it is closed or forgotten, or with the interpreter.

    The tools hold it and it does not hold them, so that it is forgotten with the last of them.
    """

    def __init__(self, target: Target, start_timeout: float) -> None:
        try:
            from anyio.from_thread import start_blocking_portal
            from mcp import Client  # noqa: F401
        except ImportError:
            raise MissingExtra("mcp", "An MCP server") from None
        opened = contextlib.ExitStack()
        self._portal = opened.enter_context(start_blocking_portal(name="react-text-mcp"))
        self.session = self._portal.call(Session, target, start_timeout)
        opened.callback(self._portal.call, self.session.close)
        self.close = weakref.finalize(self, _shut, opened)

    def listed(self) -> list[Any]:
        try:
            return self._portal.call(self.session.tools)
        except BaseException:
            self.close()
            raise

    async def call(self, name: str, arguments: dict[str, Any]) -> str:
        if not self.close.alive:
            raise ToolUnavailable(f"the MCP server {self.session.name} was closed")
        return await asyncio.wrap_future(self._portal.start_task_soon(self.session.call, name, arguments))


def _tool(listed: Any, link: _Link) -> Tool:
    name, hints = listed.name, listed.annotations

    async def call(**arguments: Any) -> str:
        return await link.call(name, arguments)

    return Tool(
        name=tool_name(name),
        description=clean(listed.description or listed.title or (hints and hints.title) or "").strip(),
        parameters=listed.input_schema,
        function=call,
        safe=bool(hints and hints.read_only_hint),
    )


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

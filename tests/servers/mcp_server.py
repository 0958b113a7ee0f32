"""A server made with the official SDK, for the tests: `mcp_server.py` over stdio, `mcp_server.py PORT` over HTTP.

Its first argument may also be a file: then the server writes its process id there.
"""

from __future__ import annotations

import asyncio
import base64
import os
import sys
from pathlib import Path

from mcp.server import MCPServer
from mcp.types import (
    AudioContent,
    BlobResourceContents,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)
from pydantic import BaseModel

server = MCPServer("harbor")
PICTURE = base64.b64encode(b"\x89PNG" * 5000).decode()
counted: list[int] = []


class Tide(BaseModel):
    harbor: str
    metres: float


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def tide(harbor: str) -> Tide:
    """Height of the next high tide."""
    return Tide(harbor=harbor, metres=3.4)


@server.tool()
def depths(pier: str) -> list[float]:
    """Depths along a pier."""
    return [4.0, 4.5]


@server.tool()
def greet(name: str) -> str:
    """Greet somebody."""
    return f"Hello {name}"


@server.tool()
def refuse(reason: str) -> str:
    """Refuse."""
    raise ValueError(reason)


@server.tool(structured_output=False)
def everything() -> list:
    """One part of each kind."""
    return [
        TextContent(text="a text"),
        ImageContent(data=PICTURE, mime_type="image/png"),
        AudioContent(data="AAAA", mime_type="audio/wav"),
        ResourceLink(name="log", uri="file:///log.txt", mime_type="text/plain", description="the log"),
        EmbeddedResource(resource=TextResourceContents(uri="note://1", text="a note")),
        EmbeddedResource(resource=BlobResourceContents(uri="note://2", blob="AAAA", mime_type="application/pdf")),
    ]


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def die_once(mark: str) -> str:
    """End the server, unless the file is there."""
    path = Path(mark)
    if path.exists():
        return "alive again"
    path.write_text("")
    os._exit(3)


@server.tool()
def die() -> str:
    """End the server."""
    os._exit(3)


@server.tool()
async def wait() -> str:
    """Never answer."""
    await asyncio.sleep(600)
    return "done"


@server.tool()
def process() -> int:
    """The process of this server."""
    return os.getpid()


@server.tool()
def environment(name: str) -> str:
    """A variable of this server's environment."""
    return os.environ.get(name, "not set")


if __name__ == "__main__":
    print("the harbor opens", file=sys.stderr)
    if len(sys.argv) > 1:
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run("stdio")

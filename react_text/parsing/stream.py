"""The same reading, fed in pieces of any size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from react_text.messages import Call, Turn
from react_text.parsing.reader import parse
from react_text.tools import Tool, as_tools

StreamKind: TypeAlias = Literal["thought", "call_started", "arguments", "call_complete", "final", "done"]


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One thing that became known: new text of a section, a call's name, a whole call, or that all is decided."""

    kind: StreamKind
    text: str = ""
    index: int = 0
    call: Call | None = None
    name: str = ""


class StreamReader:
    """Reads a reply while it is written."""

    def __init__(
        self, tools: Iterable[Tool | Mapping[str, Any]] = (), *, reply_start: str = "", single: bool = False
    ) -> None:
        self.tools = as_tools(tools)
        self.text = reply_start
        self.single = single
        self.done = False

    def feed(self, delta: str) -> list[StreamEvent]:
        """The events that `delta` brings."""
        self.text += delta
        return []

    def finish(self, finish_reason: str | None = None) -> Turn:
        """The turn as read from all that was fed."""
        return parse(self.text, self.tools, finish_reason=finish_reason)

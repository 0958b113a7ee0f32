"""What a scan for native calls has found so far: the calls, where they stand, and what ended the reading.

The one place with state in this room; each reader gets it and says where to go on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from react_text.messages import Call, Fault
from react_text.parsing.bodies import Body
from react_text.parsing.families import CONTROL
from react_text.parsing.patterns import pattern
from react_text.parsing.settle import find_tool, truncated
from react_text.parsing.shapes import WrittenCall
from react_text.tools import Tool

NOTHING = pattern(rf"(?:{CONTROL}|[\s\[\]}},;>)`]|\.?json\b|</[\w:｜]{{1,30}}>)*")
"""What may stand around a call without being text: tokens, closers, separators."""


@dataclass(frozen=True, slots=True)
class Found:
    """A call, where its text stands, and the family whose format it is in."""

    call: WrittenCall
    start: int
    end: int
    family: str


@dataclass(slots=True)
class Scan:
    """What was seen so far, and the places where reasoning and an open fence began."""

    calls: list[Found] = field(default_factory=list)
    fault: Fault | None = None
    answer: int | None = None
    reasoned: int = 0
    thinking: int | None = None
    fence: int | None = None
    fence_body: int = 0
    code: bool = False
    objects: bool = True
    talk: bool = False
    drafts: int = 0
    looked: int = 0
    stop: int | None = None
    fabricated: bool = False


class Names:
    """The offered names, with an answer remembered for each spelling that was asked for."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self.tools = tools
        self.known: dict[str, bool] = {}

    def offered(self, name: str) -> bool:
        """Whether a written name is a tool's but for case, separators and a namespace."""
        if name not in self.known:
            found = find_tool(name, self.tools)
            doubtful = any(edit.name in ("name_typo", "name_in_sentence") for edit in found.repairs)
            self.known[name] = found.tool is not None and not doubtful
        return self.known[name]

    def begun(self, name: str) -> bool:
        """Whether a name is the beginning of a tool's."""
        return any(tool.name.startswith(name) for tool in self.tools)


def in_sentence() -> Fault:
    return Fault("quoted_call", "A call stands in the middle of a sentence; write it on a line of its own.")


def accept(body: Body, start: int, family: str, scan: Scan) -> int:
    if not body.readable:
        cut = any(call.cut for call in body.calls)
        message = f"The call in {family} format could not be read; write its arguments as one JSON object."
        named = next((call.name for call in body.calls if call.name), "")
        call = Call("", named) if named else None
        scan.fault = truncated(named) if cut else Fault("unreadable_call", message, call)
        return body.end
    scan.calls += [Found(call, start, body.end, family) for call in body.calls]
    return body.end


def only(pattern: re.Pattern[str], text: str, start: int, end: int) -> bool:
    """Whether nothing but `pattern` stands between two places."""
    match = pattern.match(text, start)
    return match is not None and match.end() >= end

"""A reading explained: the sections that were seen, what each repair changed, and why a turn may not run.

Plain values for one output, and records for many; how they are shown is the command line's business.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from react_text.catalog import FAULTS, REPAIRS
from react_text.messages import Repair, Span, Turn
from react_text.parsing import parse, parse_message
from react_text.parsing.reader import seen_sections
from react_text.tools import Tool, as_tools


@dataclass(frozen=True, slots=True)
class Explanation:
    """One output and how it was read.

    `sections` are the parts that were seen, each with its label ("" before the first one) and its offsets; what
    follows the last one was ignored. `repairs` are those of the turn, each with the text before and after.
    """

    text: str
    turn: Turn
    sections: tuple[tuple[str, int, int], ...]

    @property
    def repairs(self) -> tuple[tuple[Repair, str], ...]:
        """Each repair with the sentence that says what its name means."""
        return tuple((repair, REPAIRS.get(repair.name, "")) for repair in self.turn.edits)

    @property
    def fault(self) -> str | None:
        """The sentence that the model would be told, or None."""
        return self.turn.fault.message if self.turn.fault else None

    @property
    def fault_meaning(self) -> str | None:
        """What the fault's code means, or None."""
        return FAULTS.get(self.turn.fault.code) if self.turn.fault else None

    @property
    def ignored(self) -> Span | None:
        """The offsets of the text after the last section, where there is any."""
        end = self.sections[-1][2] if self.sections else 0
        return (end, len(self.text)) if self.text[end:].strip() else None


def explain(
    text: str, tools: Iterable[Tool | Mapping[str, Any]] = (), *, finish_reason: str | None = None
) -> Explanation:
    """Read one output and say how it was read."""
    offered = as_tools(tools)
    turn = parse(text, offered, finish_reason=finish_reason)
    return Explanation(text, turn, seen_sections(text, offered))


def parse_lines(lines: Iterable[str], tools: Iterable[Tool | Mapping[str, Any]] = ()) -> Iterator[dict[str, Any]]:
    """Read outputs from JSON lines, one record out for each line in, in constant memory.

    A line is a JSON string, or an object with the text under "output", "text" or "content", or a chat-completions
    message under "message"; its own "tools", "finish_reason" and "id" are used where it has them. A line that cannot
    be used gives a record with "error" in place of a turn; blank lines give none.
    """
    offered = as_tools(tools)
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        record: dict[str, Any] = {"line": number}
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            yield record | {"error": "The line is not valid JSON."}
            continue
        if isinstance(entry, str):
            entry = {"output": entry}
        if not isinstance(entry, dict):
            yield record | {"error": "The line is neither a JSON object nor a JSON string."}
            continue
        if "id" in entry:
            record["id"] = entry["id"]
        yield record | _read(entry, offered)


def _read(entry: Mapping[str, Any], tools: tuple[Tool, ...]) -> dict[str, Any]:
    try:
        own = as_tools(entry["tools"]) if isinstance(entry.get("tools"), list) else tools
    except (KeyError, TypeError, ValueError, AttributeError):
        return {"error": 'The "tools" of the line are not a list of chat-completions tools.'}
    reason = entry.get("finish_reason") if isinstance(entry.get("finish_reason"), str) else None
    message = entry.get("message")
    if isinstance(message, dict):
        return turn_record(parse_message(message, own, finish_reason=reason))
    text = next((entry[key] for key in ("output", "text", "content") if isinstance(entry.get(key), str)), None)
    if text is None:
        return {"error": 'The line has no text under "output", "text" or "content", and no "message".'}
    return turn_record(parse(text, own, finish_reason=reason))


def turn_record(turn: Turn) -> dict[str, Any]:
    """A turn as plain JSON values."""
    return {
        "kind": turn.kind,
        "calls": [{"id": call.id, "name": call.name, "arguments": dict(call.arguments)} for call in turn.calls],
        "final": turn.final,
        "thought": turn.thought,
        "strict": turn.strict,
        "repairs": list(turn.repairs),
        "fault": {"code": turn.fault.code, "message": turn.fault.message} if turn.fault else None,
    }

"""A whole chat-completions assistant message read as a turn, whatever a server made of its calls.

Structured calls come first: broken ones are mended where only their form is wrong. Where there are none, the content
is read as text, and last the reasoning, for servers that put a call there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from react_text.messages import Call, Fault, Repair, Turn
from react_text.parsing.bodies import from_python
from react_text.parsing.native import read_native
from react_text.parsing.patterns import pattern
from react_text.parsing.pycall import read_python_call
from react_text.parsing.reader import parse
from react_text.parsing.settle import MARKUP, settle
from react_text.parsing.shapes import WrittenCall
from react_text.tools import Tool, as_tools

REASONING_KEYS = ("reasoning_content", "reasoning", "thinking")
PRINTED = pattern(r"^\s*(?:print\(\s*)?(?=[A-Za-z_][\w.]*\()")
HOLDS_CALL = pattern(r"\(|\{|<(?:arg_key|parameter)\b")
MARKED_NAME = pattern(r"^\s*(?P<name>[A-Za-z_][\w.:-]*)\s*(?P<rest><(?:arg_key|parameter)\b.*|\{.*)$", re.DOTALL)


def parse_message(
    message: Mapping[str, Any] | None,
    tools: Iterable[Tool | Mapping[str, Any]] = (),
    *,
    finish_reason: str | None = None,
) -> Turn:
    """Read one chat-completions assistant message.

    `message` is the dict a server sent, with any of `content`, `tool_calls`, `function_call` and a reasoning field.
    `finish_reason` is the choice's own; it is believed only where the message does not show otherwise. Never raises
    for a broken message: what cannot be run is a turn of kind "none" with its fault.
    """
    offered = as_tools(tools)
    message = message if isinstance(message, Mapping) else {}
    content = _text(message.get("content")) or _text(message.get("refusal"))
    reasoning = next((text for key in REASONING_KEYS if (text := _text(message.get(key)))), "")
    entries, edits = _entries(message)
    if content.strip() and all(_says_nothing(_written(entry)) for entry in entries):
        entries = []
    if entries:
        turn = _structured(entries, edits, offered)
        thought = "\n".join(part for part in (reasoning.strip(), _said(content, offered)) if part) or None
        return _with_thought(turn, thought)
    if content.strip():
        turn = parse(content, offered, finish_reason=finish_reason)
        if turn.repairs == ("implicit_final",):
            turn = replace(turn, edits=())  # in a message an answer needs no label
        return _with_reasoning(turn, reasoning)
    if reasoning:
        turn_in_reasoning = read_native(f"<think>\n{reasoning}", offered, finish_reason=finish_reason)
        if turn_in_reasoning is not None and turn_in_reasoning.kind == "action":
            moved = (Repair("call_in_reasoning"), *turn_in_reasoning.edits)
            return Turn("action", turn_in_reasoning.calls, thought=turn_in_reasoning.thought, edits=moved)
    return Turn("none", thought=reasoning or None, fault=_nothing(finish_reason, reasoning, offered))


def _said(content: str, tools: Sequence[Tool]) -> str:
    """The content beside structured calls, without the same calls written as text."""
    native = read_native(content, tools) if content.strip() else None
    if native is None or native.kind == "final":
        return content.strip()
    return native.thought or ""


def _nothing(finish_reason: str | None, reasoning: str, tools: Sequence[Tool]) -> Fault:
    if finish_reason in ("tool_calls", "function_call", "tool"):
        return Fault("lost_call", "The reply announced a call but held none; write the call again.")
    if finish_reason == "length":
        return Fault("truncated", "The reply ended before a call or an answer was written; think less and write it.")
    if reasoning:
        return Fault("no_action", "The reply holds only reasoning; call a tool or give the answer.")
    return Fault("empty", "The reply holds no text.")


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [
            part if isinstance(part, str) else part.get("text") for part in content if isinstance(part, str | dict)
        ]
        return "".join(part for part in parts if isinstance(part, str))
    return ""


def _with_thought(turn: Turn, thought: str | None) -> Turn:
    return Turn(turn.kind, turn.calls, turn.final, thought, turn.fault, turn.strict, turn.edits)


def _with_reasoning(turn: Turn, reasoning: str) -> Turn:
    parts = [part for part in (reasoning.strip(), turn.thought) if part]
    return _with_thought(turn, "\n".join(parts) or None) if reasoning.strip() else turn


def _entries(message: Mapping[str, Any]) -> tuple[list[Mapping[str, Any]], tuple[Repair, ...]]:
    """The entries of `tool_calls` in whatever form they came, with the legacy field's where it says something else."""
    sent: Any = message.get("tool_calls")
    edits: tuple[Repair, ...] = ()
    if isinstance(sent, str) and sent.strip():
        sent = _json(sent)
        edits += (Repair("tool_calls_as_text"),)
    if isinstance(sent, Mapping):
        sent = [sent]
    entries = [_entry(entry) for entry in sent] if isinstance(sent, list) else []
    content = message.get("content")
    for part in content if isinstance(content, list) else ():
        if isinstance(part, Mapping) and part.get("type") in ("tool_use", "tool_call", "function_call"):
            entries.append(part)
    found = [entry for entry in entries if entry]
    legacy = message.get("function_call")
    if isinstance(legacy, str) and legacy.strip():
        legacy = _json(legacy)
    if isinstance(legacy, Mapping) and legacy and not found:
        return [legacy], (*edits, Repair("legacy_function_call"))
    return found, edits


def _entry(entry: Any) -> Mapping[str, Any]:
    if isinstance(entry, str):
        entry = _json(entry)
    return entry if isinstance(entry, Mapping) else {}


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _written(entry: Mapping[str, Any]) -> WrittenCall:
    """One entry's name and arguments, nested in `function` or beside it."""
    function = entry.get("function")
    inner: Mapping[str, Any] = function if isinstance(function, Mapping) else entry
    name = next((inner[key] for key in ("name", "tool_name") if isinstance(inner.get(key), str)), "")
    if not name and isinstance(function, str):
        name = function
    keys = ("arguments", "input", "args", "parameters", "tool_input")
    arguments = next((source[key] for source in (inner, entry) for key in keys if source.get(key) is not None), None)
    call_id = entry.get("id") or entry.get("tool_call_id")
    edits: tuple[Repair, ...] = ()
    if function is None or isinstance(function, str):
        edits += (Repair("flattened_call", name),)
    if not isinstance(arguments, str) and "arguments" in inner and arguments is not None:
        edits += (Repair("arguments_as_object", name),)
    if arguments is None or arguments == "":
        edits += (Repair("no_arguments", name),)
    return WrittenCall(name, arguments, call_id if isinstance(call_id, str) else "", edits=edits)


def _says_nothing(written: WrittenCall) -> bool:
    """Whether an entry has neither name nor arguments: what some servers put beside an answer."""
    return not written.name.strip() and written.arguments in (None, "", "null", "{}", {})


def _structured(entries: Sequence[Mapping[str, Any]], edits: tuple[Repair, ...], tools: Sequence[Tool]) -> Turn:
    calls: list[Call] = []
    taken: set[str] = set()
    faults: list[Fault] = []
    for entry in entries:
        written = _unfolded(_written(entry), tools)
        call_id = written.id
        if not call_id or call_id in taken:
            edits += (Repair("duplicate_id" if call_id else "missing_id", call_id),)
            number = len(taken) + 1
            while (call_id := f"call_{number}") in taken:
                number += 1
        taken.add(call_id)
        settled = settle(_unmarked(_decoded(written), tools), tools, call_id)
        edits += settled.edits
        if settled.final is not None and not calls and len(entries) == 1:
            return Turn("final", final=settled.final, edits=edits)
        if settled.call is not None:
            calls.append(settled.call)
        elif settled.fault is not None:
            faults.append(settled.fault)
    if faults:
        cut = next((fault for fault in faults if fault.code == "truncated"), faults[0])
        return Turn("none", fault=cut, edits=edits)
    return Turn("action", tuple(calls), edits=edits)


def _unfolded(written: WrittenCall, tools: Sequence[Tool]) -> WrittenCall:
    """A call that was written whole into the name field, with its arguments where they belong."""
    if not HOLDS_CALL.search(written.name):
        return written
    inner = _call_in(written.name, tools)
    if inner is None:
        return written
    given = _json(written.arguments) if isinstance(written.arguments, str) else written.arguments
    if given and inner.arguments and given != inner.arguments:
        return written
    arguments = inner.arguments or given
    edits = (*written.edits, Repair("call_in_name", written.name))
    return replace(inner, arguments=arguments, id=written.id, edits=edits)


def _call_in(name: str, tools: Sequence[Tool]) -> WrittenCall | None:
    printed = PRINTED.match(name)
    call = read_python_call(name, printed.end()) if printed else None
    if call is not None:
        return from_python(call) if call.readable and call.closed else None
    if name.lstrip().startswith("{") or MARKED_NAME.match(name):
        turn = read_native(f"<tool_call>{name}</tool_call>", tools)
        if turn is not None and turn.kind == "action" and len(turn.calls) == 1:
            return WrittenCall(turn.calls[0].name, dict(turn.calls[0].arguments))
    return None


def _unmarked(written: WrittenCall, tools: Sequence[Tool]) -> WrittenCall:
    """Arguments that a server left in the family's own marks, without them."""
    text = written.arguments
    if not isinstance(text, str) or not MARKUP.match(text):
        return written
    turn = read_native(f"<tool_call>{written.name}\n{text}</tool_call>", tools)
    if turn is None or turn.kind != "action" or len(turn.calls) != 1:
        return written
    edits = (*written.edits, Repair("native_format", written.name))
    return replace(written, arguments=dict(turn.calls[0].arguments), edits=edits)


REPEATED = pattern(r"\s*")


def _decoded(written: WrittenCall) -> WrittenCall:
    """Arguments that repeat the same object over and over, as one object; other text as it came."""
    text = written.arguments
    if isinstance(text, str) and written.name and text.lstrip().startswith(written.name):
        text = re.sub(rf"(?:\A\s*|(?<=\}})\s*){re.escape(written.name)}\s*(?=\{{)", "", text)
        written = replace(written, arguments=text, edits=(*written.edits, Repair("name_among_arguments", written.name)))
    if not isinstance(text, str) or not text.lstrip().startswith("{"):
        return written
    values: list[Any] = []
    at = 0
    while at < len(text):
        at = REPEATED.match(text, at).end()  # type: ignore[union-attr]
        try:
            value, at = json.JSONDecoder().raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        values.append(value)
    if len(values) < 2 or not all(isinstance(value, dict) for value in values):
        return written
    if (at < len(text) and text[at:].strip()) or any(value != values[0] for value in values):
        return WrittenCall(written.name, [values[0], None], written.id, edits=written.edits)
    edits = (*written.edits, Repair("repeated_arguments", written.name))
    return WrittenCall(written.name, values[0], written.id, edits=edits)

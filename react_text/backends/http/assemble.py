"""The chat-completions wire format: a streamed answer put together into one choice.

Pure functions over what a server sent. Servers disagree on how a streamed call is numbered, named and repeated; the
rules here were read from recorded streams of many of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any


def assemble(sse_lines: Iterable[str] | str) -> dict[str, Any]:
    """One chat-completions choice, `{"message": …, "finish_reason": …}`, from the lines of a streamed answer.

    Lines are those of the event stream, with or without `data: [DONE]`. `finish_reason` is None where the stream
    ended without one. Fragments of a call are joined whether their index is missing, constant or growing, whether the
    name is sent once or in every chunk, and whether the arguments come in pieces or as all so far each time. An error
    sent inside the stream is kept as `choice["error"]`.
    """
    return assemble_events(_events(sse_lines))


def assemble_events(events: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The same from the events of the stream, each the JSON object of one `data:`."""
    content: list[str] = []
    reasoning: list[str] = []
    calls: list[_StreamedCall] = []
    legacy = _StreamedCall()
    finish_reason: str | None = None
    error: Any = None
    for event in events:
        error = event.get("error") or error
        choice = _first_choice(event)
        finish_reason = choice.get("finish_reason") or finish_reason
        delta = choice.get("delta") or choice.get("message") or {}
        if not isinstance(delta, Mapping):
            continue
        content.append(text_of(delta.get("content")))
        reasoning.append(text_of(delta.get("reasoning_content")) or text_of(delta.get("reasoning")))
        for entry in _entries(delta.get("tool_calls")):
            _take(calls, entry)
        function_call = delta.get("function_call")
        if isinstance(function_call, Mapping):
            legacy.add({"function": function_call})
    message: dict[str, Any] = {"role": "assistant", "content": "".join(content) or None}
    if any(reasoning):
        message["reasoning_content"] = "".join(reasoning)
    if calls:
        message["tool_calls"] = [call.entry() for call in calls]
    if legacy.name or legacy.fragments:
        message["function_call"] = legacy.entry()["function"]
    whole: dict[str, Any] = {"message": message, "finish_reason": finish_reason}
    return whole if error is None else whole | {"error": error}


def _events(lines: Iterable[str] | str) -> Iterator[Mapping[str, Any]]:
    """The JSON objects of an event stream; data that spans several lines is joined, and what is no JSON is left out."""
    waiting = ""
    for line in lines.split("\n") if isinstance(lines, str) else lines:
        line = line.strip("\r\n ")
        if not line:
            waiting = ""
            continue
        data = line[5:].strip() if line.startswith("data:") else line if line.startswith("{") else ""
        if not data:
            continue
        whole = f"{waiting}\n{data}" if waiting else data
        try:
            event = json.loads(whole)
        except (ValueError, RecursionError):
            waiting = whole
            continue
        waiting = ""
        if isinstance(event, Mapping):
            yield event


def _first_choice(event: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = event.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(choice, Mapping) and not choice.get("index"):
            return choice
    return {}


def text_of(content: Any) -> str:
    """The text of a content: a string, or a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, Mapping))
    return ""


def _entries(value: Any) -> Iterator[Mapping[str, Any]]:
    for entry in value if isinstance(value, list) else [value]:
        if isinstance(entry, Mapping):
            yield entry


@dataclass
class _StreamedCall:
    """One call under way. `fragments` are the pieces of its arguments as they came."""

    index: Any = None
    id: str = ""
    name: str = ""
    fragments: list[str] = field(default_factory=list)

    def add(self, entry: Mapping[str, Any]) -> None:
        function = _function(entry)
        self.id = self.id or text_of(entry.get("id"))
        name = text_of(function.get("name"))
        # a name is sent once, in every chunk, as all so far, or in pieces
        if name.startswith(self.name):
            self.name = name
        elif name and not self.name.startswith(name):
            self.name += name
        arguments = function.get("arguments")
        if arguments is not None and arguments != "":
            self.fragments.append(arguments if isinstance(arguments, str) else json.dumps(arguments))

    def arguments(self) -> str:
        joined = "".join(self.fragments)
        # each fragment holding all so far is only believed where the fragments joined are no JSON
        if len(self.fragments) > 1 and not _is_json(joined):
            pairs = zip(self.fragments, self.fragments[1:], strict=False)
            if all(later.startswith(earlier) for earlier, later in pairs):
                return self.fragments[-1]
        return joined

    def entry(self) -> dict[str, Any]:
        function = {"name": self.name, "arguments": self.arguments()}
        return {"id": self.id, "type": "function", "function": function}


def _function(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    function = entry.get("function")
    return function if isinstance(function, Mapping) else entry


def _take(calls: list[_StreamedCall], entry: Mapping[str, Any]) -> None:
    """Add one delta to the call it belongs to, or begin a new call."""
    index = entry.get("index")
    call_id = text_of(entry.get("id"))
    name = text_of(_function(entry).get("name"))
    current = next((call for call in reversed(calls) if call_id and call.id == call_id), None)
    if current is None:
        current = next((call for call in reversed(calls) if index is not None and call.index == index), None)
    if current is None and calls and (index is None or not (call_id or name)):
        current = calls[-1]
    if current is None or _begins_another(current, call_id, name, _function(entry).get("arguments")):
        current = _StreamedCall(index=index)
        calls.append(current)
    current.add(entry)


def _begins_another(current: _StreamedCall, call_id: str, name: str, arguments: Any) -> bool:
    """Whether a delta at the index of `current` begins another call.

    A new id with a name does, unless the call under way is still incomplete and has the same name (a server that
    draws a fresh id for every chunk). Without ids, a name does once the arguments under way are complete and new
    ones come with it that do not repeat them.
    """
    if not name or not (current.name or current.id or current.fragments):
        return False
    if call_id and call_id == current.id:
        return False
    under_way = current.arguments()
    if call_id and current.id:
        return name != current.name or not under_way or _is_json(under_way)
    fresh = isinstance(arguments, str) and arguments.lstrip().startswith("{") and not arguments.startswith(under_way)
    return (fresh or name != current.name) and _is_json(under_way)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True

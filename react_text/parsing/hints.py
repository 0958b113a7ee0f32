"""Faults as sentences for the model: what was wrong, and how to write it right with its own tools' names."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from react_text.messages import Call, Fault
from react_text.schema import declared_properties, resolve_ref, types_of
from react_text.tools import Tool

_MOST_NAMES = 20


def shape(tool: Tool) -> str:
    """The Action Input that a tool takes, with a type in place of each value: `{"city": "<string>"}`.

    Only required arguments are shown; all of them where none is required.
    """
    schema = tool.parameters
    properties, _ = declared_properties(schema, schema)
    required = [name for name in schema.get("required") or () if name in properties] or list(properties)[:4]
    return "{" + ", ".join(f"{json.dumps(name)}: {_kind(properties[name], schema)}" for name in required) + "}"


def _kind(schema: Any, root: Mapping[str, Any]) -> str:
    resolved = resolve_ref(schema, root)
    if isinstance(resolved.get("enum"), (list, tuple)) and resolved["enum"]:
        return json.dumps(resolved["enum"][0], ensure_ascii=False)
    types = [name for name in types_of(resolved) if name != "null"]
    if len(types) != 1:
        return "<value>"
    return {"string": '"<string>"', "array": "[...]", "object": "{...}"}.get(types[0], f"<{types[0]}>")


def _step(tool: Tool | None, tools: Sequence[Tool]) -> str:
    chosen = tool or (tools[0] if tools else None)
    if chosen is None:
        return 'Write one line "Action: " with the name of a tool and one line "Action Input: " with a JSON object.'
    return f"Write:\nAction: {chosen.name}\nAction Input: {shape(chosen)}"


def _names(tools: Sequence[Tool]) -> str:
    names = ", ".join(tool.name for tool in tools[:_MOST_NAMES])
    return f"{names}, and {len(tools) - _MOST_NAMES} more" if len(tools) > _MOST_NAMES else names or "none"


def invalid_arguments(problem: str, tool: Tool, call: Call, code: str = "invalid_arguments") -> Fault:
    """A call whose arguments do not fit; `problem` is the sentence that says why."""
    return Fault(code, f"{problem} Write: Action Input: {shape(tool)}", call)


def fault(code: str, tools: Sequence[Tool] = (), *, tool: Tool | None = None, call: Call | None = None) -> Fault:
    """The fault with this code, worded for the tools that are offered and the one that was meant, where known."""
    name = tool.name if tool else "the tool"
    sentences = {
        "empty": "Your reply was empty.",
        "truncated": "Your reply was cut off before it was complete; write a shorter one.",
        "no_action": "You wrote a thought, but neither an action nor an answer.",
        "no_tool": "You chose no tool and gave no answer.",
        "missing_action_input": f"{name} needs an Action Input."
        if tool
        else "The action names no offered tool and has no input.",
        "missing_action": "There is an Action Input, but no line that names a tool.",
        "unreadable_arguments": f"The Action Input of {name} is not a readable JSON object.",
        "ambiguous_arguments": f"The Action Input of {name} can be read in more than one way.",
        "template_echo": "You repeated the words of the instructions instead of filling them in.",
        "unlabelled_intent": "You named a tool, but did not call it.",
        "mixed_formats": "Your reply holds calls in two formats; write them in one.",
        "runaway": "Your reply went on and on without coming to an end.",
    }  # fmt: skip
    answer = 'If you need no tool, write one line "Final Answer: " and the answer.'
    offered = f" The tools are: {_names(tools)}." if tools and tool is None else ""
    return Fault(code, f"{sentences[code]}{offered} {_step(tool, tools)}\n{answer}", call)

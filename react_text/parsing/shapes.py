"""The shapes in which a call stands in a JSON value: which keys hold the name, which the arguments.

Knows nothing of text around the value and nothing of schemas.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from react_text.messages import Repair

NAME_KEYS = (
    "name",
    "tool_name",
    "toolName",
    "function_name",
    "functionName",
    "tool",
    "function",
    "action",
    "_name",
    "recipient_name",
)
ARGUMENT_KEYS = (
    "arguments",
    "parameters",
    "args",
    "params",
    "input",
    "tool_input",
    "toolInput",
    "action_input",
    "action_variables",
    "action_args",
    "action_parameters",
    "tool_args",
    "tool_arguments",
    "tool_parameters",
    "tool_params",
    "function_args",
    "function_arguments",
    "function_parameters",
    "kwargs",
    "argument",
    "parameter",
)
LIST_KEYS = ("tool_calls", "toolCalls", "tool_uses", "function_calls", "calls")
WRAPPER_KEYS = (
    "function",
    "tool_call",
    "function_call",
    "functionCall",
    "toolCall",
    "tool_use",
    "action",
    "tool",
    "command",
    "call",
)
RECORD_KEYS = frozenset(
    {"result", "results", "status", "timestamp", "description", "output", "returned", "error", "duration"}
)
"""Keys beside a name and arguments that make an object a record of a call, or the description of a tool."""
CALL_TYPES = ("function", "function_call", "tool_call", "tool_use")

Offered: TypeAlias = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class WrittenCall:
    """A call as written, before its name and arguments are checked against the offered tools.

    `arguments` is a dict, or text that has still to be read for the tool. `texts` says that the values are plain
    text to be typed by the schema. `cut` says that the text ended inside it, `open` that nothing closed it.
    `enveloped` says that a family's own marks stood around it, so that an unknown name is still a call.
    """

    name: str
    arguments: Any = None
    id: str = ""
    texts: bool = False
    cut: bool = False
    open: bool = False
    enveloped: bool = True
    positional: int = 0
    edits: tuple[Repair, ...] = ()


def calls_in(value: Any, offered: Offered, *, enveloped: bool) -> list[WrittenCall] | None:
    """The calls a value holds, in order, or None when it is no call (or only partly one).

    `offered` says whether a written name is a tool's. Inside an envelope a name alone is a call without arguments,
    and arguments may stand beside the name; elsewhere both keys are needed.
    """
    if isinstance(value, list):
        found: list[WrittenCall] = []
        for entry in value:
            calls = calls_in(entry, offered, enveloped=enveloped) if isinstance(entry, Mapping) else None
            if calls is None:
                return None
            found += calls
        return found or None
    if not isinstance(value, Mapping):
        return None
    for key in LIST_KEYS:
        if isinstance(value.get(key), list):
            return calls_in(value[key], offered, enveloped=True)
    for key in WRAPPER_KEYS:
        inner = value.get(key)
        if isinstance(inner, Mapping) and not any(isinstance(value.get(name), str) for name in ("name", "tool_name")):
            wrapped = _one(inner, offered, enveloped=True)
            return None if wrapped is None else [_with_id(wrapped, value)]
    call = _one(value, offered, enveloped=enveloped)
    return None if call is None else [_with_id(call, value)]


def _with_id(call: WrittenCall, value: Mapping[str, Any]) -> WrittenCall:
    for key in ("id", "call_id", "tool_call_id"):
        if isinstance(value.get(key), str) and value[key]:
            return WrittenCall(call.name, call.arguments, value[key], enveloped=call.enveloped, edits=call.edits)
    return call


def _one(value: Mapping[str, Any], offered: Offered, *, enveloped: bool) -> WrittenCall | None:
    name_key = next((key for key in NAME_KEYS if isinstance(value.get(key), str) and value[key].strip()), None)
    argument_key = next((key for key in ARGUMENT_KEYS if key in value), None)
    if name_key is None:
        return _name_as_key(value, offered, enveloped=enveloped)
    name = value[name_key]
    given = [value[key] for key in ARGUMENT_KEYS if key in value]
    if len(given) > 1 and any(other != given[0] for other in given):
        return WrittenCall(name, given, enveloped=enveloped)
    if argument_key is not None and not enveloped and is_record(value):
        return None
    if argument_key is not None:
        return WrittenCall(name, value[argument_key], enveloped=enveloped or argument_key == "arguments")
    others = {
        key: entry for key, entry in value.items() if key not in (name_key, "id", "type", "tool_call_id", "call_id")
    }
    if name_key == "_name" or (enveloped and others):
        return WrittenCall(name, others, enveloped=enveloped, edits=(Repair("arguments_beside_name", name_key),))
    if enveloped or (value.get("type") in CALL_TYPES and not others):
        return WrittenCall(name, {}, enveloped=enveloped)
    return None


def is_record(value: Mapping[str, Any]) -> bool:
    """Whether an object with a name and arguments tells of a call or of a tool instead of making a call."""
    return any(isinstance(key, str) and key.casefold() in RECORD_KEYS for key in value)


def _name_as_key(value: Mapping[str, Any], offered: Offered, *, enveloped: bool) -> WrittenCall | None:
    """`{"tool_name": {…arguments…}}`, where the only key is an offered tool."""
    if len(value) != 1:
        return None
    name, arguments = next(iter(value.items()))
    if isinstance(name, str) and isinstance(arguments, Mapping) and offered(name):
        return WrittenCall(name, dict(arguments), enveloped=enveloped)
    return None

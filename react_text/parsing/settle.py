"""A written call checked against the offered tools: its name resolved, its arguments read and aligned.

One call in, one `Call` or one `Fault` out. Knows nothing of the text around the call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from react_text.messages import Call, Fault, Repair
from react_text.parsing.align import align, only_parameter
from react_text.parsing.names import NameRead, resolve_name
from react_text.parsing.patterns import pattern
from react_text.parsing.scalars import GROUPED_OR_NOT
from react_text.parsing.shapes import ARGUMENT_KEYS, WrittenCall
from react_text.parsing.values import read_arguments, read_value
from react_text.tools import Tool

FINAL_NAMES = frozenset({"finalanswer", "finish"})
WRAPPED_NAME = pattern(r"^(?:functions?|tools?|default_api|tool_code)[._:/]+(?P<inner>.+)$", re.IGNORECASE)
COUNTER = pattern(r"^(?P<inner>.*\w)[:_#](?:call_)?\d{1,4}$")
LANGUAGE_WORD = pattern(r"\s*(?:json|JSON|arguments|args)\s*[:=]?\s*(?=[{\[])")
STRING_OR_ESCAPE = pattern(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|(?P<escape>\\[nrt])', re.DOTALL)
MARKUP = pattern(r"\s*<(?:/?(?:tool_call|arg_key|arg_value|parameter|function|invoke)\b|[|｜])")
ARGUMENT_MARKS = ("arg_key", "arg_value", "parameter")
CALL_ID = pattern(r"^(?:call|chatcmpl|toolu|tool|fc)[_-]?[\w-]*\d[\w-]*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of one written call: `call`, or `fault`, or `final` where the call was how an answer was given."""

    call: Call | None = None
    fault: Fault | None = None
    final: str | None = None
    edits: tuple[Repair, ...] = ()


def settle(written: WrittenCall, tools: Sequence[Tool], call_id: str) -> Settled:
    """The call that may run, or why it may not."""
    name = written.name.strip()
    arguments = written.arguments
    found = find_tool(name, tools)
    edits = written.edits + found.repairs
    if found.tool is None and isinstance(arguments, Mapping) and (not name or CALL_ID.match(name)):
        inner = arguments.get("name")
        if isinstance(inner, str) and name and (named := resolve_name(inner, tools)).tool is not None:
            rest = {key: value for key, value in arguments.items() if key != "name"}
            found, arguments = named, rest
            edits += (Repair("name_among_arguments", name, named.name), *named.repairs)
    if written.cut:
        return Settled(fault=truncated(found.name), edits=edits)
    if not name:
        names = ", ".join(tool.name for tool in tools)
        return Settled(fault=Fault("missing_name", f"The call names no tool; name one of: {names}."), edits=edits)
    if found.tool is None and re.sub(r"[\W_]", "", name).lower() in FINAL_NAMES:
        answer = _answer(arguments)
        if answer is not None:
            return Settled(final=answer, edits=edits)
    return _with_arguments(written, found, arguments, call_id, edits)


def truncated(name: str = "") -> Fault:
    what = f"The call of {name}" if name else "The call"
    return Fault("truncated", f"{what} ends before it is complete; write it again, whole and shorter.")


def find_tool(written: str, tools: Sequence[Tool]) -> NameRead:
    """`resolve_name`, and the same without the wrappings in which call ids and namespaces put a name."""
    plain = resolve_name(written, tools)
    if plain.tool is not None:
        return plain
    for candidate in _unwrapped_names(written):
        named = resolve_name(candidate, tools)
        if named.tool is not None:
            return NameRead(named.tool, named.name, (Repair("name_prefix", written, named.name), *named.repairs))
    wrapped = WRAPPED_NAME.match(written)
    return NameRead(None, wrapped["inner"] if wrapped else written, plain.repairs)


def _unwrapped_names(written: str) -> list[str]:
    """What may be the name in `functions.name:0`, `name<|token|>` or `… to=functions.name`, the barest first."""
    addressed = re.search(r"\bto=([\w.:-]+)", written)
    name = addressed[1] if addressed else written
    bare = name.split("<")[0].strip()
    wrapped = WRAPPED_NAME.match(bare)
    inner = wrapped["inner"] if wrapped else bare
    counted = COUNTER.match(inner)
    return [candidate for candidate in ((counted["inner"] if counted else ""), inner, bare) if candidate]


def _answer(arguments: Any) -> str | None:
    if isinstance(arguments, str):
        decoded = _loads(arguments) if arguments.lstrip().startswith("{") else None
        return _answer(decoded) if isinstance(decoded, Mapping) else arguments.strip() or None
    if isinstance(arguments, Mapping) and len(arguments) == 1:
        return _answer(next(iter(arguments.values())))
    return None


def _with_arguments(
    written: WrittenCall, found: NameRead, arguments: Any, call_id: str, edits: tuple[Repair, ...]
) -> Settled:
    tool, name = found.tool, found.name
    if isinstance(arguments, list) and len(arguments) == 1 and isinstance(arguments[0], Mapping):
        arguments = arguments[0]
        edits += (Repair("array_wrapped"),)
    if isinstance(arguments, str) and arguments.strip() in ("", "null", "None", '""'):
        arguments = None
    if arguments is None:
        arguments = {}
    if isinstance(arguments, str) and MARKUP.match(arguments):
        return Settled(fault=_unreadable("unreadable_arguments", name, arguments), edits=edits)
    if isinstance(arguments, str):
        arguments, mended = _plain_text(arguments)
        read = read_arguments(arguments, tool)
        edits += mended + read.repairs
        if read.arguments is None or not read.complete:
            code = "truncated" if not read.complete else read.fault or "unreadable_arguments"
            return Settled(fault=_unreadable(code, name, arguments), edits=edits)
        arguments = read.arguments
    if not isinstance(arguments, Mapping):
        return Settled(fault=_unreadable("unreadable_arguments", name, str(arguments)), edits=edits)
    arguments = dict(arguments)
    call = Call(call_id, name, arguments)
    if any(_leaked_marks(value) for value in (*arguments, *arguments.values())):
        return Settled(fault=_unreadable("unreadable_arguments", name, str(arguments)), edits=edits)
    if tool is None:
        return Settled(call=call, edits=edits)
    properties = tool.parameters.get("properties") or {}
    if "properties" in arguments and "properties" not in properties and isinstance(arguments["properties"], Mapping):
        message = f"The arguments of {name} repeat its schema; write the values themselves."
        return Settled(fault=Fault("placeholder_arguments", message, call), edits=edits)
    if written.positional:
        placed = _placed(arguments, written.positional, tool)
        if placed is None:
            message = f"Write the arguments of {name} with their names: {', '.join(properties)}."
            return Settled(fault=Fault("invalid_arguments", message, call), edits=edits)
        arguments, edits = placed, (*edits, Repair("positional_arguments", name))
    arguments, unwrapped = _inner_call(arguments, name, properties)
    edits += unwrapped
    if written.texts:
        arguments = {key: _typed(value, properties.get(key)) for key, value in arguments.items()}
    aligned = align(arguments, tool)
    call = Call(call_id, name, aligned.arguments)
    edits += aligned.repairs
    if aligned.problem is not None:
        if written.open:
            return Settled(fault=truncated(name), edits=edits)
        return Settled(fault=Fault("invalid_arguments", aligned.problem, call), edits=edits)
    return Settled(call=call, edits=edits)


def _plain_text(arguments: str) -> tuple[str, tuple[Repair, ...]]:
    """The text of an arguments field without a language word before it and without escapes between its values."""
    edits: tuple[Repair, ...] = ()
    inner = arguments
    while inner[:1] == '"' and isinstance(decoded := _loads(inner), str):
        inner = decoded.strip()
    if inner is not arguments and inner.startswith("{"):
        return inner, (Repair("double_encoded"),)
    prefix = LANGUAGE_WORD.match(arguments)
    if prefix is not None:
        arguments = arguments[prefix.end() :]
        edits += (Repair("language_word", prefix[0].strip()),)
    if arguments.lstrip()[:1] in ("{", "[") and "\\" in arguments and _loads(arguments) is None:
        spaced = STRING_OR_ESCAPE.sub(lambda match: " " if match["escape"] else match[0], arguments)
        if spaced != arguments and _loads(spaced) is not None:
            return spaced, (*edits, Repair("escaped_blanks"))
    return arguments, edits


def _loads(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _leaked_marks(value: Any) -> bool:
    """Whether a text holds the closing mark of an argument before any opening one: the server cut it wrongly."""
    if not isinstance(value, str) or "</" not in value:
        return False
    for mark in ARGUMENT_MARKS:
        closing = value.find(f"</{mark}>")
        if closing >= 0 and f"<{mark}" not in value[:closing]:
            return True
    return False


def _unreadable(code: str, name: str, written: str) -> Fault:
    if code == "truncated":
        return truncated(name)
    message = f"The arguments of {name} could not be read; write them as one JSON object."
    return Fault(code, message, Call("", name, {"input": written[:200]} if written else {}))


def _placed(arguments: dict[str, Any], count: int, tool: Tool) -> dict[str, Any] | None:
    """Arguments given by position under their names: one goes to the only parameter it can mean, more in order."""
    properties = list(tool.parameters.get("properties") or {})
    only = only_parameter(tool)
    names = [only[0]] if count == 1 and only is not None else properties[:count]
    named = {key: value for key, value in arguments.items() if not key.isdigit()}
    if len(names) < count or (count == 1 and only is None) or any(name in named for name in names):
        return None
    return {**{name: arguments[str(index)] for index, name in enumerate(names)}, **named}


def _inner_call(
    arguments: dict[str, Any], name: str, properties: Mapping[str, Any]
) -> tuple[dict[str, Any], tuple[Repair, ...]]:
    """The inner arguments of a whole call that was written where only its arguments belong."""
    if arguments.get("name") != name or "name" in properties:
        return arguments, ()
    for key in ARGUMENT_KEYS:
        if len(arguments) == 2 and isinstance(arguments.get(key), Mapping) and key not in properties:
            return dict(arguments[key]), (Repair("envelope", key),)
    return {key: value for key, value in arguments.items() if key != "name"}, (Repair("name_among_arguments", name),)


def _typed(value: Any, schema: Any) -> Any:
    """A value written as plain text, in the type the schema wants; text where the schema allows text."""
    if not isinstance(value, str) or not isinstance(schema, Mapping) or "string" in schema_types(schema):
        return value
    if "number" not in schema_types(schema) and GROUPED_OR_NOT.fullmatch(value):
        return value
    read = read_value(f"{value.strip()}\n")
    if not read.readable or not read.complete or value.strip()[read.end :].strip():
        return value
    return read.value


def schema_types(schema: Mapping[str, Any]) -> frozenset[str]:
    """The JSON types a schema allows at its top; a schema that does not say allows text."""
    written = schema.get("type")
    types = {written} if isinstance(written, str) else set(written) if isinstance(written, list) else set()
    for key in ("anyOf", "oneOf", "allOf"):
        for option in schema.get(key) or ():
            types |= schema_types(option) if isinstance(option, Mapping) else set()
    listed = schema.get("enum") or ([schema["const"]] if "const" in schema else ())
    if not types:
        types = {"string" if isinstance(value, str) else "listed" for value in listed}
    return frozenset(types or {"string"})

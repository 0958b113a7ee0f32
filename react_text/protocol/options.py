"""Optional arguments: which of them a text asks for, and which it has nothing for. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from react_text.protocol.examples import scalars
from react_text.protocol.figures import mentioned_figures
from react_text.protocol.grounding import argument_schemas, mentions, names
from react_text.protocol.narrowing import DEPENDING, mentioned_items
from react_text.protocol.parts import denies, parts_of, speaks_of
from react_text.schema import resolve_ref
from react_text.tools import Tool

_HELD = frozenset(("enum", "const", "format", "pattern"))
"""Keywords by which a text is none that is free."""
_SHORTEST = 3
"""Letters of a word that says what a switch is for: "open" of `is_open`."""


def with_settled_options(tool: Tool, text: str) -> Tool:
    """The tool with the optional arguments that the text asks for required, and numbers that it does not hold left out.

    Asked for is a choice from a list that the text names, all of them where several may be given, a switch whose name
    it names, which is then on unless the text denies something, and a number where it holds exactly one more than the
    required ones take. All else is left to the model, and everything where the schema speaks of arguments together.
    """
    if DEPENDING & tool.parameters.keys():
        return tool
    properties: dict[str, Any] = dict(tool.parameters.get("properties") or {})
    required = list(tool.parameters.get("required") or ())
    kinds = {name: _kind(schema, tool.parameters) for name, schema in properties.items()}
    optional = [name for name in properties if name not in required]
    asked = [name for name in optional if _asked_for(name, kinds[name], properties[name], tool, text)]
    counted = [name for name in optional if kinds[name] in ("integer", "number")]
    if counted and not {"array", "object", ""} & set(kinds.values()):
        spare = len(mentioned_figures(text)) - sum(kinds.get(name) in ("integer", "number") for name in required)
        if spare == len(counted) == 1:
            asked += counted
        elif spare <= 0:
            properties = {name: schema for name, schema in properties.items() if name not in counted}
    if not asked and len(properties) == len(kinds):
        return tool
    for name in asked:
        if kinds[name] == "boolean" and not denies(text):
            properties[name] = {"type": "boolean", "enum": [True]}
        elif kinds[name] == "array":
            properties[name] = {"enum": [mentioned_items(resolve_ref(properties[name], tool.parameters), text)]}
    parameters = {**tool.parameters, "properties": properties, "required": [*required, *asked]}
    return replace(tool, parameters=parameters)


def named_for_option(tool: Tool, arguments: Mapping[str, Any], question: str) -> dict[str, str]:
    """An optional text that was left out, with the name for it, which the question has and no argument holds.

    Only where one such argument was left out, and where one such name stands in the parts of the question that the
    arguments are from; else nothing.
    """
    if DEPENDING & tool.parameters.keys():
        return {}
    required = tool.parameters.get("required") or ()
    schemas = argument_schemas(tool)
    free = [name for name, one in schemas.items() if one.get("type") == "string" and not one.keys() & _HELD]
    left = [name for name in free if name not in arguments and name not in required]
    values = list(scalars(arguments))
    unused = [
        name
        for part in parts_of(question)
        if any(mentions(part, value) for value in values)
        for name in names(part)
        if not any(mentions(value, name) or mentions(name, value) for value in values)
    ]
    return {left[0]: unused[0]} if len(left) == len(unused) == 1 else {}


def _asked_for(name: str, kind: str, schema: Any, tool: Tool, text: str) -> bool:
    if kind == "enum":
        choices = resolve_ref(schema, tool.parameters).get("enum") or ()
        return any(isinstance(one, str) and one and mentions(text, one) for one in choices)
    if kind == "array":
        return bool(mentioned_items(resolve_ref(schema, tool.parameters), text))
    if kind == "boolean":
        return speaks_of(text, name, _SHORTEST)
    return False


def _kind(schema: Any, root: Mapping[str, Any]) -> str:
    """The type of an argument's values besides null, "enum" for a choice from a list, "" for several types."""
    resolved = resolve_ref(schema, root)
    ways = resolved.get("anyOf")
    if isinstance(ways, list | tuple):
        ways = [resolve_ref(one, root) for one in ways]
        ways = [one for one in ways if one.get("type") != "null"]
        if len(ways) != 1:
            return ""
        resolved = ways[0]
    if "enum" in resolved:
        return "enum"
    kind = resolved.get("type")
    kinds = [one for one in kind if one != "null"] if isinstance(kind, list | tuple) else [kind]
    return kinds[0] if len(kinds) == 1 and isinstance(kinds[0], str) else ""

"""Optional arguments: which of them a text asks for, and which it has nothing for. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from react_text.protocol.examples import scalars
from react_text.protocol.figures import implied_figures, mentioned_figures
from react_text.protocol.grounding import SHAPES, argument_schemas, mentions, names
from react_text.protocol.narrowing import DEPENDING, mentioned_items
from react_text.protocol.parts import SAY_NOTHING, denies, parts_of, speaks_of, stem, words_in
from react_text.schema import resolve_ref
from react_text.tools import Tool

_HELD = frozenset(("enum", "const", "format", "pattern"))
"""Keywords by which a text is none that is free."""
_SHORTEST = 3
"""Letters of a word that says what an argument is for: "open" of `is_open`."""
_NEAR = 2
"""Words before and after a name that may say which argument it is for."""
_TIME = {"date", "dates", "day", "time", "times", "when"}
_TIMES = (SHAPES["date"], SHAPES["date-time"], SHAPES["time"], re.compile(r"\d\d?/\d\d?/\d{4}"))


def with_settled_options(tool: Tool, text: str) -> Tool:
    """The tool with the optional arguments that the text asks for required, and numbers that it does not hold left out.

    Asked for is a choice from a list that the text names unless it denies something, all of them where several may be
    given, a switch whose name it names, which is then on unless the text denies something, and a number where it holds
    exactly one more than the required ones take. All else is left to the model, and everything where the schema speaks
    of arguments together. Numbers are not left out where words of the text may imply one.
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
        elif spare <= 0 and not implied_figures(text):
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

    Only where one such argument was left out, where one such name stands in the parts of the question that the
    arguments are from, and where the words around it speak of the argument; else nothing.
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
    if len(left) != 1 or len(unused) != 1:
        return {}
    option, name = left[0], unused[0]
    return {option: name} if _is_meant(option, schemas[option], name, question, values) else {}


def _is_meant(option: str, schema: Mapping[str, Any], name: str, question: str, values: Iterable[str]) -> bool:
    """Whether a name is for this option: one of its words stands near it, or both are of a date or time.

    Words of the `values` of other arguments say nothing. What holds digits but is no date or time is none, and neither
    is what is written in capitals, such as a unit.
    """
    of_time = not _TIME.isdisjoint(words_in(option))
    is_time = any(shape.fullmatch(name) for shape in _TIMES)
    if of_time or is_time:
        return of_time and is_time
    if name.isupper() or any(letter.isdigit() for letter in name):
        return False
    before, _, after = question.partition(name)
    near = [*words_in(before)[-_NEAR:], *words_in(after)[:_NEAR]]
    own = {stem(word) for word in words_in(f"{option} {schema.get('description', '')}") if len(word) >= _SHORTEST}
    own -= {stem(word) for text in (*values, *SAY_NOTHING) for word in words_in(text)}
    return any(stem(word) in own for word in near)


def _asked_for(name: str, kind: str, schema: Any, tool: Tool, text: str) -> bool:
    if kind == "enum":
        choices = resolve_ref(schema, tool.parameters).get("enum") or ()
        named = (one for one in choices if isinstance(one, str) and one and not one.isdecimal())
        return not denies(text) and any(mentions(text, one) for one in named)
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

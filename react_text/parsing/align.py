"""Arguments brought to the form a tool's schema wants, without loss; nothing is invented.

The schema decides between readings. Keys and values that no rule covers stay as they are, and the validator reports
them. Knows nothing of how the arguments were written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from react_text.messages import Repair
from react_text.parsing.echoes import echoed_argument
from react_text.parsing.jsonish import SNIPPET, read_value
from react_text.parsing.names import one_edit, plain, resolve_name
from react_text.parsing.scalars import GROUPED_OR_NOT, WrittenFloat, WrittenInt
from react_text.schema import coerce, first_problem, resolve_ref
from react_text.schema.shape import Schema, declared_properties, types_of
from react_text.schema.words import as_json
from react_text.tools import Tool

ENVELOPES = (
    "arguments",
    "input",
    "parameters",
    "args",
    "kwargs",
    "params",
    "action_input",
    "tool_input",
    "action_variables",
)
"""Keys that models put around the arguments, in plain spelling."""

NAME_KEYS = ("name", "action", "tool", "tool_name", "function", "function_name")
"""Keys beside an envelope that repeat the tool's name."""

GENERIC_KEYS = frozenset(
    {"input", "arg", "arg1", "argument", "value", "param", "parameter", "toolinput", "actioninput", "args"}
)
"""Keys, in plain form, that stand for the only argument of a tool."""


_NO_VALUE = ("", "None", "none", "null", "N/A", "n/a")


@dataclass(frozen=True, slots=True)
class AlignRead:
    """Aligned arguments; `problem` is a sentence for the model when they may not be used, else None.

    `fault` is the code that goes with `problem`.
    """

    arguments: dict[str, Any]
    repairs: tuple[Repair, ...] = ()
    problem: str | None = None
    fault: str = "invalid_arguments"


def align(arguments: Mapping[str, Any], tool: Tool) -> AlignRead:
    """`arguments` in the types and spellings of the schema of `tool`."""
    given = dict(arguments)
    schema = tool.parameters
    problem = first_problem(given, schema)
    repairs: tuple[Repair, ...] = ()
    if problem is not None or _has_float(given):
        best, repairs, problem = _aligned(given, tool, problem)
        given = best
    if echo := echoed_argument(given, tool):
        return AlignRead(given, repairs, echo, "placeholder_arguments")
    return AlignRead(given, repairs, problem)


def only_parameter(tool: Tool) -> tuple[str, Schema] | None:
    """The parameter that a bare value goes to: the only required one, or the only one at all; with its schema."""
    schema = tool.parameters
    properties, _ = declared_properties(schema, schema)
    required = [name for name in schema.get("required") or () if name in properties]
    names = required or list(properties)
    if len(names) != 1:
        return None
    return names[0], resolve_ref(properties[names[0]], schema)


def takes_text(schema: Schema) -> bool:
    """Whether a parameter is a string, or may be one."""
    types = types_of(schema)
    return "string" in types or (not types and not any(key in schema for key in ("enum", "anyOf", "oneOf", "allOf")))


def _aligned(
    given: dict[str, Any], tool: Tool, problem: str | None
) -> tuple[dict[str, Any], tuple[Repair, ...], str | None]:
    schema = tool.parameters
    first = _Walk(schema)
    best = first.members(given, schema)
    left = first_problem(best, schema)
    if left is None:
        return best, tuple(first.repairs), None
    if not schema.get("properties") and all(value is None or value in _NO_VALUE for value in given.values()):
        return {}, (Repair("empty_input", as_json(given), "{}"),), None
    for repair, inner in _unwrapped(given, tool):
        walk = _Walk(schema)
        walk.repairs.append(repair)
        candidate = walk.members(inner, schema)
        if first_problem(candidate, schema) is None:
            return candidate, tuple(walk.repairs), None
    return given, (), problem


def _unwrapped(given: dict[str, Any], tool: Tool) -> Iterable[tuple[Repair, dict[str, Any]]]:
    """The same arguments without the envelope around them, or under the only parameter they can mean."""
    properties, _ = declared_properties(tool.parameters, tool.parameters)
    beside = {key: value for key, value in given.items() if key not in properties and _names_tool(key, value, tool)}
    rest = {key: value for key, value in given.items() if key not in beside}
    if len(rest) != 1:
        if beside and rest:
            yield Repair("envelope", as_json(given)[:SNIPPET], as_json(rest)[:SNIPPET]), rest
        return
    ((key, value),) = rest.items()
    if key in properties:
        return
    if isinstance(value, str) and value.lstrip()[:1] == "{":
        read = read_value(value)
        if read.complete and read.closed and not value[read.end :].strip():
            value = read.value
    if isinstance(value, Mapping):
        if plain(key) in {plain(name) for name in ENVELOPES} or plain(key) == plain(tool.name):
            yield Repair("envelope", as_json(given)[:SNIPPET], as_json(value)[:SNIPPET]), dict(value)
        return
    only = only_parameter(tool)
    if only and plain(key) in GENERIC_KEYS and isinstance(value, str) and takes_text(only[1]):
        yield Repair("generic_key", key, only[0]), {only[0]: value}


def _names_tool(key: str, value: Any, tool: Tool) -> bool:
    return (
        plain(key) in {plain(name) for name in NAME_KEYS}
        and isinstance(value, str)
        and bool(resolve_name(value, [tool]).tool)
    )


_NUMBERS = frozenset({float, WrittenFloat, WrittenInt})


def _has_float(value: Any) -> bool:
    for inner in value.values() if type(value) is dict else value:
        kind = type(inner)
        if kind in _NUMBERS or ((kind is dict or kind is list) and _has_float(inner)):
            return True
    return False


class _Walk:
    """One walk over a value beside its schema, with the repairs that it made."""

    def __init__(self, root: Schema) -> None:
        self.root = root
        self.repairs: list[Repair] = []

    def _note(self, name: str, before: Any, after: Any) -> None:
        self.repairs.append(Repair(name, as_json(before)[:SNIPPET], as_json(after)[:SNIPPET]))

    def members(self, given: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
        """An object with its keys and values aligned; a null where no value is wanted is left out."""
        properties, _ = declared_properties(schema, self.root)
        required = schema.get("required") or ()
        renamed = self._keys(given, properties)
        aligned: dict[str, Any] = {}
        for key, value in given.items():
            name = renamed.get(key, key)
            inner = properties.get(name, schema.get("additionalProperties"))
            if not isinstance(inner, Mapping):
                aligned[name] = _unspelled(value)
            elif value is None and name not in required and not self._fits(None, inner):
                self._note("null_dropped", {name: None}, {})
            else:
                aligned[name] = self.value(value, inner)
        return aligned

    def _keys(self, given: Mapping[str, Any], properties: Mapping[str, Any]) -> dict[str, str]:
        """Undeclared keys that can only mean one declared name which is not there yet."""
        free = [name for name in properties if name not in given]
        renamed: dict[str, str] = {}
        for near in (lambda key, name: plain(key) == plain(name), _mistyped):
            for key in given:
                if key in properties or key in renamed:
                    continue
                found = [name for name in free if name not in renamed.values() and near(key, name)]
                rivals = [
                    other
                    for other in given
                    if other not in properties and other not in renamed and found and near(other, found[0])
                ]
                if len(found) == 1 and len(rivals) == 1:
                    renamed[key] = found[0]
                    self._note("key_spelling", key, found[0])
        return renamed

    def _fits(self, value: Any, schema: Any) -> bool:
        around = {key: self.root[key] for key in ("$defs", "definitions") if key in self.root}
        return (
            first_problem({"value": value}, {**around, "properties": {"value": schema}, "required": ["value"]}) is None
        )

    def value(self, value: Any, schema: Any) -> Any:
        """A value in the form that `schema` wants, or as it is."""
        schema = resolve_ref(schema, self.root)
        types = types_of(schema)
        branches = schema.get("anyOf") or schema.get("oneOf")
        if isinstance(branches, (list, tuple)):
            return self._branch(value, branches, schema)
        if isinstance(value, Mapping) and (not types or "object" in types):
            return self.members(value, schema)
        if isinstance(value, list) and (not types or "array" in types):
            items = schema.get("items")
            return [self.value(item, items) if isinstance(items, Mapping) else _unspelled(item) for item in value]
        if types == ("array",) or (set(types) == {"array", "null"} and value is not None):
            return self._listed(value, schema)
        if isinstance(value, str) and "object" in types and "string" not in types:
            return self._decoded(value, schema)
        return self._scalar(value, schema, types)

    def _branch(self, value: Any, branches: Iterable[Any], schema: Schema) -> Any:
        if self._fits(value, schema):
            return _unspelled(value)
        readings: list[tuple[Any, list[Repair]]] = []
        for branch in branches:
            walk = _Walk(self.root)
            reading = walk.value(value, branch)
            if self._fits(reading, branch) and not any(reading == other for other, _ in readings):
                readings.append((reading, walk.repairs))
        if len(readings) != 1:
            return _unspelled(value)
        self.repairs.extend(readings[0][1])
        return readings[0][0]

    def _listed(self, value: Any, schema: Schema) -> Any:
        """A list out of its JSON text, or a lone item as a list of one."""
        if isinstance(value, str) and value.lstrip()[:1] == "[":
            read = read_value(value)
            if isinstance(read.value, list) and read.complete and read.closed and not value[read.end :].strip():
                self._note("decoded_text", value, read.value)
                return self.value(read.value, schema)
            return value
        if value is None or (
            isinstance(value, str) and (not value.strip() or any(mark in value for mark in ",;\n|，、"))
        ):
            return value
        items = schema.get("items")
        lone = _Walk(self.root)
        item = lone.value(value, items) if isinstance(items, Mapping) else _unspelled(value)
        if isinstance(items, Mapping) and not self._fits(item, items):
            return value
        self.repairs.extend(lone.repairs)
        self._note("lone_item", value, [item])
        return [item]

    def _decoded(self, value: str, schema: Schema) -> Any:
        if value.lstrip()[:1] != "{":
            return value
        read = read_value(value)
        if not isinstance(read.value, dict) or not read.complete or not read.closed or value[read.end :].strip():
            return value
        self._note("decoded_text", value, read.value)
        return self.members(read.value, schema)

    def _scalar(self, value: Any, schema: Schema, types: tuple[str, ...]) -> Any:
        result = _unspelled(value)
        if isinstance(value, float) and "string" in types and "number" not in types and "integer" not in types:
            result = value.written if isinstance(value, WrittenFloat) else repr(value)
        elif isinstance(value, WrittenInt) and "string" in types and "number" not in types and "integer" not in types:
            result = value.written
        elif (
            isinstance(value, str) and "integer" in types and "number" not in types and GROUPED_OR_NOT.fullmatch(value)
        ):
            return value
        elif types:
            result = coerce(result, schema, self.root)
        written = isinstance(value, (WrittenFloat, WrittenInt))
        if type(result) is not type(value) and (not written or type(result) is str):
            self._note("type", value, result)
        allowed = schema.get("enum")
        if isinstance(allowed, (list, tuple)) and isinstance(result, str) and result not in allowed:
            return self._listed_value(result, [item for item in allowed if isinstance(item, str)])
        return result

    def _listed_value(self, value: str, allowed: list[str]) -> str:
        same = [item for item in allowed if plain(item) == plain(value) and plain(value)]
        if not same and len(plain(value)) >= 5:
            same = [item for item in allowed if one_edit(plain(item), plain(value))]
        if len(same) != 1:
            return value
        self._note("enum_spelling", value, same[0])
        return same[0]


def _mistyped(key: str, name: str) -> bool:
    return min(len(key), len(name)) >= 5 and one_edit(plain(key), plain(name))


def _unspelled(value: Any) -> Any:
    """The value with ordinary floats in place of those that remember their spelling."""
    if isinstance(value, WrittenFloat):
        return float(value)
    if isinstance(value, WrittenInt):
        return int(value)
    if isinstance(value, Mapping):
        return {key: _unspelled(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_unspelled(item) for item in value]
    return value

"""Tools held to values: what a text holds put into the open places of their schemas. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from react_text.protocol.figures import figures
from react_text.protocol.grounding import MOST_VALUES, SHAPES, argument_schemas, choices_of, mentions, spans, words_of
from react_text.schema import first_problem, resolve_ref
from react_text.tools import Tool

_Value = TypeVar("_Value")
DEPENDING = frozenset(
    (
        *("minProperties", "maxProperties", "anyOf", "oneOf", "allOf", "not", "if", "$ref"),
        *("dependentRequired", "dependentSchemas", "dependencies"),
    )
)
"""Keywords by which one argument may depend on another."""
_DEEPEST = 6
"""Levels of a schema that are held to values; what lies deeper stays open."""
_OPEN = frozenset(("type", "enum", "format", "description", "title", "default", "examples", "nullable"))
"""Keywords that leave any value of a type allowed, or those listed."""
_PLAIN_LIST = frozenset(("type", "items", "description", "title", "default", "examples"))
"""Keywords of a list that may be of any length."""


def narrowed(
    tool: Tool, texts: Sequence[str], without: Iterable[str] = (), around: Sequence[str] = (), words: Sequence[str] = ()
) -> Tool:
    """The tool with its open arguments held to what the texts hold: words for strings, numbers for numbers.

    Dates and the like and choices from a list are taken from the texts `around` too. Arguments with a pattern stay as
    they are, and so do those for which the texts hold nothing. `without` are values that are not to be taken again, nor
    words of them; nor are several words that begin with one of the tool's own, as "room 212" does. `words` are taken
    for strings instead of all runs of words.
    """
    banned = {one.casefold() for one in without}
    own = words_of(tool)
    words = words or [
        one
        for one in spans(texts)
        if not any(mentions(other, one) for other in banned) and not (" " in one and one.split()[0] in own)
    ]
    counted = _earliest(one for text in texts for one in figures(text) if str(one) not in banned)
    shaped = {
        form: _earliest(match[0] for text in (*texts, *around) for match in shape.finditer(text))
        for form, shape in SHAPES.items()
    }
    tool = with_mentioned_choices(tool, "\n".join((*texts, *around)))
    held = _Held(tool.parameters, words, counted, shaped)
    return replace(tool, parameters=held.schema(tool.parameters, 0))


def with_mentioned_choices(tool: Tool, text: str) -> Tool:
    """The tool with arguments that choose from a list held to the choices that the text names.

    Arguments with the same list are held only where the text names one for each: of "12 miles in kilometres" the one
    is what it is, the other what it shall be, and who names only one has left the other open.
    """
    properties = argument_schemas(tool)
    alike = Counter(str(choices_of(schema)) for schema in properties.values())
    for name, schema in properties.items():
        named = [one for one in choices_of(schema) if isinstance(one, str) and one and mentions(text, one)]
        named = _allowed(named, schema, tool.parameters)
        if named and len(named) >= alike[str(choices_of(schema))]:
            properties[name] = {**schema, "enum": named}
    return replace(tool, parameters={**tool.parameters, "properties": properties}) if properties else tool


def mentioned_items(schema: Mapping[str, Any], text: str) -> list[str]:
    """Of a list of choices those that the text names, as one or several, where nothing else is said of the list."""
    items = schema.get("items")
    if schema.get("type") != "array" or schema.keys() - _PLAIN_LIST or not isinstance(items, Mapping):
        return []
    if items.keys() - _OPEN:
        return []
    named = (one for one in choices_of(items) if isinstance(one, str) and one)
    return [one for one in named if any(mentions(text, form) for form in (one, *_singulars(one)))]


def _singulars(word: str) -> list[str]:
    return [word.removesuffix(ending) for ending in ("s", "es") if word.endswith(ending) and len(word) > len(ending)]


def put_right(tool: Tool, arguments: Mapping[str, Any], doubtful: Collection[str], texts: Sequence[str]) -> Tool:
    """The tool held to these arguments, but for the doubtful: taken from the texts, or left out if optional.

    Where the schema speaks of arguments together, none is left out.
    """
    kept = arguments if DEPENDING & tool.parameters.keys() else tool.parameters.get("required") or ()
    open_again = narrowed(tool, texts).parameters.get("properties") or {}
    properties = {
        name: open_again.get(name, {}) if name in doubtful else {"enum": [arguments[name]]}
        for name in {**(tool.parameters.get("properties") or {}), **arguments}
        if name in arguments and (name in kept or name not in doubtful)
    }
    parameters = {**tool.parameters, "properties": properties, "required": list(properties)}
    return replace(tool, parameters=parameters)


def _allowed(values: list[_Value], schema: Mapping[str, Any], root: Mapping[str, Any]) -> list[_Value]:
    """The values that fit what the schema says besides their type."""
    if not (schema.keys() - _OPEN or {"type", "enum"} <= schema.keys()):
        return values
    around = {key: root[key] for key in ("$defs", "definitions") if key in root}
    held = {"type": "object", "properties": {"value": schema}, **around}
    return [one for one in values if first_problem({"value": one}, held) is None]


def _earliest(values: Iterable[_Value]) -> list[_Value]:
    return list(dict.fromkeys(values))[:MOST_VALUES]


@dataclass(frozen=True)
class _Held:
    """Values by what they can be, put into the open places of a schema."""

    root: Mapping[str, Any]
    words: Sequence[str]
    figures: Sequence[float | int]
    shaped: Mapping[str, Sequence[str]]

    def schema(self, schema: Any, depth: int, name: str = "", within: frozenset[str] = frozenset()) -> Any:
        """The schema with its open places held; a reference `within` itself is left as it is."""
        if not isinstance(schema, Mapping) or depth > _DEEPEST:
            return schema
        if isinstance(reference := schema.get("$ref"), str):
            known = resolve_ref(schema, self.root)
            return schema if reference in within else self.schema(known, depth + 1, name, within | {reference})
        if any(key in schema for key in ("enum", "const", "pattern", "anyOf", "oneOf", "allOf")):
            return schema
        match schema.get("type"):
            case "object":
                properties = schema.get("properties") or {}
                inside = {name: self.schema(one, depth + 1, name, within) for name, one in properties.items()}
                return {**schema, "properties": inside} if inside else schema
            case "array":
                items = self.schema(schema.get("items"), depth + 1, "", within)
                few = isinstance(items, Mapping) and len(items.get("enum", ())) < schema.get("minItems", 0)
                if "items" not in schema or "contains" in schema or (few and schema.get("uniqueItems")):
                    return schema
                return {**schema, "items": items}
            case kind:
                own = name.replace("_", " ").casefold()
                values = [one for one in self.values(kind, schema.get("format")) if str(one).casefold() != own]
                values = _allowed(values, schema, self.root)
                return {**schema, "enum": values} if values else schema

    def values(self, kind: Any, form: Any) -> Sequence[Any]:
        if kind == "string":
            return self.words if form is None else self.shaped.get(str(form), ())
        if kind == "integer":
            return [one for one in self.figures if isinstance(one, int)]
        return self.figures if kind == "number" else ()

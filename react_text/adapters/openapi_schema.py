"""Schemas of an OpenAPI 3.0 or 3.1 document as plain JSON Schema without references. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from react_text.errors import ToolSourceError

_DEEPEST = 6
"""Levels of a schema that are written out: below, only the type is kept, as where a schema holds itself."""
_LEFT_OUT = ("title", "example", "externalDocs", "xml", "discriminator", "deprecated", "nullable", "$ref", "allOf")
_INNER = ("items", "additionalProperties", "not")
_INNER_LISTS = ("anyOf", "oneOf")


def pointed(node: Any, document: Mapping[str, Any]) -> Any:
    """What a node stands for: itself, or what its `$ref` points to in the document. Raises ToolSourceError."""
    seen: set[str] = set()
    while isinstance(node, Mapping) and isinstance(reference := node.get("$ref"), str):
        if not reference.startswith("#/") or reference in seen:
            raise ToolSourceError(f'The document refers to "{reference}", which is not in it; bundle it into one file.')
        seen.add(reference)
        found: Any = document
        for part in reference[2:].split("/"):
            name = unquote(part).replace("~1", "/").replace("~0", "~")
            found = found.get(name) if isinstance(found, Mapping) else None
        if found is None:
            raise ToolSourceError(f'The document refers to "{reference}", which is not in it.')
        node = found
    return node


class Schemas:
    """Converts the schemas of one document; what was converted once is kept."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self._known: dict[tuple[str, int], Any] = {}

    def plain(self, schema: Any, depth: int = 0, inside: frozenset[str] = frozenset()) -> Any:
        """The schema as JSON Schema. A property that only the server sets is left out."""
        if not isinstance(schema, Mapping):
            return schema
        reference = schema.get("$ref")
        if isinstance(reference, str):
            return self._referenced(reference, schema, depth, inside)
        if depth > _DEEPEST:
            return {key: schema[key] for key in ("type", "enum") if key in schema}
        made = {key: value for key, value in schema.items() if key not in _LEFT_OUT and not key.startswith("x-")}
        for part in schema.get("allOf", ()):
            made = _merged(made, self.plain(part, depth, inside))
        if not isinstance(made.get("required", []), list):
            del made["required"]
        if isinstance(schema.get("properties"), Mapping):
            own = {
                name: self.plain(inner, depth + 1, inside)
                for name, inner in schema["properties"].items()
                if not (isinstance(inner, Mapping) and inner.get("readOnly"))
            }
            made["properties"] = {**(made["properties"] if "allOf" in schema else {}), **own}
            made["required"] = [name for name in made.get("required", ()) if name in made["properties"]]
        for key in _INNER:
            if isinstance(schema.get(key), Mapping):
                made[key] = self.plain(schema[key], depth + 1, inside)
        for key in _INNER_LISTS:
            if key in schema:
                made[key] = [self.plain(option, depth + 1, inside) for option in schema[key]]
        return _nullable(_limits(made)) if schema.get("nullable") is True else _limits(made)

    def _referenced(self, reference: str, schema: Mapping[str, Any], depth: int, inside: frozenset[str]) -> Any:
        if reference in inside:
            kind = pointed(schema, self._document).get("type", "object")
            return {"type": kind}
        key = (reference, depth)
        if key not in self._known:
            self._known[key] = self.plain(pointed(schema, self._document), depth, inside | {reference})
        beside = {name: value for name, value in schema.items() if name not in ("$ref", "nullable")}
        return {**self._known[key], **beside} if beside else self._known[key]


def _merged(first: Mapping[str, Any], second: Any) -> dict[str, Any]:
    if not isinstance(second, Mapping):
        return dict(first)
    made = {**second, **first}
    if "properties" in first or "properties" in second:
        made["properties"] = {**second.get("properties", {}), **first.get("properties", {})}
    if "required" in first or "required" in second:
        made["required"] = list(dict.fromkeys([*second.get("required", ()), *first.get("required", ())]))
    return made


def _limits(schema: dict[str, Any]) -> dict[str, Any]:
    """OpenAPI 3.0 says that a limit is exclusive by true or false beside it."""
    for exclusive, limit in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(schema.get(exclusive), bool) and schema.pop(exclusive) and limit in schema:
            schema[exclusive] = schema.pop(limit)
    return schema


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    if isinstance(schema.get("type"), str):
        schema["type"] = [schema["type"], "null"]
        if "enum" in schema and None not in schema["enum"]:
            schema["enum"] = [*schema["enum"], None]
        return schema
    return {"anyOf": [schema, {"type": "null"}]}

"""The shape of a JSON Schema: references, types and declared names, read without validating anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

Schema: TypeAlias = Mapping[str, Any]

TYPE_NAMES = {
    "str": "string",
    "text": "string",
    "int": "integer",
    "float": "number",
    "double": "number",
    "bool": "boolean",
    "list": "array",
    "tuple": "array",
    "dict": "object",
    "none": "null",
}
"""What tool lists write for the type names of JSON Schema. Arguments are checked as if they had written it right."""

JSON_TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")
SCHEMA_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
"""Keywords whose values map names to schemas."""
SCHEMA_PARTS = (
    *("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "prefixItems", "items", "additionalItems", "contains"),
    *("unevaluatedItems", "additionalProperties", "unevaluatedProperties", "propertyNames"),
)
"""Keywords whose values are a schema or a list of schemas."""

_BRANCHES = ("allOf", "anyOf", "oneOf")
_ANCHORS = ("$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor")
"""Other ways to name a schema than by its place; references here go by place alone."""
_MOST_BRANCHES = 500


def resolve_ref(schema: Any, root: Any) -> Schema:
    """The schema behind a local `$ref`, with keywords that stand beside the `$ref` kept; any other schema as it is.

    `true` and what cannot be resolved are `{}`, which allows everything; `false` is `{"not": {}}`.
    """
    seen: set[str] = set()
    while isinstance(schema, Mapping) and isinstance(reference := schema.get("$ref"), str):
        if reference in seen:
            return {}
        seen.add(reference)
        target = referenced(reference, root)
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        schema = {**target, **beside} if isinstance(target, Mapping) and beside else target
    if schema is False:
        return {"not": {}}
    return schema if isinstance(schema, Mapping) else {}


def referenced(reference: str, root: Any) -> Any:
    """What a local reference such as `#/$defs/Stop` points to, or None."""
    if reference != "#" and not reference.startswith("#/"):
        return None
    node = root
    for part in reference[1:].split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(node, Mapping):
            node = node.get(key)
        elif isinstance(node, list) and key.isdecimal() and int(key) < len(node):
            node = node[int(key)]
        else:
            return None
    return node


def types_of(schema: Schema) -> tuple[str, ...]:
    """The JSON types that a resolved schema names itself, `nullable` included; `()` where it names none."""
    declared = schema.get("type")
    names = (declared,) if isinstance(declared, str) else declared if isinstance(declared, (list, tuple)) else ()
    found = [TYPE_NAMES.get(name.lower(), name.lower()) for name in names if isinstance(name, str)]
    if not found or not set(JSON_TYPES).issuperset(found):
        return ()
    if schema.get("nullable") is True and "null" not in found:
        found.append("null")
    return tuple(found)


def in_place(schema: Any, root: Any) -> Iterator[Schema]:
    """Every schema that speaks of the same value: the schema itself, and its allOf, anyOf, oneOf and conditions."""
    waiting: list[Any] = [schema]
    for _ in range(_MOST_BRANCHES):
        if not waiting:
            return
        current = resolve_ref(waiting.pop(0), root)
        yield current
        for keyword in _BRANCHES:
            branches = current.get(keyword)
            if isinstance(branches, (list, tuple)):
                waiting.extend(branches)
        waiting.extend(current[keyword] for keyword in ("if", "then", "else") if keyword in current)
        dependent = current.get("dependentSchemas")
        waiting.extend(dependent.values() if isinstance(dependent, Mapping) else ())


def declared_properties(schema: Any, root: Any) -> tuple[dict[str, Any], bool]:
    """The properties that an object schema declares in any of its branches, and whether it is open.

    A property that branches declare in different ways is an `anyOf` of them. Open means that other names are allowed
    in so many words: `additionalProperties` true or a schema, or `patternProperties`.
    """
    found: dict[str, list[Any]] = {}
    is_open = False
    for current in in_place(schema, root):
        own = current.get("properties")
        for name, inner in own.items() if isinstance(own, Mapping) else ():
            ways = found.setdefault(name, [])
            if inner not in ways:
                ways.append(inner)
        other = current.get("additionalProperties", current.get("unevaluatedProperties", False))
        is_open = is_open or other is True or isinstance(other, Mapping) or bool(current.get("patternProperties"))
    return {name: ways[0] if len(ways) == 1 else {"anyOf": ways} for name, ways in found.items()}, is_open


def standard(schema: Any) -> Any:
    """The schema in the words of JSON Schema: type names put right, `nullable` and `false` written out."""
    if isinstance(schema, (list, tuple)):
        return [standard(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    kept: dict[str, Any] = {}
    for key, value in schema.items():
        if key in SCHEMA_MAPS and isinstance(value, Mapping):
            kept[key] = {name: _not_false(inner) for name, inner in value.items()}
        elif key in _BRANCHES and isinstance(value, (list, tuple)):
            kept[key] = [_not_false(inner) for inner in value]
        elif key in SCHEMA_PARTS:
            kept[key] = standard(value)
        elif key not in _ANCHORS:
            kept[key] = value
    if isinstance(kept.get("required"), bool):
        del kept["required"]
    if "type" in kept and _respelled(kept["type"]):
        types = types_of(schema)
        kept["type"] = list(types) if len(types) > 1 else types[0] if types else list(JSON_TYPES)
    if kept.get("nullable") is True:
        types = types_of(schema)
        if types:
            kept["type"] = list(types)
        if isinstance(kept.get("enum"), (list, tuple)) and None not in kept["enum"]:
            kept["enum"] = [*kept["enum"], None]
    return kept


def _not_false(schema: Any) -> Any:
    """The standard schema; `false` as one that jsonschema reports with its path, which it does not for `false`."""
    return {"not": {}} if schema is False else standard(schema)


def _respelled(declared: Any) -> bool:
    """True where a type is written in another way than JSON Schema's, but in one that is understood."""
    names = declared if isinstance(declared, list) else [declared]
    return (
        all(isinstance(name, str) for name in names)
        and not set(JSON_TYPES).issuperset(names)
        and all(TYPE_NAMES.get(name.lower(), name.lower()) in (*JSON_TYPES, "any") for name in names)
    )

"""One JSON Schema as the plain schemas of which a value must fit one. Pure.

References in place, `allOf`, `anyOf`, `oneOf` and lists of types are worked out, so that each way is a flat table of
keywords about one type. What cannot be worked out is left out, which makes a way looser, and is named.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from react_text.schema import resolve_ref, types_of

MOST_WAYS = 48
_DEEPEST = 24

_OF_TYPE: dict[str, tuple[str, ...]] = {
    "object": (
        *("properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties"),
        *("maxProperties", "dependentRequired", "dependentSchemas", "unevaluatedProperties"),
    ),
    "array": (
        *("items", "prefixItems", "additionalItems", "minItems", "maxItems", "uniqueItems", "contains"),
        "unevaluatedItems",
    ),
    "string": ("minLength", "maxLength", "pattern", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}
"""The keywords that speak of one type only, by that type; where no type is named, they tell which is meant."""

_EVERY = frozenset(("string", "number", "boolean", "array", "object", "null"))
_WORKED_OUT = ("allOf", "anyOf", "oneOf", "const", "nullable", "$ref", "$defs", "definitions")
_UNSAID = ("not", "if", "dependentSchemas", "dependentRequired", "unevaluatedProperties", "unevaluatedItems")


def ways_of(schema: Any, root: Any, loosen: Callable[[str], None]) -> list[Mapping[str, Any]]:
    """Flat schemas with one `type` each, or with an `enum` alone; `{}` allows any value, no ways allow none.

    `loosen` is called with each keyword that was left out.
    """
    found: list[Mapping[str, Any]] = []
    for way in _Ways(root, loosen).of(schema, 0):
        for one in _typed(way):
            if one not in found:
                found.append(one)
    return found


@dataclass
class _Ways:
    """The working out of one schema: where its references lead, and those that are open."""

    root: Any
    loosen: Callable[[str], None]
    open: list[str] = field(default_factory=list)

    def of(self, schema: Any, depth: int) -> list[Mapping[str, Any]]:
        if schema is False:
            return []
        if not isinstance(schema, Mapping) or not schema:
            return [{}]
        if depth > _DEEPEST:
            self.loosen("nesting")
            return [{}]
        reference = schema.get("$ref")
        if isinstance(reference, str):
            if reference in self.open:
                return []
            self.open.append(reference)
            try:
                beside = {key: value for key, value in schema.items() if key != "$ref"}
                target = resolve_ref({"$ref": reference}, self.root)
                return self.both(self.of(target, depth + 1), self.of(beside, depth + 1))
            finally:
                self.open.pop()
        own = {key: value for key, value in schema.items() if key not in _WORKED_OUT}
        for key in _UNSAID:
            if key in own:
                if own.pop(key) == {} and key == "not":
                    return []
                self.loosen(key)
        if "const" in schema:
            own["enum"] = [schema["const"]]
        elif isinstance(own.get("enum"), list | tuple) and own["enum"]:
            own["enum"] = list(own["enum"])
        else:
            own.pop("enum", None)
        if schema.get("nullable") is True and (types := types_of(schema)):
            own["type"] = list(types)
            if "enum" in own and None not in own["enum"]:
                own["enum"] = [*own["enum"], None]
        ways: list[Mapping[str, Any]] = [own]
        for inner in _schemas(schema, "allOf"):
            ways = self.both(ways, self.of(inner, depth + 1))
        for key in ("anyOf", "oneOf"):
            options = _schemas(schema, key)
            if not options:
                continue
            branches = [self.of(option, depth + 1) for option in options]
            if key == "oneOf" and not _apart(branches):
                self.loosen("oneOf")
            ways = self.both(ways, [way for branch in branches for way in branch])
        return ways

    def both(self, left: list[Mapping[str, Any]], right: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Every way of `left` joined with every way of `right`."""
        if len(left) * len(right) > MOST_WAYS and min(len(left), len(right)) > 1:
            self.loosen("anyOf")
            return left if len(left) > len(right) else right
        joined = (self.join(one, other) for one in left for other in right)
        return [way for way in joined if way is not None]

    def join(self, left: Mapping[str, Any], right: Mapping[str, Any]) -> dict[str, Any] | None:
        """The flat schema of what fits both, or None where nothing does."""
        joined = dict(left)
        for key, value in right.items():
            if key not in left or left[key] == value:
                joined[key] = value
                continue
            if key in ("properties", "additionalProperties", "patternProperties"):
                continue
            if key not in _JOINED:
                if key in _CHECKED:
                    self.loosen(key)
                continue
            try:
                joined[key] = _JOINED[key](left[key], value)
            except (TypeError, ValueError):
                self.loosen(key)
                continue
            if joined[key] is None:
                return None
        return joined | _joined_members(left, right)


def _schemas(schema: Mapping[str, Any], key: str) -> list[Any]:
    found = schema.get(key)
    return list(found) if isinstance(found, list | tuple) else []


def _joined_members(left: Mapping[str, Any], right: Mapping[str, Any]) -> dict[str, Any]:
    """The members of an object that fits both: what one does not declare has to fit its `additionalProperties`."""
    keys = ("properties", "additionalProperties", "patternProperties")
    if not any(key in left for key in keys) or not any(key in right for key in keys):
        return {}
    names = dict.fromkeys([*_mapping(left, "properties"), *_mapping(right, "properties")])
    joined: dict[str, Any] = {}
    members = {name: _all(_member(left, name), _member(right, name)) for name in names}
    if "properties" in left or "properties" in right:
        joined["properties"] = members
    others = [one["additionalProperties"] for one in (left, right) if "additionalProperties" in one]
    if others:
        joined["additionalProperties"] = _all(*others)
    patterns = {**_mapping(left, "patternProperties"), **_mapping(right, "patternProperties")}
    return joined | ({"patternProperties": patterns} if patterns else {})


def _member(schema: Mapping[str, Any], name: str) -> Any:
    properties = _mapping(schema, "properties")
    if name in properties:
        return properties[name]
    return {} if _mapping(schema, "patternProperties") else schema.get("additionalProperties", {})


def _mapping(schema: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = schema.get(key)
    return found if isinstance(found, Mapping) else {}


def _all(*schemas: Any) -> Any:
    if any(one is False for one in schemas):
        return False
    said = [one for one in schemas if isinstance(one, Mapping) and one]
    unique = [one for index, one in enumerate(said) if one not in said[:index]]
    if not unique:
        return True
    return unique[0] if len(unique) == 1 else {"allOf": unique}


def _common_types(left: Any, right: Any) -> Any:
    """The types in both; an integer is a number."""
    one, other = _names(left), _names(right)
    found = [kind for kind in one if kind in other or (kind == "integer" and "number" in other)]
    found += [kind for kind in other if kind == "integer" and "number" in one and kind not in found]
    return found or None


def _names(types: Any) -> list[str]:
    return [types] if isinstance(types, str) else list(types)


def _common_values(left: list[Any], right: list[Any]) -> Any:
    found = [value for value in left if any(same(value, other) for other in right)]
    return found or None


def same(left: Any, right: Any) -> bool:
    """Whether two JSON values are equal as JSON has it: 1 is 1.0 but not true."""
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def _all_names(left: Any, right: Any) -> list[str]:
    if not isinstance(left, list | tuple) or not isinstance(right, list | tuple):
        raise TypeError
    return list(dict.fromkeys([*left, *right]))


def _common_step(left: Any, right: Any) -> int:
    if type(left) is not int or type(right) is not int:
        raise TypeError
    return math.lcm(left, right)


_JOINED: dict[str, Callable[[Any, Any], Any]] = {
    "type": _common_types,
    "enum": _common_values,
    "required": _all_names,
    "items": _all,
    "multipleOf": _common_step,
    "uniqueItems": lambda left, right: left is True or right is True,
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), max),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), min),
}
"""How two values of one keyword become one that says both; None where no value could fit."""

_CHECKED = frozenset(key for keys in _OF_TYPE.values() for key in keys)


def _typed(way: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    """The way once for each of its types; the types that its keywords speak of, where it names none."""
    if "enum" in way:
        return [way]
    types = types_of(way)
    if not types or _EVERY.issubset(types):
        types = tuple(kind for kind, keys in _OF_TYPE.items() if any(key in way for key in keys))
        if not types:
            return [{}]
    kept = [kind for kind in types if not (kind == "integer" and "number" in types)]
    return [{**{key: value for key, value in way.items() if _speaks_of(key, kind)}, "type": kind} for kind in kept]


def _speaks_of(key: str, kind: str) -> bool:
    kind = "number" if kind == "integer" else kind
    return key not in _CHECKED or key in _OF_TYPE.get(kind, ())


def _apart(branches: list[list[Mapping[str, Any]]]) -> bool:
    """Whether no value can fit two of the branches, as far as types, values and members that are fixed can tell."""
    return all(
        _exclude(one, other)
        for index, left in enumerate(branches)
        for right in branches[index + 1 :]
        for one in left
        for other in right
    )


def _exclude(left: Mapping[str, Any], right: Mapping[str, Any]) -> bool:
    if "enum" in left and "enum" in right:
        return _common_values(left["enum"], right["enum"]) is None
    types = [set(types_of(one)) or {_json_type(value) for value in one.get("enum", ())} for one in (left, right)]
    for kinds in types:
        kinds |= {"integer"} if "number" in kinds else set()
        kinds |= {"number"} if "integer" in kinds else set()
    if all(types) and not types[0] & types[1]:
        return True
    shared = set(_required(left)) & set(_required(right))
    for name in shared:
        one, other = (_fixed(_mapping(side, "properties").get(name)) for side in (left, right))
        if one and other and _common_values(one, other) is None:
            return True
    return any(
        one.get("additionalProperties") is False
        and not set(_required(other)) <= set(_mapping(one, "properties"))
        and not _mapping(one, "patternProperties")
        and _is_object(one)
        and _is_object(other)
        for one, other in ((left, right), (right, left))
    )


def _is_object(schema: Mapping[str, Any]) -> bool:
    return types_of(schema) == ("object",)


def _required(schema: Mapping[str, Any]) -> list[str]:
    return [name for name in _schemas(schema, "required") if isinstance(name, str)]


def _fixed(schema: Any) -> list[Any]:
    if not isinstance(schema, Mapping):
        return []
    return [schema["const"]] if "const" in schema else _schemas(schema, "enum")


def _json_type(value: Any) -> str:
    kinds: dict[type, str] = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
    return kinds.get(type(value), "array" if isinstance(value, list) else "object")

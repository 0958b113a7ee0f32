"""A value in the type that the schema wants, where nothing is lost and nothing invented."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from math import isfinite
from typing import Any

from react_text.schema.shape import Schema, resolve_ref, standard, types_of
from react_text.schema.validator import usable, validator

_JSON_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d{1,2})?")
_WORDS: dict[str, dict[str, Any]] = {"boolean": {"true": True, "false": False}, "null": {"null": None, "none": None}}
_LONGEST_NUMBER = 400
_EXACT = 2**53


def coerce(value: Any, schema: Any, root: Any = None) -> Any:
    """The value in the type that the schema wants, where that loses and invents nothing; else the value unchanged.

    `"3"` becomes 3 for an integer, `3.0` becomes 3, `"True"` becomes True, 77 becomes `"77"` for a string, and JSON
    text becomes the object or list it spells. Two readings that differ leave the value as it is. `root` is the whole
    schema where `schema` is a part of it.
    """
    root = schema if root is None else root
    try:
        whole = usable(root)
        if whole is None:
            return value
        return _coerce(value, whole if schema is root else standard(schema), whole)
    except RecursionError:
        return value


def _coerce(value: Any, schema: Any, root: Any) -> Any:
    schema = resolve_ref(schema, root)
    types = types_of(schema)
    if types:
        value = _to_type(value, types)
    for inner in _branches(schema, "allOf"):
        value = _coerce(value, inner, root)
    for keyword in ("anyOf", "oneOf"):
        if branches := _branches(schema, keyword):
            value = _to_branch(value, branches, root)
    if isinstance(value, Mapping):
        return _inside_object(value, schema, root)
    if isinstance(value, list) and isinstance(schema.get("items"), Mapping):
        return [_coerce(inner, schema["items"], root) for inner in value]
    return value


def _branches(schema: Schema, keyword: str) -> list[Any]:
    branches = schema.get(keyword)
    return list(branches) if isinstance(branches, (list, tuple)) else []


def _inside_object(value: Mapping[str, Any], schema: Schema, root: Any) -> Mapping[str, Any]:
    properties, others = schema.get("properties"), schema.get("additionalProperties")
    if not isinstance(properties, Mapping):
        properties = {}
    if not properties and not isinstance(others, Mapping):
        return value
    return {name: _coerce(inner, properties.get(name, others), root) for name, inner in value.items()}


def _to_branch(value: Any, branches: list[Any], root: Any) -> Any:
    readings: list[Any] = []
    for branch in branches:
        reading = _coerce(value, branch, root)
        if _is_valid(reading, branch, root) and not any(_same(reading, other) for other in readings):
            readings.append(reading)
    if any(_same(value, reading) for reading in readings):
        return value
    return readings[0] if len(readings) == 1 else value


def _is_valid(value: Any, schema: Any, root: Schema) -> bool:
    definitions = {key: root[key] for key in ("$defs", "definitions") if key in root}
    return bool(validator({**definitions, **resolve_ref(schema, root)}).is_valid(value))


def _same(left: Any, right: Any) -> bool:
    return type(left) is type(right) and bool(left == right)


def _to_type(value: Any, types: tuple[str, ...]) -> Any:
    if any(is_type(value, name) for name in types):
        return int(value) if "number" not in types and _is_whole(value) else value
    if isinstance(value, str):
        readings = [reading for name in types for reading in _from_text(value.strip(), name)]
        distinct = [reading for index, reading in enumerate(readings) if reading not in readings[:index]]
        return distinct[0] if len(distinct) == 1 else value
    if type(value) is int and "string" in types and abs(value) < 10**_LONGEST_NUMBER:
        return str(value)
    return value


def _is_whole(value: Any) -> bool:
    return isinstance(value, float) and value.is_integer() and abs(value) <= _EXACT


def is_type(value: Any, name: str) -> bool:
    """True when a value has a JSON type; 3.0 is an integer, true is not, and NaN is no number."""
    match name:
        case "string":
            return isinstance(value, str)
        case "integer":
            return type(value) is int or (isinstance(value, float) and value.is_integer())
        case "number":
            return type(value) is int or (isinstance(value, float) and isfinite(value))
        case "boolean":
            return isinstance(value, bool)
        case "null":
            return value is None
        case "array":
            return isinstance(value, list)
        case _:
            return isinstance(value, Mapping)


def _from_text(text: str, name: str) -> list[Any]:
    """The readings of a text as a JSON type: none or one."""
    if name in ("integer", "number"):
        return _numbers(text, whole=name == "integer")
    if name in _WORDS:
        return [_WORDS[name][text.lower()]] if text.lower() in _WORDS[name] else []
    if name in ("object", "array") and text[:1] in ("{", "["):
        try:
            value = json.loads(text, object_pairs_hook=_without_duplicates, parse_constant=_refuse)
        except (ValueError, RecursionError):
            return []
        return [value] if is_type(value, name) else []
    return []


def _numbers(text: str, *, whole: bool) -> list[int | float]:
    from decimal import Decimal

    if len(text) > _LONGEST_NUMBER or not _JSON_NUMBER.fullmatch(text):
        return []
    exact = Decimal(text)
    integral = int(exact)
    if whole or not set(".eE") & set(text):
        return [integral] if integral == exact else []
    value = float(text)
    return [value] if isfinite(value) and Decimal(repr(value)) == exact else []


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is written twice")
    return found


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")

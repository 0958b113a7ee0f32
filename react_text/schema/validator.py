"""jsonschema as this package uses it: nothing is fetched, numbers are finite, patterns have a time limit.

Also the check that a schema is one at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from math import isfinite
from typing import Any

from react_text.errors import ToolDefinitionError
from react_text.schema.shape import JSON_TYPES, SCHEMA_MAPS, SCHEMA_PARTS, TYPE_NAMES, Schema, referenced, standard
from react_text.schema.words import argument_path, came

_PATTERN_SECONDS = 0.2


def validator(schema: Schema) -> Any:
    """jsonschema's validator for a sound schema, in the draft that it names, 2020-12 where it names none."""
    from jsonschema import Draft202012Validator, validators
    from referencing.jsonschema import EMPTY_REGISTRY

    base = validators.validator_for(schema, default=Draft202012Validator)
    return _patient(base)(schema, registry=EMPTY_REGISTRY)


@cache
def _patient(base: Any) -> Any:
    from jsonschema import validators

    types = {"number": _is_number, "integer": _is_integer, "object": _is_object}
    extend: Any = validators.extend
    return extend(base, {"pattern": _check_pattern}, type_checker=base.TYPE_CHECKER.redefine_many(types))


def _is_number(_: Any, value: Any) -> bool:
    return type(value) is int or (isinstance(value, float) and isfinite(value))


def _is_integer(_: Any, value: Any) -> bool:
    return type(value) is int or (isinstance(value, float) and value.is_integer())


def _is_object(_: Any, value: Any) -> bool:
    return isinstance(value, Mapping)


def _check_pattern(_: Any, pattern: str, value: Any, __: Any) -> Iterator[Any]:
    import regex
    from jsonschema import ValidationError

    if not isinstance(value, str):
        return
    try:
        found = regex.search(pattern, value, timeout=_PATTERN_SECONDS)
    except TimeoutError:  # what cannot be decided in time is not refused
        return
    if not found:
        yield ValidationError(pattern)


def check_schema(schema: Any, tool: str) -> None:
    """Raise ToolDefinitionError with one sentence when the parameters of a tool are no usable JSON Schema."""
    if id(schema) in _SOUND:
        return
    if found := unsound(schema):
        raise ToolDefinitionError(f'The parameters of the tool "{tool}" {found}.')
    _remember(_SOUND, schema, schema)


def usable(schema: Any) -> Schema | None:
    """The schema in the words of JSON Schema, or None where it is no sound one even then."""
    known = _USABLE.get(id(schema))
    if known is None:
        put_right = standard(schema)
        known = _remember(
            _USABLE, schema, put_right if isinstance(put_right, Mapping) and not _no_schema(put_right) else None
        )
    found: Schema | None = known[1]
    return found


# By identity, since a check costs milliseconds. Each entry holds its schema, so that the id is not given to another.
_SOUND: dict[int, tuple[Any, Any]] = {}
_USABLE: dict[int, tuple[Any, Any]] = {}
_MOST_REMEMBERED = 1000


def _remember(memory: dict[int, tuple[Any, Any]], schema: Any, value: Any) -> tuple[Any, Any]:
    if len(memory) >= _MOST_REMEMBERED:
        memory.clear()
    memory[id(schema)] = entry = (schema, value)
    return entry


def unsound(schema: Any) -> str | None:
    """Why the parameters of a tool are no usable JSON Schema, as the end of a sentence, or None."""
    if not isinstance(schema, Mapping):
        return f"must be a JSON Schema as a dict, but got {came(schema)}"
    kind = schema.get("type", "object")
    if kind != "object" and isinstance(kind, str) and kind.lower() in (*JSON_TYPES, *TYPE_NAMES):
        return f'must be a JSON Schema with "type": "object", but its type is {came(kind)}'
    return _no_schema(schema)


def _no_schema(schema: Schema) -> str | None:
    from jsonschema import Draft202012Validator, SchemaError, validators

    if not isinstance(schema.get("$schema", ""), str):
        return f'must name their draft as a text, but "$schema" is {came(schema["$schema"])}'
    check = validators.validator_for(schema, default=Draft202012Validator).check_schema
    try:
        check(dict(schema))
        for node in _schemas(schema, schema, set()):
            if found := _bad_reference(node, schema, check) or _bad_pattern(node):
                return found
    except SchemaError as error:
        place = argument_path(error.absolute_path)
        hint = TYPE_NAMES.get(str(error.instance).lower()) if place.endswith("type") else None
        advice = f'; write "{hint}"' if hint else ""
        return f"are not a valid JSON Schema: at {place or 'the top'} stands {came(error.instance)}{advice}"
    except RecursionError:
        return "are nested too deeply"
    return None


def _bad_reference(node: Schema, root: Schema, check: Callable[[Any], None]) -> str | None:
    if "$dynamicRef" in node or "$recursiveRef" in node:
        return 'refer to a schema by $dynamicRef or $recursiveRef; use "$ref"'
    reference = node.get("$ref")
    if reference is None:
        return None
    target = referenced(reference, root) if isinstance(reference, str) else None
    if not isinstance(target, (Mapping, bool)):
        return f'refer to "{reference}", which is not in the schema; put the definition under "$defs"'
    if target is not root:
        check(target)
    return None


def _bad_pattern(node: Schema) -> str | None:
    import re

    import regex

    engines: list[tuple[str, Any]] = [(name, re) for name in node.get("patternProperties", ())]
    for pattern, engine in [*engines, (node.get("pattern", ""), regex)]:
        try:
            engine.compile(pattern)
        except (regex.error, re.error) as error:
            return f"hold the pattern {pattern!r}, which cannot be read: {error}"
    return None


def _schemas(node: Any, root: Schema, seen: set[int]) -> Iterator[Schema]:
    """Every schema inside a schema and behind its references, itself first, each once."""
    if isinstance(node, list):
        for item in node:
            yield from _schemas(item, root, seen)
    if not isinstance(node, Mapping) or id(node) in seen:
        return
    seen.add(id(node))
    yield node
    inner = [node[key] for key in SCHEMA_PARTS if key in node]
    inner += [list(node[key].values()) for key in SCHEMA_MAPS if isinstance(node.get(key), Mapping)]
    if isinstance(node.get("$ref"), str):
        inner.append(referenced(node["$ref"], root))
    yield from _schemas(inner, root, seen)

"""The words for what a schema expects, what came instead, and what jsonschema found, written for a model.

Every sentence names the argument by its dotted path. Nothing here decides whether a value is valid.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from react_text.schema.shape import declared_properties, resolve_ref, types_of

_TYPES = {
    "string": ("a string", "strings"),
    "integer": ("an integer", "integers"),
    "number": ("a number", "numbers"),
    "boolean": ("true or false", "booleans"),
    "array": ("a list", "lists"),
    "object": ("an object", "objects"),
    "null": ("null", "nulls"),
}
_KINDS = {str: "text", int: "number", float: "number", list: "list", Mapping: "object"}
_MOST_VALUES = 20
_LONGEST_VALUE = 80


def argument_path(path: Iterable[Any]) -> str:
    """A path into the arguments as a person writes it: `route.stops[2].name`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += ("." if text else "") + _name(str(part))
    return text


def _name(name: str) -> str:
    """A name on one line and not too long, whatever a model made it of."""
    shown = name if name.isprintable() else as_json(name)[1:-1]
    return shown if len(shown) <= _LONGEST_VALUE else f"{shown[: _LONGEST_VALUE - 3]}..."


def quoted(names: Iterable[Any]) -> str:
    """Values as JSON, separated by commas, cut after the twentieth."""
    listed = list(names)
    text = ", ".join(as_json(name) for name in listed[:_MOST_VALUES])
    return f"{text} and {len(listed) - _MOST_VALUES} more" if len(listed) > _MOST_VALUES else text


def as_json(value: Any) -> str:
    """A value as short JSON on one line, whatever it is."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        text = f"a {type(value).__name__}"
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 3]}..."


def came(value: Any) -> str:
    """What came, for the end of a sentence: `the text "three"`, `the number 3`, `null`."""
    if value is None or isinstance(value, bool):
        return as_json(value)
    kind = next((word for python, word in _KINDS.items() if isinstance(value, python)), "value")
    return f"the {kind} {as_json(value)}"


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The one of `names` that `name` most likely stands for, or None where none is near."""
    import difflib

    plain = {_letters(candidate): candidate for candidate in names}
    key = _letters(name[:200])
    if key in plain:
        return plain[key]
    parts = [other for other in plain if min(len(key), len(other)) > 2 and (key in other or other in key)]
    if len(parts) == 1:
        return plain[parts[0]]
    close = difflib.get_close_matches(key, plain, n=1, cutoff=0.65)
    return plain[close[0]] if close else None


def _letters(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()


def expected(schema: Any, root: Any, depth: int = 0) -> str:
    """What a schema wants, for the middle of a sentence: `an integer from 1 to 7`, `one of "a", "b"`."""
    schema = resolve_ref(schema, root)
    if "const" in schema:
        return f"exactly {as_json(schema['const'])}"
    if isinstance(schema.get("enum"), (list, tuple)):
        return f"one of {quoted(schema['enum'])}"
    branches = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(branches, (list, tuple)) and depth < 3:
        return " or ".join(dict.fromkeys(expected(branch, root, depth + 1) for branch in branches[:6]))
    types = types_of(schema) or (("object",) if "properties" in schema else ())
    return " or ".join(_type_phrase(name, schema, root, depth) for name in types) or "another value"


def _type_phrase(name: str, schema: Mapping[str, Any], root: Any, depth: int) -> str:
    phrase = _TYPES[name][0]
    if name in ("integer", "number"):
        return phrase + _range(schema)
    if name == "string" and isinstance(schema.get("format"), str):
        return f"{phrase} in the format {schema['format']}"
    if name == "array" and isinstance(schema.get("items"), Mapping) and depth < 2:
        return f"{phrase} of {_plural(schema['items'], root, depth)}"
    if name == "object" and isinstance(schema.get("properties"), Mapping) and schema["properties"]:
        return f"{phrase} with the keys {quoted(schema['properties'])}"
    return phrase


def _plural(schema: Any, root: Any, depth: int) -> str:
    inner = resolve_ref(schema, root)
    types = types_of(inner)
    if len(types) == 1 and not {"enum", "const", "properties", "items"} & set(inner):
        return _TYPES[types[0]][1]
    return f"values, each {expected(inner, root, depth + 1)}"


def _range(schema: Mapping[str, Any]) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None:
        return f" from {low} to {high}"
    if low is not None:
        return f" of at least {low}"
    return f" of at most {high}" if high is not None else ""


def _wanted(error: Any, root: Any) -> str:
    return f"must be {expected(error.schema, root)}"


def _one_of(error: Any, root: Any) -> str:
    return _wanted(error, root) if error.context else f"must fit only one of these: {expected(error.schema, root)}"


_RULES: dict[str, Callable[[Any, Any], str]] = {
    "type": _wanted,
    "enum": _wanted,
    "const": _wanted,
    "minimum": _wanted,
    "maximum": _wanted,
    "anyOf": _wanted,
    "oneOf": _one_of,
    "exclusiveMinimum": lambda error, root: f"must be greater than {error.validator_value}",
    "exclusiveMaximum": lambda error, root: f"must be less than {error.validator_value}",
    "multipleOf": lambda error, root: f"must be a multiple of {error.validator_value}",
    "minLength": lambda error, root: f"must be a text of at least {_count(error, 'character')}",
    "maxLength": lambda error, root: f"must be a text of at most {_count(error, 'character')}",
    "pattern": lambda error, root: f"must match the pattern {error.validator_value}",
    "minItems": lambda error, root: f"must be a list of at least {_count(error, 'item')}",
    "maxItems": lambda error, root: f"must be a list of at most {_count(error, 'item')}",
    "items": lambda error, root: "has too many items",
    "unevaluatedItems": lambda error, root: "has too many items",
    "uniqueItems": lambda error, root: "must not hold the same item twice",
    "contains": lambda error, root: f"must hold {expected(error.validator_value, root)}",
    "minProperties": lambda error, root: f"must have at least {_count(error, 'key')}",
    "maxProperties": lambda error, root: f"must have at most {_count(error, 'key')}",
    "not": lambda error, root: "must not have this value",
}


def _count(error: Any, noun: str) -> str:
    return f"{error.validator_value} {noun}" + ("" if error.validator_value == 1 else "s")


def sentences(error: Any, root: Any) -> Iterator[tuple[tuple[Any, ...], str]]:
    """The path and the sentence of each thing that one jsonschema error says."""
    path = tuple(error.absolute_path)
    if error.validator == "required":
        missing = next((name for name in error.validator_value if error.message.startswith(f"{name!r} ")), None)
        if missing is not None:
            yield (*path, missing), _missing(path, missing, error.schema, root)
            return
    if error.validator in ("anyOf", "oneOf") and (meant := _meant_branch(error)):
        for nested in meant:
            yield from sentences(nested, root)
        return
    rule = _RULES.get(error.validator)
    said = rule(error, root) if rule else f"must meet the rule {error.validator}: {as_json(error.validator_value)}"
    yield path, f"{_subject(error, path)} {said}, but got {came(error.instance)}."


def _subject(error: Any, path: tuple[Any, ...]) -> str:
    if "propertyNames" in error.absolute_schema_path:
        return f'Every name in "{argument_path(path)}"' if path else "Every name of an argument"
    return f'Argument "{argument_path(path)}"' if path else "The object of all arguments"


def _missing(path: tuple[Any, ...], name: str, schema: Any, root: Any) -> str:
    properties, _ = declared_properties(schema, root)
    wanted = f"; it must be {expected(properties[name], root)}" if name in properties else ""
    return f'Argument "{argument_path((*path, name))}" is missing{wanted}.'


def _meant_branch(error: Any) -> list[Any] | None:
    """The errors of the one branch of an anyOf or oneOf that was plainly meant, or None."""
    branches: dict[Any, list[Any]] = {}
    for inner in error.context:
        branches.setdefault(inner.schema_path[0], []).append(inner)
    for is_off in (_other_type, _other_kind):
        left = {index: inner for index, inner in branches.items() if not any(map(is_off, inner))}
        if len(left) == 1:
            return next(iter(left.values()))
        branches = left or branches
    return None


def _other_type(error: Any) -> bool:
    return not error.path and error.validator in ("type", "const", "enum")


def _other_kind(error: Any) -> bool:
    """A key with one fixed value, such as `"kind": "circle"`, tells the branches of a union apart."""
    fixed = error.validator == "const" or (error.validator == "enum" and len(error.validator_value) == 1)
    return fixed and len(error.path) == 1

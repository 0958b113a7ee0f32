"""Are these arguments what the schema wants, and if not, what is wrong, in sentences for a model.

The common case, a flat object of plain values, is answered by a table lookup; jsonschema decides all else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any, TypeAlias

from react_text.schema.shape import Schema, declared_properties, in_place, resolve_ref
from react_text.schema.validator import usable, validator
from react_text.schema.words import argument_path, came, nearest, quoted, sentences

_EMPTY: Schema = {}


def first_problem(arguments: Any, schema: Any) -> str | None:
    """The first thing wrong with the arguments of a call, as one sentence for the model, or None."""
    found = problems(arguments, schema)
    return found[0] if found else None


def problems(arguments: Any, schema: Any) -> list[str]:
    """All that is wrong with the arguments of a call, one sentence each, written for the model.

    Names that the schema does not declare are wrong, unless it allows others in so many words. `format` is not
    checked. A schema that is itself broken refuses only missing and undeclared names. What a schema says is
    remembered with the object, so it must not be changed afterwards.
    """
    try:
        plan = _plan(schema if isinstance(schema, Mapping) else _EMPTY)
        if plan.fits(arguments):
            return []
        if not isinstance(arguments, Mapping):
            return [f"The arguments must be an object, but got {came(arguments)}."]
        return _all_problems(dict(arguments), plan)
    except RecursionError:
        return ["The arguments are nested too deeply to be checked."]
    except OverflowError:
        return ["A number in the arguments is too large to be checked; use a smaller one."]


def _all_problems(arguments: dict[str, Any], plan: _Plan) -> list[str]:
    root = plan.schema
    unknown = list(_unknown_names(arguments, root, root, ()))
    meant = {(*path, near) for path, _, near, _ in unknown if near}
    found = [_unknown_sentence(*entry) for entry in unknown if entry[2]]
    for error in plan.errors(arguments):
        if error.validator in ("additionalProperties", "unevaluatedProperties") and error.validator_value is False:
            continue  # said by _unknown_sentence, with the name that may be meant
        found.extend(sentence for path, sentence in sentences(error, root) if path not in meant)
    found.extend(_unknown_sentence(*entry) for entry in unknown if not entry[2])
    return list(dict.fromkeys(found))


_Unknown: TypeAlias = tuple[tuple[Any, ...], str, "str | None", tuple[str, ...]]


def _unknown_names(value: Any, schema: Any, root: Any, path: tuple[Any, ...]) -> Iterator[_Unknown]:
    """Undeclared names in a value, at any depth: path of the object, the name, the name it may stand for, all names."""
    if isinstance(value, Mapping):
        properties, is_open = declared_properties(schema, root)
        closed = not is_open and (bool(properties) or not path)
        for name, inner in value.items():
            if name in properties:
                yield from _unknown_names(inner, properties[name], root, (*path, name))
            elif closed or resolve_ref(schema, root).get("additionalProperties") is False:
                near = nearest(str(name), [other for other in properties if other not in value])
                yield path, str(name), near, tuple(properties)
    elif isinstance(value, list):
        said = [one for one in in_place(schema, root) if "items" in one or "prefixItems" in one]
        for index, inner in enumerate(value) if said else ():
            ways = [way for one in said if isinstance(way := _item_schema(one, index), Mapping)]
            if ways:
                yield from _unknown_names(inner, {"anyOf": ways}, root, (*path, index))


def _item_schema(schema: Schema, index: int) -> Any:
    """What a schema says of the item at one place of a list."""
    first = schema.get("prefixItems")
    return first[index] if isinstance(first, (list, tuple)) and index < len(first) else schema.get("items")


def _unknown_sentence(path: tuple[Any, ...], name: str, near: str | None, names: tuple[str, ...]) -> str:
    argument = f'Argument "{argument_path((*path, name))}" is unknown'
    if near:
        return f'{argument}; did you mean "{argument_path((*path, near))}"?'
    if not names:
        holder = f'"{argument_path(path)}"' if path else "this tool"
        return f"{argument}; {holder} takes no arguments."
    return f"{argument}; the known ones are {quoted(names)}."


_Plain: TypeAlias = tuple[frozenset[type], "frozenset[str | None] | None", frozenset[type]]
"""The Python types of a plain property, the values it is limited to, and the types of the items of a list."""


class _Plan:
    """What is remembered of one schema: the table of its plain properties, and jsonschema's validator once needed."""

    __slots__ = ("_validator", "plain", "required", "schema")

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.plain = _plain_properties(schema)
        required = schema.get("required", ())
        listed = required if isinstance(required, (list, tuple)) else ()
        self.required = tuple(name for name in listed if isinstance(name, str))
        self._validator: Any = None

    def fits(self, arguments: Any) -> bool:
        """True when the arguments are certainly valid; False when jsonschema has to say."""
        plain = self.plain
        if plain is None or type(arguments) is not dict:
            return False
        for name, value in arguments.items():
            check = plain.get(name)
            if check is None:
                return False
            types, allowed, inner = check
            kind = type(value)
            if kind not in types or (allowed is not None and value not in allowed):
                return False
            if kind is float:
                if not isfinite(value):
                    return False
            elif kind is list and not all(type(item) in inner for item in value):
                return False
        return all(name in arguments for name in self.required)

    def errors(self, arguments: dict[str, Any]) -> list[Any]:
        """jsonschema's errors, in the order in which the schema declares the arguments."""
        if self._validator is None:
            schema = usable(self.schema)
            if schema is None:
                schema = {"required": list(self.required)}
            self._validator = validator({"type": "object", **schema})
        order = {name: index for index, name in enumerate(declared_properties(self.schema, self.schema)[0])}
        found = self._validator.iter_errors(arguments)
        return sorted(found, key=lambda error: order.get(next(iter(error.absolute_path), ""), -1))


_PLANS: dict[int, _Plan] = {}
_MOST_PLANS = 1000


def _plan(schema: Schema) -> _Plan:
    """The plan of a schema, found by identity; the plan holds the schema, so that its id is not given to another."""
    plan = _PLANS.get(id(schema))
    if plan is None or plan.schema is not schema:
        if len(_PLANS) >= _MOST_PLANS:
            _PLANS.clear()
        plan = _PLANS[id(schema)] = _Plan(schema)
    return plan


_PYTHON_TYPES: dict[Any, frozenset[type]] = {
    "string": frozenset({str}),
    "integer": frozenset({int}),
    "number": frozenset({int, float}),
    "boolean": frozenset({bool}),
    "null": frozenset({type(None)}),
}
_NULL = _PYTHON_TYPES["null"]
_NOTES = {"description", "title", "default", "examples", "example", "format", "deprecated", "$comment"}
_PLAIN_OBJECT = {*_NOTES, "type", "properties", "required", "additionalProperties", "$defs", "definitions"}


def _plain_properties(schema: Schema) -> dict[str, _Plain] | None:
    properties = schema.get("properties", _EMPTY)
    if not _PLAIN_OBJECT.issuperset(schema) or schema.get("type", "object") != "object":
        return None
    if not isinstance(properties, Mapping):
        return None
    return {name: check for name, inner in properties.items() if (check := _plain_check(inner)) is not None}


def _plain_check(schema: Any) -> _Plain | None:
    """The check of a plain property, or None: a type or several, perhaps with an enum of texts, or a list of these."""
    if not isinstance(schema, Mapping):
        return None
    keywords = set(schema) - _NOTES
    if keywords == {"anyOf"}:
        return _either(schema["anyOf"])
    kind = schema.get("type")
    if isinstance(kind, list) and keywords == {"type"}:
        return _either([{"type": name} for name in kind])
    types = _PYTHON_TYPES.get(kind) if isinstance(kind, str) else None
    if keywords == {"type"}:
        return (types, None, frozenset()) if types else None
    if keywords == {"type", "enum"} and kind == "string" and types:
        allowed = schema["enum"]
        if isinstance(allowed, (list, tuple)) and all(isinstance(value, str) for value in allowed):
            return types, frozenset(allowed), frozenset()
    if keywords == {"type", "items"} and kind == "array":
        item = _plain_check(schema["items"])
        # A float in a list may be NaN, so lists of numbers are left to jsonschema.
        if item and item[1] is None and not item[2] and float not in item[0]:
            return frozenset({list}), None, item[0]
    return None


def _either(branches: Any) -> _Plain | None:
    """The check of plain branches of which one must hold; none of them may be limited, but for one beside null."""
    found = [_plain_check(branch) for branch in branches] if isinstance(branches, (list, tuple)) else []
    plain = [check for check in found if check is not None]
    if not plain or len(plain) < len(found):
        return None
    limited = [check for check in plain if check[1] is not None or check[2]]
    if len(limited) > 1 or (limited and any(check[0] != _NULL for check in plain if check is not limited[0])):
        return None
    types = frozenset().union(*(check[0] for check in plain))
    allowed = limited[0][1] if limited else None
    inner = limited[0][2] if limited else frozenset()
    return types, allowed | {None} if allowed is not None and types >= _NULL else allowed, inner

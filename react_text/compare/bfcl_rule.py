"""BFCL's own rule for right calls, from its published AST checker: types to the letter, values out of a list.

Implemented anew after github.com/ShishirPatil/gorilla (berkeley-function-call-leaderboard, eval_checker/ast_eval).
Its oddities are kept, so that figures can be set beside published ones. Pure; works on function descriptions with
BFCL's Python-flavoured types.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

TYPES: Mapping[str, type] = {
    "string": str,
    "integer": int,
    "float": float,
    "boolean": bool,
    "array": list,
    "tuple": list,
    "dict": dict,
    "any": str,
}
"""BFCL's types with the types that their values have after JSON."""
LEFT_OUT = ""
_IGNORED = re.compile(r"[ ,./\-_*^]")


def calls_right(
    made: Sequence[Mapping[str, Any]], functions: Sequence[Mapping[str, Any]], answers: Sequence[Mapping[str, Any]]
) -> bool:
    """Whether the calls made are the right ones, in any order, none missing and none too many.

    `made` are `{"name", "arguments"}`; `functions` the offered descriptions; `answers` the published possible answers,
    each `{name: {argument: [allowed values]}}`.
    """
    if len(made) != len(answers):
        return False
    described = {function["name"]: function for function in functions}
    left = list(made)
    for answer in answers:
        (name, allowed), *_ = answer.items()
        fitting = (index for index, call in enumerate(left) if call_right(call, described[name], allowed))
        found = next(fitting, None)
        if found is None:
            return False
        del left[found]
    return True


def call_right(call: Mapping[str, Any], function: Mapping[str, Any], allowed: Mapping[str, Sequence[Any]]) -> bool:
    """Whether one call fits a function and its allowed values."""
    if call["name"] != function["name"]:
        return False
    given: Mapping[str, Any] = call["arguments"]
    parameters = function["parameters"]
    properties = parameters.get("properties", {})
    if any(name not in given for name in parameters.get("required", ())):
        return False
    for name, value in given.items():
        if name not in properties or name not in allowed or not _value_right(value, properties[name], allowed[name]):
            return False
    return all(name in given or LEFT_OUT in values for name, values in allowed.items())


def standard(text: str) -> str:
    """A text as BFCL compares it: no blanks or light punctuation, lower case, one kind of quotes."""
    return _IGNORED.sub("", text).lower().replace("'", '"')


def _value_right(value: Any, described: Mapping[str, Any], allowed: Sequence[Any]) -> bool:
    kind = described["type"]
    wanted = TYPES[kind]
    item = TYPES[described["items"]["type"]] if kind in ("array", "tuple") else None
    if kind == "float" and type(value) is int:
        value = float(value)
    fits, as_variable = _type_right(value, allowed, wanted, item)
    if not fits:
        return False
    if as_variable:
        return value in allowed
    if wanted is dict:
        return any(_object_right(value, one) for one in allowed if one != LEFT_OUT)
    if item is dict:
        return any(_objects_right(value, one) for one in allowed if one != LEFT_OUT)
    if wanted is str:
        return standard(value) in [standard(one) for one in allowed if isinstance(one, str)]
    if wanted is list:
        return _standard_items(value) in [_standard_items(one) for one in allowed]
    return value in allowed


def _type_right(value: Any, allowed: Sequence[Any], wanted: type, item: type | None) -> tuple[bool, bool]:
    """Whether the type will do, and whether the value counts as a variable: of the type of the answers instead."""
    answered = next((type(one) for one in allowed if one != LEFT_OUT), None)
    if type(value) is wanted:
        fits = item is None or any(_items_right(value, one, item) for one in allowed)
        return fits, answered is not None and answered is not wanted
    as_variable = answered is not None and type(value) is answered
    return as_variable, as_variable


def _items_right(values: Any, answer: Any, item: type) -> bool:
    """Whether all items have the type; an answer that is no list is no reason to doubt it."""
    return not isinstance(answer, list) or all(_type_right(value, answer, item, None)[0] for value in values)


def _object_right(given: Mapping[str, Any], answer: Mapping[str, Sequence[Any]]) -> bool:
    for name, value in given.items():
        if name not in answer or _standard(value) not in [_standard(one) for one in answer[name]]:
            return False
    return all(name in given or LEFT_OUT in values for name, values in answer.items())


def _objects_right(given: Sequence[Any], answer: Sequence[Any]) -> bool:
    return len(given) == len(answer) and all(map(_object_right, given, answer))


def _standard(value: Any) -> Any:
    return standard(value) if isinstance(value, str) else value


def _standard_items(values: Sequence[Any]) -> list[Any]:
    return [_standard(value) for value in values]

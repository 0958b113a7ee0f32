"""Strings, numbers and listed values of a flat JSON Schema as expressions, and the rules they use. Pure."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from decimal import Decimal
from math import isfinite
from types import MappingProxyType
from typing import Any

from react_text.protocol.expressions import (
    Choice,
    Expression,
    Repeat,
    Rule,
    choice,
    json_text,
    repeat,
    separated,
    sequence,
)
from react_text.protocol.number_rules import INTEGER, MAX_DIGITS, NUMBER, integers, numbers, whole_bound
from react_text.protocol.pattern_rules import Matched, pattern_expression
from react_text.protocol.string_rules import FORMATS, KEY, LETTER, LONGEST_STRING, text
from react_text.schema import types_of
from react_text.schema.coercion import is_type

NOTES = frozenset(
    (
        *("description", "title", "default", "examples", "example", "deprecated", "readOnly", "writeOnly"),
        *("$comment", "$schema", "$defs", "definitions"),
    )
)
"""Keywords that say nothing about a value."""
_MOST_LISTED = 100
_FINEST = 15
_LARGEST = Decimal(10) ** MAX_DIGITS
_SCALAR = choice([Rule("string"), Rule("number"), Rule("boolean"), Rule("null")])
_CHAR = Rule("char")

Loosen = Callable[[str], None]


def _free(depth: int) -> dict[str, Expression]:
    """Any JSON of so many levels: `value`, `array` and `object`; the levels below have their number in the name."""
    rules: dict[str, Expression] = {"value-0": _SCALAR}
    for level in range(1, depth + 1):
        end = "" if level == depth else f"-{level}"
        inner = Rule(f"value-{level - 1}")
        pair = sequence('"', KEY, '": ', inner)
        rules[f"value{end}"] = choice([_SCALAR, Rule(f"array{end}"), Rule(f"object{end}")])
        rules[f"array{end}"] = sequence("[", separated(inner, 0, 16), "]")
        rules[f"pair{end}"] = pair
        rules[f"object{end}"] = sequence("{", separated(Rule(f"pair{end}"), 0, 8), "}")
    return rules


TERMINALS: Mapping[str, Expression] = MappingProxyType(
    {
        **_free(3),
        "string": text(_CHAR, 0, None),
        "char": LETTER,
        "integer": INTEGER,
        "number": NUMBER,
        "boolean": choice(["true", "false"]),
        "null": sequence("null"),
        **{f"{name}-text": expression for name, expression in FORMATS.items()},
    }
)
"""Rules that a grammar needs when an expression names them."""


def string(schema: Mapping[str, Any], loosen: Loosen) -> Expression:
    """A JSON string that fits a flat schema of type string; `loosen` is called with each keyword that is not kept."""
    least, most = _length(schema, "minLength") or 0, _length(schema, "maxLength")
    if most is not None and most < least:
        return Choice(())
    pattern, name = schema.get("pattern"), schema.get("format")
    if isinstance(pattern, str):
        if name in FORMATS:
            loosen("format")
        matched = pattern_expression(pattern)
        if matched is not None:
            return sequence('"', _within(matched, least, most, loosen), '"')
        loosen("pattern")
    elif isinstance(name, str):
        if name in FORMATS:
            for keyword in ("minLength", "maxLength"):
                if keyword in schema:
                    loosen(keyword)
            return sequence('"', Rule(f"{name}-text"), '"')
        loosen("format")
    if least > LONGEST_STRING:
        loosen("minLength")
    return Rule("string") if least == 0 and most is None else text(_CHAR, least, most)


def _length(schema: Mapping[str, Any], keyword: str) -> int | None:
    found = schema.get(keyword)
    if isinstance(found, float) and found.is_integer():
        found = int(found)
    return found if type(found) is int and found >= 0 else None


def _within(matched: Matched, least: int, most: int | None, loosen: Loosen) -> Expression:
    """What a pattern allows, of so many letters."""
    body = matched.expression
    if isinstance(body, Repeat) and body.least == matched.least and body.most == matched.most:
        low, high = max(body.least, min(least, LONGEST_STRING)), body.most if most is None else min(body.most, most)
        if low <= high:
            return repeat(body.part, low, high)
    if matched.least < least:
        loosen("minLength")
    if most is not None and matched.most > most:
        loosen("maxLength")
    return body


def number(schema: Mapping[str, Any], loosen: Loosen) -> Expression:
    """A number that fits a flat schema of type integer or number; `loosen` is called with what is not kept."""
    low, above = _bound(schema, "minimum", "exclusiveMinimum", max, loosen)
    high, below = _bound(schema, "maximum", "exclusiveMaximum", min, loosen)
    step = schema.get("multipleOf")
    whole = schema.get("type") == "integer" or step == 1
    if not whole:
        if step is not None:
            loosen("multipleOf")
        if low is None and high is None:
            return Rule("number")
        return numbers(low, high, above=above, below=below)
    first = None if low is None else whole_bound(low, up=True, strict=above)
    last = None if high is None else whole_bound(high, up=False, strict=below)
    if step is not None and step != 1:
        if type(step) is int and step > 0 and first is not None and last is not None:
            values = range(-(-first // step) * step, last + 1, step)
            if len(values) <= _MOST_LISTED:
                return choice(json_text(value) for value in values)
        loosen("multipleOf")
    return Rule("integer") if first is None and last is None else integers(first, last)


def _bound(
    schema: Mapping[str, Any], keyword: str, strict_keyword: str, tighter: Callable[..., Decimal], loosen: Loosen
) -> tuple[Decimal | None, bool]:
    """The tighter of two bounds, and whether it is left out itself."""
    loose, strict = _decimal(schema, keyword, loosen), _decimal(schema, strict_keyword, loosen)
    if strict is None:
        return loose, loose is not None and schema.get(strict_keyword) is True
    if loose is None or tighter(loose, strict) == strict:
        return strict, True
    return loose, False


def _decimal(schema: Mapping[str, Any], keyword: str, loosen: Loosen) -> Decimal | None:
    """A bound as an exact number; None, and named, where no number within the bounds of all numbers reaches it."""
    found = schema.get(keyword)
    if isinstance(found, bool) or not isinstance(found, int | float) or not isfinite(found):
        return None
    exact = Decimal(repr(found))
    lower = "inimum" in keyword
    if abs(exact) >= _LARGEST:
        if (exact > 0) == lower:
            loosen(keyword)
        return None
    if int(exact.as_tuple().exponent) < -_FINEST:
        loosen(keyword)
        return None
    return exact


def listed(way: Mapping[str, Any], loosen: Loosen) -> Expression:
    """The listed values that fit what stands beside the list; only the type and plain bounds are looked at."""
    types = types_of(way)
    for keyword in way:
        if keyword not in ("type", "enum", "format", *NOTES) and keyword not in _PLAIN_BOUNDS:
            loosen(keyword)
    texts: list[str] = []
    for value in way["enum"]:
        try:
            text = json_text(value)
        except (TypeError, ValueError, RecursionError):
            continue
        if (not types or any(is_type(value, kind) for kind in types)) and _keeps(value, way):
            texts.append(text)
    return choice(texts)


_PLAIN_BOUNDS: dict[str, tuple[Callable[[Any], bool], Callable[[Any, Any], bool]]] = {
    "minimum": (lambda value: is_type(value, "number"), operator.ge),
    "maximum": (lambda value: is_type(value, "number"), operator.le),
    "exclusiveMinimum": (lambda value: is_type(value, "number"), operator.gt),
    "exclusiveMaximum": (lambda value: is_type(value, "number"), operator.lt),
    "minLength": (lambda value: isinstance(value, str), lambda value, bound: len(value) >= bound),
    "maxLength": (lambda value: isinstance(value, str), lambda value, bound: len(value) <= bound),
}
"""Bounds beside a list of values: which values they speak of, and what they ask of these."""


def _keeps(value: Any, way: Mapping[str, Any]) -> bool:
    bounds = ((way[keyword], *checks) for keyword, checks in _PLAIN_BOUNDS.items() if keyword in way)
    return all(
        holds(value, bound)
        for bound, speaks, holds in bounds
        if speaks(value) and isinstance(bound, int | float) and not isinstance(bound, bool)
    )

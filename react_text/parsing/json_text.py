"""Valid JSON, read by the standard library, within bounds that no later stage trips over."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from react_text.messages import Repair
from react_text.parsing.patterns import pattern
from react_text.parsing.scalars import read_float

MAX_DEPTH = 64
"""Brackets within brackets that are still read; deeper text is unreadable."""


@dataclass(frozen=True, slots=True)
class ValueRead:
    """One value found in a text.

    `end` is the offset after it. `repairs` is empty when the value was valid JSON. `complete` is False when a string,
    number or literal may have been cut by the end of the text; `closed` is False when only closers were missing and
    were supplied. `readable` is False when no value stands there, or when two readings are equally good; then `value`
    is None. `ambiguous` is True where that is so because one key was given two values.
    """

    value: Any
    end: int
    repairs: tuple[Repair, ...] = ()
    complete: bool = True
    closed: bool = True
    readable: bool = True
    ambiguous: bool = False


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


def as_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The members of a JSON object; a ValueError where one key has two values."""
    members = dict(pairs)
    if len(members) < len(pairs) and any(members[key] != value for key, value in pairs):
        raise ValueError("one key with two values")
    return members


_JSON = json.JSONDecoder(parse_float=read_float, parse_constant=_refuse, object_pairs_hook=as_object)
_DEPTH = pattern(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]]', re.DOTALL)


def read_valid(text: str, start: int) -> ValueRead | None:
    """The valid JSON value at `start`, None where there is none; unreadable where it is nested too deeply."""
    try:
        value, stop = _JSON.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, (dict, list)):
        if text.count("{", start, stop) + text.count("[", start, stop) > MAX_DEPTH < depth(text, start, stop):
            return ValueRead(None, stop, readable=False)
    elif stop < len(text) and text[stop] not in " \t\r\n,;}])":
        return None
    return ValueRead(value, stop)


def depth(text: str, start: int, stop: int) -> int:
    """How many brackets of a JSON text stand within each other at most."""
    level = deepest = 0
    for match in _DEPTH.finditer(text, start, stop):
        mark = match.group()
        if mark in "{[":
            level += 1
            deepest = max(deepest, level)
        elif mark in "}]":
            level -= 1
    return deepest

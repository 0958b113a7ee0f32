"""Arguments written as `key: value` or `key=value` lists, or as a call `f(a=1, b="x")`.

Only names that the tool declares are keys, so that prose and code with colons or equals signs are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from react_text.parsing.align import only_parameter, takes_text
from react_text.parsing.jsonish import read_value
from react_text.parsing.names import plain, resolve_name
from react_text.parsing.patterns import pattern
from react_text.parsing.scalars import read_scalar
from react_text.parsing.strings import CLOSERS, decode
from react_text.parsing.wrappers import unquoted
from react_text.schema import declared_properties, resolve_ref, types_of
from react_text.tools import Tool

_CALL = pattern(r"[\"'`*]*([\w.:\-\\]{1,80})[\"'`*]*\s*\((.*)\)[\s.;`]*", re.DOTALL)
_SIDES = " \t\r\n,;|&"


def read_pairs(text: str, tool: Tool) -> dict[str, Any] | None:
    """The arguments of a list of pairs that fills `text`, or None where it is no such list."""
    properties, _ = declared_properties(tool.parameters, tool.parameters)
    if not properties:
        return None
    names = sorted(
        {spelling for name in properties for spelling in (name, name.replace("_", " "))}, key=len, reverse=True
    )
    key = re.compile(
        rf"""\s*(?:[-*•]\s+)?["'*`]*({"|".join(map(re.escape, names))})["'*`]*\s*"""
        r"""(=>|[:=：])[ \t]*(?:\n[ \t]*(?=["'\[{]))?""",
        re.IGNORECASE,
    )
    by_plain = {plain(name): name for name in properties}
    start = key.match(text)
    found: dict[str, Any] = {}
    while start is not None:
        name = by_plain[plain(start.group(1))]
        if name in found:
            return None
        value, position = _value(text, start.end(), key, resolve_ref(properties[name], tool.parameters))
        if position < 0:
            return None
        found[name] = value
        while position < len(text) and text[position] in _SIDES:
            position += 1
        if position >= len(text) or (text[position] in ").`}" and not text[position:].strip(").`} \n\t")):
            return found
        start = key.match(text, position)
    return None


def is_only_text(text: str, tool: Tool, name: str) -> bool:
    """Whether `name = ...` may just as well be the text itself: an equals sign, no quotes, one string parameter."""
    properties, _ = declared_properties(tool.parameters, tool.parameters)
    return len(properties) == 1 and re.match(rf"\s*{re.escape(name)}\s*=\s*[^\s\"']", text, re.IGNORECASE) is not None


def _value(text: str, start: int, key: re.Pattern[str], schema: Mapping[str, Any]) -> tuple[Any, int]:
    """A value and the offset after it; offset -1 where it cannot be told where it ends."""
    if start >= len(text):
        return None, -1
    char = text[start]
    if char in CLOSERS:
        stop = _closing_quote(text, start, key)
        return (decode(text[start + 1 : stop], char)[0], stop + 1) if stop >= 0 else (None, -1)
    if char in "[{":
        read = read_value(text, start)
        return (read.value, read.end) if read.readable and read.complete and read.closed else (None, -1)
    stop = _next_pair(text, start, key)
    written = text[start:stop].rstrip(_SIDES + ")")
    if stop == len(text) and "{" not in written:
        written = written.rstrip("}` \n\t")
    if not written:
        return None, -1
    types = types_of(schema)
    scalar = read_scalar(written)
    if scalar is not None and types and "string" not in types:
        return scalar.value, stop
    return written, stop


def _closing_quote(text: str, start: int, key: re.Pattern[str]) -> int:
    closers = CLOSERS[text[start]]
    position = start + 1
    while position < len(text):
        char = text[position]
        if char == "\\":
            position += 1
        elif char in closers:
            after = position + 1
            while after < len(text) and text[after] in " \t":
                after += 1
            if after >= len(text) or text[after] in ",;\n|&)}." or key.match(text, after):
                return position
        position += 1
    return -1


def _next_pair(text: str, start: int, key: re.Pattern[str]) -> int:
    position = start
    for mark in re.finditer(r"[,;\n|&]|\s(?=[\"'*`]*\w)", text[start:]):
        position = start + mark.start()
        if key.match(text, position + 1):
            return position
    return len(text)


def read_call(text: str, tool: Tool) -> dict[str, Any] | None:
    """The arguments of a call of `tool` that fills `text`, or None where it is none."""
    call = _CALL.fullmatch(text)
    if call is None or (call.group(1) != "dict" and resolve_name(call.group(1), [tool]).tool is None):
        return None
    return read_call_arguments(call.group(2), tool)


def read_call_arguments(inside: str, tool: Tool) -> dict[str, Any] | None:
    """The arguments between the parentheses of a call: an object, keyword pairs, or all values in declared order."""
    inside = inside.strip()
    if not inside:
        return {}
    if inside[0] == "{":
        read = read_value(inside)
        whole = read.readable and read.complete and read.closed and not inside[read.end :].strip()
        return read.value if whole and isinstance(read.value, dict) else None
    pairs = read_pairs(inside, tool)
    if pairs is not None:
        return pairs
    quoted = unquoted(inside)
    only = only_parameter(tool)
    if quoted is not None and quoted.closed and not quoted.rest and only is not None and takes_text(only[1]):
        return {only[0]: quoted.text}
    read = read_value(f"[{inside}]")
    properties, _ = declared_properties(tool.parameters, tool.parameters)
    if not read.readable or read.end != len(inside) + 2 or not isinstance(read.value, list):
        return None
    if len(read.value) == len(properties) > 1:
        return dict(zip(properties, read.value, strict=True))
    return None

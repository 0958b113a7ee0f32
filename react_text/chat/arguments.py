"""The arguments of a call as JSON text that goes out piece by piece, before the call is whole. Pure.

What has gone out must be the beginning of what comes to stand in the end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from react_text.schema import first_problem
from react_text.tools import Tool

_DECODER = json.JSONDecoder()
_STRING = re.compile(r'\s*("(?:[^"\\\x00-\x1f]|\\.)*")\s*:\s*')


def remainder(told: str, arguments: Mapping[str, Any]) -> str | None:
    """What is still to be told of these arguments after a part of their JSON text; None where they do not agree."""
    whole = json.dumps(dict(arguments), ensure_ascii=False)
    if whole.startswith(told):
        return whole[len(told) :]
    for ending in ("", "}"):
        try:
            known = json.loads(told + ending)
        except ValueError:
            continue
        if not isinstance(known, dict) or any(arguments.get(key, known) != value for key, value in known.items()):
            return None
        if not ending:
            return "" if known == dict(arguments) else None
        left = {key: value for key, value in arguments.items() if key not in known}
        members = json.dumps(left, ensure_ascii=False)[1:-1]
        return f", {members}}}" if left else "}"
    return None


class WrittenArguments:
    """Arguments under a grammar: what is written is valid, and goes out as it is, unless it may be the example's."""

    def __init__(self, copied: Mapping[str, Any] | None) -> None:
        self._guard = "" if copied is None else json.dumps(dict(copied), ensure_ascii=False)
        self._text = ""
        self._told = 0

    def feed(self, text: str) -> str:
        self._text += text
        if self._guard.startswith(self._text):
            return ""
        told, self._told = self._told, len(self._text)
        return self._text[told:]


class SettledArguments:
    """Arguments as a model writes them freely: a member goes out when it is strict JSON, whole, and fits as it is."""

    def __init__(self, tool: Tool, copied: Mapping[str, Any] | None) -> None:
        self._tool = tool
        self._copied = None if copied is None else dict(copied)
        self._text = ""
        self._at = 0
        self._members: dict[str, Any] = {}
        self._told = 0
        self._reading = True

    def feed(self, text: str) -> str:
        self._text += text
        if not self._reading or not any(mark in text for mark in ",}]"):
            return ""
        while self._reading and self._member():
            pass
        if self._copied is not None and self._members.items() <= self._copied.items():
            return ""
        members = list(self._members.items())[self._told :]
        said = ""
        for key, value in members:
            said += (", " if self._told else "{") + json.dumps({key: value}, ensure_ascii=False)[1:-1]
            self._told += 1
        return said

    def _member(self) -> bool:
        """Take the next member; False when it is not there yet, or can no longer be told before the end."""
        if not self._members and not self._at:
            stripped = self._text.lstrip()
            if not stripped.startswith("{"):
                self._reading = not stripped
                return False
            self._at = len(self._text) - len(stripped) + 1
        key = _STRING.match(self._text, self._at)
        if key is None:
            return False
        try:
            name = json.loads(key[1])
            value, end = _DECODER.raw_decode(self._text, key.end())
        except (ValueError, RecursionError):
            return False
        rest = self._text[end:].lstrip()
        if not rest:
            return False
        self._reading = rest[0] == "," and name not in self._members and self._fits(name, value)
        if self._reading or (rest[0] == "}" and name not in self._members and self._fits(name, value)):
            self._members[name] = value
        self._at = len(self._text) - len(rest) + 1
        return self._reading

    def _fits(self, name: str, value: Any) -> bool:
        schema = self._tool.parameters
        properties = schema.get("properties")
        if not isinstance(properties, Mapping) or name not in properties:
            return False
        return first_problem({name: value}, {**schema, "required": []}) is None

"""Arguments and answers that are the prompt's own words given back: placeholders, schema fragments, rules."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from react_text.parsing.names import plain
from react_text.parsing.patterns import pattern
from react_text.tools import Tool

_TYPES = frozenset(
    {"string", "str", "integer", "int", "number", "float", "boolean", "bool", "array", "list", "object", "dict"}
)
_SCHEMA_KEYS = frozenset(
    {
        "type",
        "title",
        "description",
        "enum",
        "default",
        "properties",
        "required",
        "items",
        "additionalProperties",
        "format",
    }
)
_MARKED = pattern(r"<([^<>\n]{1,60})>|\[([^\[\]\n]{1,60})\]|\{\{?([^{}\n]{1,60})\}\}?|\$\{?([A-Z_]{3,40})\}?")
_ASKS = pattern(
    r"(?:your|the|insert|enter|put|write|some|a|an|any|value|actual|input|argument)\b.*|"
    r".*\b(?:here|value|placeholder)",
    re.IGNORECASE,
)
_RULES = pattern(
    r"the input (?:to|for|of) the (?:action|tool|function)|what the (?:action|tool) receives|the action input|"
    r"your (?:\w+ ){0,3}here|your_(?:\w+_)?here|(?:the|an?) (?:json|valid json) (?:object|blob).*|"
    r"(?:the )?input to the (?:action|tool)|\.{3}|…",
    re.IGNORECASE,
)
_MAY_ECHO = pattern(r"[<\[{$.…]|your_", re.IGNORECASE)
_ANSWER = pattern(
    r"(?:the |your |my )?(?:final )?answer,? (?:to|for) (?:the|this|your)\b[^.\n]{0,60}"
    r"(?:question|task|user)\b.{0,40}|"
    r"(?:the|your) final answer(?: goes)?(?: here)?|the answer, to the end of the text|"
    r"[<\[{](?:the |your )?(?:final )?answer[^\n]{0,60}[>\]}]|\.{3}|…",
    re.IGNORECASE,
)
_FENCED = pattern(
    r"\$JSON_BLOB|\$[A-Z_]{4,}|"
    r"[^\n]{0,60}\b(?:json|code|tool|action)\b[^\n]{0,40}\b(?:block|blob|call|here)\b[^\n]{0,20}\bhere\b[^\n]{0,10}",
    re.IGNORECASE,
)


def echoed_argument(arguments: Mapping[str, Any], tool: Tool) -> str | None:
    """A sentence for the model when an argument is a placeholder or a piece of the schema, else None."""
    properties = tool.parameters.get("properties")
    properties = properties if isinstance(properties, Mapping) else {}
    if arguments and _is_schema(arguments) and not any(name in properties for name in arguments):
        return "The arguments repeat the schema of the tool; write the values themselves."
    for name, value in arguments.items():
        if type(value) is str:
            if len(value) > 120 or not (" " in value or value in _TYPES or _MAY_ECHO.match(value)):
                continue
            if _is_placeholder(value.strip(), name, properties.get(name)):
                return f'Argument "{name}" is the placeholder "{value.strip()}"; write the real value instead.'
        elif isinstance(value, Mapping) and _is_schema(value) and not _declares(properties.get(name)):
            return f'Argument "{name}" repeats its schema; write the value itself.'
    return None


def _declares(schema: Any) -> bool:
    return isinstance(schema, Mapping) and "type" in (schema.get("properties") or {})


def _is_schema(value: Mapping[str, Any]) -> bool:
    kind = value.get("type")
    return isinstance(kind, str) and kind in _TYPES and _SCHEMA_KEYS.issuperset(value) and len(value) > 1


def _is_placeholder(value: str, name: str, schema: Any) -> bool:
    if not value:
        return False
    schema = schema if isinstance(schema, Mapping) else {}
    if value == schema.get("type") or _RULES.fullmatch(value):
        return True
    described = schema.get("description")
    if isinstance(described, str) and " " in value and value.casefold() == described.strip().rstrip(".").casefold():
        return value.casefold() not in [str(item).casefold() for item in schema.get("enum") or ()]
    marked = _MARKED.fullmatch(value)
    if marked is None:
        return False
    inner = next(part for part in marked.groups() if part is not None).strip()
    return plain(inner) == plain(name) or plain(inner) in _TYPES or _ASKS.fullmatch(inner) is not None


def echoed_answer(answer: str) -> bool:
    """Whether an answer is the prompt's own placeholder for one."""
    return len(answer) <= 160 and any(_ANSWER.fullmatch(form) for form in (answer.strip(), answer.strip().rstrip(".")))


def echoed_blob(text: str) -> bool:
    """Whether the text of a fence or an action is the prompt's placeholder for a JSON blob."""
    return len(text) <= 120 and _FENCED.fullmatch(text.strip()) is not None

"""Where the values of arguments come from: a text, what the tool says of itself, or nowhere. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from react_text.protocol.examples import scalars
from react_text.protocol.figures import MOST_DIGITS, figures, implied_figures
from react_text.protocol.grounding import SHAPES, argument_schemas, choices_of, mentions, quoted_texts
from react_text.tools import Tool

_WORD = re.compile(r"[^\W_]+")
_ENDING = 4
"""Letters by which words are the same whatever they end with."""
_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_ABBREVIATED = 3
"""Letters that stand for the name of a month."""
_AMOUNT = re.compile(r"(\d+)([a-z]+)")
_EXAMPLES = re.compile(r"\b(?:e\.g\.|i\.e\.|for (?:example|instance)\b|such as\b|like\b|examples?:)[^;)]*", re.I)
_DEFAULT = re.compile(r"\bdefault", re.IGNORECASE)


def ungrounded(tool: Tool, arguments: Mapping[str, Any], known: str) -> list[tuple[str, str]]:
    """Arguments, as (name, value), that the known text does not hold although they are free to be anything.

    A value of which the text holds more than half of the words, or all before a comma, is made from the text, and so is
    a number that its words imply, such as 12 of "monthly". What the tool quotes of an argument, or says that it is by
    default, does not come from nowhere, but for its examples. A number, date or the like that is required is left where
    the text has no other that could take its place.
    """
    opened = [(name, text) for name, text in _open_values(tool, arguments) if text and not mentions(known, text)]
    if not opened:
        return []
    schemas = argument_schemas(tool)
    required = tool.parameters.get("required") or ()
    words = set(_WORD.findall(known.casefold()))
    counted = frozenset(figures(known))
    dated = counted | {at for at, month in enumerate(_MONTHS, 1) if not words.isdisjoint((month, month[:_ABBREVIATED]))}
    implied = implied_figures(known)
    return [
        (name, text)
        for name, text in opened
        if not (
            _made_from(known, words, dated, text)
            or _number(text) in implied
            or _is_told(schemas.get(name, {}), text, words)
            or (name in required and not _has_another(known, counted, text, arguments))
        )
    ]


def repeated(tool: Tool, arguments: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Arguments, as (name, value), that are free to be any text and hold what an earlier one holds."""
    texts = {name: value for name, value in arguments.items() if isinstance(value, str) and value}
    seen: set[str] = set()
    found = []
    for name, text in _open_values(tool, texts):
        if text.casefold() in seen:
            found.append((name, text))
        seen.add(text.casefold())
    return found


def open_texts(tool: Tool, arguments: Mapping[str, Any]) -> list[str]:
    """The values of arguments that are free to be anything, as texts; empty ones are left out."""
    return [text for _, text in _open_values(tool, arguments) if text]


def _made_from(known: str, words: AbstractSet[str], counted: AbstractSet[float], text: str) -> bool:
    head, comma, _ = text.partition(",")
    if comma and head.strip() and mentions(known, head):
        return True
    if "_" in text and "_" not in known:
        return False
    return _most_are_held(text, words, counted)


def _most_are_held(text: str, words: AbstractSet[str], counted: AbstractSet[float]) -> bool:
    own = _WORD.findall(text.casefold())
    return sum(_is_held(word, words, counted) for word in own) > len(own) / 2


def _is_held(word: str, words: AbstractSet[str], counted: AbstractSet[float]) -> bool:
    if word in words or (word.isdecimal() and len(word) <= MOST_DIGITS and int(word) in counted):
        return True
    if (amount := _AMOUNT.fullmatch(word)) and len(word) <= MOST_DIGITS:  # "24h" of "24 hours"
        return int(amount[1]) in counted and any(one.startswith(amount[2]) for one in words)
    return any(_alike(word, one) for one in words)


def _alike(word: str, other: str) -> bool:
    """Whether two words are the same but for their endings or one letter: "German" is "Germany", "woman" is "women"."""
    if not word.isalpha() or word.removesuffix("s") == other.removesuffix("s"):
        return word.isalpha()
    same = min(len(word), len(other)) - 1
    if same >= _ENDING and len(word) == len(other):
        return sum(one != another for one, another in zip(word, other, strict=True)) == 1
    return same >= _ENDING and word[:same] == other[:same]


def _is_told(schema: Mapping[str, Any], text: str, words: AbstractSet[str]) -> bool:
    """Whether a tool says of an argument that it may have this value: by default, in quotes, or as a name with "_"."""
    told = _description(schema)
    if "_" in text and mentions(told, text):
        return _most_are_held(text, words, frozenset())
    told = _EXAMPLES.sub("", told)
    return text in quoted_texts(told) or mentions(_about_default(told), text)


def _about_default(told: str) -> str:
    """What is said from the beginning of the sentence that speaks of a default; empty where none does."""
    found = _DEFAULT.search(told)
    if found is None:
        return ""
    begins = max(told.rfind(end, 0, found.start()) for end in ".;") + 1
    return told[begins:].partition(";")[0]


def _description(schema: Mapping[str, Any]) -> str:
    items = schema.get("items")
    inner = items.get("description") if isinstance(items, Mapping) else None
    return " ".join(one for one in (schema.get("description"), inner) if isinstance(one, str))


def _has_another(known: str, counted: AbstractSet[float], text: str, arguments: Mapping[str, Any]) -> bool:
    """Whether a text holds what could be given instead of a value: of a number one that no argument has."""
    if _number(text) is not None:
        used = {one for value in scalars(arguments) for one in figures(value)}
        return not counted <= used
    shapes = (shape for shape in SHAPES.values() if shape.fullmatch(text))
    return all(shape.search(known) for shape in shapes)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _open_values(tool: Tool, arguments: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The strings and numbers, as (argument, text), in arguments that neither choose from a list nor take a default."""
    schemas = argument_schemas(tool)
    opened = ((name, value) for name, value in arguments.items() if _is_open(schemas.get(name, {}), value))
    return [(name, text) for name, value in opened for text in scalars(value)]


def _is_open(schema: Mapping[str, Any], value: Any) -> bool:
    if choices_of(schema.get("items")) or ("default" in schema and schema["default"] == value):
        return False
    return not any(key in schema for key in ("enum", "const", "anyOf", "oneOf", "allOf", "properties"))

"""What a tool gave back, as the values that it holds: JSON without its keys, any other text as it is. Pure."""

from __future__ import annotations

import json
import re
from typing import Any

from react_text.protocol.examples import scalars
from react_text.protocol.figures import mentioned_figures
from react_text.protocol.grounding import mentions, names, numbers
from react_text.protocol.parts import speaks_of
from react_text.tools import Tool

_LONG_WORD = re.compile(r"[^\W\d_]{3,}")
_FEW_WORDS = 4
"""Words of a result that is a value to go on with, and no sentence."""


def values_of(result: str) -> list[str]:
    """The strings and numbers of a result that is a JSON object or list, else the result itself."""
    held = _json(result)
    return list(scalars(held)) if isinstance(held, dict | list) else [result.strip()]


def names_in(result: str) -> frozenset[str]:
    """The names of the values of a JSON object; none for any other result."""
    held = _json(result)
    return frozenset(held) if isinstance(held, dict) else frozenset()


def wanted_by(tool: Tool, source: str, result: str) -> bool:
    """Whether a tool's one required argument is named like the tool that gave one value: `card` like `card_number`."""
    required = list(tool.parameters.get("required") or ())
    values = values_of(result)
    if len(required) != 1 or len(values) != 1 or len(values[0].split()) > _FEW_WORDS:
        return False
    words = set(_LONG_WORD.findall(required[0].casefold()))
    return bool(words.intersection(_LONG_WORD.findall(source.casefold())))


def is_code(result: str) -> bool:
    """Whether a result is one word of letters and digits, such as "E-552": the number of something."""
    text = result.strip()
    return re.fullmatch(r"(?=.*\d)(?=.*[^\W\d_])[\w-]+", text) is not None and not mentioned_figures(text)


def is_words(result: str) -> bool:
    """Whether a result is a few words without a digit, such as "Port Louis"."""
    text = result.strip()
    few = 0 < len(text.split()) <= _FEW_WORDS and _json(text) is None
    return few and not any(one.isdigit() for one in text)


def asked_names(result: str, question: str) -> list[str]:
    """The names in a JSON object that the question speaks of and whose values it does not say itself."""
    held = _json(result)
    return [
        name
        for name, value in (held.items() if isinstance(held, dict) else ())
        if isinstance(value, str | int | float) and speaks_of(question, name) and not mentions(question, _shown(value))
    ]


def asked_of(result: str, question: str) -> str:
    """What of a result the question asks for: the values of `asked_names` where there are any, else everything."""
    asked = asked_names(result, question)
    if not asked:
        return result.strip().rstrip(".")
    held = _json(result)
    return ", ".join(_shown(held[name]) for name in asked)


def tells(answer: str, result: str, question: str) -> bool:
    """Whether an answer tells a result: one of its numbers or names where it has some, else one of its words.

    What the question says itself tells nothing, unless the result is nothing else.
    """
    values = values_of(result)
    text = "\n".join(values)
    telling = [*map(str, numbers(text)), *names(text), *(values if len(values) > 1 else ())]
    if not telling:
        telling = [word for word in text.split() if len(word) > 2] or [text]
    new = [one for one in telling if not mentions(question, one)]
    return any(mentions(answer, one) for one in new or telling)


def led_to(result: str, later: str) -> bool:
    """Whether a later call, of which `later` holds the values, was made from this result."""
    values = values_of(result)
    telling = values if len(values) == 1 else [one for one in values if len(one) > 1]
    return bool(later) and any(mentions(later, one) for one in telling)


def _shown(value: str | float) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _json(result: str) -> Any:
    try:
        return json.loads(result)
    except (ValueError, RecursionError):
        return None

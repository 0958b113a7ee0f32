"""What a tool gave back, as the values that it holds: JSON without its keys, any other text as it is. Pure."""

from __future__ import annotations

import json
import re
from typing import Any

from react_text.protocol.examples import scalars
from react_text.protocol.grounding import mentions, names, numbers

_STEM = 5
"""Letters by which a word is known again in another form."""


def values_of(result: str) -> list[str]:
    """The strings and numbers of a result that is a JSON object or list, else the result itself."""
    held = _json(result)
    return list(scalars(held)) if isinstance(held, dict | list) else [result.strip()]


def asked_of(result: str, question: str) -> str:
    """What of a result the question asks for: of a JSON object the values whose names it speaks of, else everything.

    What the question says itself it does not ask for.
    """
    held = _json(result)
    if isinstance(held, dict):
        known = {word[:_STEM] for word in re.findall(r"[^\W\d_]+", question.casefold())}
        asked = [
            text
            for name, value in held.items()
            if isinstance(value, str | int | float)
            and not mentions(question, text := value if isinstance(value, str) else json.dumps(value))
            and all(word[:_STEM] in known for word in re.findall(r"[^\W\d_]+", name.casefold()))
        ]
        if asked:
            return ", ".join(asked)
    return result.strip().rstrip(".")


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
    values = [one for one in values_of(result) if len(one) > 1]
    return bool(later) and any(mentions(later, one) for one in values)


def _json(result: str) -> Any:
    try:
        return json.loads(result)
    except ValueError:
        return None

"""What an error says: the values it names, and what is new in it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from react_text.messages import Call
from react_text.protocol.grounding import argument_schemas, choices_of, mentions, names, spans, with_titles
from react_text.protocol.parts import SAY_NOTHING
from react_text.steering.known import Known
from react_text.tools import Tool

_SENTENCE_END = re.compile(r"[.;:!?]\s")
_LISTING = re.compile(r",|\s(?:or|and)\s")
"""Stands between several ways out."""
_STEM = 4
"""Letters by which a word is known again."""


def named_by(known: Known, error: str, failed: Sequence[str]) -> list[str]:
    """What an error names besides what was tried: names, or else words of the question that no tool speaks of."""

    def untried(found: Iterable[str]) -> list[str]:
        return [one for one in found if not any(mentions(text, one) for text in failed)]

    rest = _without(error, failed, " ")
    if new := untried(names(rest)):
        whole = untried(names(error))  # of "Oban Harbor" the rest without the failed "Oban" has only "Harbor"
        return with_titles(rest, [next((one for one in whole if mentions(one, name)), name) for name in new])
    spoken_of = known.spoken_of() | SAY_NOTHING
    asked = [one for one in spans([rest]) if len(one) > 2 and " " not in one and mentions(known.question, one)]
    return [one for one in untried(asked) if one.casefold() not in spoken_of]


def hinted(known: Known, values: Sequence[str]) -> bool:
    """Whether the question speaks of one of the values that an error names: a word of it begins like a word of one."""
    asked = {word[:_STEM] for word in re.findall(r"\w+", known.question.casefold()) if len(word) >= _STEM}
    return any(word[:_STEM] in asked for one in values for word in re.findall(r"\w+", one.casefold()))


def message_of(call: Call, error: str, failed: Sequence[str]) -> str:
    """What an error says besides its beginning and the values that failed."""
    said = re.sub(rf"^Error: (?:{re.escape(call.name)} failed: )?(?:\w+: )?", "", error)
    return _without(said, failed, ". ")


def other_choice(tool: Tool, call: Call, error: str, new: Sequence[str]) -> dict[str, str]:
    """The argument whose value an error names, where it chooses from a list, with the one choice that is `new`.

    Empty where that is not one argument.
    """
    found: dict[str, str] = {}
    for name, schema in argument_schemas(tool).items():
        value = call.arguments.get(name)
        choices = [one for one in choices_of(schema) if one in new and one != value]
        if isinstance(value, str) and mentions(error, value) and len(choices) == 1:
            found[name] = choices[0]
    return found if len(found) == 1 else {}


def only_ending(error: str, values: Sequence[str]) -> list[str]:
    """The values with which an error ends, where its last sentence lists no others: one of them would do."""
    last = _SENTENCE_END.split(error.rstrip(" .!"))[-1]
    return [] if _LISTING.search(last) else [one for one in values if last.endswith(one)]


def new_words(known: Known, text: str) -> list[str]:
    """The longer words of a text that neither the question nor any tool has."""
    old = known.spoken_of() | SAY_NOTHING | set(re.findall(r"\w+", known.question.casefold()))
    return [word for word in re.findall(r"[^\W\d_]{4,}", text.casefold()) if word not in old]


def _without(text: str, values: Sequence[str], instead: str) -> str:
    for value in values:
        text = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", instead, text, flags=re.IGNORECASE)
    return text

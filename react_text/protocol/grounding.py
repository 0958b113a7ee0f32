"""What arguments and answers are made of: the words and numbers of the question and of what tools gave back. Pure.

Knows no task: it goes by what writing shows, quotes, capitals inside a sentence and digits, and by English words that
name nothing or a number.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from react_text.protocol.figures import MOST_DIGITS, figures, mentioned_figures
from react_text.protocol.parts import SAY_NOTHING
from react_text.schema import resolve_ref, types_of
from react_text.tools import Tool

MOST_VALUES = 600
"""Values that one argument is given to choose from: the earliest of the texts."""
LONGEST_SPAN = 6
"""Words of a value that is taken from a text, unless it stands in quotes there."""
_QUOTED = re.compile(r"\"([^\"\n]{1,200})\"|“([^”\n]{1,200})”|(?<!\w)'([^'\n]{1,200})'(?!\w)|`([^`\n]{1,200})`")
_NUMBER = re.compile(r"(?<![\w.])-?\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\w])|(?<![\w.-])-?\d+(?:\.\d+)?(?![\w-])")
_EDGES = " \t\r\n.,;:!?()[]{}<>\"'“”‘’`…"
_CLAUSE_END = re.compile(r"(?:(?<!\b[A-Z][a-z])(?<!\b[A-Z][a-z]{2})\.|[!?;])\s|\n")
_SPEAKER = re.compile(r"I['’][a-z]+")
"""The one who writes: "I'll" is no name."""
_TITLE = re.compile(r"[A-Z][a-z]{1,2}\.")
"""A word with a point that ends no sentence, such as "Dr."."""
_TITLED = re.compile(
    r"(?<![.!?:]\s)(?<!^)(?<!\w)[A-Z][\w'’-]*(?:\s+[A-Z][\w'’-]*)*"
    r"(?:\s+(?:of|(?:(?:of|in|on|at|with)\s+)?(?:the|a|an))\s+[A-Z][\w'’-]*(?:\s+[A-Z][\w'’-]*)*)+"
)
"""Capitalised words with small ones between them, not at the beginning of a sentence."""
_SENTENCE_ENDS = ".!?:"
_PIECE = 4
"""Letters of the pieces by which words are compared, so that "lists" is like "listing"."""
_SHORT_WORD = 3
"""Letters of a word that is not mentioned with an ending: "EUR" is not "euros"."""
_FEW = 4
"""Words weigh as among so many tools where there are fewer."""
SHAPES = {
    "date": re.compile(r"\b\d{4}-\d\d-\d\d\b"),
    "date-time": re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:?\d\d)?"),
    "time": re.compile(r"\b\d\d?:\d\d(?::\d\d)?\b"),
    "email": re.compile(r"(?<![^\s<>\"',;:()])[^\s<>\"',;:()]{1,64}@[^\s<>\"',;:()]{1,255}\w"),
    "uri": re.compile(r"\b\w+://[^\s<>\"']+\w"),
    "ipv4": re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b"),
    "uuid": re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"),
}


def quoted_texts(text: str) -> list[str]:
    """What stands in quotes."""
    found = (next(filter(None, groups)) for groups in _QUOTED.findall(text))
    return [one for one in found if one.strip()]


def numbers(text: str) -> list[float | int]:
    """The numbers of a text that stand alone, in order; a thousands comma is left out."""
    found = (one.replace(",", "") for one in _NUMBER.findall(text) if len(one) <= MOST_DIGITS)
    return list(dict.fromkeys(float(one) if "." in one else int(one) for one in found))


def spans(texts: Iterable[str]) -> list[str]:
    """The runs of up to LONGEST_SPAN words, and what stands in quotes; without punctuation at their ends.

    No run begins or ends with a word of SAY_NOTHING, but for one that is written as a name.
    """
    found: dict[str, None] = {}
    for text in texts:
        for one in quoted_texts(text):
            found[one.strip()] = None
        for clause in _CLAUSE_END.split(text):
            words = clause.split()
            lasts = {at for at, word in enumerate(words) if not _says_nothing(word)}
            for first in (at for at, word in enumerate(words) if not _says_nothing(word, begins=at == 0)):
                for last in range(first, first + LONGEST_SPAN):
                    if last in lasts:
                        found[" ".join(words[first : last + 1]).strip(_EDGES)] = None
                if len(found) > MOST_VALUES:
                    break
    found.pop("", None)
    return list(found)[:MOST_VALUES]


def endings(text: str, dull: Collection[str], failed: Iterable[str]) -> list[str]:
    """What the sentences of an error and their parts between commas end with: there it says what would do.

    None begins with a `dull` word (in small letters), or is a part of a value that `failed`, unless a dull word stands
    before it: of "duct tape", "cloth tape" ends with "tape", but "there is: tape" says so.
    """
    found: dict[str, None] = {}
    for clause in (part for sentence in _CLAUSE_END.split(text) for part in sentence.split(", ")):
        words = [word for written in clause.split() if (word := written.strip(_EDGES))]
        for first in range(max(0, len(words) - LONGEST_SPAN), len(words)):
            span = " ".join(words[first:])
            stands_alone = first == 0 or words[first - 1].casefold() in dull
            if words[first].casefold() not in dull and (stands_alone or not any(mentions(one, span) for one in failed)):
                found[span] = None
    return list(found)


def _says_nothing(written: str, *, begins: bool = False) -> bool:
    word = written.strip(_EDGES)
    return (begins or not word[:1].isupper()) and word.casefold() in SAY_NOTHING


def names(text: str) -> list[str]:
    """What looks like a name or a number of something: quoted, with a digit, or capitalised inside a sentence."""
    found = dict.fromkeys(one for one in quoted_texts(text) if len(one.split()) <= LONGEST_SPAN)
    run: list[str] = []
    begins = True
    for written in text.split():
        word = written.strip(_EDGES)
        digit = any(one.isdigit() for one in word)
        named = len(word) > 1 and word[0].isupper() and not begins and not digit and not _SPEAKER.fullmatch(word)
        if named and run and written[0] not in "(\"'“":
            run.append(word)
        else:
            if run:
                found[" ".join(run)] = None
            run = [word] if named else []
            if digit:
                found[word] = None
        if run and written[-1] in ".,;:!?)\"'”" and not _TITLE.fullmatch(written):
            found[" ".join(run)] = None
            run = []
        begins = written[-1] in _SENTENCE_ENDS and not _TITLE.fullmatch(written)
    if run:
        found[" ".join(run)] = None
    return [one for one in found if one]


def with_titles(text: str, found: Sequence[str]) -> list[str]:
    """The names found in a text, but those that small words join to a title as that title: "Lights on the Quay"."""
    titles = [match[0] for match in _TITLED.finditer(text)]
    joined = [next((one for one in titles if name != one and mentions(one, name)), name) for name in found]
    return list(dict.fromkeys(joined))


def mentions(text: str, value: str) -> bool:
    """Whether `text` holds a value: a number as a number, else word for word, in any case.

    An ending of two letters does not count: "boats" mentions "boat", and "euros" does not mention "EU".
    """
    try:
        number = float(value.replace(",", ""))
    except ValueError:
        number = math.nan
    if math.isfinite(number):
        return number in _figures_of(text)
    wanted, held = value.strip().casefold(), text.casefold()
    if wanted not in held:
        return False
    ending = r"[^\W\d_]{0,2}" if len(wanted) > _SHORT_WORD else ""
    return re.search(rf"(?<!\w){re.escape(wanted)}{ending}(?!\w)", held) is not None


@lru_cache(maxsize=16)
def _figures_of(text: str) -> frozenset[float | int]:
    return frozenset(figures(text))


def unfillable(tool: Tool, text: str) -> int:
    """How many required arguments of a tool want a number or a date and the like, of which the text has too few."""
    schemas = argument_schemas(tool)
    spare = len(mentioned_figures(text))
    missing = 0
    for name in tool.parameters.get("required") or ():
        schema = schemas.get(name, {})
        if "enum" in schema or "default" in schema:
            continue
        if schema.get("type") in ("integer", "number"):
            spare -= 1
            missing += spare < 0
        elif (shape := SHAPES.get(str(schema.get("format")))) is not None:
            missing += shape.search(text) is None
    return missing


def takes(tool: Tool, kinds: Iterable[str]) -> bool:
    """Whether a tool has an argument of one of these JSON types that does not choose from a list."""
    wanted = frozenset(kinds)
    schemas = argument_schemas(tool).values()
    return any(wanted.intersection(types_of(schema)) and "enum" not in schema for schema in schemas)


def likeness(question: str, tools: Sequence[Tool]) -> list[float]:
    """How many of a question's words each tool's own words share, by pieces of four letters.

    Pieces that few of the tools have weigh more. A tool's words are those of `words_of`.
    """
    known = [frozenset[str]().union(*map(_pieces, words_of(tool))) for tool in tools]
    held = Counter(piece for pieces in known for piece in pieces)
    weights = {piece: math.log(1 + max(_FEW, len(tools)) / count) for piece, count in held.items()}
    asked = [_pieces(word) for word in _words(question)]
    return [sum(_shared(word, pieces, weights) for word in asked) for pieces in known]


def words_of(tool: Tool) -> frozenset[str]:
    """The words of a tool's name, description, arguments, choices and examples, in small letters."""
    properties = tool.parameters.get("properties") or {}
    choices = (str(one) for schema in properties.values() for one in choices_of(schema))
    questions = (example.question for example in tool.examples)
    texts = (tool.name.replace("_", " "), tool.description, *properties, *choices, *questions)
    return frozenset(_words(" ".join(texts)))


def choices_of(schema: Any) -> Sequence[Any]:
    found = schema.get("enum") if isinstance(schema, Mapping) else None
    return found if isinstance(found, list | tuple) else ()


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]{2,}", text.casefold())


def _pieces(word: str) -> frozenset[str]:
    return frozenset(word[at : at + _PIECE] for at in range(max(1, len(word) - _PIECE + 1)))


def _shared(word: frozenset[str], pieces: frozenset[str], weights: Mapping[str, float]) -> float:
    """The weight of a word's pieces that are among `pieces`, as a mean over all of the word's pieces."""
    return sum(weights[piece] for piece in word & pieces) / len(word)


def argument_schemas(tool: Tool) -> dict[str, Mapping[str, Any]]:
    properties = tool.parameters.get("properties") or {}
    return {name: resolve_ref(schema, tool.parameters) for name, schema in properties.items()}

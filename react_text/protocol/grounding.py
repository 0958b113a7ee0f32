"""What arguments and answers are made of: the words and numbers of the question and of what tools gave back. Pure.

Knows no task and no language beyond what writing shows: quotes, capitals inside a sentence, digits.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from react_text.schema import resolve_ref
from react_text.tools import Tool

LONGEST_SPAN = 6
"""Words of a value that is taken from a text, unless it stands in quotes there."""
MOST_VALUES = 160
_QUOTED = re.compile(r"\"([^\"\n]{1,200})\"|“([^”\n]{1,200})”|(?<!\w)'([^'\n]{1,200})'(?!\w)|`([^`\n]{1,200})`")
_NUMBER = re.compile(r"(?<![\w.])-?\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\w])|(?<![\w.-])-?\d+(?:\.\d+)?(?![\w-])")
_WORD = re.compile(r"\S+")
_EDGES = " \t\r\n.,;:!?()[]{}<>\"'“”‘’`…"
_PIECE = 4
_FEW = 4
"""Words weigh as among so many tools where there are fewer."""
_DEEPEST = 6
_SHAPES = {
    "date": re.compile(r"\b\d{4}-\d\d-\d\d\b"),
    "date-time": re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:?\d\d)?"),
    "time": re.compile(r"\b\d\d?:\d\d(?::\d\d)?\b"),
    "email": re.compile(r"[^\s<>\"',;:()]+@[^\s<>\"',;:()]+\w"),
    "uri": re.compile(r"\b\w+://[^\s<>\"']+\w"),
    "ipv4": re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b"),
    "uuid": re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"),
}
_SENTENCE_END = re.compile(r"[.!?:]\s*$")


def quoted_texts(text: str) -> list[str]:
    """What stands in quotes."""
    return [next(filter(None, groups)) for groups in _QUOTED.findall(text)]


def numbers(text: str) -> list[float | int]:
    """The numbers of a text that stand alone, in order; a thousands comma is left out."""
    found = (one.replace(",", "") for one in _NUMBER.findall(text))
    return list(dict.fromkeys(float(one) if "." in one else int(one) for one in found))


def spans(texts: Iterable[str]) -> list[str]:
    """The runs of up to LONGEST_SPAN words, and what stands in quotes; without punctuation at their ends."""
    found: dict[str, None] = {}
    for text in texts:
        for one in quoted_texts(text):
            found[one.strip()] = None
        for clause in re.split(r"[.!?;]\s|\n", text):
            words = _WORD.findall(clause)
            for first in range(len(words)):
                for last in range(first + 1, min(len(words), first + LONGEST_SPAN) + 1):
                    found[" ".join(words[first:last]).strip(_EDGES)] = None
    found.pop("", None)
    return list(found)[:MOST_VALUES]


def names(text: str) -> list[str]:
    """What looks like a name or a number of something: quoted, with a digit, or capitalised inside a sentence."""
    found = dict.fromkeys(one for one in quoted_texts(text) if len(one.split()) <= LONGEST_SPAN)
    position = 0
    run: list[str] = []
    for match in _WORD.finditer(text):
        before, position = text[position : match.start()], match.end()
        word = match[0].strip(_EDGES)
        begins = (not before and match.start() == 0) or _SENTENCE_END.search(text[: match.start()]) is not None
        digit = any(one.isdigit() for one in word)
        named = len(word) > 1 and word[0].isupper() and not begins
        joins = run and match[0][:1] not in "(\"'“"
        if named and not digit and joins:
            run.append(word)
        else:
            if run:
                found[" ".join(run)] = None
            run = [word] if named and not digit else []
            if digit:
                found[word] = None
        if run and match[0][-1:] in ".,;:!?)\"'”":
            found[" ".join(run)] = None
            run = []
    if run:
        found[" ".join(run)] = None
    return [one for one in found if one]


def scalar_texts(value: Any) -> Iterator[str]:
    """Every string and number inside a JSON value, as text."""
    if isinstance(value, Mapping):
        for one in value.values():
            yield from scalar_texts(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from scalar_texts(one)
    elif isinstance(value, str):
        yield value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield f"{value:g}" if isinstance(value, float) else str(value)


def mentions(text: str, value: str) -> bool:
    """Whether `text` holds a value: a number as a number, else word for word, in any case."""
    try:
        return float(value.replace(",", "")) in numbers(text)
    except ValueError:
        return re.search(rf"(?<!\w){re.escape(value.strip().casefold())}", text.casefold()) is not None


def narrowed(tool: Tool, texts: Sequence[str], without: Iterable[str] = (), around: Sequence[str] = ()) -> Tool:
    """The tool with its open arguments held to what the texts hold: words for strings, numbers for numbers.

    Dates and the like are taken from the texts `around` too. Arguments that choose from a list or have a pattern stay
    as they are, and so do those for which the texts hold nothing. `without` are values that are not to be taken again.
    """
    banned = {one.casefold() for one in without}
    words = [one for one in spans(texts) if one.casefold() not in banned]
    figures = [one for text in texts for one in numbers(text) if str(one) not in banned]
    shaped = {
        form: list(dict.fromkeys(match[0] for text in (*texts, *around) for match in shape.finditer(text)))
        for form, shape in _SHAPES.items()
    }
    held = _Held(tool.parameters, words, figures, shaped)
    return replace(tool, parameters=held.schema(tool.parameters, 0))


def ungrounded(tool: Tool, arguments: Mapping[str, Any], known: str) -> list[tuple[str, str]]:
    """Arguments, as (name, value), that the known text does not hold although they are free to be anything."""
    properties = tool.parameters.get("properties") or {}
    return [
        (name, text)
        for name, value in arguments.items()
        if _is_open(resolve_ref(properties.get(name, {}), tool.parameters), value)
        for text in scalar_texts(value)
        if text and not mentions(known, text)
    ]


def open_texts(tool: Tool, arguments: Mapping[str, Any]) -> list[str]:
    """The values of arguments that are free to be anything."""
    properties = tool.parameters.get("properties") or {}
    return [
        text
        for name, value in arguments.items()
        if _is_open(resolve_ref(properties.get(name, {}), tool.parameters), value)
        for text in scalar_texts(value)
    ]


def unfillable(tool: Tool, text: str) -> int:
    """How many required arguments of a tool want a number or a date and the like, of which the text has too few."""
    properties = tool.parameters.get("properties") or {}
    left = len(numbers(text))
    missing = 0
    for name in tool.parameters.get("required") or ():
        schema = resolve_ref(properties.get(name, {}), tool.parameters)
        if "enum" in schema or "default" in schema:
            continue
        if schema.get("type") in ("integer", "number"):
            left -= 1
            missing += left < 0
        elif (shape := _SHAPES.get(str(schema.get("format")))) is not None:
            missing += shape.search(text) is None
    return missing


def likeness(question: str, tools: Sequence[Tool]) -> list[float]:
    """How many of a question's words each tool's own words share, by pieces of four letters.

    Pieces that few of the tools have weigh more. A tool's words are its name, its description, its choices and the
    questions of its worked examples.
    """
    known = [frozenset[str]().union(*map(_pieces, _letters(_words_of(tool)))) for tool in tools]
    held = Counter(piece for pieces in known for piece in pieces)
    asked = [_pieces(word) for word in _letters(question)]
    scores = []
    for pieces in known:
        shared = [(asked_for, asked_for & pieces) for asked_for in asked]
        weights = [[math.log(1 + max(_FEW, len(tools)) / held[piece]) for piece in both] for _, both in shared]
        scores.append(
            sum(
                len(both) / len(all_) * sum(weight) / len(weight)
                for (all_, both), weight in zip(shared, weights, strict=True)
                if both
            )
        )
    return scores


def words_of(tool: Tool) -> frozenset[str]:
    """The words of a tool's name, description, choices and examples, in small letters."""
    return frozenset(_letters(_words_of(tool)))


def _words_of(tool: Tool) -> str:
    choices = [str(one) for schema in (tool.parameters.get("properties") or {}).values() for one in _choices(schema)]
    words = [tool.name.replace("_", " "), tool.description, *tool.parameters.get("properties", ()), *choices]
    return " ".join([*words, *(example.question for example in tool.examples)])


def _choices(schema: Any) -> Sequence[Any]:
    found = schema.get("enum") if isinstance(schema, Mapping) else None
    return found if isinstance(found, list | tuple) else ()


def _letters(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]{2,}", text.casefold())


def _pieces(word: str) -> frozenset[str]:
    return frozenset(word[at : at + _PIECE] for at in range(max(1, len(word) - _PIECE + 1)))


def _is_open(schema: Mapping[str, Any], value: Any) -> bool:
    if "enum" in schema or "const" in schema or ("default" in schema and schema["default"] == value):
        return False
    return not any(key in schema for key in ("anyOf", "oneOf", "allOf", "properties"))


@dataclass(frozen=True)
class _Held:
    """Values by what they can be, put into the open places of a schema."""

    root: Mapping[str, Any]
    words: Sequence[str]
    figures: Sequence[float | int]
    shaped: Mapping[str, Sequence[str]]

    def schema(self, schema: Any, depth: int) -> Any:
        if not isinstance(schema, Mapping) or depth > _DEEPEST:
            return schema
        if "$ref" in schema:
            return self.schema(resolve_ref(schema, self.root), depth + 1)
        if any(key in schema for key in ("enum", "const", "pattern", "anyOf", "oneOf", "allOf")):
            return schema
        match schema.get("type"):
            case "object":
                inside = {name: self.schema(one, depth + 1) for name, one in (schema.get("properties") or {}).items()}
                return {**schema, "properties": inside} if inside else schema
            case "array":
                return {**schema, "items": self.schema(schema.get("items"), depth + 1)}
            case kind:
                values = self.values(kind, schema.get("format"))
                return {**schema, "enum": list(values)} if values else schema

    def values(self, kind: Any, form: Any) -> Sequence[Any]:
        if kind == "string":
            return self.words if form is None else self.shaped.get(str(form), ())
        if kind == "integer":
            return [one for one in self.figures if isinstance(one, int)]
        return self.figures if kind == "number" else ()


def takes(tool: Tool, kinds: Iterable[str]) -> bool:
    """Whether a tool has an open argument of one of these JSON types."""
    wanted = frozenset(kinds)
    properties = tool.parameters.get("properties") or {}
    schemas = (resolve_ref(schema, tool.parameters) for schema in properties.values())
    return any(schema.get("type") in wanted and "enum" not in schema for schema in schemas)

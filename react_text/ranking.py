"""Which of many tools a question is asked with: those closest to it by their words, as many as a small context takes.

It counts tokens with a backend and generates nothing. The words are weighed by BM25 (extra `ranking`), loaded when
there is something to choose.
"""

from __future__ import annotations

import json
import logging
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Literal, TypeAlias

from react_text.backends.base import Backend
from react_text.errors import MissingExtra
from react_text.messages import Message
from react_text.protocol.signature import tool_lines
from react_text.tools import Tool

ToolsLimit: TypeAlias = Literal["auto"] | int | None
TOOLS_SHARE = 0.25
"""The share of the context that tools may take before only the closest ones are shown."""
_FIRST_SHARE, _OTHER_SHARE = 1 / 3, 1 / 12
"""Of that room, what the closest tool and what each other one may take before it is shown more briefly."""
_CHARACTERS_PER_TOKEN = 3.5
"""Of tool descriptions, where only the server could count."""
_TURNS_HEARD = 2
"""Earlier turns of the user that are heard with a question, which may be no more than "and in Bergen?"."""
_MOST_MISSES = 8
"""Tools in a row that do not fit any more before the rest are not tried."""
_WORD = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}]|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[^\W\d_]+|\d+"

_log = logging.getLogger("react_text")


class Offer:
    """The tools of a toolbox, and which of them a question is asked with.

    `limit` "auto" offers all while they take no more than TOOLS_SHARE of the backend's context, and beyond as many as
    that share holds, some of them shortened; a number does the same with so many at most; None offers all, always.
    `structured` says that they are sent as JSON Schema. Raises MissingExtra where a number is given, there are more,
    and there is nothing to rank with.
    """

    def __init__(self, tools: Sequence[Tool], limit: ToolsLimit, backend: Backend, *, structured: bool = False) -> None:
        if limit is not None and limit != "auto" and not (isinstance(limit, int) and limit > 0):
            raise ValueError(f"tools_limit {limit!r} is not known; use 'auto', None for all, or a number above 0.")
        self.tools = tuple(tools)
        self._limit = limit
        self._backend = backend
        self._structured = structured
        self._forms: dict[str, list[tuple[Tool, int]]] = {}
        self._room = backend.context_length * TOOLS_SHARE if backend.context_length else None
        self._ranking = self._ranked_by() if self._exceeded() else None

    def for_question(self, question: str, history: Sequence[Message] = ()) -> tuple[Tool, ...]:
        """The tools for a question, closest first.

        What the user said before in the conversation counts too, and tools that were called in it stay.
        """
        if self._ranking is None:
            return self.tools
        called = {call["function"]["name"] for message in history for call in message.get("tool_calls") or ()}
        said = [str(message["content"]) for message in history if message["role"] == "user"]
        before = [tool for tool in self.tools if tool.name in called]
        ranked = self._ranking.order("\n".join([*said[-_TURNS_HEARD:], question]))
        ordered = [*before, *(tool for tool in ranked if tool.name not in called)]
        if isinstance(self._limit, int):
            ordered = ordered[: max(self._limit, len(before))]
        return tuple(self._fitting(ordered)) or (self._form(ordered[0], 0)[0],)

    def note(self, shown: Sequence[Tool]) -> str:
        """What the model is told of the tools that it is not shown; nothing when there are none."""
        more = len(self.tools) - len(shown)
        if not more:
            return ""
        return f"These are the {len(shown)} tools closest to the question. {more} more exist and are not shown."

    def _exceeded(self) -> bool:
        if self._limit is None or not self.tools:
            return False
        if isinstance(self._limit, int) and len(self.tools) > self._limit:
            return True
        return self._room is not None and self._tokens(self.tools) > self._room

    def _ranked_by(self) -> Ranking | None:
        try:
            return Ranking(self.tools)
        except MissingExtra as error:
            if isinstance(self._limit, int) and len(self.tools) > self._limit:
                raise
            _log.warning("All %d tools are shown: %s", len(self.tools), error)
            return None

    def _fitting(self, ordered: Sequence[Tool]) -> Iterator[Tool]:
        if self._room is None:
            yield from ordered
            return
        room = left = self._room
        misses = 0
        for place, tool in enumerate(ordered):
            shown, size = self._form(tool, room * (_OTHER_SHARE if place else _FIRST_SHARE))
            if size <= left:
                left, misses = left - size, 0
                yield shown
            elif (misses := misses + 1) > _MOST_MISSES:
                return

    def _form(self, tool: Tool, most: float) -> tuple[Tool, int]:
        """The fullest form of the tool that takes no more than so many tokens, else its shortest one; and its size."""
        known = self._forms.setdefault(tool.name, [])
        for index, shorten in enumerate(_FORMS):
            if index == len(known):
                form = shorten(tool)
                known.append((form, self._tokens([form])))
            if known[index][1] <= most:
                return known[index]
        return known[-1]

    def _tokens(self, tools: Sequence[Tool]) -> int:
        text = json.dumps([tool.to_dict() for tool in tools], default=str) if self._structured else tool_lines(tools)
        whole = self._backend.count_tokens([{"role": "user", "content": text}])
        frame = self._backend.count_tokens([{"role": "user", "content": ""}])
        if whole is None or frame is None:
            return round(len(text) / _CHARACTERS_PER_TOKEN)
        return whole - frame


class Ranking:
    """Tools by how close their words are to those of a question: names, descriptions, arguments, allowed values.

    Raises MissingExtra.
    """

    def __init__(self, tools: Sequence[Tool]) -> None:
        try:
            import bm25s
            import snowballstemmer  # noqa: F401
        except ImportError:
            raise MissingExtra("ranking", "Choosing among many tools") from None
        self._tools = tuple(tools)
        self._index = bm25s.BM25()
        self._index.index([words(_text(tool)) or [""] for tool in tools], show_progress=False)

    def order(self, question: str) -> list[Tool]:
        """All tools, closest first; equally close ones as they were given."""
        asked = words(question)
        scores = self._index.get_scores(asked) if asked else [0.0] * len(self._tools)
        best = sorted(range(len(self._tools)), key=lambda index: -scores[index])
        return [self._tools[index] for index in best]


def _whole(tool: Tool) -> Tool:
    return tool


def _brief(tool: Tool) -> Tool:
    """The first sentence of each text, and none for arguments that may be left out."""
    required = tool.parameters.get("required", ())
    properties = {name: _described(schema, 80 if name in required else 0) for name, schema in _properties(tool).items()}
    return _with(tool, 160, {**tool.parameters, "properties": properties})


def _required_only(tool: Tool) -> Tool:
    """Without the arguments that may be left out, and without descriptions of the others."""
    required = tool.parameters.get("required", ())
    properties = {name: _described(schema, 0) for name, schema in _properties(tool).items() if name in required}
    return _with(tool, 100, {**tool.parameters, "properties": properties})


def _outline(tool: Tool) -> Tool:
    """Required arguments by name and type alone."""
    required = [name for name in tool.parameters.get("required", ()) if name in _properties(tool)]
    properties = {name: _type_alone(_properties(tool)[name]) for name in required}
    return _with(tool, 80, {"type": "object", "properties": properties, "required": required})


def _type_alone(schema: Any) -> Any:
    return {"type": schema["type"]} if isinstance(schema, Mapping) and "type" in schema else {}


_FORMS: tuple[Callable[[Tool], Tool], ...] = (_whole, _brief, _required_only, _outline)
"""The forms in which a tool can be shown, fullest first. Each call of a shorter one is a call of the whole tool."""


def _with(tool: Tool, longest: int, parameters: Mapping[str, Any]) -> Tool:
    shown = parameters["properties"]
    examples = tuple(example for example in tool.examples if example.arguments.keys() <= shown.keys())
    return replace(tool, description=_sentence(tool.description, longest), parameters=parameters, examples=examples)


def _properties(tool: Tool) -> Mapping[str, Any]:
    found: Mapping[str, Any] = tool.parameters.get("properties", {})
    return found


def _described(schema: Any, longest: int) -> Any:
    """The schema with the first sentence of its description, or without one."""
    if not isinstance(schema, Mapping) or "description" not in schema:
        return schema
    text = _sentence(str(schema["description"]), longest)
    return {key: value for key, value in schema.items() if key != "description"} | (
        {"description": text} if text else {}
    )


def _sentence(text: str, longest: int) -> str:
    """The first sentence, cut at a word where it is longer."""
    line = " ".join(text.split())
    first, dot, _ = line.partition(". ")
    return textwrap.shorten(first + dot.strip(), longest, placeholder=" ...") if longest else ""


def words(text: str) -> list[str]:
    """The words of a text or a name in lower case, without endings and without the commonest ones."""
    import regex
    from bm25s.stopwords import STOPWORDS_EN

    found = (word.lower() for word in regex.findall(_WORD, text))
    return [_stem(word) for word in found if word not in STOPWORDS_EN]


@cache
def _stem(word: str) -> str:
    return str(_stemmer().stemWord(word))


@cache
def _stemmer() -> Any:
    import snowballstemmer

    return snowballstemmer.stemmer("english")


def _text(tool: Tool) -> str:
    """What a tool is found by; its name counts twice."""
    spoken = [tool.name, tool.name, tool.description]
    spoken += [example.question for example in tool.examples]
    for name, schema in _properties(tool).items():
        spoken.append(name)
        if isinstance(schema, dict):
            spoken += [str(schema.get("description", "")), *map(str, schema.get("enum", ()))]
    return " ".join(spoken)

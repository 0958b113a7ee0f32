"""How a turn is asked for and read in each mode: two siblings with the same shape. Pure.

Both work on one canonical history (chat-completions messages), so a run may go on in the other mode at any step.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from react_text.backends.base import Reply, Request, Sampling
from react_text.backends.gbnf import check_grammar
from react_text.catalog import FAULTS
from react_text.errors import GrammarError
from react_text.messages import Call, Fault, Message, Turn
from react_text.parsing import parse, parse_message
from react_text.protocol.dialect import Dialect
from react_text.protocol.grammar import Grammar, arguments_grammar, value_grammar
from react_text.protocol.native_grammar import begun_arguments_grammar, format_of
from react_text.protocol.render import Entry, answer_message, call_message, step_text, to_text
from react_text.steering import Move
from react_text.switch import Mode as ModeName
from react_text.tools import Tool

ANSWER_START = "The answer is"
"""How a reply without labels is taken to begin when it calls nothing."""


@dataclass(frozen=True)
class TextMode:
    """Tools through plain text: the dialect's rules and worked examples in front, every reply begun and read as text.

    `grammars` holds GBNF texts by what is wanted ("any"), empty where the backend takes none. `schemas` holds JSON
    Schemas of replies that are call objects, for a backend that takes only those: such a reply is not begun.
    """

    dialect: Dialect
    tools: tuple[Tool, ...]
    opening: Sequence[Entry]
    grammars: Mapping[str, str] = field(default_factory=dict)
    schemas: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    name: ModeName = "text"

    @property
    def tool_dicts(self) -> tuple[dict[str, Any], ...]:
        """The tools beside the messages of a request: none, as the rules in the opening hold them."""
        return ()

    def messages(self, history: Sequence[Entry]) -> list[Message]:
        """What the model is sent for this history."""
        return to_text([*self.opening, *history], self.dialect)

    def request(
        self, history: Sequence[Entry], *, answer_only: bool, max_tokens: int, sampling: Sampling, grammar: bool
    ) -> Request:
        """The request for the next turn; without tools it is a plain question."""
        if not self.tools:
            return Request(self.messages(history), max_tokens=max_tokens, sampling=sampling)
        held = grammar and not answer_only
        schema = self.schemas.get("any") if held else None
        start = self.dialect.final_start if answer_only else self.dialect.reply_start
        return Request(
            messages=self.messages(history),
            reply_start=start if schema is None else "",
            stop=self.dialect.stop,
            max_tokens=max_tokens,
            sampling=sampling,
            grammar=self.grammars.get("any") if held else None,
            reply_schema=schema,
        )

    def begun(self, request: Request, move: Move, *, looked_up: bool) -> Request:
        """The request with its reply begun as the move says; `looked_up` is whether any tool has been used."""
        if move.kind == "call" and move.tool is not None:
            held = _usable(arguments_grammar(move.tool, " ")) if request.grammar else None
            return replace(request, reply_start=self._call_start(move.tool), grammar=held, reply_schema=None)
        if move.kind == "answer":
            start = self.dialect.final_start if looked_up or move.shape is not None else self._no_tool_start
            start += f" {move.said}" if move.said else ""
            shape = move.shape if move.held else None
            held = None if shape is None else _usable(value_grammar(shape, " "))
            return replace(request, reply_start=start, grammar=held, reply_schema=shape)
        return request

    def ways(self) -> tuple[str, tuple[str, ...]]:
        """What a reply is begun with, and how it goes on for each tool and for none: what a model is asked to weigh."""
        start = self.dialect.reply_start
        calls = [self._call_start(tool).removeprefix(start) for tool in self.tools]
        return start, (*calls, self._no_tool_start.removeprefix(start))

    def _call_start(self, tool: Tool) -> str:
        return step_text(self.dialect, [(tool.name, "")], None).rstrip()

    @property
    def _no_tool_start(self) -> str:
        return f"{self.dialect.thought}: {self.dialect.sections['no tool thought']}\n{self.dialect.final}:"

    def read(self, reply: Reply, *, answer_only: bool = False) -> Turn:
        """The reply as a turn. After a begun answer a whole step of its own counts as what it is, not as the answer."""
        return read_text(reply, self.tools, self.dialect.final_start if answer_only else None)

    def call_entry(self, turn: Turn, calls: Sequence[Call], reply: Reply) -> Entry:
        """A turn with calls for the history; the model sees its own text again unless that had to be mended."""
        return Entry(call_message(calls, turn.thought), reply.text if not turn.edits else None)

    def answer_entry(self, turn: Turn, reply: Reply) -> Entry:
        """An answer for the history."""
        return Entry(answer_message(turn.final or ""), reply.text if not turn.edits else None)


@dataclass(frozen=True)
class StructuredMode:
    """Tools through an endpoint's own `tool_calls`; what arrives as text instead is read all the same.

    `opening` comes before the first question: the caller's instructions and worked examples. `one_call_a_turn` is for
    a model that is known to pair results by position instead of by id. In process, `grammars` holds GBNF texts of whole
    replies in the model's own call format, by what is wanted ("any", "answer"), as endpoints take none with tools.
    `call_format` is that format, a key of `native_grammar.FORMATS`; "bare" shows earlier calls as the JSON that such a
    model writes, not with its template's marks. `thought_end` ends the reasoning that the template has begun a reply
    with, "" where it begins none: it goes before whatever a reply is begun with.
    """

    tools: tuple[Tool, ...]
    opening: Sequence[Entry] = ()
    one_call_a_turn: bool = False
    grammars: Mapping[str, str] = field(default_factory=dict)
    call_format: str | None = None
    thought_end: str = ""
    name: ModeName = "structured"

    @property
    def tool_dicts(self) -> tuple[dict[str, Any], ...]:
        """The tools beside the messages of a request."""
        return tuple(tool.to_dict() for tool in self.tools)

    def messages(self, history: Sequence[Entry]) -> list[Message]:
        """What the model is sent for this history."""
        sent = [_sent(entry) for entry in (*self.opening, *history)]
        return [_with_calls_as_text(message) for message in sent] if self.call_format == "bare" else sent

    def request(
        self, history: Sequence[Entry], *, answer_only: bool, max_tokens: int, sampling: Sampling, grammar: bool
    ) -> Request:
        """The request for the next turn."""
        return Request(
            messages=self.messages(history),
            max_tokens=max_tokens,
            sampling=sampling,
            tools=self.tool_dicts,
            tool_choice="none" if answer_only else None,
            parallel_tool_calls=False if self.one_call_a_turn else None,
            grammar=self.grammars.get("answer" if answer_only else "any") if grammar else None,
        )

    def begun(self, request: Request, move: Move, *, looked_up: bool) -> Request:
        """The request with its reply begun as the move says; an endpoint's replies cannot be begun."""
        if move.shape is not None:
            held = _usable(value_grammar(move.shape)) if move.held else None
            shape = move.shape if move.held else None
            asked = replace(request, tools=(), tool_choice=None, parallel_tool_calls=None)
            return replace(asked, grammar=held, reply_schema=shape)
        if self.call_format is None:
            return request
        if move.kind == "call" and move.tool is not None:
            before, _ = format_of(self.call_format).whole(move.tool.name)
            held = _usable(begun_arguments_grammar(self.call_format, move.tool)) if request.grammar else None
            return replace(request, reply_start=self.thought_end + before.rstrip(), grammar=held)
        if move.kind == "answer" and not looked_up and not move.said:
            return self._without_tools(request)
        if move.kind == "answer":
            return replace(request, reply_start=self.thought_end + (move.said or ANSWER_START), grammar=None)
        return request

    def _without_tools(self, request: Request) -> Request:
        """The question alone, with the caller's instructions: shown tools, a model writes a call all the same."""
        shown = [entry.message for entry in self.opening if entry.message["role"] == "system"]
        messages = [*shown, *request.messages[len(self.opening) :]]
        return replace(request, messages=messages, tools=(), tool_choice=None, parallel_tool_calls=None, grammar=None)

    def ways(self) -> tuple[str, tuple[str, ...]]:
        """What a reply is begun with, and how it goes on for each tool and for none: what a model is asked to weigh."""
        form = format_of(self.call_format or "bare")
        calls = [form.whole(tool.name)[0].rstrip() for tool in self.tools]
        return self.thought_end, (*calls, ANSWER_START)

    def read(self, reply: Reply, *, answer_only: bool = False) -> Turn:
        """The message as a turn."""
        message = reply.message or {"role": "assistant", "content": reply.text}
        return parse_message(message, self.tools, finish_reason=reply.finish_reason)

    def call_entry(self, turn: Turn, calls: Sequence[Call], reply: Reply) -> Entry:
        """A turn with calls for the history: the message as it was received, or mended where it was broken."""
        received = reply.message
        if (
            received
            and not turn.edits
            and [one.get("id") for one in received.get("tool_calls") or ()] == [call.id for call in calls]
        ):
            return Entry(received)
        return Entry(call_message(calls, turn.thought))

    def answer_entry(self, turn: Turn, reply: Reply) -> Entry:
        """An answer for the history."""
        return Entry(answer_message(turn.final or ""))


def read_text(reply: Reply, tools: Sequence[Tool], final_start: str | None) -> Turn:
    """A text reply as a turn; `final_start` is what was written for the model when only an answer was asked for."""
    if not tools:
        return parse_message({"content": reply.text}, finish_reason=reply.finish_reason)
    if final_start is not None:
        said = reply.text.removeprefix(final_start)
        own = parse(said, tools, finish_reason=reply.finish_reason)
        if own.kind == "action":
            return Turn("none", thought=own.thought, fault=Fault("no_action", FAULTS["no_action"]))
        if own.kind == "final" and "implicit_final" not in own.repairs:
            return own
    return parse(reply.text, tools, finish_reason=reply.finish_reason)


def _sent(entry: Entry) -> Message:
    """The message, with the shortened content of a tool's result where it had to be shortened."""
    if entry.message["role"] == "tool" and entry.written is not None:
        return {**entry.message, "content": entry.written}
    return entry.message


def _usable(grammar: Grammar) -> str | None:
    """The grammar where an engine can take it; without one a reply is only read and checked."""
    try:
        check_grammar(grammar.gbnf)
    except GrammarError:
        return None
    return grammar.gbnf


def _with_calls_as_text(message: Message) -> Message:
    functions = [call["function"] for call in message.get("tool_calls") or ()]
    if not functions:
        return message
    lines = [f'{{"name": {json.dumps(one["name"])}, "arguments": {one["arguments"]}}}' for one in functions]
    thought = [message["content"]] if message.get("content") else []
    return {"role": "assistant", "content": "\n".join([*thought, *lines])}


AskingMode: TypeAlias = TextMode | StructuredMode

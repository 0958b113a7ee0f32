"""The same reading, fed in pieces of any size.

What is shown while a reply is written follows the labels line by line; what counts in the end is `finish`, which
reads the whole text with `parse`. Each character is looked at a bounded number of times.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from react_text.messages import Call, Turn
from react_text.parsing.labels import CHAT_TOKEN, SPELLINGS, Label, find_inline, find_labels, header_end
from react_text.parsing.names import resolve_name
from react_text.parsing.patterns import pattern
from react_text.parsing.reader import is_decided, parse
from react_text.parsing.sections import Section
from react_text.parsing.steps import read_step
from react_text.tools import Tool, as_tools

StreamKind: TypeAlias = Literal["thought", "call_started", "arguments", "call_complete", "final", "done"]

_TRIGGER = pattern(r"[:：\n}\]>]")
_BRACKET = pattern(r"[\"\\{}\[\]]|[^\"\\{}\[\]]+")
_MARKS = " \t\u00a0\u3000\ufeff>#*_-•–`[]【】0123456789.)("
_HEAD = 160
_TAIL = 48
_PREFIXES = frozenset(words[:size] for words in SPELLINGS for size in range(1, len(words) + 1))
_INLINE_PREFIXES = frozenset(
    words[:size]
    for words in ("Action Input:", "Action:", "Final Answer:", "Observation:", "Thought:", "Tool Input:", "Input:")
    for size in range(1, len(words))
)
_LONGEST_NAME = 300
_THINK_OPEN = pattern(r"\s*(?:<(?:think|thinking|thought|reasoning|reflection|scratchpad)>|\[THINK\])", re.IGNORECASE)
_THINK_CLOSE = pattern(r"(?:</(?:think|thinking|thought|reasoning|reflection|scratchpad)>|\[/THINK\])\Z", re.IGNORECASE)
_OBSERVATION = pattern(r"[ \t]*(?:Observation|OBSERVATION)\b")
_MOST_TRIES = 20
_FREE_CHECKS = 200_000
_CHECKS_PER_CHARACTER = 8


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One thing that became known: new text of a section, a call's name, a whole call, or that all is decided.

    `index` numbers the calls of the turn from 0. `name` is the resolved tool name of a call.
    """

    kind: StreamKind
    text: str = ""
    index: int = 0
    call: Call | None = None
    name: str = ""


class StreamReader:
    """Reads a reply while it is written.

    `done` becomes True at the first moment when nothing that could still be written would change the calls; text fed
    afterwards is ignored. With `single`, the end of the first call's JSON object is that moment.
    """

    def __init__(
        self, tools: Iterable[Tool | Mapping[str, Any]] = (), *, reply_start: str = "", single: bool = False
    ) -> None:
        self.tools = as_tools(tools)
        self.single = single
        self.done = False
        self._parts: list[str] = []
        self._length = 0
        self._checked = 0
        self._mode: Literal["preamble", "thought", "action", "input", "over", "final"] = "preamble"
        self._head = self._tail = ""
        self._held: list[str] = []
        self._blank = True
        self._line_open = True
        self._begun = self._bold = self._shown = False
        self._thoughts = self._tries = 0
        self._thinking = self._next_turn = False
        self._index = 0
        self._action: Section | None = None
        self._input: Section | None = None
        self._named = False
        self._json: _Brackets | None = None
        if reply_start:
            self.feed(reply_start)

    @property
    def text(self) -> str:
        """All that was fed, up to the moment of `done`."""
        if len(self._parts) > 1:
            self._parts = ["".join(self._parts)]
        return self._parts[0] if self._parts else ""

    def feed(self, delta: str) -> list[StreamEvent]:
        """The events that the next piece of the reply brings."""
        events: list[StreamEvent] = []
        position = 0
        if not self.done:
            for trigger in _TRIGGER.finditer(delta):
                self._take(delta[position : trigger.end()], events)
                position = trigger.end()
                self._look(trigger.group(), events)
                if self.done:
                    events.append(StreamEvent("done"))
                    return events
            self._take(delta[position:], events)
            self._release(events, line_ended=False)
        return events

    def finish(self, finish_reason: str | None = None) -> Turn:
        """The turn as read from all that was fed."""
        return parse(self.text, self.tools, finish_reason=None if self.done else finish_reason)

    def _take(self, piece: str, events: list[StreamEvent]) -> None:
        if not piece:
            return
        self._parts.append(piece)
        self._length += len(piece)
        if len(self._head) < _HEAD:
            self._head += piece[: _HEAD - len(self._head)]
        self._tail = (self._tail + piece)[-_TAIL:]
        if self._mode != "over":
            self._held.append(piece)
            self._blank = self._blank and piece.isspace()
        if self._mode in ("input", "action"):
            self._brackets(piece)

    def _brackets(self, piece: str) -> None:
        if self._json is None:
            begins = piece.lstrip(" \t\r\n`json")
            if self._begun or not begins:
                return
            self._begun = True
            if begins[0] not in "{[":
                return
            self._json, piece = _Brackets(), begins
        self._json.feed(piece)

    def _look(self, char: str, events: list[StreamEvent]) -> None:
        """What a character that may end a label, a line, a value or a chat token means."""
        if self._mode == "preamble" and not self._thinking and char in ">]" and self._length < _HEAD:
            self._thinking = _THINK_OPEN.fullmatch(self.text) is not None
        if self._thinking:
            self._think(char, events)
        elif char in "}]":
            if char == "]" and CHAT_TOKEN.search(self._tail) and self._tail.endswith("INST]"):
                self._check()
            elif self._json is not None and self._json.closed and self._mode in ("input", "action"):
                self._complete(events)
        elif char == ">":
            if CHAT_TOKEN.search(self._tail) and self._tail.endswith(">"):
                self._check()
        elif char == "\n":
            if self._next_turn or (self._mode != "preamble" and _OBSERVATION.match(self._head)):
                self._check()
                if self.done:
                    return
                self._next_turn = False
            label = None if ":" in self._head or "：" in self._head else self._label()
            if label is not None:
                self._begin(label, events)
            elif self._mode == "action" and self._name_line():
                self._name(events)
            self._release(events, line_ended=True)
            self._head = self._tail = ""
            self._line_open = True
        else:
            label = self._label() if self._line_open else None
            if label is None:
                label = self._inline()
            if label is not None:
                self._begin(label, events)
            elif len(self._head) > 1:
                if self._line_open and self._mode != "preamble" and _OBSERVATION.match(self._head):
                    self._check()
                self._line_open = False

    def _think(self, char: str, events: list[StreamEvent]) -> None:
        """Inside a reasoning block no label counts; what stands in it is a thought once it is closed."""
        if char == "\n":
            self._head, self._tail, self._line_open = "", "", True
        elif char in ">]" and (close := _THINK_CLOSE.search(self._tail)):
            text = _THINK_OPEN.sub("", "".join(self._held), count=1)
            inside = text[: len(text) - len(close[0])].strip()
            if inside:
                self._thoughts += 1
                events.append(StreamEvent("thought", inside))
            self._held.clear()
            self._thinking, self._line_open, self._head = False, True, ""

    def _label(self) -> Label | None:
        if not self._line_open:
            return None
        return next((label for label in find_labels(self._head) if label.start == 0), None)

    def _inline(self) -> Label | None:
        if not self._tail[-2:-1].isalnum() and self._tail[-2:-1] not in (" ", "\t"):
            return None
        return next((label for label in find_inline(self._tail) if label.end == len(self._tail)), None)

    def _begin(self, label: Label, events: list[StreamEvent]) -> None:
        """A label was written; text fed from here on belongs to its section."""
        inside = self._json is not None and not self._json.closed and self._mode in ("input", "action")
        if label.kind not in ("action", "input", "thought") or self._mode == "final":
            self._check()
            if self.done:
                return
            if self._mode == "final" and not label.inline and label.kind in ("action", "thought", "final"):
                self._release(events, line_ended=True, without=label)
                self._held.append(self._label_text(label))
                self._next_turn, self._blank = True, False
        if inside and (label.inline or self._json is None or self._json.in_string):
            return
        if not self._changes(label):
            return
        if self._mode in ("preamble", "thought", "final") or (self._mode == "input" and self._json is None):
            self._release(events, line_ended=True, without=label)
        self._held.clear()
        self._blank = True
        self._line_open = False
        self._bold = label.bold
        if label.kind == "input" and self._mode == "action":
            self._name(events)
            self._input = Section("input", None, self._length)
            self._enter("input")
        elif label.kind == "action":
            self._next_call()
            self._action = Section("action", None, self._length)
            self._enter("action")
        elif label.kind == "thought":
            self._next_call()
            self._enter("thought")
        elif label.kind == "final":
            self._enter("final")

    def _changes(self, label: Label) -> bool:
        """Whether a label begins another section where it stands."""
        if self._mode == "final":
            return False
        if label.kind == "input":
            return self._mode == "action"
        if label.kind == "action" and label.inline:
            return self._mode in ("over", "preamble", "thought")
        if label.kind == "thought" and label.inline:
            return self._mode == "over"
        return label.kind in ("action", "thought", "final") and not label.short

    def _enter(self, mode: Literal["thought", "action", "input", "over", "final"]) -> None:
        self._mode = mode
        self._begun = self._shown = False
        self._json = None
        self._tries = 0

    def _next_call(self) -> None:
        if self._action is not None and self._named:
            self._index += 1
        self._action = self._input = None
        self._named = False

    def _name_line(self) -> bool:
        return self._json is None and not self._named and not self._blank

    def _name(self, events: list[StreamEvent]) -> None:
        if self._named or self._action is None:
            return
        written = "".join(self._held).strip()
        for label in find_inline(" " + written):
            written = written[: label.start - 1].strip(" ,")
            break
        if len(written) > _LONGEST_NAME:
            self._held = [written[: _LONGEST_NAME + 1]]
        if not written or len(written) > _LONGEST_NAME:
            return
        self._named = True
        events.append(StreamEvent("call_started", index=self._index, name=resolve_name(written, self.tools).name))
        self._held.clear()
        self._blank = True

    def _complete(self, events: list[StreamEvent]) -> None:
        """A JSON value closed: the call is there, unless it cannot be read."""
        self._release(events, line_ended=True)
        if self._action is None:
            return
        text, end = self.text, self._length
        self._action.end = end if self._input is None else self._input.start
        if self._input is not None:
            self._input.end = end
        step = read_step(text, self._action, self._input, self.tools, last=False)
        code = step.fault.code if step.fault else ""
        if code in ("truncated", "unreadable_arguments") and self._json is not None and self._tries < _MOST_TRIES:
            # The brace may stand inside a string in other quotes than JSON's.
            self._tries += 1
            self._json.depth, self._json.closed = 1, False
            return
        if step.call is not None:
            if not self._named:
                events.append(StreamEvent("call_started", index=self._index, name=step.call.name))
                self._named = True
            events.append(StreamEvent("call_complete", index=self._index, call=step.call, name=step.call.name))
        self._enter("over")
        if self.single:
            turn = parse(text, self.tools)
            refused = turn.fault is not None and turn.fault.code in ("invalid_arguments", "placeholder_arguments")
            self.done = turn.kind == "action" or refused

    def _check(self) -> None:
        """Ask the whole reading whether all is decided, as long as that stays linear in the text."""
        if self._checked + self._length > _FREE_CHECKS + _CHECKS_PER_CHARACTER * self._length:
            return
        self._checked += self._length
        self.done = is_decided(self.text, self.tools)

    def _release(self, events: list[StreamEvent], *, line_ended: bool, without: Label | None = None) -> None:
        """Emit what was held back and cannot be part of a label any more."""
        if without is None and (self._blank or self._next_turn or self._mode in ("preamble", "action")):
            return
        text = "".join(self._held)
        kept = ""
        if without is not None:
            text = text[: len(text) - len(self._label_text(without))]
        elif not line_ended:
            keep = self._undecided(text)
            text, kept = text[: len(text) - keep], text[len(text) - keep :]
        if self._mode in ("thought", "final", "preamble"):
            if not self._begun:
                text = self._opening(text)
            body = text.rstrip()
            text, kept = body, text[len(body) :] + kept
            if text:
                if self._mode != "final" and not self._begun:
                    text = "\n" * (self._thoughts > 0) + text
                    self._thoughts += 1
                self._begun = True
                events.append(StreamEvent("final" if self._mode == "final" else "thought", text))
        elif self._mode == "input" and text:
            text = text if self._shown else text.lstrip()
            if text.strip():
                self._shown = True
                events.append(StreamEvent("arguments", text, index=self._index))
            else:
                kept = text + kept
        self._held = [kept] if kept else []
        self._blank = not kept or kept.isspace()

    def _opening(self, text: str) -> str:
        """The first text of a section, without the blanks and marks that belong to its label."""
        if self._mode == "preamble":
            text = text[header_end(text) :]
            return "" if text.strip().strip("`~") in ("", "text", "<think>") else text.lstrip()
        return text.lstrip(" \t\r\n*_" if self._bold else None)

    def _label_text(self, label: Label) -> str:
        return self._tail[label.start :] if label.inline else self._head

    def _undecided(self, text: str) -> int:
        """How many characters at the end of `text` may still turn out to be a label or a chat token."""
        line = text.rfind("\n") + 1
        if self._line_open and self._json is None and len(self._head) < _HEAD:
            plain = self._head.strip(_MARKS).replace("_", " ").replace("-", " ").casefold()
            if (not plain and len(self._head) < 16 and "``" not in self._head) or plain in _PREFIXES:
                return len(text) - line
        if self._json is not None:
            return 0
        for size in range(min(16, len(text)), 0, -1):
            if text[-size:] in _INLINE_PREFIXES:
                return size
        token = text.rfind("<", max(0, len(text) - _TAIL))
        return len(text) - token if token >= 0 and ">" not in text[token:] else 0


class _Brackets:
    """Whether a JSON-like value that is being written has closed."""

    __slots__ = ("closed", "depth", "escaped", "in_string")

    def __init__(self) -> None:
        self.depth = 0
        self.in_string = self.escaped = self.closed = False

    def feed(self, piece: str) -> None:
        for match in _BRACKET.finditer(piece):
            mark = match.group()
            if self.escaped:
                self.escaped = False
                if len(mark) == 1 or not self.in_string:
                    continue
            elif mark == "\\":
                self.escaped = self.in_string
            elif mark == '"':
                self.in_string = not self.in_string
            elif self.in_string or len(mark) > 1:
                continue
            elif mark in "{[":
                self.depth += 1
            elif mark in "}]":
                self.depth -= 1
                self.closed = self.depth <= 0

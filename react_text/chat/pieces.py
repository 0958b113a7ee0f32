"""What a client can be told while a reply is still being written, and will never have to be told otherwise. Pure.

A thought and an answer go out as they are written, a call's name as soon as it is certain, its arguments member by
member as each is complete and fits the schema (under a grammar as written). An answer that has to be JSON goes out when
it was found right.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from react_text.backends.stops import StopStrings
from react_text.chat.arguments import SettledArguments, WrittenArguments, remainder
from react_text.chat.ready import Ready
from react_text.chat.turn import Announced, Ask, Outcome, new_call_id
from react_text.messages import Call
from react_text.parsing.stream import StreamEvent

_LEAK = re.compile(r"[{\[<`]")
_MARKUP = re.compile(r"<[\w|/｜]|\[TOOL")
_LABELS = ("thought", "action", "question", "observation", "final")


@dataclass(frozen=True, slots=True)
class Piece:
    """One thing that a client is told: text of a section, or that call number `index` has this id and name."""

    kind: Literal["thought", "content", "call", "arguments"]
    text: str = ""
    index: int = 0
    id: str = ""


class Pieces:
    """The pieces of one answer, over all the replies that it takes."""

    def __init__(self, ready: Ready) -> None:
        self._ready = ready
        self.content = ""
        self.thought = ""
        self.calls: list[Announced] = []
        self.done = False
        self._reply_thought = self._reply_content = ""
        self._stops = StopStrings(ready.request.stop)

    def begin(self, ask: Ask) -> list[Piece]:
        """A reply begins."""
        self._ask = ask
        self._reply_thought = self._reply_content = ""
        self._held = "\n\n" if self.content else ""
        self._skipping = False
        self._pending: str | None = None
        self._arguments: WrittenArguments | SettledArguments | None = None
        if ask.begun is not None and not self.calls:
            return self._announce(ask.begun)
        return []

    def said(self, text: str) -> list[Piece]:
        """New text of a reply whose text is the content: a structured or a plain one."""
        self._held += text
        if self._ready.request.schema is not None:
            return []
        if self._ask.kind == "plain":
            return self._content(self._take_held())
        mark = _LEAK.search(self._held)  # from there on it may be a call that leaked into the content
        safe = self._held[: mark.start() if mark else None].rstrip()
        self._held = self._held[len(safe) :]
        return self._content(safe)

    def happened(self, event: StreamEvent, written: str) -> list[Piece]:
        """An event of a reply in the text protocol, of which `written` is there so far."""
        match event.kind:
            case "thought":
                return self._thought(event.text)
            case "final":
                if not self.content and not self._held:
                    self._skipping = self._skipping or self._other_call(written)
                return self._final(event.text)
            case "call_started":
                self._skipping = self._skipping or self._other_call(written)
                return self._started(event.name)
            case "arguments":
                pieces = self._announce_pending()
                if self._open() and self._arguments is not None:
                    pieces += self._more(self._arguments.feed(event.text))
                return pieces
            case "call_complete" if event.call is not None:
                pieces = self._announce_pending()
                return pieces + (self._complete(event.call) if self._open() else [])
        return []

    def announced(self) -> tuple[Announced, ...]:
        return tuple(self.calls)

    def finish(self, outcome: Outcome) -> list[Piece]:
        """What is left to tell now that all is known."""
        pieces: list[Piece] = []
        if outcome.thought and outcome.thought.startswith(self._reply_thought):
            pieces += self._thought(outcome.thought[len(self._reply_thought) :])
        # beside calls there is no content in a stream: some clients take the first text of one for the answer
        content = "" if outcome.calls else outcome.content or ""
        told = self._reply_content.lstrip() if self.content != self._reply_content else self._reply_content
        if content.startswith(told):
            pieces += self._piece("content", content[len(told) :])
        if not content and outcome.content is not None and not outcome.calls:
            pieces.append(Piece("content"))
        for index, call in enumerate(outcome.calls):
            if index >= len(self.calls):
                self.calls.append(Announced(call.id, call.name))
                pieces.append(Piece("call", call.name, index, call.id))
            if self.calls[index].call is None and self.calls[index].name == call.name:
                pieces += self._completed(index, call)
        return pieces

    @property
    def complete(self) -> bool:
        """Whether every call that was told of is whole."""
        return all(one.call is not None for one in self.calls)

    def _thought(self, text: str) -> list[Piece]:
        if text and not self._reply_thought and self.thought:
            self.thought += "\n"
            self._reply_thought += text
            return [Piece("thought", "\n"), *self._piece("thought", text)]
        self._reply_thought += text
        return self._piece("thought", text)

    def _final(self, text: str) -> list[Piece]:
        self._held += text
        if self.calls or self._skipping or self._may_change(self._held):
            return []
        text = self._take_held()
        text = self._stops.feed(text)
        self.done = self._stops.stopped
        return self._content(text)

    def _other_call(self, written: str) -> bool:
        """Whether what stands before may be a call in another form: then only the whole reply can tell."""
        if self._ask.grammar:
            return False
        if _MARKUP.search(written):
            return True
        return not self.calls and ("{" in written or any(f"{name}(" in written for name in self._ready.offer.by_name))

    def _may_change(self, text: str) -> bool:
        """Whether an answer that begins so may yet be refused."""
        request = self._ready.request
        if request.choice == "required" or request.schema is not None:
            return True
        if self._ask.answer_only and not self.content:
            head = text.lstrip().lstrip("*_# ").casefold()
            if any(label.startswith(head[: len(label)]) for label in _LABELS):
                return True
        said = self.content + text
        return any(answer.startswith(said.strip()) for answer in self._ready.example_answers)

    def _started(self, name: str) -> list[Piece]:
        request = self._ready.request
        self._skipping = self._skipping or name not in request.allowed or (self.content != "" and not self.calls)
        if self._ask.answer_only or self._skipping or (self.calls and self.calls[-1].call is None):
            self._skipping = True
            return []
        if request.parallel is False and self.calls:
            return []
        self._pending = name
        # freely written, a name counts once its input begins; under a grammar nothing else can follow
        return self._announce_pending() if self._ask.grammar else []

    def _announce_pending(self) -> list[Piece]:
        name, self._pending = self._pending, None
        return [] if name is None else self._announce(name)

    def _announce(self, name: str) -> list[Piece]:
        tool = self._ready.offer.by_name[name]
        index = len(self.calls)
        self.calls.append(Announced(new_call_id(), name))
        copied = self._ready.copied(name)
        self._arguments = WrittenArguments(copied) if self._ask.grammar else SettledArguments(tool, copied)
        return [Piece("call", name, index, self.calls[-1].id)]

    def _open(self) -> bool:
        return not self._skipping and bool(self.calls) and self.calls[-1].call is None

    def _more(self, text: str) -> list[Piece]:
        if not text:
            return []
        last = self.calls[-1]
        self.calls[-1] = replace(last, arguments=last.arguments + text)
        return [Piece("arguments", text, len(self.calls) - 1)]

    def _complete(self, call: Call) -> list[Piece]:
        copied = self._ready.copied(call.name)
        if call.name != self.calls[-1].name or (copied is not None and dict(call.arguments) == dict(copied)):
            self._skipping = True
            return []
        return self._completed(len(self.calls) - 1, call)

    def _completed(self, index: int, call: Call) -> list[Piece]:
        rest = remainder(self.calls[index].arguments, call.arguments)
        if rest is None:
            return []
        told = self.calls[index].arguments + rest
        self.calls[index] = replace(self.calls[index], arguments=told, call=call)
        return [Piece("arguments", rest, index)] if rest else []

    def _content(self, text: str) -> list[Piece]:
        return self._piece("content", text)

    def _piece(self, kind: Literal["thought", "content"], text: str) -> list[Piece]:
        if not text:
            return []
        if kind == "content":
            self.content += text
            self._reply_content += text
        else:
            self.thought += text
        return [Piece(kind, text)]

    def _take_held(self) -> str:
        text, self._held = self._held, ""
        return text

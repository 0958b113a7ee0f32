"""A model played by a script: for tests and documentation, with the same interface as a real one.

A script is a list of replies: a text, a whole assistant message (a model with structured calls), an error to raise, or
a function of the request's messages that gives one of these, so that a scripted model can read the observations it is
given. `Scripted.plan` plays a model that makes given calls, corrects itself when told that a
reply could not be used, and answers from what it observed.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from react_text.backends.base import Delta, FinishReason, Reply, Request, StreamItem
from react_text.capabilities import Support
from react_text.errors import BackendError
from react_text.messages import Message, Usage

Spoken: TypeAlias = str | Message | BackendError
ScriptedReply: TypeAlias = Spoken | Callable[[Sequence[Message]], Spoken]
_PIECE = re.compile(r"\s*\S+|\s+")


class Scripted:
    """Answers each request with the next reply of a script; a piece is a word, and counts as a token.

    `tools` says what the model claims of structured calls: "yes", "no" or "unknown". Raises BackendError when the
    script has no reply left.
    """

    context_length: int | None = None
    supports_grammar = False

    def __init__(self, replies: Iterable[ScriptedReply], *, name: str = "scripted", tools: Support = "unknown") -> None:
        self.name = name
        self.tools: Support = tools
        self.requests: list[Request] = []
        self._replies = iter(replies)

    @classmethod
    def plan(
        cls, calls: Sequence[tuple[str, Mapping[str, Any]]], answer: str = "{0}", *, sloppy: bool = False
    ) -> Scripted:
        """A model that makes `calls` one by one and then gives `answer`, with {0}, {1}, ... filled by the observations.

        When told that a reply could not be used it writes the same step again. `sloppy` cuts the JSON of each call
        short at the first attempt.
        """
        return cls(_Plan(calls, answer, sloppy).replies())

    def stream(self, request: Request) -> Iterator[StreamItem]:
        self.requests.append(request)
        try:
            reply = next(self._replies)
        except StopIteration:
            raise BackendError(f"The script of {self.name!r} has no reply left; add one for this request.") from None
        spoken = reply(request.messages) if callable(reply) else reply
        if isinstance(spoken, BackendError):
            raise spoken
        message = None if isinstance(spoken, str) else spoken
        text = (spoken if isinstance(spoken, str) else spoken.get("content") or "").removeprefix(request.reply_start)
        finish_reason: FinishReason = "stop"
        ends = [at for stop in request.stop if (at := text.find(stop)) >= 0]
        pieces = _PIECE.findall(text[: min(ends)] if ends else text)
        if len(pieces) > request.max_tokens:
            pieces, finish_reason = pieces[: request.max_tokens], "length"
        written = ""
        count = 0
        for count, piece in enumerate(pieces, 1):
            written += piece
            enough = request.until is not None and request.until(piece)
            yield Delta(piece, count)
            if enough:
                finish_reason = "stop"
                break
        evaluated = self.count_tokens(request.messages, request.reply_start)
        usage = Usage(evaluated=evaluated, generated=count)
        yield Reply(request.reply_start + written, finish_reason, usage, message)

    def tool_support(self) -> Support:
        return self.tools

    async def astream(self, request: Request) -> AsyncIterator[StreamItem]:
        for item in self.stream(request):
            yield item

    def count_tokens(
        self, messages: Sequence[Message], reply_start: str = "", tools: Sequence[Mapping[str, Any]] = ()
    ) -> int:
        return sum(len(_PIECE.findall(str(message["content"]))) for message in messages) + len(
            _PIECE.findall(reply_start)
        )

    def close(self) -> None:
        return None


class _Plan:
    def __init__(self, calls: Sequence[tuple[str, Mapping[str, Any]]], answer: str, sloppy: bool) -> None:
        self.calls = list(calls)
        self.answer = answer
        self.sloppy = sloppy
        self.made = 0
        self.slipped = -1
        self.observed: list[str] = []

    def replies(self) -> Iterator[ScriptedReply]:
        while True:
            yield self.reply

    def reply(self, messages: Sequence[Message]) -> str:
        last = str(messages[-1]["content"])
        if last.startswith("Observation"):
            observed = last.partition(": ")[2]
            if not observed.startswith("Error:"):
                self.observed.append(observed)
                self.made += 1
        if self.made >= len(self.calls):
            return f"Thought: I now know the answer.\nFinal Answer: {self.answer.format(*self.observed)}"
        name, arguments = self.calls[self.made]
        text = f"Thought: I need {name} for this.\nAction: {name}\nAction Input: {json.dumps(dict(arguments))}"
        if self.sloppy and self.slipped < self.made:
            self.slipped = self.made
            return text[:-4]
        return text

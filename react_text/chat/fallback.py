"""`FallbackChat`: drives one turn against a backend, synchronously or asynchronously, whole or as a stream."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator, Mapping
from contextlib import aclosing, closing
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from react_text.asking import as_backend, grammar_use_for, learn_text, tool_support
from react_text.backends.base import Backend, Reply, Sampling, StreamItem
from react_text.chat.pieces import Piece, Pieces
from react_text.chat.ready import Readier, Ready
from react_text.chat.request import ChatRequest, read_request
from react_text.chat.response import Head, chunk, completion, extra, history_message, usage_chunk
from react_text.chat.turn import Ask, Failed, Generated, GrammarUse, Kind, Outcome, Settings, ask_turn
from react_text.data import load_dialect
from react_text.errors import BackendError, GrammarError
from react_text.events import Section
from react_text.messages import Usage
from react_text.protocol.dialect import Dialect
from react_text.runaway import Watch
from react_text.switch import Switch, Wanted, start

Observe: TypeAlias = Callable[[Outcome], None]


def _nobody(outcome: Outcome) -> None:
    return None


class FallbackChat:
    """Chat completions with tool_calls in front of any model, with or without tools of its own.

    Parameters
    ----------
    model:
        A backend, a path to a GGUF file, or "smollm2" for the embedded default model.
    mode:
        "auto" asks for structured calls where the backend is known to have them and changes to text when they fail;
        "text" and "structured" never change.
    dialect, grammar:
        As for Agent.
    max_tokens:
        Tokens per reply where a request sets no limit.
    seconds:
        The longest that one answer may take; what there is by then is answered with finish reason "length".
    sampling:
        What holds where a request does not say otherwise; greedy by default.

    Safe to use from many threads and tasks.
    """

    def __init__(
        self,
        model: Backend | str,
        mode: Wanted = "auto",
        *,
        dialect: str | Dialect = "react",
        grammar: GrammarUse | None = None,
        max_tokens: int = 1024,
        seconds: float | None = None,
        sampling: Sampling | None = None,
    ) -> None:
        if mode not in ("auto", "text", "structured"):
            raise ValueError(f"mode {mode!r} is not known; use 'auto', 'text' or 'structured'.")
        self.backend: Backend = as_backend(model)
        self.mode = mode
        self.sampling = sampling or Sampling()
        self._grammar = grammar
        self._max_tokens = max_tokens
        self._seconds = seconds
        self._switch: Switch | None = None
        self._readier = Readier(self.backend, load_dialect(dialect) if isinstance(dialect, str) else dialect)

    @property
    def name(self) -> str:
        """The model's name, as answers carry it."""
        return self.backend.name

    def create(self, **request: Any) -> Any:
        """Answer one request: a completion dict, or with stream=True an iterator of chunk dicts.

        The parameters are those of the public API. Closing the iterator stops the generation. Raises ChatError for a
        request that cannot be answered as it is, and BackendError when the model does not answer.
        """
        return self.answer(request)

    async def acreate(self, **request: Any) -> Any:
        """The async twin of `create`; with stream=True an async iterator."""
        return await self.aanswer(request)

    def answer(self, body: Mapping[str, Any], observe: Observe = _nobody) -> Any:
        """What `create` gives, for a whole request body; `observe` is handed the outcome before the client has it."""
        ready = self._ready(body)
        if ready.request.stream:
            return self._chunks(ready, observe)
        head = Head(self.name)
        for item in self._turn(ready):
            if isinstance(item, Outcome):
                observe(item)
                return completion(head, item, ready.request.ignored)
        raise AssertionError("a turn always ends with its outcome")

    async def aanswer(self, body: Mapping[str, Any], observe: Observe = _nobody) -> Any:
        """The async twin of `answer`."""
        await self.aprepare()
        ready = await asyncio.to_thread(self._ready, body)
        if ready.request.stream:
            return self._achunks(ready, observe)
        head = Head(self.name)
        async with aclosing(self._aturn(ready)) as items:
            async for item in items:
                if isinstance(item, Outcome):
                    observe(item)
                    return completion(head, item, ready.request.ignored)
        raise AssertionError("a turn always ends with its outcome")

    async def aprepare(self) -> None:
        """Find out what the backend is, without making the event loop wait."""
        find_out = getattr(self.backend, "acapabilities", None)
        if find_out is not None:
            await find_out()

    def close(self) -> None:
        """Close the backend."""
        self.backend.close()

    async def aclose(self) -> None:
        """Close the backend, and what it has opened in the running event loop."""
        if (close := getattr(self.backend, "aclose", None)) is not None:
            await close()
        else:
            await asyncio.to_thread(self.backend.close)

    def _ready(self, body: Mapping[str, Any]) -> Ready:
        return self._readier.ready(read_request(body, self.sampling, self._readier.tools))

    def _chunks(self, ready: Ready, observe: Observe) -> Iterator[dict[str, Any]]:
        writing = _Chunks(Head(self.name), ready.request)
        with closing(self._turn(ready)) as items:
            for item in items:
                if isinstance(item, Outcome):
                    observe(item)
                yield from writing.chunks(item)

    async def _achunks(self, ready: Ready, observe: Observe) -> AsyncIterator[dict[str, Any]]:
        writing = _Chunks(Head(self.name), ready.request)
        async with aclosing(self._aturn(ready)) as items:
            async for item in items:
                if isinstance(item, Outcome):
                    observe(item)
                for one in writing.chunks(item):
                    yield one

    def _turn(self, ready: Ready) -> Generator[Piece | Outcome, None, None]:
        pieces, deadline = Pieces(ready), self._deadline()
        asking = ask_turn(ready, self._begin(), self._settings(), self._learn)
        ask = next(asking)
        while True:
            writing = _Writing(ask, ready, pieces, deadline)
            sent: Generated | Failed
            try:
                yield from writing.begin()
                with closing(_closable(self.backend.stream(writing.request))) as items:
                    for got in items:
                        yield from writing.take(got)
                        if writing.late:
                            break
                sent = writing.generated()
            except (BackendError, GrammarError) as error:
                sent = writing.failed(error)
            try:
                ask = asking.send(sent)
            except StopIteration as stop:
                yield from self._ended(ready, pieces, stop.value)
                return

    async def _aturn(self, ready: Ready) -> AsyncGenerator[Piece | Outcome, None]:
        pieces, deadline = Pieces(ready), self._deadline()
        asking = ask_turn(ready, self._begin(), self._settings(), self._learn)
        ask = next(asking)
        while True:
            writing = _Writing(ask, ready, pieces, deadline)
            sent: Generated | Failed
            try:
                for piece in writing.begin():
                    yield piece
                async with aclosing(_aclosable(self.backend.astream(writing.request))) as items:
                    async for got in items:
                        for piece in writing.take(got):
                            yield piece
                        if writing.late:
                            break
                sent = writing.generated()
            except (BackendError, GrammarError) as error:
                sent = writing.failed(error)
            try:
                ask = asking.send(sent)
            except StopIteration as stop:
                for item in self._ended(ready, pieces, stop.value):
                    yield item
                return

    def _deadline(self) -> float:
        return float("inf") if self._seconds is None else time.monotonic() + self._seconds

    def _ended(self, ready: Ready, pieces: Pieces, outcome: Outcome) -> Iterator[Piece | Outcome]:
        if ready.request.stream:
            yield from pieces.finish(outcome)
            if not pieces.complete:
                outcome = replace(outcome, finish_reason="length")
            elif pieces.calls:
                outcome = replace(outcome, finish_reason="tool_calls")
        if outcome.written is not None:
            self._readier.remember(ready, history_message(outcome), outcome.written)
        yield outcome

    def _begin(self) -> Switch:
        if self._switch is None:
            self._switch = start(self.mode, tool_support(self.backend, self.mode))
        return self._switch

    def _settings(self) -> Settings:
        return Settings(self._grammar or grammar_use_for(self.backend), self._max_tokens)

    def _learn(self, switch: Switch) -> None:
        """Take over what a reply has shown of the model, for the requests to come."""
        known = self._switch
        if known is None or switch.trial:
            return
        if switch.mode == "text" and known.mode != "text":
            learn_text(self.backend, switch.changes[-1].reason)
        self._switch = switch


class _Writing:
    """One generation under way: hands out pieces as they are certain, and knows when to stop."""

    def __init__(self, ask: Ask, ready: Ready, pieces: Pieces, deadline: float) -> None:
        self._ask = ask
        self._pieces = pieces
        self._stream = ready.request.stream
        self._deadline = deadline
        self._new: list[Piece] = []
        self._written = ""
        self._tokens = 0
        self._reply: Reply | None = None
        unlabelled = _UNLABELLED[ask.kind]
        if unlabelled is None and ask.request.reply_schema is not None:
            unlabelled = "call"
        self._watch = Watch(ready.offer.tools, ask.request.reply_start, single=ask.single, unlabelled=unlabelled)
        left = None if deadline == float("inf") else max(0.001, deadline - time.monotonic())
        self.request = replace(ask.request, until=self._enough, seconds=left)

    @property
    def late(self) -> bool:
        """Whether the time of this answer is up."""
        return time.monotonic() > self._deadline

    def begin(self) -> list[Piece]:
        return self._pieces.begin(self._ask) if self._stream else []

    def take(self, got: Any) -> list[Piece]:
        if isinstance(got, Reply):
            self._reply = got
        elif (tokens := getattr(got, "tokens", None)) is not None:
            self._tokens = tokens
        new, self._new = self._new, []
        return new

    def generated(self) -> Generated:
        calls, told = (self._pieces.announced(), self._pieces.content) if self._stream else ((), "")
        reply = self._reply
        ended: Literal["reply", "runaway", "cancelled"] = "reply"
        if reply is None:
            text = self.request.reply_start + self._written
            reply, ended = Reply(text, "cancelled", Usage(generated=self._tokens)), "cancelled"
        elif self.late:
            ended = "cancelled"
        elif self._watch.runaway and self._ask.kind != "plain":
            ended = "runaway"
        return Generated(reply, ended, calls, told)

    def failed(self, error: BackendError | GrammarError) -> Failed:
        told = self._pieces.announced() if self._stream else ()
        if isinstance(error, GrammarError):
            return Failed(BackendError(str(error)), grammar=True, announced=told)
        return Failed(error, announced=told)

    def _enough(self, text: str) -> bool:
        self._written += text
        done = self._watch.feed(text)
        if self._stream:
            if self._ask.kind == "text":
                for event in self._watch.take_events():
                    self._new += self._pieces.happened(event, self._written)
            else:
                self._new += self._pieces.said(text)
        if self._ask.kind == "plain":
            done = False
        return done or self._pieces.done or self.late


_UNLABELLED: Mapping[Kind, Section | None] = {"plain": "final", "structured": "thought", "text": None}


def _closable(items: Iterator[StreamItem]) -> Generator[StreamItem, None, None]:
    """What a backend yields, to be closed in any case."""
    try:
        yield from items
    finally:
        if close := getattr(items, "close", None):
            close()


async def _aclosable(items: AsyncIterator[StreamItem]) -> AsyncGenerator[StreamItem, None]:
    try:
        async for item in items:
            yield item
    finally:
        if close := getattr(items, "aclose", None):
            await close()


class _Chunks:
    """Pieces as chunks: the first one carries the role, the last the finish reason."""

    def __init__(self, head: Head, chat: ChatRequest) -> None:
        self._head = head
        self._chat = chat
        self._begun = False

    def chunks(self, item: Piece | Outcome) -> Iterator[dict[str, Any]]:
        more = {"usage": None} if self._chat.include_usage else {}
        if not self._begun:
            self._begun = True
            yield chunk(self._head, {"role": "assistant", "content": None, "refusal": None}, **more)
        if isinstance(item, Piece):
            yield chunk(self._head, _delta(item), **more)
            return
        yield chunk(self._head, {}, item.finish_reason, **more, x_react_text=extra(item, self._chat.ignored))
        if self._chat.include_usage:
            yield usage_chunk(self._head, item.usage)


def _delta(piece: Piece) -> dict[str, Any]:
    match piece.kind:
        case "thought":
            return {"reasoning_content": piece.text}
        case "content":
            return {"content": piece.text}
        case "call":
            function = {"name": piece.text, "arguments": ""}
            return {"tool_calls": [{"index": piece.index, "id": piece.id, "type": "function", "function": function}]}
    return {"tool_calls": [{"index": piece.index, "function": {"arguments": piece.text}}]}

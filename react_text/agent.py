"""The agent: drives the loop against a backend and a toolbox, synchronously or asynchronously."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import replace
from typing import Any, Literal

from react_text.answer_shape import AnswerShape
from react_text.approval import Confirm, allowed, refusal, settled
from react_text.asking import as_backend, asking_modes, grammar_use_for, learn_text, policies_for, tool_support
from react_text.backends.base import Backend, Delta, Progress, Reply, Sampling, StreamItem
from react_text.data import load_dialect
from react_text.errors import BackendError, GrammarError
from react_text.events import Event, Finished, Observed, PromptProgress, Result, Section, TextDelta
from react_text.execution import in_thread
from react_text.loop import run_loop
from react_text.loop_items import (
    Abandoned,
    Denied,
    Failed,
    Generate,
    Generated,
    GrammarUse,
    Limits,
    LoopGenerator,
    Recall,
    RunCalls,
    Setup,
    Weigh,
)
from react_text.messages import Call, Message, Observation, Usage
from react_text.modes import AskingMode
from react_text.protocol.dialect import Dialect
from react_text.protocol.render import Entry, user_message
from react_text.ranking import Offer, ToolsLimit
from react_text.runaway import Watch
from react_text.steering import Policies
from react_text.switch import Mode, Wanted, start
from react_text.toolbox import Toolbox
from react_text.tools import Tool

TOOL_POLL = 0.05
"""Seconds between looks at whether a run was cancelled while its tools are running."""


class Agent:
    """Answers questions with a model and tools.

    Parameters
    ----------
    model:
        A backend, a path to a GGUF file, or "smollm2" for the embedded default model.
    tools:
        A Toolbox, or typed functions, Tool objects or chat-completions tool dicts.
    mode:
        "auto" asks for structured calls where the backend is known to have them and changes to text when they fail;
        "text" and "structured" never change.
    dialect:
        The name of a dialect that comes with the package, or a path to a dialect file.
    grammar:
        "always" constrains every reply to the tools offered, "ladder" only after two unreadable replies in a row,
        "never" not at all. None takes "always" where the backend has grammars, and "ladder" where it takes only a JSON
        Schema.
    instructions:
        The caller's own text, placed after the rules in the system turn.
    max_steps, max_tokens, token_budget, time_budget:
        Model outputs per run, tokens per output, tokens per run, seconds per run.
    confirm:
        Asked before each call, sync or async: "yes", "no" or an `approval.Refusal` (the model is told), or "stop" (the
        run ends as "denied"). An `approval.Approval` answers by rules.
    policies:
        How a model in process is steered, see `steering.Policies`; None not at all, "auto" where it is small enough to
        need it. Where the backend cannot weigh ways to go on nothing is chosen for the model.
    examples:
        How many worked examples go before the first question at most; None for one of each tool, its own or else made
        from its schema (in structured mode only with steering and for several tools). They take no more than
        `asking.EXAMPLES_SHARE` of the context.
    tools_limit:
        How many tools a question is asked with at most, the closest ones by their words: a number, None for all, or
        "auto" for all while they take no more than `ranking.TOOLS_SHARE` of the context, and as many as fit beyond.
    """

    def __init__(
        self,
        model: Backend | str,
        tools: Toolbox | Iterable[Tool | Callable[..., Any] | Mapping[str, Any]] = (),
        *,
        mode: Wanted = "auto",
        dialect: str | Dialect = "react",
        grammar: GrammarUse | None = None,
        instructions: str = "",
        max_steps: int = 8,
        max_tokens: int = 400,
        token_budget: int | None = None,
        time_budget: float | None = None,
        sampling: Sampling | None = None,
        confirm: Confirm | None = None,
        tools_limit: ToolsLimit = "auto",
        policies: Policies | Literal["auto"] | None = "auto",
        examples: int | None = None,
    ) -> None:
        if mode not in ("auto", "text", "structured"):
            raise ValueError(f"mode {mode!r} is not known; use 'auto', 'text' or 'structured'.")
        if examples is not None and not (isinstance(examples, int) and examples >= 0):
            raise ValueError(f"examples is {examples!r}; use a number from 0 on, or None for one of each tool.")
        self.backend: Backend = as_backend(model)
        self.toolbox = tools if isinstance(tools, Toolbox) else Toolbox(tools)
        self.confirm = confirm
        self._running: set[_Cancel] = set()
        chosen = load_dialect(dialect) if isinstance(dialect, str) else dialect
        self.instructions = instructions
        self._examples = examples
        self._policies = policies_for(self.backend) if policies == "auto" else policies
        switch = start(mode, tool_support(self.backend, mode))
        self._offer = Offer(tuple(self.toolbox), tools_limit, self.backend, structured=switch.mode == "structured")
        offered = self._offer.for_question("")
        self.setup = Setup(
            dialect=chosen,
            tools=offered,
            modes=self._modes(chosen, offered),
            switch=switch,
            limits=Limits(max_steps, max_tokens, token_budget, time_budget),
            sampling=sampling or Sampling(),
            policies=self._policies,
            grammar_use=grammar or grammar_use_for(self.backend),
            context_length=self.backend.context_length,
            count_tokens=self.backend.count_tokens,
        )
        self._latest = self.setup

    def run(self, question: str | None, history: Sequence[Message] = (), *, output_type: Any = None) -> Result:
        """Answer one question. Never raises for what a model, a tool or an endpoint does: see `Result.stop_reason`.

        `history` holds earlier messages of the conversation; without a question (None) the run goes on from its end.
        `output_type` is a pydantic model, another type, or a JSON Schema: the answer then is JSON that fits, and
        `Result.output` its value.
        """
        return _last(self.stream(question, history, output_type=output_type))

    async def arun(self, question: str | None, history: Sequence[Message] = (), *, output_type: Any = None) -> Result:
        """The async twin of `run`."""
        result = None
        async for event in self.astream(question, history, output_type=output_type):
            if isinstance(event, Finished):
                result = event.result
        assert result is not None
        return result

    def stream(
        self, question: str | None, history: Sequence[Message] = (), *, output_type: Any = None
    ) -> Iterator[Event]:
        """Answer one question, yielding each event as it happens; the last one is Finished."""
        loop, cancel = self._loop(question, history, output_type), _Cancel()
        self._running.add(cancel)
        try:
            yield from self._drive(loop, cancel)
        finally:
            self._running.discard(cancel)

    def _drive(self, loop: LoopGenerator, cancel: _Cancel) -> Iterator[Event]:
        item = next(loop)
        while True:
            sent: Any = None
            if isinstance(item, Generate):
                sent = yield from self._generate(item, cancel)
            elif isinstance(item, Weigh):
                sent = self._weigh(item)
            elif isinstance(item, Recall):
                sent = self._recall(item)
            elif isinstance(item, RunCalls):
                asked = self._ask(item.calls)
                if asked is None:
                    sent = Denied()
                else:
                    ran = self._run_calls([call for call in item.calls if call.id not in asked], item.seconds, cancel)
                    sent = Abandoned() if ran is None else _in_order(item.calls, ran, asked)
                    if ran is not None:
                        yield from _observed(item, sent)
            else:
                if isinstance(item, Finished):
                    self._learn(item.result)
                    yield item
                    return
                yield item
            item = loop.send(sent)

    async def astream(
        self, question: str | None, history: Sequence[Message] = (), *, output_type: Any = None
    ) -> AsyncIterator[Event]:
        """The async twin of `stream`."""
        loop, cancel = self._loop(question, history, output_type), _Cancel()
        self._running.add(cancel)
        try:
            async for event in self._adrive(loop, cancel):
                yield event
        finally:
            self._running.discard(cancel)

    async def _adrive(self, loop: LoopGenerator, cancel: _Cancel) -> AsyncIterator[Event]:
        item = next(loop)
        while True:
            sent: Any = None
            if isinstance(item, Generate):
                async for event in self._agenerate(item, cancel):
                    if isinstance(event, Generated | Failed):
                        sent = event
                    else:
                        yield event
            elif isinstance(item, Weigh):
                sent = await asyncio.to_thread(self._weigh, item)
            elif isinstance(item, Recall):
                sent = await asyncio.to_thread(self._recall, item)
            elif isinstance(item, RunCalls):
                asked = await self._aask(item.calls)
                if asked is None:
                    sent = Denied()
                else:
                    left = [call for call in item.calls if call.id not in asked]
                    ran = await self._arun_calls(left, item.seconds, cancel)
                    sent = Abandoned() if ran is None else _in_order(item.calls, ran, asked)
                    for event in _observed(item, sent) if ran is not None else ():
                        yield event
            else:
                if isinstance(item, Finished):
                    self._learn(item.result)
                    yield item
                    return
                yield item
            item = loop.send(sent)

    def cancel(self) -> None:
        """End the runs under way within one token; safe to call from another thread or a signal handler."""
        for cancel in tuple(self._running):
            cancel.set = True

    def prompt(self, question: str) -> list[Message]:
        """The turns that the model is sent for a question, before its first reply."""
        setup = self.setup_for(question)
        return setup.modes[setup.switch.mode].messages([Entry(user_message(question))])

    def setup_for(self, question: str | None, history: Sequence[Message] = ()) -> Setup:
        """What a question is asked with: `setup`, with the tools chosen for this question where there are too many."""
        offered = self._offer.for_question(question or "", history)
        if offered != self._latest.tools:
            self._latest = replace(self.setup, tools=offered, modes=self._modes(self.setup.dialect, offered))
        return self._latest

    def _modes(self, dialect: Dialect, offered: tuple[Tool, ...]) -> dict[Mode, AskingMode]:
        told = "\n\n".join(text for text in (self._offer.note(offered), self.instructions) if text)
        steered = self._policies is not None
        return asking_modes(self.backend, dialect, offered, told, self._examples, steered=steered)

    def _loop(self, question: str | None, history: Sequence[Message], output_type: Any) -> LoopGenerator:
        if not (history if question is None else question.strip()):
            raise ValueError("The question is empty; ask something.")
        readable = question and question.encode("utf-8", "replace").decode("utf-8")
        shape = None if output_type is None else AnswerShape.of(output_type)
        entries = [Entry(message) for message in history]
        return run_loop(readable, self.setup_for(readable, history), time.monotonic, entries, shape)

    def _weigh(self, item: Weigh) -> tuple[float, ...] | None:
        """How likely the model finds each way to go on, or None where the backend cannot tell."""
        probabilities = getattr(self.backend, "log_probabilities", None)
        if probabilities is None:
            return None
        try:
            found: tuple[float, ...] = probabilities(
                item.messages, item.reply_start, item.continuations, tools=item.tools
            )
        except BackendError:
            return None
        return found

    def _recall(self, item: Recall) -> str | None:
        """What the model is sure of, or None where it is not or the backend cannot tell."""
        find_out = getattr(self.backend, "sure_text", None)
        try:
            found: str | None = find_out and find_out(item.messages, item.reply_start, tools=item.tools)
        except BackendError:
            return None
        return found

    def _run_calls(self, calls: Sequence[Call], seconds: float | None, cancel: _Cancel) -> list[Observation] | None:
        """The observations, or None when the run was cancelled or its time was up while a tool was still running.

        Such a tool is not waited for. A toolbox without a timeout runs its tools in this thread, to their end.
        """
        if self.toolbox.timeout is None or not calls:
            return self.toolbox.run_all(calls)
        work, ends = in_thread(self.toolbox.run_all, calls), _ends(seconds)
        while not cancel.set and time.monotonic() < ends:
            with contextlib.suppress(FutureTimeout):
                return work.result(TOOL_POLL)
        return None

    async def _arun_calls(
        self, calls: Sequence[Call], seconds: float | None, cancel: _Cancel
    ) -> list[Observation] | None:
        """The async twin of `_run_calls`; async tools are cancelled."""
        work, ends = asyncio.ensure_future(self.toolbox.arun_all(calls)), _ends(seconds)
        try:
            while not cancel.set and time.monotonic() < ends:
                if (await asyncio.wait({work}, timeout=TOOL_POLL))[0]:
                    return work.result()
            return None
        finally:
            work.cancel()

    def _generate(self, item: Generate, cancel: _Cancel) -> Generator[Event, None, Generated | Failed]:
        writing = _Writing(self, item, cancel)
        stream = self.backend.stream(writing.request)
        try:
            for got in stream:
                yield from writing.events(got)
                if writing.stopped:
                    break
        except (BackendError, GrammarError) as error:
            return Failed(error if isinstance(error, BackendError) else BackendError(str(error)))
        finally:
            _close(stream)
        return writing.generated()

    async def _agenerate(self, item: Generate, cancel: _Cancel) -> AsyncIterator[Event | Generated | Failed]:
        writing = _Writing(self, item, cancel)
        stream = self.backend.astream(writing.request)
        try:
            async for got in stream:
                for event in writing.events(got):
                    yield event
                if writing.stopped:
                    break
        except (BackendError, GrammarError) as error:
            yield Failed(error if isinstance(error, BackendError) else BackendError(str(error)))
            return
        finally:
            if close := getattr(stream, "aclose", None):
                await close()
        yield writing.generated()

    def _ask(self, calls: Sequence[Call]) -> dict[str, Observation] | None:
        """The refused calls with what the model is told, by id; None when the user ends the run."""
        refused: dict[str, Observation] = {}
        for call in self._to_ask(calls):
            verdict = settled(self.confirm(call)) if self.confirm else True
            if verdict == "stop":
                return None
            if not allowed(verdict):
                refused[call.id] = refusal(call, verdict)
        return refused

    async def _aask(self, calls: Sequence[Call]) -> dict[str, Observation] | None:
        """The async twin of `_ask`."""
        refused: dict[str, Observation] = {}
        for call in self._to_ask(calls):
            answer = self.confirm(call) if self.confirm else True
            verdict = await answer if isinstance(answer, Awaitable) else answer
            if verdict == "stop":
                return None
            if not allowed(verdict):
                refused[call.id] = refusal(call, verdict)
        return refused

    def _to_ask(self, calls: Sequence[Call]) -> list[Call]:
        """The calls that somebody may have to allow: one of a tool that does not exist runs nothing."""
        return [call for call in calls if call.name in self.toolbox] if self.confirm else []

    def _learn(self, result: Result) -> None:
        """Remember a move to text for good, so that the next run starts there."""
        if result.mode_changes and result.mode == "text" and result.stop_reason != "backend_error":
            learn_text(self.backend, result.mode_changes[-1])


class _Cancel:
    """Whether one run is to end."""

    set = False


class _Writing:
    """One generation under way: turns what the backend yields into events, and knows when to stop."""

    def __init__(self, agent: Agent, item: Generate, cancel: _Cancel) -> None:
        self.cancel = cancel
        self.step = item.step
        self.started = time.monotonic()
        self.seconds = item.seconds
        single = item.request.grammar is not None
        plain = item.answer_only or not agent.toolbox
        unlabelled: Section | None = "final" if plain else "thought" if item.request.tools else None
        if unlabelled == "thought" and single and item.request.reply_start:
            unlabelled = "call"  # begun in the model's own format, up to the arguments
        if unlabelled is None and item.request.reply_schema is not None:
            unlabelled = "call"  # an object, which holds no label
        self.watch = Watch(tuple(agent.toolbox), item.request.reply_start, single=single, unlabelled=unlabelled)
        self.request = replace(item.request, until=self.enough)
        self.written = ""
        self.reply: Reply | None = None
        self.tokens = 0

    def enough(self, text: str) -> bool:
        self.written += text
        return self.watch.feed(text) or self.stopped

    @property
    def stopped(self) -> bool:
        """Whether the user or the clock ended this generation."""
        late = self.seconds is not None and time.monotonic() - self.started > self.seconds
        return self.cancel.set or late

    def events(self, got: StreamItem) -> Iterator[Event]:
        match got:
            case Progress(done, total):
                yield PromptProgress(self.step, done, total)
            case Delta():
                self.tokens = got.tokens
                for section, text in self.watch.take_sections():
                    yield TextDelta(self.step, section, text)
            case Reply():
                self.reply = got

    def generated(self) -> Generated:
        if self.reply is None:
            text = self.request.reply_start + self.written
            return Generated(Reply(text, "cancelled", Usage(generated=self.tokens)), "cancelled")
        if self.stopped:
            return Generated(self.reply, "cancelled")
        return Generated(self.reply, "runaway" if self.watch.runaway else "reply")


def _last(events: Iterable[Event]) -> Result:
    for event in events:
        if isinstance(event, Finished):
            return event.result
    raise AssertionError("a run always ends with Finished")


def _ends(seconds: float | None) -> float:
    return float("inf") if seconds is None else time.monotonic() + seconds


def _in_order(
    calls: Sequence[Call], ran: Iterable[Observation], refused: Mapping[str, Observation]
) -> tuple[Observation, ...]:
    observations = {one.call_id: one for one in ran} | dict(refused)
    return tuple(observations[call.id] for call in calls)


def _observed(item: RunCalls, observations: Sequence[Observation]) -> Iterator[Event]:
    for call, observation in zip(item.calls, observations, strict=True):
        yield Observed(item.step, call, observation)


def _close(stream: Iterator[StreamItem]) -> None:
    close = getattr(stream, "close", None)
    if close is not None:
        close()

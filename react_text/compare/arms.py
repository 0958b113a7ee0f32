"""Arms: the ways of asking that are compared, and one task run in one of them, as a record.

A record holds what was asked, what came and how it was read; the score is put to it by score.py.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, cast

from react_text.agent import Agent
from react_text.asking import policies_for
from react_text.backends.base import Backend, Delta, Reply, Request, Sampling, StreamItem
from react_text.compare.score import outcome
from react_text.compare.tasks import Offered, Task
from react_text.errors import BackendError, ReactTextError, TasksError
from react_text.events import Corrected, Event, Finished, ModeChanged, Observed, Result, Steered, StepStarted, TurnRead
from react_text.loop_items import GrammarUse
from react_text.messages import Turn
from react_text.parsing import parse, parse_message
from react_text.steering import Policies
from react_text.switch import Wanted
from react_text.tools import Tool

ARMS: dict[str, tuple[Wanted, GrammarUse | None]] = {
    "text": ("text", "never"),
    "text+grammar": ("text", "always"),
    "structured": ("structured", "never"),
    "auto": ("auto", None),
}
"""Each arm with the mode and the use of grammars it stands for."""


GOES_ON = (Corrected, Steered, StepStarted)
"""Events that say, after a reply, that another one will be asked for."""


@dataclass(frozen=True)
class Settings:
    """What all arms of a run share.

    `first_call_steps` are the model outputs for tasks whose calls are not run. `isolate` empties the model's cache
    before each task. `agent` are further arguments of the agent, `label` is put to the arms' names to tell such a run
    from others.
    """

    max_steps: int = 6
    first_call_steps: int = 1
    max_tokens: int = 300
    temperature: float = 0.0
    examples: bool = True
    instructions: str = ""
    isolate: bool = False
    agent: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""


@dataclass
class Watched:
    """A backend that keeps what was asked and, of each reply, at which token which text was there."""

    backend: Backend
    requests: list[Request] = field(default_factory=list)
    pieces: list[Delta] = field(default_factory=list)
    finish_reason: str | None = None
    error: BackendError | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.backend, name)

    @property
    def name(self) -> str:
        return self.backend.name

    @property
    def context_length(self) -> int | None:
        return self.backend.context_length

    @property
    def supports_grammar(self) -> bool:
        return self.backend.supports_grammar

    def stream(self, request: Request) -> Iterator[StreamItem]:
        self._begin(request)
        stream: Iterator[StreamItem] = iter(())
        try:
            stream = self.backend.stream(request)
            for item in stream:
                self._see(item)
                yield item
        except BackendError as error:
            self.error = error
            raise
        finally:
            if close := getattr(stream, "close", None):
                close()

    async def astream(self, request: Request) -> AsyncIterator[StreamItem]:
        self._begin(request)
        async for item in self.backend.astream(request):
            self._see(item)
            yield item

    def count_tokens(self, *asked: Any, **options: Any) -> int | None:
        return self.backend.count_tokens(*asked, **options)

    def close(self) -> None:
        self.backend.close()

    def forget(self) -> None:
        """Begin a new run."""
        self.requests, self.pieces, self.finish_reason, self.error = [], [], None, None

    def _begin(self, request: Request) -> None:
        self.requests.append(request)
        self.pieces, self.finish_reason = [], None

    def _see(self, item: StreamItem) -> None:
        if isinstance(item, Delta):
            self.pieces.append(item)
        elif isinstance(item, Reply):
            self.finish_reason = item.finish_reason


class Arm:
    """One arm of one model in one dialect: runs tasks one after another, each as a record.

    An agent is kept for as long as the offered tools stay the same, as a user would keep it.
    """

    def __init__(self, model: str, arm: str, dialect: str, seed: int, backend: Backend, settings: Settings) -> None:
        self.model, self.arm, self.dialect, self.seed = model, arm_name(arm, settings), dialect, seed
        self._mode, self._grammar = ARMS[arm]
        self.settings = settings
        self.watched = Watched(backend)
        self._kit: str | None = None
        self._offered = Offered(())
        self._agent: Agent | None = None

    def run(self, task: Task) -> tuple[dict[str, Any], BackendError | None]:
        """The record of one task, and the error of the backend where that ended it."""
        agent = self._ready(task)
        self._offered.reset()
        self.watched.forget()
        if self.settings.isolate and (reset := getattr(self.watched.backend, "reset", None)):
            reset()
        began = time.perf_counter()
        writing = _Writing(self.watched, self._offered.tools)
        limit = self.settings.first_call_steps if task.first_call_only else None
        events = agent.stream(task.question)
        result = None
        for event in events:
            writing.see(event)
            if isinstance(event, Finished):
                result = event.result
            elif limit is not None and len(writing.steps) >= limit and isinstance(event, GOES_ON):
                break
        events.close()  # type: ignore[attr-defined]
        record = self._record(task, writing, result, time.perf_counter() - began)
        record["outcome"] = outcome(task, record)
        return record, self.watched.error

    def _ready(self, task: Task) -> Agent:
        if self._agent is None or self._kit != task.kit:
            offered = task.offer(self.settings.examples)
            self._agent = self._made(task, offered)
            self._kit, self._offered = task.kit, offered
        return self._agent

    def _made(self, task: Task, offered: Offered) -> Agent:
        settings = self.settings
        try:
            return Agent(
                cast(Backend, self.watched),
                offered.tools,
                mode=self._mode,
                dialect=self.dialect,
                grammar=self._grammar,
                instructions=settings.instructions,
                max_steps=settings.first_call_steps if task.first_call_only else settings.max_steps,
                max_tokens=settings.max_tokens,
                sampling=Sampling(temperature=settings.temperature, seed=self.seed),
                confirm=(lambda call: "stop") if task.first_call_only else None,
                **_as_given(settings.agent, self._mode, cast(Backend, self.watched)),
            )
        except (TypeError, ValueError, AttributeError) as error:
            if isinstance(error, ReactTextError) or not settings.agent:
                raise
            raise TasksError(f"The agent does not take {json.dumps(settings.agent)}: {error}") from None

    def _record(self, task: Task, writing: _Writing, result: Result | None, seconds: float) -> dict[str, Any]:
        steps = writing.steps
        first_call = task.first_call_only and any(step["kind"] == "action" for step in steps)
        reason = "first_call" if first_call else result.stop_reason if result else "first_reply"
        said = result.answer if result else steps[-1]["final"] if steps else None
        answer = None if first_call else said
        return {
            "key": record_key(self.model, self.arm, self.dialect, task.id, self.seed),
            "model": self.model,
            "arm": self.arm,
            "dialect": self.dialect,
            "task": task.id,
            "category": task.category,
            "seed": self.seed,
            "question": task.question,
            "needs_call": task.needs_call,
            "tools": [tool.name for tool in self._offered.tools],
            "prompt_hash": steps[0]["prompt_hash"] if steps else _hash(self.watched.requests[:1]),
            "steps": steps,
            "answer": answer,
            "stop_reason": reason,
            "mode_changes": list(writing.mode_changes if result is None else result.mode_changes),
            "end_state": dict(self._offered.state()),
            "tokens": sum(step["usage"]["generated"] for step in steps),
            "prompt_tokens": sum(step["usage"]["evaluated"] + step["usage"]["reused"] for step in steps),
            "seconds": round(seconds, 4),
            "tokens_after": sum(step["tokens_after"] for step in steps),
        }


def _as_given(options: Mapping[str, Any], mode: Wanted, backend: Backend) -> dict[str, Any]:
    """Arguments of the agent from JSON values; single policies change those that the model has by default.

    Only the arm that is what a user gets is steered, unless it is said so: the others measure what a model writes when
    it is left alone.
    """
    policies = options.get("policies", "auto" if mode == "auto" else None)
    if isinstance(policies, Mapping):
        known = [field.name for field in fields(Policies)]
        if unknown := sorted(policies.keys() - set(known)):
            raise TasksError(f"There is no policy {unknown[0]!r}; there are {', '.join(known)}.")
        policies = replace(policies_for(backend) or Policies(), **policies)
    return {**options, "policies": policies}


def agent_options() -> set[str]:
    """The arguments of the agent that a run may set: those that an arm, a dialect or a setting does not set already."""
    taken = {field.name for field in fields(Settings)} - {"examples"}
    of_arms = {"model", "tools", "mode", "dialect", "grammar", "sampling", "confirm"}
    return set(inspect.signature(Agent).parameters) - taken - of_arms


def arm_name(arm: str, settings: Settings) -> str:
    """What an arm is called in records."""
    return f"{arm} {settings.label}" if settings.label else arm


def record_key(model: str, arm: str, dialect: str, task: str, seed: int) -> str:
    return f"{model}|{arm}|{dialect}|{task}|{seed}"


class _Writing:
    """Collects the steps of one run from its events."""

    def __init__(self, watched: Watched, tools: Sequence[Tool]) -> None:
        self.watched = watched
        self.tools = tools
        self.steps: list[dict[str, Any]] = []
        self.mode_changes: list[str] = []
        self._steered: defaultdict[int, list[str]] = defaultdict(list)
        self._began = time.perf_counter()

    def see(self, event: Event) -> None:
        match event:
            case StepStarted():
                self._began = time.perf_counter()
            case TurnRead():
                self.steps.append(self._step(event))
            case Observed(_, _, observation):
                self.steps[-1]["observations"].append(
                    {"content": observation.content, "is_error": observation.is_error}
                )
            case Corrected(_, fault, _):
                self.steps[-1]["fault"] = fault.code
            case Steered(step, reason, _):
                self._steered[step].append(reason)
            case ModeChanged():
                self.mode_changes.append(event.reason)

    def _step(self, event: TurnRead) -> dict[str, Any]:
        turn, usage = event.turn, event.usage
        request = self.watched.requests[-1]
        return {
            "text": event.text,
            "kind": turn.kind,
            "thought": turn.thought,
            "final": turn.final,
            "calls": [{"name": call.name, "arguments": dict(call.arguments)} for call in turn.calls],
            "repairs": list(turn.repairs),
            "edits": [
                {"name": edit.name, "before": edit.before, "after": edit.after, "span": edit.span}
                for edit in turn.edits
            ],
            "fault": turn.fault.code if turn.fault else None,
            "strict": turn.strict or (turn.kind != "none" and not turn.edits),
            "mode": "structured" if request.tools else "text",
            "prompt_hash": _hash([request]),
            "observations": [],
            "steered": self._steered[event.step],
            "usage": {"evaluated": usage.evaluated, "reused": usage.reused, "generated": usage.generated},
            "seconds": round(time.perf_counter() - self._began, 4),
            "finish_reason": self.watched.finish_reason,
            "tokens_after": _tokens_after(turn, self.watched.pieces, request, self.tools),
        }


def _hash(requests: Sequence[Request]) -> str | None:
    """A digest of all that decides a reply: messages, begun reply, stop strings, grammar and tools."""
    if not requests:
        return None
    one = requests[0]
    sent = [list(one.messages), one.reply_start, one.stop, one.max_tokens, one.grammar, one.tools, one.tool_choice]
    sent += [one.reply_schema] if one.reply_schema is not None else []
    return hashlib.sha256(json.dumps(sent, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _tokens_after(turn: Turn, pieces: Sequence[Delta], request: Request, tools: Sequence[Tool]) -> int:
    """Tokens generated after the reply could be read as it was read in the end; 0 where there is no call."""
    if turn.kind != "action" or not pieces:
        return 0
    texts = []
    written = request.reply_start
    for piece in pieces:
        written += piece.text
        texts.append(written)
    wanted = [(call.name, dict(call.arguments)) for call in turn.calls]

    def complete(index: int) -> bool:
        read = parse_message({"content": texts[index]}, tools) if request.tools else parse(texts[index], tools)
        return [(call.name, dict(call.arguments)) for call in read.calls] == wanted and read.repairs == turn.repairs

    low, high = 0, len(pieces) - 1
    if not complete(high) or (high and not complete(high - 1)):
        return 0  # the last token completed the call, as nearly always
    while low < high:
        middle = (low + high) // 2
        if complete(middle):
            high = middle
        else:
            low = middle + 1
    return pieces[-1].tokens - pieces[low].tokens

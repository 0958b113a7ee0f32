"""A recorded run read again: what the parser of today makes of the same texts.

Reads what `trace.py` writes, and the event lines of `react-text run --json`. It asks no model and runs no tool.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from react_text.backends.base import Reply
from react_text.errors import RecordError
from react_text.events import (
    Corrected,
    Event,
    Finished,
    ModeChanged,
    Observed,
    PromptProgress,
    Steered,
    Step,
    StepStarted,
    TextDelta,
    TurnRead,
)
from react_text.explain import turn_record
from react_text.jsonl import records
from react_text.messages import Turn, Usage
from react_text.modes import StructuredMode, read_text
from react_text.observations import without_secrets
from react_text.tools import Tool, ToolLike, as_tools

_EVENTS: dict[str, type[Any]] = {
    "step_started": StepStarted,
    "prompt_progress": PromptProgress,
    "text_delta": TextDelta,
    "turn_read": TurnRead,
    "observed": Observed,
    "corrected": Corrected,
    "steered": Steered,
    "mode_changed": ModeChanged,
    "finished": Finished,
}
_NOT_READ = ("runaway",)
"""Faults that the loop found while a reply was written; its text was never read as a whole."""


@dataclass(frozen=True)
class RecordedRun:
    """One run of a trace. `header` is the line that opened it, empty where there is none; `events` are in order."""

    header: Mapping[str, Any]
    events: tuple[Event, ...]

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that were offered."""
        return as_tools(self.header.get("tools", ()))


@dataclass(frozen=True, slots=True)
class Reading:
    """One recorded turn, as it was read and as it is read now; `differences` has one sentence for each."""

    step: int
    text: str
    before: Turn
    now: Turn
    differences: tuple[str, ...]


def read_trace(path: str | Path) -> list[RecordedRun]:
    """The runs of a trace, in the order in which they began.

    A last line that was cut off is left out. Raises RecordError for a file that cannot be read, a line that is no
    event, and a trace without contents.
    """
    headers: dict[str, Mapping[str, Any]] = {}
    events: dict[str, list[Event]] = {}
    for number, record in records(Path(path).expanduser()):
        run = str(record.get("run", ""))
        if record["event"] == "run_started":
            if not record.get("contents"):
                raise RecordError(f"{path} was recorded without contents, so there is nothing to read again.")
            headers[run], events[run] = record, []
        elif record["event"] in _EVENTS:
            events.setdefault(run, []).append(_event(record, path, number))
    if not events:
        raise RecordError(f"{path} holds no run; record one with react-text run ... --trace FILE.jsonl.")
    return [RecordedRun(headers.get(run, {}), tuple(_with_steps(found))) for run, found in events.items()]


def reread(run: RecordedRun, tools: Sequence[ToolLike] | None = None) -> Iterator[Reading]:
    """Read each turn of a run with the parser of today. `tools` stand in for those of the trace."""
    offered = run.tools if tools is None else as_tools(tools)
    for event in run.events:
        if not isinstance(event, TurnRead) or (event.turn.fault and event.turn.fault.code in _NOT_READ):
            continue
        now = _read(event, offered, run.header.get("final_start", ""))
        yield Reading(event.step, event.text, event.turn, now, tuple(_differences(event.turn, now)))


def _read(event: TurnRead, tools: tuple[Tool, ...], final_start: str) -> Turn:
    reason: Any = event.finish_reason
    reply = Reply(event.text, reason, Usage(), event.message)
    if event.mode == "structured":
        return StructuredMode(tools).read(reply)
    return read_text(reply, tools, final_start if event.answer_only else None)


def _differences(before: Turn, now: Turn) -> Iterator[str]:
    was, new = (without_secrets(_comparable(turn)) for turn in (before, now))
    for key in was:
        old, current = (
            json.dumps(value, ensure_ascii=False, sort_keys=True, default=str) for value in (was[key], new[key])
        )
        if old != current:
            yield f"{key}: {old} before, {current} now"


def _comparable(turn: Turn) -> dict[str, Any]:
    """What counts of a reading: not the ids of calls, and of a fault only its code."""
    record = turn_record(turn)
    calls = [{"name": call["name"], "arguments": call["arguments"]} for call in record["calls"]]
    return {**record, "calls": calls, "fault": turn.fault.code if turn.fault else None}


def _with_steps(events: list[Event]) -> Iterator[Event]:
    """The events, the last one with the steps that its line leaves to the others."""
    steps = tuple(Step(one.text, one.turn, (), one.usage) for one in events if isinstance(one, TurnRead))
    for event in events:
        yield Finished(replace(event.result, steps=steps)) if isinstance(event, Finished) else event


def _event(record: Mapping[str, Any], path: str | Path, number: int) -> Event:
    from pydantic import ValidationError

    try:
        event: Event = _adapter(record["event"]).validate_python(dict(record))
        return event
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise RecordError(f"{path}, line {number}: the {record['event']} event has no usable {where}.") from None


@cache
def _adapter(kind: str) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(_EVENTS[kind])

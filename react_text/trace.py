"""A run written down: every event as a JSON line with its time, for people, for other programs, and for a replay.

Credentials never reach the file. Without contents nothing does that a user, a model or a tool wrote. New text is not
written piece by piece: a turn's line holds the whole text, and the time at which its first piece came.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, TextIO
from uuid import uuid4

from react_text.agent import Agent
from react_text.events import (
    Corrected,
    Event,
    Finished,
    ModeChanged,
    Observed,
    PromptProgress,
    Result,
    Steered,
    StepStarted,
    TextDelta,
    TurnRead,
    event_dict,
)
from react_text.jsonl import append_to, line
from react_text.messages import Message, Turn
from react_text.observations import without_secrets

_log = logging.getLogger("react_text")

VERSION = 1
UNKNOWN_TOOL = "(unknown)"
"""Stands for the name of a tool that was not offered: a model wrote it."""


class TraceFile:
    """Appends runs to a JSONL file; several may be under way at once, in threads or tasks.

    With `contents` False the file holds times, names of offered tools, kinds, repairs, codes of faults, token counts
    and lengths in characters, and no text of a user, a model or a tool. Raises RecordError when the file cannot be
    written; a disk that fills up later ends the trace, not the run.
    """

    def __init__(self, path: str | Path, *, contents: bool = True) -> None:
        self.path = Path(path).expanduser()
        self.contents = contents
        self._lock = threading.Lock()
        self._file: TextIO | None = append_to(self.path)

    def __enter__(self) -> TraceFile:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        """Write out what is buffered and close the file."""
        file, self._file = self._file, None
        if file is not None:
            with suppress(OSError):
                file.close()

    def stream(
        self, agent: Agent, question: str | None, history: Sequence[Message] = (), **options: Any
    ) -> Iterator[Event]:
        """`agent.stream`, with each event written down as it passes."""
        run = self.begin(agent, question, history)
        for event in agent.stream(question, history, **options):
            run.write(event)
            yield event

    async def astream(
        self, agent: Agent, question: str | None, history: Sequence[Message] = (), **options: Any
    ) -> AsyncIterator[Event]:
        """The async twin of `stream`."""
        run = self.begin(agent, question, history)
        async for event in agent.astream(question, history, **options):
            run.write(event)
            yield event

    def run(self, agent: Agent, question: str | None, history: Sequence[Message] = (), **options: Any) -> Result:
        """`agent.run`, written down."""
        *_, last = self.stream(agent, question, history, **options)
        assert isinstance(last, Finished)
        return last.result

    def begin(self, agent: Agent, question: str | None, history: Sequence[Message] = ()) -> RunTrace:
        """Write the line that opens a run; its events follow through `RunTrace.write`."""
        setup = agent.setup_for(question, history)
        header: dict[str, Any] = {
            "event": "run_started",
            "trace": VERSION,
            "contents": self.contents,
            "model": agent.backend.name,
            "mode": setup.switch.mode,
            "dialect": setup.dialect.name,
        }
        if self.contents:
            tools = [tool.to_dict() for tool in setup.tools]
            header |= {"final_start": setup.dialect.final_start, "question": question, "tools": tools}
        else:
            header["tools"] = [tool.name for tool in setup.tools]
        return RunTrace(self._append, header)

    def audit(self, record: Mapping[str, Any]) -> None:
        """Write who allowed a call or did not; for `approval.Approval(audit=...)`."""
        kept = {key: value for key, value in record.items() if self.contents or key != "arguments"}
        self._append({"event": "approval", **kept}, True)

    def _append(self, record: Mapping[str, Any], flush: bool) -> None:
        text = line(record)
        with self._lock:
            if self._file is None:
                return
            try:
                self._file.write(text)
                if flush:
                    self._file.flush()
            except OSError as error:
                _log.warning("The trace %s ends here: %s.", self.path.name, error.strerror)
                self.close()


class RunTrace:
    """One run in a trace: `append` takes each record and whether it is to be written out at once."""

    def __init__(self, append: Callable[[Mapping[str, Any], bool], None], header: dict[str, Any]) -> None:
        self.id = uuid4().hex[:12]
        self.contents: bool = header["contents"]
        self.offered = frozenset(tool["function"]["name"] if self.contents else tool for tool in header["tools"])
        self._append = append
        self._first_text: str | None = None
        self._put(header)

    def write(self, event: Event) -> None:
        """Write one event down."""
        if isinstance(event, TextDelta):
            self._first_text = self._first_text or _now()
            return
        record = _whole(event) if self.contents else _bare(event, self.offered)
        if isinstance(event, TurnRead):
            record["first_text"], self._first_text = self._first_text, None
        self._put(record, flush=not isinstance(event, PromptProgress))

    def _put(self, record: dict[str, Any], flush: bool = True) -> None:
        kept = without_secrets(record) if self.contents else record
        self._append({"time": _now(), "run": self.id, **kept}, flush)


def _now() -> str:
    return datetime.now(timezone.utc).isoformat()


def _whole(event: Event) -> dict[str, Any]:
    """The event with all it says; the end of a run without the steps and messages that its other lines hold."""
    if not isinstance(event, Finished):
        return event_dict(event)
    result = event.result
    ending = {"answer": result.answer, "mode_changes": list(result.mode_changes), **_figures(result)}
    return {"event": "finished", "result": ending}


def _figures(result: Result) -> dict[str, Any]:
    return {"stop_reason": result.stop_reason, "usage": asdict(result.usage), "mode": result.mode}


def _bare(event: Event, offered: frozenset[str]) -> dict[str, Any]:
    """What of the event nobody wrote: no text, no arguments, no names but those of offered tools."""
    match event:
        case TurnRead(step, text, turn, usage):
            return {
                "event": "turn_read",
                "step": step,
                "characters": len(text),
                "turn": _bare_turn(turn, offered),
                "usage": asdict(usage),
                "mode": event.mode,
                "finish_reason": event.finish_reason,
                "answer_only": event.answer_only,
            }
        case Observed(step, call, seen):
            return {
                "event": "observed",
                "step": step,
                "tool": _offered(call.name, offered),
                "characters": len(seen.content),
                "is_error": seen.is_error,
                "unavailable": seen.unavailable,
                "cut": seen.cut,
            }
        case Corrected(step, fault, rung):
            return {"event": "corrected", "step": step, "fault": fault.code, "rung": rung}
        case Steered(step, reason):
            return {"event": "steered", "step": step, "reason": reason}
        case ModeChanged(step, before, after):
            return {"event": "mode_changed", "step": step, "before": before, "after": after}
        case Finished(result):
            return {"event": "finished", "result": _figures(result)}
        case StepStarted() | PromptProgress():
            return event_dict(event)
        case _:
            return {"event": "other"}


def _bare_turn(turn: Turn, offered: frozenset[str]) -> dict[str, Any]:
    return {
        "kind": turn.kind,
        "tools": [_offered(call.name, offered) for call in turn.calls],
        "repairs": list(turn.repairs),
        "fault": turn.fault.code if turn.fault else None,
        "strict": turn.strict,
    }


def _offered(name: str, offered: frozenset[str]) -> str:
    return name if name in offered else UNKNOWN_TOOL

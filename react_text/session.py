"""A conversation that outlives its program: what was asked, called, observed and answered, in a file of JSON lines.

Each line is on the disk before the next step begins, so that after a crash the conversation goes on from the last whole
step. What a model wrote in vain and was corrected for is not part of it. Unlike a trace a session holds everything as
it was said, or the model could not go on.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, TextIO

from react_text.agent import Agent
from react_text.errors import RecordError
from react_text.events import Event, Finished, Observed, Result, StopReason, TurnRead
from react_text.jsonl import append_to, line, records
from react_text.messages import Call, Message, Observation
from react_text.protocol.render import Entry, answer_message, call_message, observation_message, user_message

VERSION = 1
HISTORY_SHARE = 0.6
"""The share of the context that the opening, the history and the question may take together."""
_INTERRUPTED = "(There was no answer: the program ended.)"
_PERHAPS_RUN = "Error: the program ended while this call was running. It may have taken effect."


@dataclass(frozen=True, slots=True)
class Exchange:
    """One question and what came of it.

    `messages` are the calls and their results, in chat-completions form. `stop_reason` is None while it is under way,
    and stays None when the program ended before it was over.
    """

    question: str
    messages: tuple[Message, ...] = ()
    answer: str = ""
    stop_reason: StopReason | None = None

    @property
    def answered(self) -> bool:
        """Whether the model gave an answer."""
        return self.stop_reason in ("answer", "max_steps")

    def history(self) -> list[Message]:
        """The exchange as messages that end in an answer; none where nothing ran and nothing was answered."""
        if not self.messages and not self.answered:
            return []
        return [user_message(self.question), *self.messages, answer_message(self.answer or _INTERRUPTED)]

    def begun(self) -> list[Message]:
        """The exchange as messages to go on from."""
        return [user_message(self.question), *self.messages]


class Session:
    """A conversation, kept in `path` or, without one, in memory only.

    Raises RecordError for a file that is no session, cannot be written, or is in use by another program.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self.exchanges: list[Exchange] = []
        self._file: TextIO | None = None
        if path is None:
            return
        place = Path(path).expanduser()
        new = not place.exists() or place.stat().st_size == 0
        if not new:
            self.exchanges = read_session(place)
        self._file = append_to(place, alone=True)
        if new:
            self._write({"event": "session_started", "session": VERSION})

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def stream(self, agent: Agent, question: str, **options: Any) -> Iterator[Event]:
        """`agent.stream` with as much of the conversation as fits, recorded step by step."""
        return self.record(question, agent.stream(question, self.history(agent, question), **options))

    def run(self, agent: Agent, question: str, **options: Any) -> Result:
        """`agent.run` with as much of the conversation as fits, recorded step by step."""
        *_, last = self.stream(agent, question, **options)
        assert isinstance(last, Finished)
        return last.result

    def history(self, agent: Agent | None = None, question: str = "") -> list[Message]:
        """The messages so far; with an agent only the latest exchanges, as many as leave room in its context."""
        return [message for one in self.shown(agent, question) for message in one.history()]

    def shown(self, agent: Agent | None = None, question: str = "") -> list[Exchange]:
        """The exchanges that `history` is made of."""
        exchanges = list(self.exchanges)
        while agent is not None and exchanges and not _fits(agent, exchanges, question):
            exchanges.pop(0)
        return exchanges

    def record(self, question: str | None, events: Iterable[Event]) -> Iterator[Event]:
        """Pass the events of a run on and write down each step; without a question (None) the last exchange goes on."""
        if question is None:
            self._write({"event": "continued"})
            self.exchanges[-1] = replace(self.exchanges[-1], answer="", stop_reason=None)
        else:
            self._write({"event": "asked", "question": question})
            self.exchanges.append(Exchange(question))
        turn: TurnRead | None = None
        observed: list[Observed] = []
        for event in events:
            if isinstance(event, Observed):
                observed.append(event)
            elif turn is not None:
                self._step(turn, observed)
                turn = None
            if isinstance(event, TurnRead) and event.turn.kind == "action":
                turn, observed = event, []
                self._write({"event": "calling", "message": call_message(event.turn.calls, event.turn.thought)})
            if isinstance(event, Finished):
                self._end(event)
            yield event

    def forget(self) -> None:
        """Begin anew: what was said before is no longer part of the conversation."""
        self._write({"event": "forgotten"})
        self.exchanges.clear()

    def _step(self, read: TurnRead, observed: Sequence[Observed]) -> None:
        messages: list[Message] = []
        if observed:
            results = [observation_message(one.observation) for one in observed]
            messages = [_call_entry(read, [one.call for one in observed]), *results]
        self._write({"event": "step", "messages": messages})
        last = self.exchanges[-1]
        self.exchanges[-1] = replace(last, messages=(*last.messages, *messages))

    def _end(self, event: Finished) -> None:
        result = event.result
        self._write({"event": "ended", "answer": result.answer, "stop_reason": result.stop_reason})
        self.exchanges[-1] = replace(self.exchanges[-1], answer=result.answer, stop_reason=result.stop_reason)

    def _write(self, record: Mapping[str, Any]) -> None:
        """Put one line on the disk. Raises RecordError."""
        if self._file is None:
            return
        try:
            self._file.write(line({"time": datetime.now(timezone.utc).isoformat(), **record}))
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise RecordError(f"The session cannot be written: {error.strerror}.") from None


def _call_entry(read: TurnRead, calls: Sequence[Call]) -> Message:
    """The assistant's turn: as an endpoint sent it where that fits the calls that ran, else made of them."""
    sent = read.message
    if (
        sent
        and not read.turn.edits
        and [one.get("id") for one in sent.get("tool_calls") or ()] == [call.id for call in calls]
    ):
        return sent
    return call_message(calls, read.turn.thought)


def _fits(agent: Agent, exchanges: Sequence[Exchange], question: str) -> bool:
    if agent.setup.context_length is None:
        return True
    messages = [message for one in exchanges for message in one.history()]
    setup = agent.setup_for(question, messages)
    request = setup.modes[setup.switch.mode].request(
        [*(Entry(message) for message in messages), Entry(user_message(question))],
        answer_only=False,
        max_tokens=1,
        sampling=setup.sampling,
        grammar=False,
    )
    length = setup.count_tokens(request.messages, request.reply_start, request.tools)
    return length is None or length <= HISTORY_SHARE * agent.setup.context_length


def read_session(path: Path) -> list[Exchange]:
    """The exchanges that a session file holds. Raises RecordError."""
    found: list[Exchange] = []
    calling: Message | None = None
    for number, record in records(path):
        try:
            match record["event"]:
                case "session_started":
                    continue
                case "forgotten":
                    found.clear()
                case "asked":
                    found.append(Exchange(str(record["question"])))
                case "calling":
                    calling = record["message"]
                    continue
                case "step":
                    found[-1] = replace(found[-1], messages=(*found[-1].messages, *record["messages"]))
                case "continued":
                    found[-1] = replace(_interrupted(found[-1], calling), answer="", stop_reason=None)
                case "ended":
                    ended = {"answer": record["answer"], "stop_reason": record["stop_reason"]}
                    found[-1] = replace(found[-1], **ended)
                case _:
                    raise KeyError(record["event"])
        except (KeyError, IndexError, TypeError):
            raise RecordError(f"{path} is no session: line {number} does not belong to one.") from None
        calling = None
    if found:
        found[-1] = _interrupted(found[-1], calling)
    return found


def _interrupted(exchange: Exchange, calling: Message | None) -> Exchange:
    """The exchange with calls that were running when the program ended, each with what is known of its result."""
    if calling is None:
        return exchange
    done = len(exchange.messages)
    calls = [one | {"id": f"interrupted_{done}_{place}"} for place, one in enumerate(calling["tool_calls"])]
    results = [
        observation_message(Observation(one["id"], one["function"]["name"], _PERHAPS_RUN, is_error=True))
        for one in calls
    ]
    return replace(exchange, messages=(*exchange.messages, calling | {"tool_calls": calls}, *results))

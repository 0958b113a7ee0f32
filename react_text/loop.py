"""The agent loop, without I/O: a generator that yields requests and events and is sent results.

It yields the items of `loop_items`: `Generate`, and is sent a `Generated` or a `Failed`; `Weigh`, and is sent the
logarithms or None; `RunCalls`, and is sent the observations; and events, for which it is sent None. It ends with a
`Finished` event. The drivers in `agent.py` are a few lines each and share all that is decided here: budgets,
corrections, repeated calls, the last answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from react_text.answer_shape import AnswerShape
from react_text.backends.base import Reply, Request
from react_text.catalog import FAULTS
from react_text.errors import BackendError
from react_text.events import Corrected, Finished, ModeChanged, Result, Steered, Step, StepStarted, StopReason, TurnRead
from react_text.fitting import fitted, overflows, shortened_after
from react_text.loop_items import (
    Abandoned,
    Denied,
    Failed,
    Generate,
    Generated,
    LoopGenerator,
    LoopItem,
    Recall,
    RunCalls,
    Setup,
    Weigh,
)
from react_text.messages import Call, Fault, Observation, Turn, Usage
from react_text.modes import AskingMode
from react_text.protocol.examples import copied_fault, examples_of
from react_text.protocol.render import Entry, answer_message, observation_message, user_message
from react_text.steering import Ask, Expect, Move, Score, Steering, known_from
from react_text.switch import Switch, after_error, after_turn

FREE = Move()
RUNAWAY_PENALTY = 1.2
"""Repeat penalty for the rest of a run once a reply has run away: what it said is not shown to the model again."""
MOST_LOOKS = 2
"""How often one reply may be begun again before it counts."""
_SHOWN_OF_UNREADABLE = 300
_CUT = "Your reply was cut off before it was complete; write a shorter one."


def run_loop(
    question: str | None,
    setup: Setup,
    clock: Callable[[], float],
    history: Sequence[Entry] = (),
    shape: AnswerShape | None = None,
) -> LoopGenerator:
    """The loop for one question. `clock` gives seconds; `history` holds earlier turns of the same conversation.

    Without a question (None) the loop goes on from the end of the history. With a `shape` the answer has to fit it.
    """
    return _Run(question, setup, clock, history, shape).steps_until_done()


class _Stop(Exception):
    """The run ends, for this reason and with this sentence for the user."""

    def __init__(self, reason: StopReason, sentence: str) -> None:
        super().__init__(sentence)
        self.reason = reason
        self.sentence = sentence


class _Run:
    """One run's state: its history, its steps, and what it has been corrected for."""

    def __init__(
        self,
        question: str | None,
        setup: Setup,
        clock: Callable[[], float],
        history: Sequence[Entry],
        shape: AnswerShape | None,
    ) -> None:
        self.setup = setup
        self.shape = shape
        self.output: Any = None
        self.clock = clock
        self.started = clock()
        self.entries = [*history] if question is None else [*history, Entry(user_message(question))]
        self.switch = setup.switch
        self.steps: list[Step] = []
        self.corrections = 0
        self.last_unreadable: str | None = None
        self.last_fault: Fault | None = None
        self.penalty = 1.0
        self.results: dict[str, tuple[str, ...]] = {}
        self.pointed_out: set[str] = set()
        self.names = {tool.name for tool in setup.tools}
        self.steering = None
        if setup.policies is not None and setup.tools:
            tools = {tool.name: tool for tool in setup.tools}
            known = known_from(tools, question, [entry.message for entry in history])
            self.steering = Steering(setup.policies, known, setup.calibration)
        self.examples = {tool.name: (tool, example) for tool, example in examples_of(setup.tools)}

    def steps_until_done(self) -> LoopGenerator:
        """Step after step, to the one Finished at the end."""
        try:
            while True:
                answer = yield from self.step()
                if answer is not None:
                    if self.shape is not None:
                        answer = yield from self.shaped(answer, self.shape)
                    yield self.finished(answer, "answer")
                    return
        except _Stop as stop:
            yield self.finished(stop.sentence, stop.reason)

    def step(self) -> Generator[LoopItem, Any, str | None]:
        """One model output and what follows from it; the answer when there is one."""
        if len(self.steps) >= self.setup.limits.max_steps:
            yield from self.stop_at_the_limit()
        self.check_budgets()
        turn, reply = yield from self.ask((yield from self.next_move()))
        for _ in range(MOST_LOOKS):
            if (move := self.second_look(turn)) is None:
                break
            yield Steered(len(self.steps), "second_look", move.why)
            if move.kind == "said":
                return self.said(move.said)
            self.check_budgets()
            again, written = yield from self.ask(move)
            if again.fault is not None and move.said:  # the model did not end what was begun for it
                return self.said(move.said)
            if again.fault is not None:
                break
            turn, reply = again, written
        fault = turn.fault or self.copied_example(turn)
        answering = not self.names or (self.steering is not None and self.steering.declined)
        if fault is not None and fault.code == "truncated" and answering:
            fault = replace(fault, message=_CUT)  # where no tool is of use no call is to be asked for
        if fault is None and turn.kind == "final" and turn.final:
            self.entries.append(self.mode.answer_entry(turn, reply))
            return turn.final
        if fault is None and turn.kind == "action":
            return (yield from self.act(turn, reply))
        yield from self.correct(fault or self.plain_fault("no_action"), turn, reply)
        return None

    def next_move(self) -> Generator[LoopItem, Any, Move]:
        """What the next reply is begun as; after a call of an unknown tool it is begun freely."""
        if self.steering is None:
            return FREE
        if not self.corrections:
            moving = self.steering.next_move()
        elif self.last_fault is None:
            return FREE
        else:
            moving = self.steering.after_fault(self.last_fault, self.corrections)
        try:
            asked = next(moving)
            while True:
                asked = moving.send((yield self.weigh(asked)))
        except StopIteration as done:
            move: Move = done.value
        if move.why:
            yield Steered(len(self.steps) + 1, "move", move.why)
        return move

    def weigh(self, score: Score | Expect | Ask) -> Weigh | Recall:
        """The ways to go on, for the driver to have weighed, or the answer without a tool, to have recalled."""
        if isinstance(score, Expect):
            return Weigh([user_message(score.message)], "", (score.text,))
        if isinstance(score, Ask):
            start, ways = self.mode.ways()
            return Recall(self.mode.messages(self.entries), start + ways[-1], self.mode.tool_dicts)
        entries = self.entries if score.question is None else [Entry(user_message(score.question))]
        start, ways = self.mode.ways()
        return Weigh(self.mode.messages(entries), start, ways, self.mode.tool_dicts)

    def ask(self, move: Move = FREE, *, answer_only: bool = False) -> Generator[LoopItem, Any, tuple[Turn, Reply]]:
        """Generate one reply and read it; a refusal of the mode is met by asking again in the other one."""
        number = len(self.steps) + 1
        yield StepStarted(number)
        while True:
            request = self.request(answer_only)
            if move.kind != "free":
                request = self.mode.begun(request, move, looked_up=self.looked_up)
            request = yield from self.fitting(request, number)
            left = self.seconds_left()
            sent = yield Generate(replace(request, seconds=left), number, left, answer_only)
            if isinstance(sent, Generated):
                break
            assert isinstance(sent, Failed)
            if overflows(sent.error):
                yield from self.refused_for_length(sent.error, request, number)
                continue
            changed = after_error(self.switch, str(sent.error), getattr(sent.error, "status", None))
            if changed is None:
                self.check_budgets()
                raise _Stop("backend_error", str(sent.error))
            yield from self.change_to(changed, number)
        reply, mode = sent.reply, self.mode
        final_begun = answer_only or move.kind == "answer"
        turn = mode.read(reply, answer_only=final_begun)
        if sent.ended == "runaway":
            turn = Turn("none", thought=turn.thought, fault=self.plain_fault("runaway"))
        self.steps.append(Step(reply.text, turn, (), reply.usage))
        yield TurnRead(
            number, reply.text, turn, reply.usage, mode.name, reply.finish_reason, reply.message, final_begun
        )
        if sent.ended == "cancelled":
            if (left := self.seconds_left()) is not None and left <= 0:
                self.check_budgets()
            raise _Stop("cancelled", f"Cancelled in step {number}.")
        yield from self.change_to(after_turn(self.switch, turn, reply.message), number)
        return turn, reply

    def change_to(self, switch: Switch, number: int) -> LoopGenerator:
        """Take over what the switch has learnt; from the next request on its mode counts."""
        changes = switch.changes[len(self.switch.changes) :]
        self.switch = switch
        for change in changes:
            yield ModeChanged(number, change.before, change.after, change.reason)

    def second_look(self, turn: Turn) -> Move | None:
        """How a reply is to be begun again, which may run nothing and end nothing as it stands; None where it may."""
        if self.steering is None or turn.fault is not None:
            return None
        if turn.kind == "action":
            return self.steering.doubts(turn.calls)
        return self.steering.unanswered(turn.final or "") if turn.kind == "final" else None

    def act(self, turn: Turn, reply: Reply) -> Generator[LoopItem, Any, str | None]:
        """Run the calls of a turn, unless they only repeat what is known."""
        self.last_fault = None
        self.corrections = 0 if all(call.name in self.names for call in turn.calls) else self.corrections + 1
        if self.corrections > self.setup.limits.max_corrections:
            raise _Stop("stuck", f"Stopped: {self.corrections} replies in a row could not be used.")
        key = json.dumps([[call.name, dict(call.arguments)] for call in turn.calls], sort_keys=True, default=str)
        number = len(self.steps)
        calls = self.with_ids(turn.calls)
        message = self.mode.call_entry(turn, calls, reply)
        if key in self.pointed_out or (self.steering is not None and key in self.results):
            known = [Observation(call.id, call.name, text) for call, text in zip(calls, self.results[key], strict=True)]
            self.entries += [message, *(Entry(observation_message(one)) for one in known)]
            return (yield from self.answer_now("the same call was made again"))
        sent = yield RunCalls(calls, number, self.seconds_left())
        if isinstance(sent, Denied):
            raise _Stop("denied", f"Stopped: the call of {calls[0].name} was not allowed.")
        if isinstance(sent, Abandoned):
            self.check_budgets()
            raise _Stop("cancelled", f"Cancelled while {calls[0].name} was running.")
        observations: tuple[Observation, ...] = sent
        self.steps[-1] = replace(self.steps[-1], observations=observations)
        self.entries += [message, *(Entry(observation_message(one)) for one in observations)]
        for one in observations:
            if one.unavailable:
                raise _Stop("tool_unavailable", f"Stopped: the tool {one.name} is unavailable at the moment.")
        if self.steering is not None:
            for call, one in zip(calls, observations, strict=True):
                self.steering.note(call, one)
        contents = tuple(one.content for one in observations)
        if self.results.get(key) == contents:
            self.pointed_out.add(key)
            self.say("repeated")
            yield Steered(number, "repeated_call", f"{calls[0].name} gave the same result again")
        else:
            self.results[key] = contents
        return None

    def said(self, answer: str) -> str:
        """An answer that the model has not written itself, for the history too."""
        self.entries.append(Entry(answer_message(answer)))
        return answer

    def correct(self, fault: Fault, turn: Turn, reply: Reply) -> LoopGenerator:
        """Tell the model what was wrong, or stop when telling did not help."""
        text, number = reply.text, len(self.steps)
        self.corrections += 1
        if self.corrections > self.setup.limits.max_corrections:
            raise _Stop("stuck", f"Stopped: {self.corrections} replies in a row could not be used. {fault.message}")
        if text == self.last_unreadable:
            self.corrections = max(self.corrections, 2)
        self.last_unreadable = text
        self.last_fault = fault
        yield Corrected(number, fault, self.corrections)
        if fault.code == "runaway":
            self.penalty = RUNAWAY_PENALTY
            return
        refused = self.with_ids([fault.call]) if fault.call is not None else ()
        if self.switch.mode == "structured" and refused:
            self.entries.append(self.mode.call_entry(turn, refused, replace(reply, message=None)))
            answers = (Observation(call.id, call.name, f"Error: {fault.message}", is_error=True) for call in refused)
            self.entries += [Entry(observation_message(one)) for one in answers]
            return
        shown = text if len(text) <= _SHOWN_OF_UNREADABLE else f"{text[:_SHOWN_OF_UNREADABLE]} ..."
        if shown.strip():
            self.entries.append(Entry({"role": "assistant", "content": shown}, shown))
        self.say("correction", fault=fault.message)

    def answer_now(self, why: str) -> Generator[LoopItem, Any, str]:
        """Take the tools away and begin the answer for the model; stuck when even that gives none."""
        self.say("answer now")
        yield Steered(len(self.steps), "answer_now", why)
        self.check_budgets()
        turn, reply = yield from self.ask(answer_only=True)
        if turn.kind != "final" or not turn.final or self.copied_example(turn) is not None:
            sentence = "Stopped: the same call was made again and again, and no answer came of it."
            raise _Stop("stuck", self.with_last_observation(sentence))
        self.entries.append(self.mode.answer_entry(turn, reply))
        return turn.final

    def stop_at_the_limit(self) -> LoopGenerator:
        """The step limit is reached: one last answer without tools, else a sentence."""
        steps = len(self.steps)
        sentence = f"Stopped after {steps} steps without a final answer."
        try:
            answer = yield from self.answer_now(f"the limit of {steps} steps is reached")
        except _Stop as stop:
            if stop.reason != "stuck":
                raise
            raise _Stop("max_steps", self.with_last_observation(sentence)) from None
        raise _Stop("max_steps", answer)

    def shaped(self, answer: str, shape: AnswerShape) -> Generator[LoopItem, Any, str]:
        """The answer in the shape that was asked for: asked for where it is not yet, under a grammar if there is one.

        Tools were free to use until now: a schema over the whole turn keeps models from calling any.
        """
        for attempt in range(self.setup.limits.max_corrections + 1):
            self.output, problem = shape.read(answer)
            if problem is None:
                return answer
            self.check_budgets()
            if attempt:
                yield Corrected(len(self.steps), Fault("invalid_answer", problem), attempt)
            asked = shape.request if attempt == 0 else f"{problem} {shape.request}"
            self.entries.append(Entry(user_message(asked)))
            held = self.setup.grammar_use != "never" and attempt < 2
            turn, reply = yield from self.ask(Move("answer", shape=shape.schema, held=held))
            answer = turn.final or reply.text
            self.entries.append(self.mode.answer_entry(replace(turn, final=answer), reply))
        raise _Stop("stuck", f"Stopped: the answer did not take the shape that was asked for. {problem}")

    def request(self, answer_only: bool) -> Request:
        """The next request; each correction in a row changes something real about it."""
        setup, rung = self.setup, self.corrections
        sampling = setup.sampling
        if rung >= 2:
            sampling = replace(sampling, temperature=max(sampling.temperature, 0.4 * (rung - 1)))
        if self.penalty > sampling.repeat_penalty:
            sampling = replace(sampling, repeat_penalty=self.penalty)
        return self.mode.request(
            self.entries,
            answer_only=answer_only,
            max_tokens=setup.limits.max_tokens,
            sampling=sampling,
            grammar=setup.grammar_use == "always" or (setup.grammar_use == "ladder" and rung >= 2),
        )

    def fitting(self, request: Request, number: int) -> Generator[LoopItem, Any, Request]:
        """The request, with the oldest observations shortened until prompt and reply fit the context."""
        setup = self.setup
        try:
            fit = fitted(request, self.entries, self.mode.messages, setup.count_tokens, setup.context_length)
        except BackendError as error:
            raise _Stop("backend_error", str(error)) from None
        self.entries = fit.history
        if fit.shortened:
            why = f"{fit.shortened} old observations were shortened to fit the context"
            yield Steered(number, "history_shortened", why)
        return fit.request

    def refused_for_length(self, error: BackendError, request: Request, number: int) -> LoopGenerator:
        """Shorten old observations, and stop where there is nothing left to shorten."""
        self.entries, shortened = shortened_after(error, request, self.entries, self.mode.messages)
        if not shortened:
            raise _Stop("backend_error", str(error))
        yield Steered(number, "history_shortened", f"{shortened} old observations were shortened: {error}")

    @property
    def mode(self) -> AskingMode:
        """How the model is asked at the moment."""
        return self.setup.modes[self.switch.mode]

    def say(self, section: str, **values: str) -> None:
        self.entries.append(Entry(user_message(self.setup.dialect.text(section, **values))))

    def copied_example(self, turn: Turn) -> Fault | None:
        """A fault when a call or an answer repeats a worked example and the conversation does not hold its values."""
        messages = (entry.message for entry in self.entries)
        known = "\n".join(str(one["content"]) for one in messages if one["role"] in ("user", "tool"))
        return copied_fault(turn, self.examples, known)

    def with_ids(self, calls: Sequence[Call]) -> tuple[Call, ...]:
        """The calls with ids that no other call of this run has: an endpoint's own where they are, else numbered."""
        taken = {one["id"] for entry in self.entries for one in entry.message.get("tool_calls") or ()}
        ids = [call.id for call in calls]
        if self.switch.mode == "structured" and len({*ids} - taken) == len(ids) and all(ids):
            return tuple(calls)
        free = (f"call_{number}" for number in count(1) if f"call_{number}" not in taken)
        return tuple(replace(call, id=next(free)) for call in calls)

    def plain_fault(self, code: str) -> Fault:
        dialect = self.setup.dialect
        call = f"{dialect.action}: with one of the tools and {dialect.input}: with JSON, or " if self.names else ""
        return Fault(code, f"{FAULTS[code]} Write {call}{dialect.final}: and the answer.")

    @property
    def looked_up(self) -> bool:
        """Whether a tool has been used for the question, in this run or in the one that it goes on from."""
        return bool(self.results or (self.steering is not None and self.steering.known.made))

    def seconds_left(self) -> float | None:
        budget = self.setup.limits.time_budget
        return None if budget is None else budget - (self.clock() - self.started)

    def check_budgets(self) -> None:
        """Raise when the tokens or the seconds are spent."""
        usage, limits = self.usage(), self.setup.limits
        spent = usage.evaluated + usage.generated
        if limits.token_budget is not None and spent >= limits.token_budget:
            sentence = f"Stopped: the budget of {limits.token_budget} tokens is spent ({spent})."
            raise _Stop("token_budget", self.with_last_observation(sentence))
        left = self.seconds_left()
        if left is not None and left <= 0:
            sentence = f"Stopped: the budget of {limits.time_budget:g} seconds is spent."
            raise _Stop("time_budget", self.with_last_observation(sentence))

    def with_last_observation(self, sentence: str) -> str:
        for step in reversed(self.steps):
            for one in step.observations:
                if not one.is_error:
                    return f"{sentence} The last result was: {one.content}"
        return sentence

    def usage(self) -> Usage:
        return sum((step.usage for step in self.steps), Usage())

    def finished(self, answer: str, reason: StopReason) -> Finished:
        messages = tuple(entry.message for entry in self.entries)
        changes = tuple(change.reason for change in self.switch.changes)
        return Finished(
            Result(answer, reason, tuple(self.steps), self.usage(), messages, self.switch.mode, changes, self.output)
        )

"""One turn of the model as a generator without I/O: it yields what to ask and is sent replies, until a turn stands.

A reply that cannot be used climbs the ladder: the model is told what was wrong and asked again, later under the
grammar, and after MOST_CORRECTIONS its text goes to the client as it is. Nothing invalid ever becomes a call.
"""

from __future__ import annotations

import secrets
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from react_text.backends.base import Reply, Request
from react_text.catalog import FAULTS
from react_text.chat.answers import bare_json, cut_at, json_problem
from react_text.chat.arguments import remainder
from react_text.chat.ready import Ready
from react_text.errors import BackendError
from react_text.messages import Call, Fault, Message, Observation, Turn, Usage
from react_text.parsing import parse
from react_text.protocol.grammar import Wanted
from react_text.protocol.render import Entry, call_message, observation_message, user_message
from react_text.switch import Mode, Switch, after_error, after_turn

GrammarUse: TypeAlias = Literal["always", "ladder", "never"]
Kind: TypeAlias = Literal["plain", "text", "structured"]

MOST_CORRECTIONS = 3
RUNAWAY_PENALTY = 1.2
_SHOWN_OF_UNREADABLE = 300


@dataclass(frozen=True, slots=True)
class Settings:
    """What is the same for every request of one FallbackChat. `max_tokens` bounds one reply."""

    grammar_use: GrammarUse
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Announced:
    """A call that a client was already told of: it can be completed, but not taken back.

    `arguments` is the JSON text told so far, `call` the whole call once it was complete.
    """

    id: str
    name: str
    arguments: str = ""
    call: Call | None = None


@dataclass(frozen=True, slots=True)
class Ask:
    """One generation. `begun` names the call that the reply is begun with, `single` ends it with its first call."""

    request: Request
    kind: Kind
    answer_only: bool = False
    single: bool = False
    begun: str | None = None
    grammar: bool = False


@dataclass(frozen=True, slots=True)
class Generated:
    """A reply, how it ended, and the calls and the part of an answer that the client was told of meanwhile."""

    reply: Reply
    ended: Literal["reply", "runaway", "cancelled"] = "reply"
    announced: tuple[Announced, ...] = ()
    told: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """The backend did not answer; `grammar` where it could not go on under the grammar."""

    error: BackendError
    grammar: bool = False
    announced: tuple[Announced, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the client is answered: calls, or content; and how it came about."""

    content: str | None
    thought: str | None
    calls: tuple[Call, ...]
    finish_reason: Literal["stop", "length", "tool_calls"]
    mode: Mode
    written: str | None
    usage: Usage = field(default_factory=Usage)
    repairs: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()
    strict: bool = False
    attempts: int = 1
    changes: tuple[str, ...] = ()


TurnGenerator: TypeAlias = Generator[Ask, Generated | Failed, Outcome]


def ask_turn(ready: Ready, switch: Switch, settings: Settings, learn: Any) -> TurnGenerator:
    """The generator of one turn. `learn` is handed the switch whenever a reply has changed what is known."""
    return _Asking(ready, switch, settings, learn).until_it_stands()


class _Asking:
    def __init__(self, ready: Ready, switch: Switch, settings: Settings, learn: Any) -> None:
        self.ready = ready
        self.chat = ready.request
        self.tools = ready.offer.tools
        self.switch = switch
        self.known_changes = len(switch.changes)
        self.settings = settings
        self.learn = learn
        self.entries = list(ready.entries)
        self.corrections = 0
        self.attempts = 0
        self.penalty = 1.0
        self.usage = Usage()
        self.faults: list[Fault] = []
        self.announced: tuple[Announced, ...] = ()
        self.last_unreadable: str | None = None

    def until_it_stands(self) -> TurnGenerator:
        while True:
            ask = self.ask()
            sent = yield ask
            if isinstance(sent, Failed):
                self.announced = sent.announced
                if sent.grammar and self.settings.grammar_use != "never":
                    self.settings = replace(self.settings, grammar_use="never")
                    continue
                changed = after_error(self.switch, str(sent.error), getattr(sent.error, "status", None))
                if changed is None or ask.kind != "structured":
                    raise sent.error
                self.take(changed)
                continue
            outcome = self.judged(ask, sent)
            if outcome is not None:
                return outcome

    @property
    def kind(self) -> Kind:
        return "plain" if not self.tools else self.switch.mode

    @property
    def answer_only(self) -> bool:
        return bool(self.tools) and self.chat.choice == "none"

    def take(self, switch: Switch) -> None:
        self.switch = switch
        self.learn(switch)

    def ask(self) -> Ask:
        """The next request; each correction in a row changes something real about it."""
        self.attempts += 1
        chat, rung = self.chat, self.corrections
        sampling = chat.sampling
        if rung >= 2:
            sampling = replace(sampling, temperature=max(sampling.temperature, 0.4 * (rung - 1)))
        if self.penalty > sampling.repeat_penalty:
            sampling = replace(sampling, repeat_penalty=self.penalty)
        use = self.settings.grammar_use
        constrained = use == "always" or (use == "ladder" and rung >= 2)
        mode = self.ready.modes["text" if self.kind == "plain" else self.switch.mode]
        request = mode.request(
            self.entries,
            answer_only=self.answer_only,
            max_tokens=chat.max_tokens or self.settings.max_tokens,
            sampling=sampling,
            grammar=constrained,
        )
        if self.kind == "plain":
            made = self.ready.offer.value_grammar(chat.schema) if constrained and chat.schema is not None else None
            shape = chat.schema if use != "never" else None
            held = replace(request, stop=chat.stop, grammar=made, reply_schema=shape or None)
            return Ask(held, "plain", grammar=made is not None)
        if self.kind == "structured":
            return self.structured(request)
        return self.text(request, constrained)

    def structured(self, request: Request) -> Ask:
        chat = self.chat
        if request.grammar is not None and (not self.answer_only or chat.schema is not None):
            wanted: Wanted = "answer" if self.answer_only else "call" if chat.choice == "required" else "any"
            request = replace(request, grammar=self.ready.offer.call_grammar(wanted, chat.allowed, chat.schema))
        choice: Any = None
        if chat.named:
            (name,) = chat.allowed
            choice = {"type": "function", "function": {"name": name}}
        elif chat.choice != "auto":
            choice = chat.choice
        offered = tuple(tool.to_dict() for tool in self.tools if tool.name in chat.allowed)
        parallel = request.parallel_tool_calls if chat.parallel is None else chat.parallel
        request = replace(
            request, tools=offered, tool_choice=choice, parallel_tool_calls=parallel, stop=(*request.stop, *chat.stop)
        )
        return Ask(request, "structured", self.answer_only, grammar=request.grammar is not None)

    def text(self, request: Request, constrained: bool) -> Ask:
        chat, offer = self.chat, self.ready.offer
        if self.answer_only:
            made = offer.value_grammar(chat.schema) if constrained and chat.schema is not None else None
            return Ask(replace(request, grammar=made), "text", answer_only=True, grammar=made is not None)
        single = chat.parallel is False
        if self.announced:
            return self.continued(request)
        required = chat.choice == "required"
        grammar = None
        if constrained:
            wanted: Wanted = "call" if required else "any"
            parallel = chat.parallel is True
            grammar = offer.grammar(wanted, chat.allowed, parallel=parallel, schema=chat.schema)
            single = not parallel
            if request.reply_schema is not None and chat.schema is None:
                return Ask(replace(request, reply_schema=offer.reply_schema(wanted, chat.allowed)), "text", single=True)
            if request.reply_schema is not None:  # in a call object an answer is text alone
                request = replace(request, reply_schema=None, reply_start=offer.dialect.reply_start)
        if grammar is not None:
            return Ask(replace(request, grammar=grammar), "text", single=single, grammar=True)
        request = replace(request, grammar=None)
        if required and (chat.named or self.corrections):
            return self.begun(request)
        return Ask(request, "text", single=single)

    def begun(self, request: Request) -> Ask:
        """A reply that already stands at its call, for a model that must make one and has no grammar to hold it."""
        dialect = self.ready.offer.dialect
        if len(self.chat.allowed) == 1:
            (name,) = self.chat.allowed
            thought = dialect.text("call thought", tool=name)
            start = f"{dialect.thought}: {thought}\n{dialect.action}: {name}\n{dialect.input}:"
            return Ask(replace(request, reply_start=start), "text", single=True, begun=name)
        thought = dialect.text("call thought", tool="a tool")
        start = f"{dialect.thought}: {thought}\n{dialect.action}:"
        return Ask(replace(request, reply_start=start), "text", single=True)

    def continued(self, request: Request) -> Ask:
        """A reply begun with the calls that the client knows of, the last of them open: it can only be completed."""
        dialect = self.ready.offer.dialect
        lines = [f"{dialect.thought}: {dialect.text('call thought', tool=self.announced[0].name)}"]
        for one in self.announced:
            lines += [f"{dialect.action}: {one.name}", f"{dialect.input}: {one.arguments}".rstrip()]
        start = replace(request, reply_start="\n".join(lines), grammar=None, reply_schema=None)
        return Ask(start, "text", single=True, begun=self.announced[-1].name)

    def judged(self, ask: Ask, sent: Generated) -> Outcome | None:
        """The outcome, or None when the model is to be asked again."""
        reply = sent.reply
        self.usage += reply.usage
        self.announced = sent.announced
        if ask.kind == "plain":
            return self.plain(sent)
        turn = self.read(ask, sent)
        # a reply that the client's own limit cut off says nothing of the mode
        limited = self.chat.max_tokens is not None and turn.fault is not None and turn.fault.code == "truncated"
        if sent.ended != "cancelled" and not limited:
            self.take(after_turn(self.switch, turn, reply.message))
        fault = turn.fault or self.fault(turn, ask) or self.disagrees(turn)
        complete = tuple(one.call for one in self.announced if one.call is not None)
        if self.announced and len(complete) == len(self.announced):
            agrees = fault is None and _same(turn.calls[: len(complete)], complete)
            # else the client holds these calls already, and each of them was found valid
            return self.called(turn if agrees else replace(turn, kind="action", calls=complete, fault=None), reply)
        if fault is None and turn.kind == "action":
            return self.called(turn, reply)
        if fault is None and turn.final is not None:
            return self.answered(turn, reply)
        fault = fault or self.plain_fault("no_action")
        if sent.told and ask.kind == "text":
            self.faults.append(fault)
            return self.outcome(replace(turn, calls=()), reply, sent.told, "length", None)
        if sent.ended == "cancelled" or (reply.finish_reason == "length" and sent.ended == "reply"):
            return self.unusable(turn, reply, fault, "length")
        self.corrections += 1
        if self.corrections > MOST_CORRECTIONS:
            return self.unusable(turn, reply, fault, "length" if self.announced else "stop")
        self.correct(fault, turn, reply)
        return None

    def read(self, ask: Ask, sent: Generated) -> Turn:
        mode = self.ready.modes["structured" if ask.kind == "structured" else "text"]
        turn = mode.read(sent.reply, answer_only=ask.answer_only)
        if ask.begun is not None and turn.kind == "none":
            turn = self.written_anew(ask, sent.reply) or turn
        if sent.ended == "runaway":
            return Turn("none", thought=turn.thought, fault=self.plain_fault("runaway"))
        if turn.kind == "action" and self.chat.parallel is False:
            turn = replace(turn, calls=turn.calls[:1])
        if turn.final is not None:
            turn = replace(turn, final=cut_at(turn.final, self.chat.stop))
        return turn

    def disagrees(self, turn: Turn) -> Fault | None:
        """A fault where a turn does not go on from the calls that the client was told of."""
        for index, told in enumerate(self.announced):
            call = turn.calls[index] if index < len(turn.calls) else None
            if call is None or call.name != told.name or remainder(told.arguments, call.arguments) is None:
                return Fault("unwanted_step", f"Go on with the call of {told.name} and give its arguments.")
        return None

    def written_anew(self, ask: Ask, reply: Reply) -> Turn | None:
        """The turn of a model that wrote the whole step again instead of going on from its beginning."""
        said = parse(reply.text.removeprefix(ask.request.reply_start), self.tools, finish_reason=reply.finish_reason)
        if said.kind != "action" or said.calls[0].name != ask.begun:
            return None
        complete = tuple(one.call for one in self.announced if one.call is not None)
        return replace(said, calls=(*complete, said.calls[0]))

    def fault(self, turn: Turn, ask: Ask) -> Fault | None:
        """What is wrong with a turn that could be read: the parser does not know what this request allows."""
        if turn.kind == "action":
            for call in turn.calls:
                if call.name not in self.ready.offer.by_name or call.name not in self.chat.allowed:
                    names = ", ".join(sorted(self.chat.allowed))
                    return Fault("unknown_tool", f"There is no tool {call.name[:80]}. The tools are: {names}.")
                if (copied := self.ready.copied(call.name)) is not None and dict(call.arguments) == dict(copied):
                    sentence = f"The arguments of {call.name} are those of the example, not of the question. "
                    return Fault("copied_example", sentence + "Take every value from the question.", call)
            if self.answer_only:
                return Fault("unwanted_step", "No tool can be used now. Give the answer.")
            return None
        if turn.final is None:
            return None
        if self.chat.choice == "required":
            names = ", ".join(sorted(self.chat.allowed))
            return Fault("unwanted_step", f"An answer is not wanted yet. Use one of the tools first: {names}.")
        if self.ready.copies_answer(turn.final):
            return Fault(
                "copied_example", "That is the answer of the example. Answer the question from the Observation."
            )
        problem = json_problem(turn.final, self.chat.schema)
        return None if problem is None else Fault("invalid_answer", problem)

    def called(self, turn: Turn, reply: Reply) -> Outcome:
        content = turn.thought
        written = reply.text if self.switch.mode == "text" and not turn.edits else None
        return self.outcome(turn, reply, content, "tool_calls", written)

    def answered(self, turn: Turn, reply: Reply) -> Outcome:
        finish: Literal["stop", "length"] = "length" if reply.finish_reason == "length" else "stop"
        final = turn.final or ""
        if self.chat.schema is not None:
            final = bare_json(final)
        written = reply.text if self.switch.mode == "text" and not turn.edits else None
        return self.outcome(turn, reply, final, finish, written)

    def unusable(self, turn: Turn, reply: Reply, fault: Fault, finish: Literal["stop", "length"]) -> Outcome:
        """The text itself, for a client to show; a turn with a call that may not run is never a call."""
        self.faults.append(fault)
        start = self.ready.offer.dialect.reply_start if self.switch.mode == "text" else ""
        text = turn.final or reply.text.removeprefix(start).strip() or turn.thought or ""
        return self.outcome(replace(turn, calls=()), reply, text, finish, None)

    def plain(self, sent: Generated) -> Outcome | None:
        """A reply without tools goes to the client as it is, unless it had to be JSON and is not."""
        reply = sent.reply
        text = reply.text
        cut = reply.finish_reason == "length" or sent.ended == "cancelled"
        problem = json_problem(text, self.chat.schema)
        if problem is not None and not cut:
            fault = Fault("invalid_answer", problem)
            self.corrections += 1
            if self.corrections <= MOST_CORRECTIONS:
                self.correct(fault, Turn("none"), reply)
                return None
            self.faults.append(fault)
        if self.chat.schema is not None and problem is None:
            text = bare_json(text)
        thought = next((reply.message[key] for key in _REASONING if reply.message and reply.message.get(key)), None)
        turn = Turn("final", final=text, thought=thought if isinstance(thought, str) else None)
        return self.outcome(turn, reply, text, "length" if cut else "stop", None)

    def outcome(
        self,
        turn: Turn,
        reply: Reply,
        content: str | None,
        finish: Literal["stop", "length", "tool_calls"],
        written: str | None,
    ) -> Outcome:
        calls = self.with_ids(turn.calls) if finish == "tool_calls" else ()
        changes = tuple(change.reason for change in self.switch.changes[self.known_changes :])
        return Outcome(
            content=content,
            thought=turn.thought,
            calls=calls,
            finish_reason=finish,
            mode=self.switch.mode if self.tools else "text",
            written=written,
            usage=self.usage,
            repairs=turn.repairs,
            faults=tuple(self.faults),
            strict=turn.strict and not self.faults,
            attempts=self.attempts,
            changes=changes,
        )

    def with_ids(self, calls: Sequence[Call]) -> tuple[Call, ...]:
        """The calls with the ids that the client was told, an endpoint's own, or new ones."""
        taken = {one["id"] for message in self.chat.messages for one in message.get("tool_calls", ())}
        found: list[Call] = []
        for index, call in enumerate(calls):
            if index < len(self.announced):
                call_id = self.announced[index].id
            elif self.switch.mode == "structured" and call.id and call.id not in taken:
                call_id = call.id
            else:
                call_id = new_call_id()
            taken.add(call_id)
            found.append(replace(call, id=call_id))
        return tuple(found)

    def correct(self, fault: Fault, turn: Turn, reply: Reply) -> None:
        """Tell the model what was wrong with its reply."""
        self.faults.append(fault)
        if reply.text == self.last_unreadable:
            self.corrections = max(self.corrections, 2)
        self.last_unreadable = reply.text
        if fault.code == "runaway":
            self.penalty = RUNAWAY_PENALTY
            return
        if self.switch.mode == "structured" and self.tools and fault.call is not None:
            call = replace(fault.call, id=fault.call.id or "refused")
            refusal = Observation(call.id, call.name, f"Error: {fault.message}", is_error=True)
            self.entries += [Entry(call_message([call], turn.thought)), Entry(observation_message(refusal))]
            return
        text = reply.text
        shown = text if len(text) <= _SHOWN_OF_UNREADABLE else f"{text[:_SHOWN_OF_UNREADABLE]} ..."
        if shown.strip():
            said: Message = {"role": "assistant", "content": shown}
            self.entries.append(Entry(said, shown))
        self.entries.append(Entry(user_message(self.ready.offer.dialect.text("correction", fault=fault.message))))

    def plain_fault(self, code: str) -> Fault:
        dialect = self.ready.offer.dialect
        call = f"{dialect.action}: with one of the tools and {dialect.input}: with JSON, or "
        return Fault(code, f"{FAULTS[code]} Write {call}{dialect.final}: and the answer.")


def _same(left: Sequence[Call], right: Sequence[Call]) -> bool:
    return [(one.name, dict(one.arguments)) for one in left] == [(one.name, dict(one.arguments)) for one in right]


_REASONING = ("reasoning_content", "reasoning", "thinking")


def new_call_id() -> str:
    """An id for a call."""
    return f"call_{secrets.token_hex(12)}"

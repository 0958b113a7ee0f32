"""What is made once for a set of tools and kept for the requests that bring the same: tools, openings, grammars.

Making them costs milliseconds and more, and clients send the same tools with every request. Each memory is bounded.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar

from react_text.asking import asking_modes, call_grammar_of, grammar_of, reply_schema_of, value_grammar_of
from react_text.backends.base import Backend
from react_text.chat.history import fingerprints
from react_text.chat.request import ChatRequest, read_tools
from react_text.messages import Message
from react_text.modes import AskingMode
from react_text.protocol.dialect import Dialect
from react_text.protocol.examples import answer_of, copies_answer, copies_example, examples_of
from react_text.protocol.grammar import Wanted
from react_text.protocol.render import Entry
from react_text.switch import Mode
from react_text.tools import Example, Tool

MOST_TOOL_SETS = 32
MOST_OPENINGS = 64
MOST_GRAMMARS = 32
MOST_WRITTEN = 2048
LONGEST_WRITTEN = 8000
"""In characters; a longer turn is rendered anew from the message that the client sends back."""

_Value = TypeVar("_Value")


class Recent(Generic[_Value]):
    """The values used last, up to a number of them; safe to use from many threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[Hashable, _Value] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> _Value | None:
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: Hashable, value: _Value) -> _Value:
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > self._most:
                self._values.popitem(last=False)
        return value


@dataclass(frozen=True)
class Offer:
    """Tools with what is derived from them alone."""

    backend: Backend
    dialect: Dialect
    tools: tuple[Tool, ...]
    made: dict[Hashable, str | None] = field(default_factory=dict)

    def grammar(
        self, wanted: Wanted, allowed: frozenset[str], *, parallel: bool = False, schema: Any = None
    ) -> str | None:
        """The grammar of a reply that may call the allowed tools; an answer in it fits `schema`."""
        return self._kept(
            ("text", wanted, allowed, parallel, _key(schema)),
            lambda: grammar_of(
                self.backend,
                self.dialect,
                self._chosen(allowed),
                wanted,
                parallel=parallel,
                answer_schema=_object_schema(schema),
            ),
        )

    def reply_schema(self, wanted: Wanted, allowed: frozenset[str]) -> dict[str, Any] | None:
        """The same as a JSON Schema of a call object, for a backend that takes nothing else."""
        return reply_schema_of(self.backend, self._chosen(allowed), wanted)

    def call_grammar(self, wanted: Wanted, allowed: frozenset[str], schema: Any = None) -> str | None:
        """The same in the model's own call format."""
        return self._kept(
            ("native", wanted, allowed, _key(schema)),
            lambda: call_grammar_of(self.backend, self._chosen(allowed), wanted, _object_schema(schema)),
        )

    def value_grammar(self, schema: Any) -> str | None:
        """The grammar of a bare JSON value that fits `schema`."""
        return self._kept(("value", _key(schema)), lambda: value_grammar_of(self.backend, _object_schema(schema)))

    def _chosen(self, allowed: frozenset[str]) -> tuple[Tool, ...]:
        return tuple(tool for tool in self.tools if tool.name in allowed)

    def _kept(self, key: Hashable, make: Callable[[], str | None]) -> str | None:
        if key not in self.made:
            if len(self.made) >= MOST_GRAMMARS:
                self.made.clear()
            self.made[key] = make()
        return self.made[key]

    @cached_property
    def examples(self) -> Mapping[str, tuple[Tool, Example]]:
        """Each tool with its worked example, by name."""
        return {tool.name: (tool, example) for tool, example in examples_of(self.tools)}

    @cached_property
    def by_name(self) -> Mapping[str, Tool]:
        return {tool.name: tool for tool in self.tools}


@dataclass(frozen=True)
class Ready:
    """One request with all that is needed to ask for its turn: the modes, and the conversation in them."""

    request: ChatRequest
    offer: Offer
    modes: Mapping[Mode, AskingMode]
    entries: tuple[Entry, ...]

    @cached_property
    def known(self) -> str:
        """What the conversation holds, in which a copied value may rightly stand."""
        return "\n".join(str(one.message["content"]) for one in self.entries if one.message["role"] in ("user", "tool"))

    def copied(self, name: str) -> Mapping[str, Any] | None:
        """The arguments that a call of this tool would have copied from its example, None where it may have them."""
        tool, example = self.offer.examples.get(name, (None, None))
        if tool is None or example is None or not copies_example(example.arguments, tool, example, self.known):
            return None
        return example.arguments

    @cached_property
    def example_answers(self) -> tuple[str, ...]:
        """What the examples answer, where that cannot be right here."""
        answers = (answer_of(example) for _, example in self.offer.examples.values())
        return tuple(answer for answer in answers if self.copies_answer(answer))

    def copies_answer(self, answer: str) -> bool:
        """Whether an answer is that of an example."""
        return any(copies_answer(answer, example, self.known) for _, example in self.offer.examples.values())


class Readier:
    """Makes requests ready for one backend and dialect."""

    def __init__(self, backend: Backend, dialect: Dialect) -> None:
        self._backend = backend
        self._dialect = dialect
        self._offers: Recent[Offer] = Recent(MOST_TOOL_SETS)
        self._modes: Recent[Mapping[Mode, AskingMode]] = Recent(MOST_OPENINGS)
        self._written: Recent[tuple[str, str]] = Recent(MOST_WRITTEN)
        self._none = Offer(backend, dialect, ())

    def tools(self, key: str, sent: Any) -> tuple[Tool, ...]:
        """The tools of a request, by the JSON text of its list. Raises ChatError."""
        offer = self._offers.get(key) or self._offers.put(key, Offer(self._backend, self._dialect, read_tools(sent)))
        return offer.tools

    def ready(self, request: ChatRequest) -> Ready:
        """The request with its modes and its conversation."""
        prints = fingerprints(request.messages)
        results = any(message["role"] == "tool" for message in request.messages)
        if request.choice == "none" and not results:
            offer, key = self._none, ""
        else:
            offer = self._offers.get(request.tools_key) or Offer(self._backend, self._dialect, request.tools)
            key = request.tools_key
        instructions, rest = _instructions(request.messages)
        modes = self._modes.get((key, instructions))
        if modes is None:
            modes = asking_modes(self._backend, self._dialect, offer.tools, instructions)
            self._modes.put((key, instructions), modes)
        entries = [
            self._entry(message, prints[index + rest], plain=not offer.tools)
            for index, message in enumerate(request.messages[rest:])
        ]
        return Ready(request, offer, modes, tuple(entries))

    def remember(self, ready: Ready, message: Message, written: str) -> None:
        """Keep how the model wrote a turn, for the time when the client sends it back as part of the conversation.

        The model then sees its own words, and a KV cache stays valid. Only the very same conversation finds them.
        """
        if len(written) <= LONGEST_WRITTEN:
            self._written.put(fingerprints([*ready.request.messages, message])[-1], (written, message["content"]))

    def _entry(self, message: Message, own: str, *, plain: bool) -> Entry:
        if message["role"] == "system":
            return Entry({**message, "role": "user"})
        if message["role"] != "assistant":
            return Entry(message)
        if plain and not message.get("tool_calls"):
            return Entry(message, message["content"])
        written, content = self._written.get(own) or (None, "")
        return Entry(message, written if message["content"] in ("", content) else None)


def _key(schema: Any) -> str | None:
    return None if schema is None else json.dumps(schema, sort_keys=True)


def _object_schema(schema: Any) -> Any:
    """The schema, where it says nothing that of any object."""
    return {"type": "object"} if schema == {} else schema


def _instructions(messages: Sequence[Message]) -> tuple[str, int]:
    """The system messages in front as one text, and how many there are."""
    count = next((at for at, message in enumerate(messages) if message["role"] != "system"), len(messages))
    texts = [message["content"].strip() for message in messages[:count]]
    return "\n\n".join(text for text in texts if text), count

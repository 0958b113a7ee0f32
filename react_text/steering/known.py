"""What is known in a run: the tools, the question, and each call with what came of it. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from react_text.messages import Call, Message, Observation
from react_text.protocol.grounding import words_of
from react_text.protocol.origins import open_texts
from react_text.protocol.results import led_to, values_of
from react_text.tools import Tool


@dataclass
class Known:
    """`made` are the calls of the run with their observations, in order; `earlier` what was said and found before."""

    tools: Mapping[str, Tool]
    question: str
    made: list[tuple[Call, Observation]] = field(default_factory=list)
    earlier: Sequence[str] = ()

    def texts(self) -> list[str]:
        """The question, what tools gave back, and what was said and found before."""
        return [self.question, *("\n".join(values_of(seen.content)) for _, seen in self.made), *self.earlier]

    def texts_of(self, call: Call) -> list[str]:
        """The values of a call that were free to be anything."""
        tool = self.tools.get(call.name)
        return open_texts(tool, call.arguments) if tool is not None else []

    def told(self, call: Call) -> str:
        """A call in words, to name its result by."""
        return " ".join([call.name.replace("_", " "), *self.texts_of(call)])

    def spoken_of(self) -> frozenset[str]:
        """The words of all tools, choices among them."""
        return frozenset[str]().union(*map(words_of, self.tools.values()))

    def results(self) -> list[tuple[Call, Observation]]:
        """The good results that no later call was made from."""
        found = []
        later = ""
        for call, seen in reversed(self.made):
            if not seen.is_error and not led_to(seen.content, later):
                found.append((call, seen))
            later = " ".join([*self.texts_of(call), later]).strip()
        return found[::-1]


def known_from(tools: Mapping[str, Tool], question: str | None, history: Sequence[Message]) -> Known:
    """What is known at the start of a run after a history; without a question (None) its last one goes on.

    What failed then is taken as not allowed: whether it was, a history does not say.
    """
    asked = [at for at, message in enumerate(history) if message.get("role") == "user"]
    begins = len(history) if question is not None else asked[-1] if asked else 0
    earlier = [_said(message) for message in history[:begins] if message.get("role") in ("user", "tool")]
    if question is not None or not asked:
        return Known(tools, question or "", earlier=earlier)
    calls = {str(one.get("id")): _call(one) for message in history[begins:] for one in message.get("tool_calls") or ()}
    found = [message for message in history[begins:] if message.get("role") == "tool"]
    made = [(calls[key], _seen(one, key)) for one in found if (key := str(one.get("tool_call_id"))) in calls]
    content = history[begins].get("content")
    return Known(tools, content if isinstance(content, str) else "", made, earlier)


def _said(message: Message) -> str:
    content = message.get("content")
    return "\n".join(values_of(content)) if isinstance(content, str) else ""


def _seen(message: Message, key: str) -> Observation:
    content = str(message.get("content") or "")
    failed = content.startswith("Error:")
    return Observation(key, str(message.get("name") or ""), content, is_error=failed, denied=failed)


def _call(written: Mapping[str, Any]) -> Call:
    function = written.get("function") or {}
    try:
        arguments = json.loads(function.get("arguments") or "{}")
    except (ValueError, TypeError, RecursionError):
        arguments = {}
    return Call(str(written.get("id")), str(function.get("name")), arguments if isinstance(arguments, dict) else {})

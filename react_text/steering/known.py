"""What is known in a run: the tools, the question, and each call with what came of it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from react_text.messages import Call, Observation
from react_text.protocol.grounding import open_texts, words_of
from react_text.protocol.results import led_to, values_of
from react_text.tools import Tool


@dataclass
class Known:
    """`made` are the calls of the run with their observations, in order."""

    tools: Mapping[str, Tool]
    question: str
    made: list[tuple[Call, Observation]] = field(default_factory=list)

    def texts(self) -> list[str]:
        """The question and what tools gave back."""
        return [self.question, *("\n".join(values_of(seen.content)) for _, seen in self.made)]

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

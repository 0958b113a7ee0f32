"""The switches of steering, and what a move may be."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from react_text.tools import Tool


@dataclass(frozen=True, slots=True)
class Policies:
    """The switches of steering, each explained where it acts.

    `choose`: the first move is chosen by calibrated probabilities, and no tool where the best is less than `margin` (in
    natural logarithms, set on development tasks), or a lone one, which is not the best of several by chance, less than
    `lone` above calling none, for which the words that answers begin with count by `words`, and whatever is no call by
    the rest; between tools, `habit` of what is likely after any question is taken off. With `question` a lone tool is
    chosen by how much likelier it makes the question instead. `recall`: where the best is only
    just above it, none either if the model is sure of an answer. `options`: an optional argument that the question asks
    for, or has the one name for that is left, is given, and a number that it neither holds nor implies is not.
    `ground`: arguments hold words of the question, of results or of what the tool says is usual, "always" by the
    grammar, "again" when they did not, "copied" when those required are an example's; "5%" is 0.05 unless the tool says
    percent. `insist`: an error is no answer. `resume`: a tool that failed for want of what another one found is called
    again. `complete`: what the question names and no call has used is looked up too. `answer`: an answer holds what was
    found. `begin_answer`: after a good result the answer is begun.
    """

    choose: bool = True
    margin: float = 4.0
    lone: float = 2.0
    words: float = 0.5
    habit: float = 0.25
    question: bool = False
    options: bool = True
    ground: Literal["always", "again", "copied", "never"] = "again"
    insist: bool = True
    resume: bool = True
    complete: bool = True
    answer: bool = True
    begin_answer: bool = True
    recall: bool = True


@dataclass(frozen=True, slots=True)
class Move:
    """How the next reply is begun: freely, as a call, or as the answer; or what is "said" without a further reply.

    A call is held to the schema of `tool`. `said` is how an answer begins, or what it is; with `shape`, a JSON Schema,
    it is asked for as JSON, and held to it by a grammar where there is one (`held`).
    """

    kind: Literal["free", "call", "answer", "said"] = "free"
    tool: Tool | None = None
    why: str = ""
    said: str = ""
    shape: Mapping[str, Any] | None = None
    held: bool = False


@dataclass(frozen=True, slots=True)
class Score:
    """Ask how likely the model finds each way to go on: every tool, then no tool. Sent floats, or None.

    `question` replaces the history by one question.
    """

    question: str | None = None


@dataclass(frozen=True, slots=True)
class Expect:
    """Ask how likely the model finds a text as the reply to a message, without tools. Sent a tuple of one, or None."""

    text: str
    message: str


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask what the model would answer at once, without a tool. Sent the text if it is sure of all of it, or None."""


Moving: TypeAlias = Generator[Score | Expect | Ask, Any, Move]
"""Yields each Score, Expect and Ask and is sent what it asks for; ends with the move."""

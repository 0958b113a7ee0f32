"""The values around the loop: what a run is given, what it asks its driver for, and what it is sent back. Pure."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from react_text.backends.base import Reply, Request, Sampling
from react_text.errors import BackendError
from react_text.events import Event
from react_text.fitting import CountTokens
from react_text.messages import Call, Message
from react_text.modes import AskingMode
from react_text.protocol.dialect import Dialect
from react_text.steering import Policies
from react_text.switch import Mode, Switch
from react_text.tools import Tool

GrammarUse: TypeAlias = Literal["always", "ladder", "never"]
"""When replies are held to the grammar: always, after two unreadable ones in a row, or never."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may spend. Tokens are prompt tokens evaluated plus tokens generated; seconds are wall time."""

    max_steps: int = 8
    max_tokens: int = 400
    token_budget: int | None = None
    time_budget: float | None = None
    max_corrections: int = 3


@dataclass(frozen=True)
class Setup:
    """Everything a run is given before its question.

    `modes` are the ways to ask that this run may use, `switch` says which one it begins with. `policies` steer a model
    whose driver can weigh ways to go on, None steers nothing; `calibration` is what runs with these tools have learnt
    of the model's habits, and learns more. `count_tokens` gives the length of a rendered prompt, or None where it
    cannot be known; `context_length` likewise.
    """

    dialect: Dialect
    tools: tuple[Tool, ...]
    modes: Mapping[Mode, AskingMode]
    switch: Switch
    limits: Limits = field(default_factory=Limits)
    sampling: Sampling = field(default_factory=Sampling)
    grammar_use: GrammarUse = "always"
    policies: Policies | None = None
    calibration: dict[tuple[str, ...], tuple[float, ...]] = field(default_factory=dict)
    context_length: int | None = None
    count_tokens: CountTokens = lambda messages, reply_start, tools: None


@dataclass(frozen=True, slots=True)
class Generate:
    """Ask the model. `seconds` is what is left of the time budget, None without one."""

    request: Request
    step: int
    seconds: float | None = None
    answer_only: bool = False


@dataclass(frozen=True, slots=True)
class Weigh:
    """Tell how likely the model finds each continuation after `reply_start`: natural logarithms, or None if unknown."""

    messages: Sequence[Message]
    reply_start: str
    continuations: tuple[str, ...]
    tools: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Recall:
    """Tell what the model would write after `reply_start` if it is sure of every token of it; None if it is not."""

    messages: Sequence[Message]
    reply_start: str
    tools: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class RunCalls:
    """Run these calls, in order, and send back one observation for each. `seconds` is as in `Generate`."""

    calls: tuple[Call, ...]
    step: int
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Generated:
    """A reply, and whether it ended by itself, was stopped as a runaway, or was cancelled by the user or the clock."""

    reply: Reply
    ended: Literal["reply", "runaway", "cancelled"] = "reply"


@dataclass(frozen=True, slots=True)
class Failed:
    """The backend did not answer."""

    error: BackendError


@dataclass(frozen=True, slots=True)
class Denied:
    """The user ended the run instead of allowing a call."""


@dataclass(frozen=True, slots=True)
class Abandoned:
    """Calls that were still running when the run was cancelled, or its time was up."""


LoopItem: TypeAlias = Generate | Weigh | Recall | RunCalls | Event
LoopGenerator: TypeAlias = Generator[LoopItem, Any, None]

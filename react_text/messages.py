"""The values that pass between the stages of a turn: calls, observations, read turns, token counts.

Plain frozen values with no behaviour beyond construction. This module imports nothing of the package.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Message: TypeAlias = dict[str, Any]
"""A chat-completions message: `role`, `content`, and where it applies `tool_calls` or `tool_call_id`."""

TurnKind: TypeAlias = Literal["action", "final", "none"]
Span: TypeAlias = tuple[int, int]
"""Character offsets `[start, end)` into the text that was read."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request to run a tool. `arguments` is always a dict; no arguments are `{}`."""

    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Observation:
    """What a call gave back, as text for the model.

    `cut` is the number of characters left out of a long result; `unavailable` is True when the tool's own
    dependency was down after the retries, which ends the run instead of being shown to the model. `denied` is True for
    a call that the user did not allow.
    """

    call_id: str
    name: str
    content: str
    is_error: bool = False
    unavailable: bool = False
    cut: int = 0
    denied: bool = False


@dataclass(frozen=True, slots=True)
class Repair:
    """One thing the parser changed to read a turn. `name` is a key of `catalog.REPAIRS`."""

    name: str
    before: str = ""
    after: str = ""
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a turn could not be read. `code` is a key of `catalog.FAULTS`; `message` is one sentence for the model.

    `call` is the call as far as it could be read; it must not be run.
    """

    code: str
    message: str
    call: Call | None = None
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """One model output, read.

    `kind` is "action" (run `calls`, in order), "final" (`final` is the answer) or "none" (nothing may run and
    nothing is an answer; `fault` says why). `repairs` names what had to be mended, in the order applied: `()` means
    that the text was read as it stands. `edits` are the same repairs with what each changed. `strict` is True only
    when the published format was met to the letter.
    """

    kind: TurnKind
    calls: tuple[Call, ...] = ()
    final: str | None = None
    thought: str | None = None
    fault: Fault | None = None
    strict: bool = False
    edits: tuple[Repair, ...] = ()

    @property
    def repairs(self) -> tuple[str, ...]:
        """The names of the repairs, in the order applied."""
        return tuple(edit.name for edit in self.edits)


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts and times of one or more generations.

    `evaluated` and `reused` are prompt tokens (computed anew, and found in the KV cache); `generated` are the tokens of
    the reply, of which `forced` were not sampled because a grammar left no choice. Times are in seconds.
    """

    evaluated: int = 0
    reused: int = 0
    generated: int = 0
    prompt_seconds: float = 0.0
    generate_seconds: float = 0.0
    forced: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.evaluated + other.evaluated,
            self.reused + other.reused,
            self.generated + other.generated,
            self.prompt_seconds + other.prompt_seconds,
            self.generate_seconds + other.generate_seconds,
            self.forced + other.forced,
        )

    @property
    def prompt_tokens(self) -> int:
        """Prompt tokens in all, evaluated and reused."""
        return self.evaluated + self.reused

    @property
    def tokens_per_second(self) -> float:
        """Generated tokens per second of generation, 0.0 when nothing was generated."""
        return self.generated / self.generate_seconds if self.generate_seconds else 0.0

"""What happens during a run, as values: an agent yields them, a trace shows or stores them."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Literal, TypeAlias

from react_text.messages import Call, Fault, Message, Observation, Turn, Usage
from react_text.switch import Mode

StopReason: TypeAlias = Literal[
    "answer",
    "max_steps",
    "token_budget",
    "time_budget",
    "stuck",
    "tool_unavailable",
    "denied",
    "cancelled",
    "backend_error",
]
Section: TypeAlias = Literal["thought", "call", "final"]


@dataclass(frozen=True, slots=True)
class Step:
    """One model output of a run: its text, how it was read, what its calls gave back, and what it cost."""

    text: str
    turn: Turn
    observations: tuple[Observation, ...] = ()
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Result:
    """How a run ended.

    `answer` is never empty: when `stop_reason` is not "answer" it is a sentence that says what happened. `messages`
    is the canonical history of the run without the opening, in chat-completions form. `output` is the answer as a value
    of the `output_type` that was asked for, None without one.
    """

    answer: str
    stop_reason: StopReason
    steps: tuple[Step, ...] = ()
    usage: Usage = field(default_factory=Usage)
    messages: tuple[Message, ...] = ()
    mode: Mode = "text"
    mode_changes: tuple[str, ...] = ()
    output: Any = None


@dataclass(frozen=True, slots=True)
class StepStarted:
    """The model is asked; steps count from 1."""

    step: int


@dataclass(frozen=True, slots=True)
class PromptProgress:
    """Prompt tokens evaluated so far, of those this step must evaluate."""

    step: int
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class TextDelta:
    """New text, as it is written, and the section it belongs to."""

    step: int
    section: Section
    text: str


@dataclass(frozen=True, slots=True)
class TurnRead:
    """One whole model output and how it was read.

    `mode`, `finish_reason`, `message` (as an endpoint sent it) and `answer_only` are what it was read with.
    """

    step: int
    text: str
    turn: Turn
    usage: Usage
    mode: Mode = "text"
    finish_reason: str = "stop"
    message: Message | None = None
    answer_only: bool = False


@dataclass(frozen=True, slots=True)
class Observed:
    """What a call gave back."""

    step: int
    call: Call
    observation: Observation


@dataclass(frozen=True, slots=True)
class Corrected:
    """The model is told that its reply could not be used; `rung` counts the corrections in a row, from 1."""

    step: int
    fault: Fault
    rung: int


@dataclass(frozen=True, slots=True)
class Steered:
    """The loop intervened: a repeated call was pointed out, an answer is asked for, the history was shortened, the next
    reply is begun for the model, or the last one is asked for again."""

    step: int
    reason: Literal["repeated_call", "answer_now", "history_shortened", "move", "second_look"]
    detail: str


@dataclass(frozen=True, slots=True)
class ModeChanged:
    """The model is asked in another mode from here on; `reason` is the evidence."""

    step: int
    before: Mode
    after: Mode
    reason: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The run is over."""

    result: Result = field(default_factory=lambda: Result("", "cancelled"))


Event: TypeAlias = (
    StepStarted | PromptProgress | TextDelta | TurnRead | Observed | Corrected | Steered | ModeChanged | Finished
)


def event_dict(event: Event) -> dict[str, Any]:
    """The event as plain JSON values, its kind under `event`."""
    return {"event": _snake(type(event).__name__)} | {
        item.name: _plain(getattr(event, item.name)) for item in fields(event)
    }


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | int | float):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        plain = {item.name: _plain(getattr(value, item.name)) for item in fields(value)}
        return plain | {"repairs": list(value.repairs)} if isinstance(value, Turn) else plain
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    return value


def _snake(name: str) -> str:
    return "".join(f"_{one.lower()}" if one.isupper() else one for one in name).lstrip("_")

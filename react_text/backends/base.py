"""What every backend takes and gives: a request in, a stream of deltas and one reply out.

A backend knows nothing of tools, protocols or turns: it renders messages for its model, generates and reports.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from react_text.messages import Message, Usage

FinishReason: TypeAlias = Literal["stop", "length", "cancelled"]


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are chosen. `temperature` 0 is greedy; `seed` None draws a fresh seed."""

    temperature: float = 0.0
    top_p: float = 1.0
    min_p: float = 0.0
    repeat_penalty: float = 1.0
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """One generation.

    `reply_start` is text the reply is begun with, evaluated as part of the prompt. `stop` are strings that end the
    reply and are not part of it. `grammar` is GBNF over the text *after* `reply_start`. `until` is handed each new
    piece of text before its Delta is yielded; once it returns True nothing more is generated and the reply ends with
    finish reason "stop" after that piece. `tools` (chat-completions tool dicts), `tool_choice` and
    `parallel_tool_calls` are for structured mode only. `reply_schema` is a JSON Schema of a whole reply that is JSON,
    for an endpoint that takes no grammar; it is never sent beside one. `seconds` is the longest that an endpoint may be
    waited for.
    """

    messages: Sequence[Message]
    reply_start: str = ""
    stop: tuple[str, ...] = ()
    max_tokens: int = 512
    sampling: Sampling = field(default_factory=Sampling)
    grammar: str | None = None
    until: Callable[[str], bool] | None = None
    tools: tuple[dict[str, Any], ...] = ()
    tool_choice: str | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    reply_schema: Mapping[str, Any] | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """Long work under way: prompt tokens evaluated so far of all that must be evaluated for this request."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Delta:
    """New text of the reply, never part of a stop string, always whole characters. `tokens` of it so far."""

    text: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Reply:
    """The end of one generation. `text` is the whole reply, `reply_start` included, stop string excluded.

    `message` is the assistant message exactly as an endpoint sent it, None where there is no such thing.
    """

    text: str
    finish_reason: FinishReason
    usage: Usage
    message: Message | None = None


StreamItem: TypeAlias = Progress | Delta | Reply


@runtime_checkable
class Backend(Protocol):
    """A model that answers requests.

    `stream` yields Progress and Delta items and ends with exactly one Reply. Closing the iterator (`close()`, or
    `aclose()` for `astream`) cancels the generation within one token. All failures are `BackendError`s.
    """

    name: str
    context_length: int | None
    supports_grammar: bool

    def stream(self, request: Request) -> Iterator[StreamItem]: ...

    def astream(self, request: Request) -> AsyncIterator[StreamItem]: ...

    def count_tokens(
        self, messages: Sequence[Message], reply_start: str = "", tools: Sequence[Mapping[str, Any]] = ()
    ) -> int | None:
        """Tokens of the rendered prompt, or None where only the server could tell."""
        ...

    def close(self) -> None: ...

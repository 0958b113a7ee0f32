"""Fitting a request to the context: the oldest observations are shortened until prompt and reply have room. Pure.

The canonical messages keep their text; only what a model is shown of them becomes shorter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from react_text.backends.base import Request
from react_text.errors import BackendError, ContextOverflow
from react_text.messages import Message
from react_text.protocol.render import Entry

CountTokens: TypeAlias = Callable[[Sequence[Message], str, Sequence[Mapping[str, Any]]], int | None]
"""The tokens of a prompt, from its messages, the start of its reply and its tools; None where they are not known."""
Render: TypeAlias = Callable[[Sequence[Entry]], list[Message]]
"""What a model is sent for a history."""

SHORTENED_TO = 200
"""Characters that are left of an observation."""
WORTH_SHORTENING = SHORTENED_TO + 50
"""Characters up to which an observation is left whole: the note would take as much as it saves."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A request that fits, the history it shows, and how many of that history's observations were shortened for it."""

    request: Request
    history: list[Entry]
    shortened: int = 0


def fitted(
    request: Request, history: list[Entry], render: Render, count_tokens: CountTokens, context_length: int | None
) -> Fitted:
    """The request with as much of its history as leaves room for the reply: a quarter of the context at most.

    As it is where lengths are not known. Raises BackendError where shortening is not enough.
    """
    if context_length is None:
        return Fitted(request, history)
    room = reply_room(request, context_length)
    shortened = 0
    while (length := prompt_length(request, count_tokens)) is not None:
        if length + room <= context_length:
            max_tokens = max(1, min(request.max_tokens, context_length - length))
            return Fitted(replace(request, max_tokens=max_tokens), history, shortened)
        shorter = oldest_shortened(history)
        if shorter is None:
            raise BackendError(
                f"The conversation has {length} tokens and the context holds {context_length}, of which {room} are "
                "kept for the reply. Use a larger n_ctx (--n-ctx), fewer tools, or a shorter dialect."
            )
        history = shorter
        shortened += 1
        request = replace(request, messages=render(history))
    return Fitted(request, history, shortened)


def shortened_after(
    error: BackendError, request: Request, history: list[Entry], render: Render
) -> tuple[list[Entry], int]:
    """The history after a prompt was refused for its length, and how many observations were shortened; 0 if none can.

    It is shortened by as much as the endpoint says is too much, by half where it gives no numbers.
    """
    share = 0.5
    if isinstance(error, ContextOverflow) and error.prompt_tokens > 0:
        room = reply_room(request, error.context_length)
        share = (error.prompt_tokens + room - error.context_length) / error.prompt_tokens
    wanted = (1 - share) * text_length(request.messages)
    shortened = 0
    while (shorter := oldest_shortened(history)) is not None:
        history = shorter
        shortened += 1
        if text_length(render(history)) < wanted:
            break
    return history, shortened


def overflows(error: BackendError) -> bool:
    """Whether a prompt was refused for its length."""
    return isinstance(error, ContextOverflow) or getattr(error, "reason", None) == "overflow"


def reply_room(request: Request, context_length: int) -> int:
    """Tokens of the context that are kept for the reply."""
    return min(request.max_tokens, context_length // 4)


def prompt_length(request: Request, count_tokens: CountTokens) -> int | None:
    """Tokens of the prompt; None where they cannot be known, or where the request will fail anyway."""
    try:
        return count_tokens(request.messages, request.reply_start, request.tools)
    except BackendError:
        return None


def oldest_shortened(history: Sequence[Entry]) -> list[Entry] | None:
    """The history with its oldest long observation shortened; None where every one is short already."""
    for index, entry in enumerate(history):
        if entry.message["role"] != "tool" or entry.written is not None:
            continue
        content = entry.message["content"]
        if len(content) > WORTH_SHORTENING:
            note = f"[{len(content) - SHORTENED_TO} characters left out to save room]"
            shown = replace(entry, written=f"{content[:SHORTENED_TO]} {note}")
            return [*history[:index], shown, *history[index + 1 :]]
    return None


def text_length(messages: Sequence[Message]) -> int:
    """Characters of what a model is sent."""
    return sum(len(str(message.get("content") or "")) for message in messages)

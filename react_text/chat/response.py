"""An outcome as the public API writes it: a completion, or the chunks of a stream. Pure but for ids and the clock."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from react_text.chat.turn import Outcome
from react_text.messages import Call, Usage

FINGERPRINT = "react-text"


@dataclass(frozen=True)
class Head:
    """What all the parts of one answer have in common."""

    model: str
    id: str = field(default_factory=lambda: f"chatcmpl-{secrets.token_hex(12)}")
    created: int = field(default_factory=lambda: int(time.time()))


def completion(head: Head, outcome: Outcome, ignored: tuple[str, ...]) -> dict[str, Any]:
    """The whole answer."""
    return {
        "id": head.id,
        "object": "chat.completion",
        "created": head.created,
        "model": head.model,
        "choices": [
            {
                "index": 0,
                "message": message_of(outcome),
                "logprobs": None,
                "finish_reason": outcome.finish_reason,
            }
        ],
        "usage": usage_dict(outcome.usage),
        "system_fingerprint": FINGERPRINT,
        "x_react_text": extra(outcome, ignored),
    }


def message_of(outcome: Outcome) -> dict[str, Any]:
    """The assistant message."""
    message: dict[str, Any] = {"role": "assistant", "content": outcome.content, "refusal": None}
    if outcome.thought:
        message["reasoning_content"] = outcome.thought
    if outcome.calls:
        message["tool_calls"] = [call_dict(call) for call in outcome.calls]
    return message


def history_message(outcome: Outcome) -> dict[str, Any]:
    """The same message as part of the canonical history."""
    message: dict[str, Any] = {"role": "assistant", "content": outcome.content or ""}
    if outcome.calls:
        message["tool_calls"] = [call_dict(call) for call in outcome.calls]
    return message


def call_dict(call: Call) -> dict[str, Any]:
    """One call of a message."""
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments_text(call.arguments)},
    }


def arguments_text(arguments: Mapping[str, Any]) -> str:
    """Arguments as the JSON text that a client is sent."""
    return json.dumps(dict(arguments), ensure_ascii=False)


def usage_dict(usage: Usage) -> dict[str, Any]:
    """Token counts of all that the model did for this answer; cached tokens are prompt tokens it did not read anew."""
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.generated,
        "total_tokens": usage.prompt_tokens + usage.generated,
        "prompt_tokens_details": {"cached_tokens": usage.reused, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
    }


def extra(outcome: Outcome, ignored: tuple[str, ...]) -> dict[str, Any]:
    """How the answer came about; typed clients ignore it."""
    return {
        "mode": outcome.mode,
        "attempts": outcome.attempts,
        "strict": outcome.strict,
        "repairs": list(outcome.repairs),
        "faults": [{"code": fault.code, "message": fault.message} for fault in outcome.faults],
        "mode_changes": list(outcome.changes),
        "ignored": list(ignored),
    }


def chunk(head: Head, delta: Mapping[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    """One part of a streamed answer."""
    return {
        "id": head.id,
        "object": "chat.completion.chunk",
        "created": head.created,
        "model": head.model,
        "system_fingerprint": FINGERPRINT,
        "choices": [{"index": 0, "delta": dict(delta), "logprobs": None, "finish_reason": finish}],
        **more,
    }


def usage_chunk(head: Head, usage: Usage) -> dict[str, Any]:
    """The last part of a streamed answer, where the client asked for the token counts."""
    return {**chunk(head, {}), "choices": [], "usage": usage_dict(usage)}

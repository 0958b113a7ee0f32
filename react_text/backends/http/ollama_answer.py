"""Ollama's native wire format: an `/api/chat` answer as a chat-completions choice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def to_choice(answer: Mapping[str, Any]) -> dict[str, Any]:
    """One chat-completions choice, `{"message": …, "finish_reason": …}`, from a native `/api/chat` answer.

    `thinking` becomes `reasoning_content`. Calls keep their arguments as objects, as the server sent them. A
    `done_reason` of stop beside calls becomes `tool_calls`, as the server's own chat-completions face does.
    """
    sent = answer.get("message")
    message = dict(sent) if isinstance(sent, Mapping) else {"role": "assistant", "content": answer.get("response")}
    thinking = message.pop("thinking", None)
    if thinking:
        message["reasoning_content"] = thinking
    finish_reason = answer.get("done_reason")
    if finish_reason == "stop" and message.get("tool_calls"):
        finish_reason = "tool_calls"
    return {"message": message, "finish_reason": finish_reason}

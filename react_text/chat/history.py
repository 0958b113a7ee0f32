"""The messages of a request as the canonical history. Pure: plain JSON values in, messages or a ChatError out.

Only text is taken. What ties calls and results together is held to the rules of the public API.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import Any

from react_text.errors import ChatError
from react_text.messages import Message
from react_text.observations import clean

ROLES = ("system", "developer", "user", "assistant", "tool")
_PART_TEXT = {"text": "text", "refusal": "refusal"}


def read_messages(sent: Any) -> Iterator[Message]:
    """The messages, each with its content as one text."""
    if not isinstance(sent, (list, tuple)):
        raise ChatError("messages must be a list.", param="messages", code="invalid_type")
    if not sent:
        raise ChatError("messages is empty; at least one message is needed.", param="messages", code="empty_array")
    open_ids: list[str] = []
    for index, message in enumerate(sent):
        where = f"messages[{index}]"
        if not isinstance(message, Mapping):
            raise ChatError(f"{where} must be an object.", param=where, code="invalid_type")
        role = message.get("role")
        if role not in ROLES:
            raise ChatError(
                f"{where}.role must be one of {', '.join(ROLES)}.", param=f"{where}.role", code="invalid_value"
            )
        if role == "tool":
            read = _tool_message(message, where, open_ids)
        elif open_ids:
            raise _unanswered(open_ids, where)
        elif role == "assistant":
            read = _assistant_message(message, where)
            open_ids = [call["id"] for call in read.get("tool_calls", ())]
        else:
            role = "system" if role == "developer" else role
            read = {"role": role, "content": _text(message.get("content"), f"{where}.content")}
        yield read
    if open_ids:
        raise _unanswered(open_ids, "messages")


def fingerprints(messages: Sequence[Message]) -> list[str]:
    """For each message a digest of the conversation up to and with it.

    Clients send calls back with their arguments written anew, and some without the content beside them.
    """
    running, found = blake2b(digest_size=16), []
    for message in messages:
        calls = [_same_call(call) for call in message.get("tool_calls", ())]
        content = "" if calls else message.get("content")
        part = [message["role"], content, calls, message.get("tool_call_id")]
        running.update(json.dumps(part, sort_keys=True).encode())
        found.append(running.hexdigest())
    return found


def _same_call(call: Mapping[str, Any]) -> list[Any]:
    arguments = call["function"]["arguments"]
    with suppress(ValueError, RecursionError):
        arguments = json.loads(arguments)
    return [call["id"], call["function"]["name"], arguments]


def _unanswered(ids: Sequence[str], where: str) -> ChatError:
    return ChatError(
        f"Every call of an assistant message must be answered by a tool message right after it; missing for: "
        f"{', '.join(ids)[:200]}.",
        param=where,
        code="invalid_value",
    )


def _tool_message(message: Mapping[str, Any], where: str, open_ids: list[str]) -> Message:
    call_id = message.get("tool_call_id")
    if call_id not in open_ids:
        raise ChatError(
            f"{where}.tool_call_id must name a call of the assistant message before it that has no result yet.",
            param=f"{where}.tool_call_id",
            code="invalid_value",
        )
    open_ids.remove(call_id)
    content = clean(_text(message.get("content"), f"{where}.content"))
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def _assistant_message(message: Mapping[str, Any], where: str) -> Message:
    calls = message.get("tool_calls") or []
    if not isinstance(calls, (list, tuple)):
        raise ChatError(f"{where}.tool_calls must be a list.", param=f"{where}.tool_calls", code="invalid_type")
    content = message.get("content")
    if content is None and isinstance(message.get("refusal"), str):
        content = message["refusal"]
    if content is None and not calls:
        raise ChatError(f"{where} has neither content nor tool_calls.", param=f"{where}.content", code="invalid_value")
    read: Message = {"role": "assistant", "content": "" if content is None else _text(content, f"{where}.content")}
    if calls:
        read["tool_calls"] = []
        for index, call in enumerate(calls):
            checked = _call(call, f"{where}.tool_calls[{index}]")
            if any(checked["id"] == other["id"] for other in read["tool_calls"]):
                raise ChatError(
                    "Two calls of one message have the same id.",
                    param=f"{where}.tool_calls[{index}].id",
                    code="invalid_value",
                )
            read["tool_calls"].append(checked)
    return read


def _call(call: Any, where: str) -> dict[str, Any]:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping):
        raise ChatError(f"{where} must be an object with a function.", param=where, code="invalid_type")
    found = {"id": call.get("id"), "name": function.get("name"), "arguments": function.get("arguments")}
    for name, value in found.items():
        if not isinstance(value, str) or (name != "arguments" and not value):
            path = where if name == "id" else f"{where}.function"
            raise ChatError(f"{path}.{name} must be a string.", param=f"{path}.{name}", code="invalid_type")
    return {
        "id": found["id"],
        "type": "function",
        "function": {"name": readable(found["name"]), "arguments": readable(found["arguments"])},
    }


def _text(content: Any, where: str) -> str:
    """A content as one text. Parts are joined by line breaks."""
    if isinstance(content, str):
        return readable(content)
    if not isinstance(content, (list, tuple)):
        raise ChatError(f"{where} must be a string or a list of parts.", param=where, code="invalid_type")
    texts = []
    for index, part in enumerate(content):
        kind = part.get("type") if isinstance(part, Mapping) else None
        text = part.get(_PART_TEXT[kind]) if isinstance(part, Mapping) and kind in ("text", "refusal") else None
        if not isinstance(text, str):
            raise ChatError(
                f"{where}[{index}] must be a part of type text; this model reads nothing else.",
                param=f"{where}[{index}].type",
                code="invalid_value",
            )
        texts.append(readable(text))
    return "\n".join(texts)


def readable(text: str) -> str:
    """The text as UTF-8 can hold it: halves of surrogate pairs become question marks."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")

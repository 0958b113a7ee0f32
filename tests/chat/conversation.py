"""Tools and small checks that the tests of the chat-completions faces share."""

from __future__ import annotations

import json
from typing import Any

STOCK = {"lamp": 14, "chair": 6}


def tool_dict(name: str, description: str, **properties: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


STOCK_LEVEL = tool_dict("stock_level", "Pieces of an item in stock.", item={"type": "string"})
ADD = tool_dict("add", "Add two whole numbers.", a={"type": "integer"}, b={"type": "integer"})
TOOLS = [STOCK_LEVEL, ADD]
QUESTION = {"role": "user", "content": "How many lamps and chairs are there together?"}


def step(name: str, arguments: Any, thought: str = "I look.") -> str:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return f"Thought: {thought}\nAction: {name}\nAction Input: {text}"


def final(answer: str, thought: str = "I know.") -> str:
    return f"Thought: {thought}\nFinal Answer: {answer}"


def accumulate(chunks: list[dict[str, Any]]) -> tuple[dict[str, Any], str]:
    """The message and the finish reason that the chunks of a stream add up to."""
    message: dict[str, Any] = {"role": "assistant", "content": None, "refusal": None}
    finish = ""
    for chunk in chunks:
        for choice in chunk["choices"]:
            assert not finish, "nothing follows the finish reason"
            delta = dict(choice["delta"])
            for part in delta.pop("tool_calls", ()):
                calls = message.setdefault("tool_calls", [])
                if part["index"] == len(calls):
                    empty = {"name": part["function"]["name"], "arguments": ""}
                    calls.append({"id": part["id"], "type": part["type"], "function": empty})
                calls[part["index"]]["function"]["arguments"] += part["function"].get("arguments", "")
            for key in ("content", "reasoning_content"):
                if delta.get(key) is not None:
                    message[key] = (message.get(key) or "") + delta[key]
            finish = choice["finish_reason"] or ""
    return message, finish


def without_ids(message: dict[str, Any]) -> dict[str, Any]:
    calls = [call["function"] for call in message.get("tool_calls", ())]
    return {key: value for key, value in message.items() if key != "tool_calls"} | {"calls": calls}

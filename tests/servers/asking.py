"""What the tests of the HTTP backends ask for."""

from __future__ import annotations

from typing import Any

from react_text.backends.base import Backend, Reply, Request

WEATHER: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get the current weather for a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
QUESTION = [{"role": "user", "content": "What is the weather in Lisbon right now?"}]
TEXT = Request(QUESTION, max_tokens=100)
GRAMMAR = 'root ::= " I know." "\\nAction: " [a-z]+'


def reply(backend: Backend, request: Request = TEXT) -> Reply:
    """The end of one generation."""
    *_, last = backend.stream(request)
    assert isinstance(last, Reply)
    return last

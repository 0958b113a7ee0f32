"""Model output, read: text or chat-completions messages in, one Turn out."""

from __future__ import annotations

from typing import Any

from react_text.parsing.reader import parse
from react_text.parsing.stream import StreamEvent, StreamReader

__all__ = ["StreamEvent", "StreamReader", "parse", "parse_message"]


def parse_message(message: Any, tools: Any = (), *, finish_reason: str | None = None) -> Any:
    from react_text.parsing import message as module

    return module.parse_message(message, tools, finish_reason=finish_reason)

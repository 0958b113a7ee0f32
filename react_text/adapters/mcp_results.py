"""What an MCP tool gave back, as text for a model that reads text only. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any


def result_text(result: Any) -> str:
    """The parts of a call's result as text: text as it is, structured content as JSON, what is no text described."""
    shown = [text for part in result.content if (text := _part_text(part))]
    structured = result.structured_content
    if structured is not None and not _says_the_same(structured, result.content):
        shown.append(json.dumps(structured, ensure_ascii=False))
    return "\n".join(shown)


def _part_text(part: Any) -> str:
    match part.type:
        case "text":
            return str(part.text)
        case "image" | "audio":
            return f"[{part.type}: {part.mime_type}, {_size(part.data)}, not shown]"
        case "resource_link":
            about = ", ".join(word for word in (part.mime_type, part.description) if word)
            return f"[link: {part.name} {part.uri}{f' ({about})' if about else ''}]"
        case "resource":
            return _resource_text(part.resource)
        case other:
            return f"[{other}, not shown]"


def _resource_text(resource: Any) -> str:
    text = getattr(resource, "text", None)
    if text is not None:
        return f"[{resource.uri}]\n{text}"
    return f"[file: {resource.uri}, {resource.mime_type or 'binary'}, {_size(resource.blob)}, not shown]"


def _size(base64: str) -> str:
    size = len(base64) * 3 // 4 - base64[-2:].count("=")
    return f"{size} bytes" if size < 10_000 else f"{size / 1000:.0f} kB"


def _says_the_same(structured: Any, parts: Sequence[Any]) -> bool:
    """Whether the text parts are the structured content already, as servers are asked to write it for older clients."""
    said = [_value(part.text) for part in parts if part.type == "text"]
    if not said:
        return False
    wrapped = structured.get("result") if isinstance(structured, dict) and len(structured) == 1 else structured
    return any(value in (said, said[0] if len(said) == 1 else said) for value in (structured, wrapped))


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text

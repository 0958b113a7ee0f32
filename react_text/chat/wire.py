"""What goes over the wire, in process or over HTTP: bodies in, statuses and bodies out, chunks as server-sent events.

Pure, and the one place where an exception becomes an answer: what went wrong inside is told in one sentence and goes
to the log, never to a client.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from react_text.errors import BackendError, ChatError, ContextOverflow, EndpointError, ReactTextError

if TYPE_CHECKING:
    from react_text.chat.fallback import FallbackChat

_log = logging.getLogger("react_text")

CREATED = 0
"""When a model was made: not known of a local one."""
DONE = b"data: [DONE]\n\n"


@dataclass(frozen=True)
class Answer:
    """A whole answer: its status, its body as JSON values, and further headers."""

    status: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)


def route(method: str, path: str, chat: FallbackChat) -> Answer | None:
    """The answer to all but a chat completion, for which it is None."""
    path = path.rstrip("/")
    if path.endswith("/chat/completions"):
        if method == "POST":
            return None
        return _refused(405, f"{method} is not allowed here; use POST.", "method_not_allowed")
    name = path.rpartition("/models/")[2] if "/models/" in path else None
    if not path.endswith("/models") and name is None:
        return _refused(404, f"There is nothing at {method} {path or '/'}.", "unknown_url")
    if method not in ("GET", "HEAD"):
        return _refused(405, f"{method} is not allowed here; use GET.", "method_not_allowed")
    entry = {"id": chat.name, "object": "model", "created": CREATED, "owned_by": "react-text"}
    if name is None:
        return Answer(200, {"object": "list", "data": [entry]})
    if name == chat.name:
        return Answer(200, entry)
    error = ChatError(
        f"There is no model {name[:80]}; it is {chat.name}.", status=404, param="model", code="model_not_found"
    )
    return error_answer(error)


def read_body(content: bytes) -> dict[str, Any]:
    """The JSON object of a request. Raises ChatError."""
    try:
        body = json.loads(content, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise ChatError("The body is not valid JSON.", code="invalid_json") from None
    if not isinstance(body, dict):
        raise ChatError("The body must be a JSON object.", code="invalid_type")
    return body


def json_bytes(value: Any) -> bytes:
    """JSON values as a body; halves of surrogate pairs become question marks."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def event(value: Any) -> bytes:
    """A server-sent event."""
    return b"data: " + json_bytes(value) + b"\n\n"


def error_answer(error: Exception) -> Answer:
    """The answer for what was raised while a request was answered."""
    told = as_chat_error(error)
    headers = {} if told.retry_after is None else {"retry-after": str(max(1, math.ceil(told.retry_after)))}
    return Answer(told.status, told.to_dict(), headers)


def as_chat_error(error: Exception) -> ChatError:
    """What was raised, in the words of the public API."""
    if isinstance(error, ChatError):
        return error
    if isinstance(error, ContextOverflow):
        return ChatError(str(error), param="messages", code="context_length_exceeded")
    if isinstance(error, EndpointError) and error.status == 429:
        wait = error.retry_after or 1
        return ChatError(str(error), status=429, type="rate_limit_error", code="rate_limit_exceeded", retry_after=wait)
    if isinstance(error, BackendError):
        status = 503 if error.retryable else 502
        return ChatError(str(error), status=status, type="server_error", code="model_unavailable")
    if isinstance(error, ReactTextError):
        return ChatError(str(error), status=500, type="server_error", code="server_error")
    _log.error("A request could not be answered.", exc_info=error)
    return ChatError(
        "Something went wrong in the server; its log says what.", status=500, type="server_error", code="server_error"
    )


def _refused(status: int, sentence: str, code: str) -> Answer:
    return error_answer(ChatError(sentence, status=status, code=code))


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no JSON number")

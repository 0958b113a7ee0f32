"""What a server's error means: its message found in any body, and the reason told by its words.

Pure: a status and a body in, a reading out. Status codes alone decide little: the same refusal of tools is a 400, a 404
or a 500, depending on the server.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

REASONS = {
    "unreachable": "no connection could be made",
    "timeout": "no answer came in time",
    "disconnected": "the connection ended before an answer was complete",
    "tools": "the endpoint takes no tools for this model",
    "overflow": "the prompt does not fit the context window",
    "unparsable": "the server could not read what its own model wrote",
    "history": "the server could not read an earlier call in the conversation",
    "grammar": "the server would not take the grammar",
    "prefill": "the server would not continue a begun reply",
    "template": "the model has no chat template",
    "key": "the key is missing or wrong",
    "model": "the server has no such model",
    "address": "there is no such page at that address",
    "loading": "the server is still loading its model",
    "busy": "the server is overloaded or limits the rate",
    "request": "the server would not take the request",
    "server": "the server failed",
    "malformed": "the answer is not what such an endpoint sends",
}

_WORDS: tuple[tuple[str, str], ...] = (
    ("overflow", r"exceed_context_size|context_length_exceeded|maximum context length|available context size"),
    ("overflow", r"context (?:window|length|size)\b.*exceed|exceed\w* .{0,60}context (?:window|length|size)"),
    ("overflow", r"prompt is too long|input is too long|too many tokens in the prompt"),
    ("unparsable", r"failed to parse input at pos|failed to parse generated text|error parsing tool call"),
    ("unparsable", r"does not match the expected \S+ format"),
    ("history", r"failed to parse tool call arguments|invalid tool call arguments|invalid message tool call"),
    ("grammar", r"grammar and tools are mutually exclusive|cannot use custom grammar|cannot use both json_schema"),
    ("grammar", r"(?:parse|initiali[sz]e|invalid|unsupported|compile)\b.{0,40}\b(?:grammar|samplers)"),
    ("prefill", r"\bprefill|cannot have 2 or more assistant messages at the end|last message .{0,40}assistant"),
    ("template", r"chat template is no longer allowed|(?:has|have) no chat template|no chat template"),
    ("template", r"does not support chat|provide a chat template"),
    ("loading", r"\bloading model|model is (?:still |currently )?loading"),
)
"""Reasons and the words they show in, the first that matches counts. Sources: recorded answers and issue threads."""

_TOOL_WORDS = re.compile(
    r"(?:does not|doesn't|do not|don't|cannot|can't) support (?:the use of )?(?:tool|function)"
    r"|(?:tool|function)s?(?:[ _-]?(?:use|calls?|calling|choice))? (?:is|are) not (?:supported|enabled|available)"
    r"|tools? param requires|tool_choice param requires|--jinja|--enable-auto-tool-choice|--tool-call-parser"
    r"|unsupported param(?:eter)?s?:? ['\"`]?(?:tools|tool_choice|functions)"
    r"|support tool use|(?:does|do) not support parameters:?.{0,80}\b(?:tools|tool_choice|functions)"
    r"|unrecognized request arguments? supplied: .{0,40}\b(?:tools|tool_choice|functions)"
    r"|unsupported (?:feature|value|field).{0,40}\btools?\b|tool calling (?:is )?(?:un|not )supported",
    re.IGNORECASE | re.DOTALL,
)

_RAW = (
    re.compile(r"failed to parse input at pos \d+: (?P<raw>.+)", re.IGNORECASE | re.DOTALL),
    re.compile(r"error parsing tool call\W{0,5}raw='(?P<raw>.*?)'(?:, err=.*)?$", re.IGNORECASE | re.DOTALL),
)
"""Where servers put the text they could not read."""

_REFUSAL = re.compile(
    r"unsupported|not supported|does not support|unexpected|unrecognized|unknown|extra|not permitted|not allowed"
    r"|too_long|invalid|at most|validation error|cannot be used|does not take|only the default",
    re.IGNORECASE,
)

_NUMBERS: tuple[tuple[str, str], ...] = (
    (r"request \((?P<prompt>\d+) tokens\).*context size \((?P<context>\d+)", "llama.cpp"),
    (r"context length is (?P<context>\d+) tokens.*?requested (?P<prompt>\d+) tokens", "llama-cpp-python, OpenAI"),
    (r"context length is (?P<context>\d+) tokens.*?at least (?P<prompt>\d+) input", "vLLM"),
    (r"input length \((?P<prompt>\d+) tokens\).*context length \((?P<context>\d+)", "SGLang"),
)


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """What an error body says, in whatever shape it came."""

    message: str = ""
    type: str = ""
    code: str = ""
    param: str = ""

    @property
    def words(self) -> str:
        return " ".join(part for part in (self.message, self.type, self.code) if part)


def read_body(text: str) -> ErrorBody:
    """The message of an error body: nested, flat, a list of details, plain text or a page of HTML."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return ErrorBody(message=_plain(text))
    if isinstance(value, list) and value:
        value = value[0]
    return read_error(value)


def read_error(value: Any) -> ErrorBody:
    """The same from a body that was JSON, or from an event inside a stream."""
    if not isinstance(value, Mapping):
        return ErrorBody(message=_plain(str(value)) if value else "")
    error = value.get("error", value)
    if isinstance(error, str):
        try:
            inner = json.loads(error)
        except (ValueError, RecursionError):
            inner = None
        error = inner if isinstance(inner, Mapping) else {"message": error}
    if not isinstance(error, Mapping):
        return ErrorBody(message=_plain(json.dumps(error)))
    message = next((error[key] for key in ("message", "detail", "msg", "error") if error.get(key)), None)
    if message is None:
        odd = next((f"{key}: {found}" for key, found in error.items() if "error" in str(key)), "")
        message = odd
    if not isinstance(message, str):
        message = json.dumps(message, ensure_ascii=False)
    kind = error.get("type") or error.get("error_type") or value.get("error_type") or ""
    return ErrorBody(message, str(kind), str(error.get("code") or ""), str(error.get("param") or ""))


def reason_of(status: int | None, body: ErrorBody, *, sent_tools: bool = False) -> str:
    """The key of REASONS that an error stands for."""
    words = body.words
    if sent_tools and _TOOL_WORDS.search(words):
        return "tools"
    for reason, pattern in _WORDS:
        if re.search(pattern, words, re.IGNORECASE | re.DOTALL):
            return reason
    if status in (401, 403):
        return "key"
    if status == 404 and re.search(r"\bmodels?\b|snapshot folder", words, re.IGNORECASE):
        return "model"
    if status in (404, 405):
        return "address"
    if status in (408, 409, 425, 429, 502, 503, 504, 529):
        return "busy"
    if status is not None and status >= 500 and status != 501 and not _is_request_fault(body):
        return "server"
    return "request"


def _is_request_fault(body: ErrorBody) -> bool:
    """Whether a 5xx says that the request itself is wrong, so that asking again cannot help."""
    return bool(
        re.search(
            r"validation errors?:|invalid_request|\btool choice\b|failed to parse (?:tools|messages)|unsupported|"
            r"not supported|requires --|can only concatenate|missing tool type",
            body.words,
            re.IGNORECASE,
        )
    )


def salvaged(body: ErrorBody) -> str | None:
    """The text the model wrote, where a server put it into its complaint about it."""
    for pattern in _RAW:
        if found := pattern.search(body.message):
            return found["raw"]
    return None


def overflow_numbers(body: ErrorBody) -> tuple[int, int] | None:
    """Prompt tokens and context length named in a message about overflow."""
    for pattern, _server in _NUMBERS:
        if found := re.search(pattern, body.message, re.IGNORECASE | re.DOTALL):
            return int(found["prompt"]), int(found["context"])
    return None


def refused_parameter(body: ErrorBody, sent: Iterable[str]) -> str | None:
    """Which of the parameters that were sent an error is about, or None."""
    field = body.param.rpartition(".")[2]
    for name in sent:
        if name == field:
            return name
    if not _REFUSAL.search(body.words):
        return None
    for name in sent:
        if re.search(rf"(?<![\w'])['\"`]{re.escape(name)}['\"`]|\bbody\.{re.escape(name)}\b", body.message):
            return name
    for name in sent:
        pattern = rf"(?:param(?:eter)?s?|arguments?|fields?)\b[^.]{{0,40}}(?<![\w-]){re.escape(name)}\b"
        if re.search(pattern, body.message):
            return name
    return None


def _plain(text: str) -> str:
    """Readable words of a body that is no JSON: tags dropped, white space joined, at most 500 characters."""
    if text.lstrip()[:1] == "<":
        title = re.search(r"<title[^>]*>([^<]{1,300})", text, re.IGNORECASE)
        text = html.unescape(title.group(1)) if title else re.sub(r"<[^>]{0,500}>", " ", text[:5000])
    return " ".join(text[:2000].split())[:500]

"""The answer to a chat completion or raw completion, read line by line: a stream of events, or one JSON body.

Pure. A stream is complete only with a finish reason: some servers never send [DONE], some send it after cutting a
stream short, some answer an overflow with an empty one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from react_text.backends.base import Delta, FinishReason, Reply, Request, StreamItem
from react_text.backends.chat_template import RAW_STOPS
from react_text.backends.http.assemble import assemble
from react_text.backends.http.endpoint_errors import ErrorBody, read_body, read_error
from react_text.backends.http.reply_text import ReplyText
from react_text.errors import BackendError, EndpointError
from react_text.messages import Message, Usage

CUT_SHORT = frozenset({"length", "max_tokens", "max_length", "model_length"})
BROKEN_OFF = frozenset({"abort", "error", "cancelled"})
"""Finish reasons that say the token limit was met, and that the server gave up."""

MOST_GARBAGE = 20
"""Lines of a stream that may be no JSON before the answer is given up."""

_BESIDE_TEXT = ("tool_calls", "function_call", "reasoning_content", "reasoning")
"""What a delta may hold that is no text of the reply."""

_FIELDS = ("data", "event", "id", "retry", ":")


class ChatReader:
    """Reads one answer. `error` makes the error that an error body stands for."""

    def __init__(
        self,
        request: Request,
        error: Callable[[int | None, ErrorBody], BackendError],
        *,
        continued: bool,
        raw: bool = False,
    ) -> None:
        self.text = ReplyText(request, continued=continued, stops=RAW_STOPS if raw else ())
        self.finished = ""
        """The finish reason the server gave, "" where it gave none or broke off."""
        self.done = False
        """Whether nothing more needs to be read."""
        self._request = request
        self._error = error
        self._raw = raw
        self._shape = ""
        self._whole: list[str] = []
        self._lines: list[str] = []
        self._usage: Mapping[str, Any] = {}
        self._timings: Mapping[str, Any] = {}
        self._events = 0
        self._garbage = 0
        self._plain = True

    @property
    def empty(self) -> bool:
        """Whether the answer held nothing at all."""
        return not (self._events or self._whole or self._garbage or self.started)

    @property
    def started(self) -> bool:
        """Whether anything was handed on."""
        return self.text.tokens > 0

    @property
    def complete(self) -> bool:
        """Whether the answer came to its own end."""
        return self.done and self.text.ended is None

    def feed(self, line: str) -> Iterator[StreamItem]:
        """Take one line, without its line break."""
        if not self._shape and line.strip():
            self._shape = "events" if line.startswith(_FIELDS) else "whole"
        if self._shape == "whole":
            self._whole.append(line)
        elif line.startswith("data:"):
            data = line[5:].strip()
            if data == "[DONE]":
                self.done = True
            elif data:
                yield from self._data(data)
        elif line.startswith(":"):
            # a sign of life: whoever reads may want to stop here
            yield Delta("", self.text.tokens)
        elif line.startswith("error:"):
            raise self._error(None, read_body(line[6:].strip()))

    def end(self) -> Iterator[StreamItem]:
        """The rest of the text and the Reply. Raises EndpointError where the answer is incomplete or no answer."""
        if self._shape == "whole":
            yield from self._whole_answer("\n".join(self._whole))
            return
        if self.text.ended is None and not self.finished:
            raise self._incomplete()
        yield from self.text.flush()
        finish = self.text.ended or _finish(self.finished)
        message: Message | None = None
        if not self._raw:
            message = {"role": "assistant", "content": self.text.text or None}
            if not self._plain:
                message = dict(assemble(self._lines)["message"])
            if self.text.ended or self._request.reply_start:
                message["content"] = self.text.text
        yield Reply(self.text.text, finish, self._counted(), message)

    def salvage(self, text: str) -> Iterator[StreamItem]:
        """A Reply of the text that a server wrote into its complaint about it."""
        if not self.started:
            yield from self.text.add(text)
            yield from self.text.flush()
        yield Reply(text, "stop", self._counted(), None if self._raw else {"role": "assistant", "content": text})

    def _data(self, data: str) -> Iterator[StreamItem]:
        try:
            event = json.loads(data)
        except (ValueError, RecursionError):
            event = None
        if not isinstance(event, Mapping):
            self._garbage += 1
            if self._garbage > MOST_GARBAGE:
                raise EndpointError("The endpoint's stream is no JSON.", reason="malformed")
            return
        self._events += 1
        if event.get("error") or any("error" in key for key in event if "choices" not in event):
            fault = read_error(event)
            raise self._error(int(fault.code) if fault.code.isdigit() else None, fault)
        self._usage = event.get("usage") or self._usage
        self._timings = event.get("timings") or self._timings
        choices = event.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, Mapping) or choice.get("index"):
            self._bounded()
            return
        self._lines.append("data: " + data)
        reason = choice.get("finish_reason")
        if reason:
            self.finished = "" if reason in BROKEN_OFF else str(reason)
        delta = choice if self._raw else choice.get("delta") or choice.get("message") or {}
        piece = delta.get("text") if self._raw else delta.get("content")
        if isinstance(piece, str) and piece:
            yield from self.text.add(piece)
        if any(delta.get(name) for name in _BESIDE_TEXT):
            self._plain = False
            if not piece:
                yield from self.text.add("")
        self._bounded()

    def _bounded(self) -> None:
        """End an answer that was ended on this side, and one that goes on without saying anything."""
        if self.text.ended:
            self.done = True
        elif self._events > 4 * self._request.max_tokens + 1000:
            raise EndpointError("The endpoint's stream does not end.", reason="malformed")

    def _whole_answer(self, text: str) -> Iterator[StreamItem]:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, Mapping):
            said = read_body(text).message[:120]
            raise EndpointError(
                f"The endpoint's answer is not a completion: {said!r}.",
                reason="malformed",
                hint="Is the base URL that of an API, with /v1 at its end?",
            )
        choices = value.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, Mapping):
            if value.get("error") or value.get("detail") or value.get("message"):
                raise self._error(None, read_error(value))
            raise EndpointError("The endpoint's answer holds no choice.", reason="malformed")
        self._usage = value.get("usage") or {}
        self._timings = value.get("timings") or {}
        self.finished = str(choice.get("finish_reason") or "stop")
        sent = choice.get("message")
        message = dict(sent) if isinstance(sent, Mapping) else {"role": "assistant", "content": choice.get("text")}
        content = message.get("content")
        content = content if isinstance(content, str) else ""
        # in one piece, llama-server repeats the beginning it was given
        if self.text.text and content.startswith(self.text.text):
            content = content[len(self.text.text) :]
        yield from self.text.add(content)
        yield from self.text.flush()
        if self.text.ended or self._request.reply_start:
            message["content"] = self.text.text
        finish = self.text.ended or _finish(self.finished)
        yield Reply(self.text.text, finish, self._counted(), None if self._raw else message)

    def _incomplete(self) -> EndpointError:
        if not self._events:
            what = "answered with an empty stream" if not self._garbage else "sent a stream that is no JSON"
            return EndpointError(f"The endpoint {what}.", reason="malformed")
        return EndpointError(
            "The endpoint's stream ended before the reply was complete (no finish reason).",
            reason="disconnected",
            retryable=True,
            hint="Some servers cut a running stream when another request comes in.",
        )

    def _counted(self) -> Usage:
        measured = self.text.usage()
        timings = self._timings
        if isinstance(timings.get("predicted_n"), int):
            return Usage(
                evaluated=int(timings.get("prompt_n") or 0),
                reused=int(timings.get("cache_n") or 0),
                generated=timings["predicted_n"],
                prompt_seconds=float(timings.get("prompt_ms") or 0.0) / 1000,
                generate_seconds=float(timings.get("predicted_ms") or 0.0) / 1000,
            )
        prompt = _count(self._usage.get("prompt_tokens"))
        cached = _count((self._usage.get("prompt_tokens_details") or {}).get("cached_tokens"))
        return Usage(
            evaluated=max(0, prompt - cached),
            reused=min(prompt, cached),
            generated=_count(self._usage.get("completion_tokens")) or measured.generated,
            prompt_seconds=measured.prompt_seconds,
            generate_seconds=measured.generate_seconds,
        )


def _finish(reason: str) -> FinishReason:
    return "length" if reason in CUT_SHORT else "stop"


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0

"""The answer to a chat completion or raw completion, read line by line: a stream of events, or one JSON body.

Pure. A stream is complete only with a finish reason: some servers never send [DONE], some send it after cutting a
stream short, some answer an overflow with an empty one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from react_text.backends.base import FinishReason, Reply, Request, StreamItem
from react_text.backends.chat_template import RAW_STOPS
from react_text.backends.http.assemble import assemble_events, text_of
from react_text.backends.http.endpoint_errors import ErrorBody, read_body, read_error
from react_text.backends.http.reply_text import ReplyText
from react_text.errors import BackendError, EndpointError
from react_text.messages import Message, Usage

CUT_SHORT = frozenset({"length", "max_tokens", "max_length", "model_length"})
BROKEN_OFF = frozenset({"abort", "error", "cancelled"})
"""Finish reasons that say the token limit was met, and that the server gave up."""

MOST_GARBAGE = 20
"""Lines of a stream that may be no JSON before the answer is given up."""

_BESIDE_TEXT = frozenset(("tool_calls", "function_call", "reasoning_content", "reasoning"))
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
        self._begun = bool(request.reply_start)
        self._most_events = 4 * request.max_tokens + 1000
        self._error = error
        self._raw = raw
        self._shape = ""
        self._whole: list[str] = []
        self._seen: list[Mapping[str, Any]] = []
        self._usage: Mapping[str, Any] = {}
        self._timings: Mapping[str, Any] = {}
        self._events = 0
        self._garbage = 0
        self._plain = True

    @property
    def empty(self) -> bool:
        """Whether the answer held nothing at all."""
        return not (self._events or self._whole or self._garbage or self.text.started)

    def feed(self, line: str) -> Sequence[StreamItem]:
        """Take one line that is not empty, without its line break."""
        if not self._shape:
            self._shape = "events" if line.startswith(_FIELDS) else "whole"
        if self._shape == "whole":
            self._whole.append(line)
        elif line.startswith("data:"):
            data = line[5:].strip()
            if data == "[DONE]":
                self.text.done = True
            elif data:
                return self._data(data)
        elif line.startswith(":"):
            return self.text.sign_of_life()
        elif line.startswith("error:"):
            raise self._error(None, read_body(line[6:].strip()))
        return ()

    def end(self) -> Sequence[StreamItem]:
        """The rest of the text and the Reply. Raises EndpointError where the answer is incomplete or no answer."""
        if self._shape == "whole":
            return self._whole_answer("\n".join(self._whole))
        if self.text.ended is None and not self.finished:
            raise self._incomplete()
        rest = self.text.flush()
        finish = self.text.ended or _finish(self.finished)
        message: Message | None = None
        if not self._raw:
            message = {"role": "assistant", "content": self.text.text or None}
            if not self._plain:
                message = dict(assemble_events(self._seen)["message"])
            if self.text.ended or self._begun:
                message["content"] = self.text.text
            message = _with_lost_calls(message, self.finished)
        return [*rest, Reply(self.text.text, finish, self._counted(), message)]

    def salvage(self, text: str) -> list[StreamItem]:
        """A Reply of the text that a server wrote into its complaint about it."""
        return self.text.salvage(text, None if self._raw else {"role": "assistant", "content": text})

    def _data(self, data: str) -> Sequence[StreamItem]:
        try:
            event = json.loads(data)
        except (ValueError, RecursionError):
            event = None
        if not isinstance(event, dict):
            self._garbage += 1
            if self._garbage > MOST_GARBAGE:
                raise EndpointError("The endpoint's stream is no JSON.", reason="malformed")
            return ()
        self._events += 1
        if event.get("error") or ("choices" not in event and any("error" in key for key in event)):
            fault = read_error(event)
            raise self._error(int(fault.code) if fault.code.isdigit() else None, fault)
        if event.get("usage"):
            self._usage = _dict(event["usage"])
        if event.get("timings"):
            self._timings = _dict(event["timings"])
        choices = event.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict) or choice.get("index"):
            self._bounded()
            return ()
        self._seen.append(event)
        if choice.get("finish_reason"):
            reason = str(choice["finish_reason"])
            self.finished = "" if reason in BROKEN_OFF else reason
        delta = choice if self._raw else choice.get("delta") or choice.get("message")
        if not isinstance(delta, dict):
            delta = {}
        piece = delta.get("text" if self._raw else "content")
        if not isinstance(piece, str):
            piece = text_of(piece)
        items: Sequence[StreamItem] = ()
        if piece:
            items = self.text.add(piece)
        if not _BESIDE_TEXT.isdisjoint(delta) and any(delta.get(name) for name in _BESIDE_TEXT):
            self._plain = False
            if not piece:
                items = self.text.add("")
        self._bounded()
        return items

    def _bounded(self) -> None:
        """End an answer that was ended on this side, and one that goes on without saying anything."""
        if self.text.ended:
            self.text.done = True
        elif self._events > self._most_events:
            raise EndpointError("The endpoint's stream does not end.", reason="malformed")

    def _whole_answer(self, text: str) -> list[StreamItem]:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            said = read_body(text).message[:120]
            raise EndpointError(
                f"The endpoint's answer is not a completion: {said!r}.",
                reason="malformed",
                hint="Is the base URL that of an API, with /v1 at its end?",
            )
        choices = value.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict):
            if value.get("error") or value.get("detail") or value.get("message"):
                raise self._error(None, read_error(value))
            raise EndpointError("The endpoint's answer holds no choice.", reason="malformed")
        self._usage = _dict(value.get("usage"))
        self._timings = _dict(value.get("timings"))
        self.finished = str(choice.get("finish_reason") or "stop")
        sent = choice.get("message")
        message = dict(sent) if isinstance(sent, dict) else {"role": "assistant", "content": choice.get("text")}
        content = text_of(message.get("content"))
        # in one piece, llama-server repeats the beginning it was given
        if self.text.text and content.startswith(self.text.text):
            content = content[len(self.text.text) :]
        shown = [*self.text.add(content), *self.text.flush()]
        if self.text.ended or self._begun:
            message["content"] = self.text.text
        message = _with_lost_calls(message, self.finished)
        finish = self.text.ended or _finish(self.finished)
        return [*shown, Reply(self.text.text, finish, self._counted(), None if self._raw else message)]

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
        """What the server counted, up to where the reply was ended on this side; else what was counted here."""
        measured = self.text.usage()
        timings = self._timings
        if "predicted_n" in timings:
            return Usage(
                evaluated=_count(timings.get("prompt_n")),
                reused=_count(timings.get("cache_n")),
                generated=_count(timings["predicted_n"]),
                prompt_seconds=_milliseconds(timings.get("prompt_ms")),
                generate_seconds=_milliseconds(timings.get("predicted_ms")),
            )
        prompt = _count(self._usage.get("prompt_tokens"))
        cached = _count(_dict(self._usage.get("prompt_tokens_details")).get("cached_tokens"))
        return Usage(
            evaluated=max(0, prompt - cached) if prompt else measured.evaluated,
            reused=min(prompt, cached),
            generated=_count(self._usage.get("completion_tokens")) or measured.generated,
            prompt_seconds=measured.prompt_seconds,
            generate_seconds=measured.generate_seconds,
        )


def _with_lost_calls(message: Message, finished: str) -> Message:
    """The message, with an empty list of calls where the server says that there are some and sent none."""
    if finished in ("tool_calls", "function_call") and not (message.get("tool_calls") or message.get("function_call")):
        return {**message, "tool_calls": []}
    return message


def _finish(reason: str) -> FinishReason:
    return "length" if reason in CUT_SHORT else "stop"


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _milliseconds(value: Any) -> float:
    return value / 1000 if isinstance(value, int | float) else 0.0

"""The answer of Ollama's /api/chat, read line by line: a JSON object per line. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from react_text.backends.base import FinishReason, Reply, Request, StreamItem
from react_text.backends.http.endpoint_errors import ErrorBody, read_body, read_error
from react_text.backends.http.ollama_answer import to_choice
from react_text.backends.http.reply_text import ReplyText
from react_text.errors import BackendError, EndpointError
from react_text.messages import Message, Usage


class OllamaReader:
    """Reads one answer of /api/chat, a JSON object per line; complete only with `done`."""

    def __init__(self, request: Request, error: Callable[[int | None, ErrorBody], BackendError]) -> None:
        self.text = ReplyText(request, continued=False)
        self._error = error
        self._content: list[str] = []
        self._thinking: list[str] = []
        self._calls: list[Any] = []
        self._last: Mapping[str, Any] = {}
        self._events = 0

    def feed(self, line: str) -> Sequence[StreamItem]:
        """Take one line that is not empty, without its line break."""
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            event = None
        if not isinstance(event, dict):
            said = read_body(line).message[:120]
            raise EndpointError(f"The endpoint's answer is not Ollama's: {said!r}.", reason="malformed")
        if any("error" in key for key in event):
            raise self._error(None, read_error(event))
        self._events += 1
        sent = event.get("message")
        message = sent if isinstance(sent, dict) else {}
        thinking, calls, content = (message.get(name) for name in ("thinking", "tool_calls", "content"))
        if isinstance(thinking, str) and thinking:
            self._thinking.append(thinking)
        if isinstance(calls, list):
            self._calls += calls
        items: Sequence[StreamItem] = ()
        if isinstance(content, str) and content:
            self._content.append(content)
            items = self.text.add(content)
        elif thinking or calls:
            items = self.text.add("")
        if event.get("done"):
            self._last = event
        self.text.done = bool(self._last or self.text.ended)
        return items

    def end(self) -> Sequence[StreamItem]:
        """The rest of the text and the Reply. Raises EndpointError where the answer is incomplete."""
        if not self.text.ended and not self._last:
            what = "ended before the reply was complete" if self._events else "was empty"
            raise EndpointError(f"The endpoint's stream {what}.", reason="disconnected", retryable=True)
        rest = self.text.flush()
        message: Message = {
            "role": "assistant",
            "content": self.text.text if self.text.ended else "".join(self._content),
        }
        if self._thinking:
            message["thinking"] = "".join(self._thinking)
        if self._calls:
            message["tool_calls"] = self._calls
        choice = to_choice({"message": message, "done_reason": self._last.get("done_reason")})
        server_said: FinishReason = "length" if self._last.get("done_reason") == "length" else "stop"
        return [*rest, Reply(self.text.text, self.text.ended or server_said, self._counted(), choice["message"])]

    def salvage(self, text: str) -> list[StreamItem]:
        """A Reply of the text that the server wrote into its complaint about it."""
        return self.text.salvage(text, {"role": "assistant", "content": text})

    def _counted(self) -> Usage:
        """What the server counted, which it tells at the end only; else what was counted here."""
        last = self._last
        if not isinstance(last.get("eval_count"), int):
            return self.text.usage()
        prompt, prompt_ns, ns = (
            last.get(name) for name in ("prompt_eval_count", "prompt_eval_duration", "eval_duration")
        )
        return Usage(
            evaluated=prompt if isinstance(prompt, int) else 0,
            generated=last["eval_count"],
            prompt_seconds=prompt_ns / 1e9 if isinstance(prompt_ns, int) else 0.0,
            generate_seconds=ns / 1e9 if isinstance(ns, int) else 0.0,
        )

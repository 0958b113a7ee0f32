"""A stand-in for Ollama, which cannot be installed here: the pages and the chat of its own API, as far as a client
sees them.

Follows the server's source (server/routes.go, server/images.go, openai/openai.go): the check for tools comes before
the model is loaded, arguments are objects, a stop beside calls stays `stop`, several calls of a turn may all carry
index 0, an answer the parser cannot read is an error that holds the raw text, a prompt that is too long is refused
where truncation is. A word counts as a token.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from standin import Wire

Turn = Callable[[Sequence[Mapping[str, Any]]], Sequence[Mapping[str, Any]]]
"""What the model says to a conversation: the messages of the stream, in order."""


class OllamaStandIn:
    """`models` maps a name to its capabilities; `turn` plays the model; `error` is sent into the stream instead."""

    def __init__(
        self, models: Mapping[str, Sequence[str]], turn: Turn, *, error: str | None = None, context: int = 40960
    ) -> None:
        self.models = models
        self.turn = turn
        self.error = error
        self.context = context

    def __call__(self, wire: Wire) -> None:
        path, body = wire.received.path, wire.received.body or {}
        if path == "/api/version":
            wire.json(200, {"version": "0.33.0"})
        elif path == "/api/tags":
            models = [{"name": name, "model": name, "digest": f"digest-of-{name}"} for name in self.models]
            wire.json(200, {"models": models})
        elif path not in ("/api/show", "/api/chat"):
            wire.body(404, b"404 page not found", "text/plain")
        elif self._full_name(body.get("model")) not in self.models:
            wire.json(404, {"error": f"model '{body.get('model')}' not found"})
        elif path == "/api/show":
            able = self.models[self._full_name(body["model"])]
            info = {"general.architecture": "llama", "llama.context_length": self.context}
            wire.json(200, {"capabilities": list(able), "model_info": info, "template": "{{ .Prompt }}"})
        else:
            self._chat(wire, body)

    def _full_name(self, name: Any) -> str:
        return name if ":" in str(name) else f"{name}:latest"

    def _chat(self, wire: Wire, body: Mapping[str, Any]) -> None:
        name = self._full_name(body["model"])
        if body.get("tools") and "tools" not in self.models[name]:
            wire.json(400, {"error": f"registry.ollama.ai/library/{name} does not support tools"})
            return
        for message in body["messages"]:
            for call in message.get("tool_calls") or ():
                if not isinstance(call["function"]["arguments"], dict):
                    wire.json(400, {"error": "invalid tool call arguments"})
                    return
        words, context = len(json.dumps(body["messages"]).split()), int(body["options"]["num_ctx"])
        if words > context and body.get("truncate") is False:
            said = f"request ({words} tokens) exceeds the available context size ({context} tokens), try increasing it"
            inner = {"error": {"code": 400, "message": said, "type": "exceed_context_size_error"}}
            wire.json(400, {"error": json.dumps(inner)})
            return
        lines: list[Mapping[str, Any]] = []
        for message in self.turn(body["messages"]):
            lines.append({"model": name, "message": {"role": "assistant", "content": "", **message}, "done": False})
        if self.error is not None:
            lines.append({"error": self.error})
        else:
            end = {"model": name, "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}
            counts = {"prompt_eval_count": 26, "prompt_eval_duration": 130_000_000}
            lines.append({**end, **counts, "eval_count": 29, "eval_duration": 400_000_000})
        wire.stream([json.dumps(line) + "\n" for line in lines], "application/x-ndjson")

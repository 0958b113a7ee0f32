"""How many tokens a conversation has, as the server's own tokenizer and template count it, where it has pages for that.

Nothing is generated.
"""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import Callable, Generator, Mapping
from typing import Any, TypeAlias

from react_text.backends.http.address import Address
from react_text.backends.http.connection import Answer, Ask, Connection

COUNTS_KEPT = 64

Counting: TypeAlias = Generator[Ask, "Answer | None", "int | None"]
"""Small questions that end in a number of tokens, or None where the server does not tell."""


def can_count(server: str) -> bool:
    """Whether this kind of server has pages that count tokens."""
    return server in _COUNTED_BY


class TokenCounts:
    """Counts the prompts of one endpoint's requests and keeps the last counts; a server that once did not is let be."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._kept: OrderedDict[str, int] = OrderedDict()
        self._asks = True

    def of(self, server: str, body: Mapping[str, Any]) -> int | None:
        """Tokens of the prompt of a request with this body; None where that cannot be known.

        In an event loop nothing is asked: it would hold up everything else in it.
        """
        key = json.dumps([body.get(name) for name in ("prompt", "messages", "tools")])
        if key in self._kept:
            return self._kept[key]
        if not self._asks or _in_event_loop():
            return None
        counted = self._connection.drive(_COUNTED_BY[server](self._connection.address, body))
        if counted is None:
            self._asks = False
            return None
        self._kept[key] = counted
        while len(self._kept) > COUNTS_KEPT:
            self._kept.popitem(last=False)
        return counted


def _llama_cpp(address: Address, body: Mapping[str, Any]) -> Counting:
    """llama-server writes the prompt with /apply-template and takes it apart with /tokenize."""
    prompt = body.get("prompt")
    if prompt is None:
        wanted = {name: body[name] for name in ("messages", "tools") if name in body}
        prompt = _mapping((yield Ask("POST", f"{address.root}/apply-template", wanted))).get("prompt")
    if not isinstance(prompt, str):
        return None
    question = {"content": prompt, "add_special": True, "parse_special": True}
    tokens = _mapping((yield Ask("POST", f"{address.root}/tokenize", question))).get("tokens")
    return len(tokens) if isinstance(tokens, list) else None


def _vllm(address: Address, body: Mapping[str, Any]) -> Counting:
    """vLLM's /tokenize takes a conversation as it is."""
    names = ("model", "messages", "prompt", "tools", "add_generation_prompt", "continue_final_message")
    wanted = {name: body[name] for name in names if name in body}
    count = _mapping((yield Ask("POST", f"{address.root}/tokenize", wanted))).get("count")
    return count if isinstance(count, int) and count > 0 else None


_COUNTED_BY: dict[str, Callable[[Address, Mapping[str, Any]], Counting]] = {"llama.cpp": _llama_cpp, "vllm": _vllm}


def _mapping(answer: Answer | None) -> Mapping[str, Any]:
    fits = answer is not None and answer.status == 200 and isinstance(answer.value, Mapping)
    return answer.value if answer is not None and fits else {}


def _in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from asking import QUESTION, WEATHER
from standin import StandIn, Wire, chat, events

from react_text import Agent
from react_text.backends.openai import OpenAICompatible
from react_text.capability_store import CapabilityStore

Start = Callable[[Callable[[Wire], None]], StandIn]


def client(server: StandIn, store: CapabilityStore, **options: Any) -> OpenAICompatible:
    return OpenAICompatible(f"{server.url}/v1", model="m", store=store, **{"backoff": 0.001, "timeout": 5.0, **options})


def tokenising(wire: Wire) -> None:
    """llama-server's pages about tokens: a word is one."""
    body = wire.received.body
    if wire.received.path == "/apply-template":
        wire.json(
            200, {"prompt": " ".join([*(one["content"] for one in body["messages"]), str(body.get("tools", ""))])}
        )
    elif wire.received.path == "/tokenize":
        wire.json(200, {"tokens": [0] * len(body["content"].split())})
    else:
        wire.stream(events("ok"))


LLAMA = {"server": "llama.cpp", "context_length": 400}


def test_a_long_conversation_is_counted_by_the_server_once_and_a_short_one_not_at_all(
    standin: Start, store: CapabilityStore
) -> None:
    server = standin(chat(tokenising))
    long = [{"role": "user", "content": "word " * 300}]
    with client(server, store, known=LLAMA) as backend:
        assert backend.count_tokens(QUESTION) == len(QUESTION[0]["content"])
        assert server.posted == []
        assert [backend.count_tokens(long) for _ in range(3)] == [300] * 3
        assert len(server.posted) == 2
        assert (backend.count_tokens(long, tools=[WEATHER]) or 0) > 300


def test_in_an_event_loop_nothing_is_asked_to_count_tokens(standin: Start, store: CapabilityStore) -> None:
    server = standin(chat(tokenising))
    long = [{"role": "user", "content": "word " * 300}]

    async def count(backend: OpenAICompatible) -> int | None:
        await backend.acapabilities()
        return backend.count_tokens(long)

    with client(server, store, known=LLAMA) as backend:
        assert asyncio.run(count(backend)) is None
        assert server.posted == []


@pytest.mark.parametrize("pages", ["nothing", "broken"])
def test_a_server_that_cannot_count_leaves_the_length_unknown(
    standin: Start, store: CapabilityStore, pages: str
) -> None:
    server = standin(chat(lambda wire: wire.json(*((404, {}) if pages == "nothing" else (200, {"prompt": 7})))))
    with client(server, store, known=LLAMA) as backend:
        assert backend.count_tokens([{"role": "user", "content": "word " * 300}]) is None
        assert backend.count_tokens([{"role": "user", "content": "word " * 301}]) is None
    assert len(server.posted) == 1


def test_vllm_counts_a_conversation_in_one_question(standin: Start, store: CapabilityStore) -> None:
    server = standin(chat(lambda wire: wire.json(200, {"count": 301, "max_model_len": 400, "tokens": []})))
    known = {"server": "vllm", "context_length": 400, "prefill": "flags"}
    with client(server, store, known=known) as backend:
        assert backend.count_tokens([{"role": "user", "content": "word " * 300}], "Thought:") == 301
    (asked,) = server.posted
    assert asked.path == "/tokenize"
    assert asked.body["continue_final_message"] is True
    assert asked.body["messages"][-1] == {"role": "assistant", "content": "Thought:"}


OVERFLOWS = {
    "numbers": "This model's maximum context length is 500 tokens. However, you requested {} tokens in the messages.",
    "no numbers": "Your input exceeds the context window of this model.",
}


@pytest.mark.parametrize("mode", ["text", "structured"])
@pytest.mark.parametrize("said", OVERFLOWS)
def test_old_results_are_shortened_when_an_endpoint_says_that_the_prompt_is_too_long(
    standin: Start, store: CapabilityStore, mode: Any, said: str
) -> None:
    def answer(wire: Wire) -> None:
        body = wire.received.body
        words = len(json.dumps(body["messages"]).split())
        if words > 500:
            wire.json(400, {"error": {"message": OVERFLOWS[said].format(words)}})
        elif "word word" in json.dumps(body["messages"]):
            wire.stream(events("Thought: I know.\nFinal Answer: read" if mode == "text" else "read"))
        elif mode == "text":
            wire.stream(events("Thought: I look.\nAction: look_up\nAction Input: {}"))
        else:
            call = {"index": 0, "id": "a", "function": {"name": "look_up", "arguments": "{}"}}
            delta = {"choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}
            wire.stream([f"data: {json.dumps(delta)}\n\n"])

    def look_up() -> str:
        """Look it up."""
        return "word " * 600

    server = standin(chat(answer))
    with client(server, store, known={"tools": "yes"}) as backend:
        result = Agent(backend, [look_up], mode="auto" if mode == "structured" else mode).run("What is it?")
        assert backend.capabilities.tools == "yes"
    assert (result.stop_reason, result.answer, result.mode_changes) == ("answer", "read", ())
    assert len(server.posted) == 3


def test_a_prompt_that_cannot_be_shortened_ends_the_run_with_a_sentence(standin: Start, store: CapabilityStore) -> None:
    message = OVERFLOWS["numbers"].format(900)
    server = standin(chat(lambda wire: wire.json(400, {"error": {"message": message}})))
    with client(server, store) as backend:
        result = Agent(backend, []).run("What is it?")
    assert result.stop_reason == "backend_error"
    assert "900 tokens and the context holds 500" in result.answer
    assert len(server.posted) == 1

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from asking import QUESTION, TEXT, reply
from hypothesis import given
from hypothesis import strategies as st
from standin import StandIn, Wire, chat, events

from react_text import Agent
from react_text.backends.base import Reply, Request
from react_text.backends.http.chat_events import ChatReader
from react_text.backends.http.endpoint_errors import ErrorBody
from react_text.backends.openai import OpenAICompatible
from react_text.capability_store import CapabilityStore
from react_text.errors import EndpointError

Start = Callable[[Callable[[Wire], None]], StandIn]


def client(server: StandIn, store: CapabilityStore, **options: Any) -> OpenAICompatible:
    return OpenAICompatible(f"{server.url}/v1", model="m", store=store, **{"backoff": 0.001, "timeout": 5.0, **options})


def test_a_reply_ended_early_is_counted_as_far_as_the_server_had_counted(
    standin: Start, store: CapabilityStore
) -> None:
    def answer(wire: Wire) -> None:
        assert wire.received.body["stream_options"] == {"include_usage": True, "continuous_usage_stats": True}
        chunks = [
            {
                "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}],
                "usage": {"prompt_tokens": 31, "completion_tokens": count, "total_tokens": 31 + count},
            }
            for count, text in ((2, "one "), (4, "two "), (6, "three "))
        ]
        wire.stream([f"data: {json.dumps(chunk)}\n\n" for chunk in chunks])

    server = standin(chat(answer))
    with client(server, store, known={"server": "vllm"}) as backend:
        got = reply(backend, Request(QUESTION, until=lambda text: text == "two "))
    assert (got.usage.evaluated, got.usage.generated) == (31, 4)


def test_where_the_server_tells_no_numbers_the_prompt_is_estimated_by_its_length(
    standin: Start, store: CapabilityStore
) -> None:
    server = standin(chat(lambda wire: wire.stream(events("one ", "two ", "three ", prompt_tokens=9))))
    long = [{"role": "user", "content": "word " * 800}]
    with client(server, store) as backend:
        early = reply(backend, Request(long, until=lambda text: text == "two ")).usage
        whole = reply(backend, Request(long)).usage
    assert early.generated == 2
    assert early.evaluated == 1000
    assert whole.evaluated == 9


def test_a_budget_of_tokens_counts_replies_that_were_ended_early(standin: Start, store: CapabilityStore) -> None:
    call = "Thought: I look.\nAction: look_up\nAction Input: {}\nObservation: made up"
    server = standin(chat(lambda wire: wire.stream(events(*call))))

    def look_up() -> str:
        """Look it up."""
        return "nothing yet"

    with client(server, store, known={"tools": "no"}) as backend:
        result = Agent(backend, [look_up], token_budget=300).run("What is it?")
    assert result.stop_reason == "token_budget"
    assert result.usage.evaluated > 100


WORDS = (
    "choices delta message content tool_calls finish_reason usage timings index error function arguments name id text "
    "predicted_n prompt_tokens_details reasoning"
)
KEYS = st.sampled_from(WORDS.split())
SCALAR = st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab{", max_size=3)
ODD = st.recursive(SCALAR, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=4))


@given(st.lists(ODD.map(lambda value: f"data: {json.dumps(value)}"), max_size=5), st.booleans(), st.booleans())
def test_no_stream_is_too_odd_for_a_reply_or_a_clear_error(lines: list[str], raw: bool, whole: bool) -> None:
    def error(status: int | None, body: ErrorBody) -> EndpointError:
        return EndpointError(body.message, reason="server", status=status)

    reader = ChatReader(TEXT, error, continued=False, raw=raw)
    try:
        for line in lines:
            reader.feed(line.removeprefix("data: ") if whole else line)
        *_, last = reader.end()
    except EndpointError:
        return
    assert isinstance(last, Reply)


@pytest.mark.parametrize("stream", [True, False])
def test_a_content_in_parts_is_read_as_its_text(standin: Start, store: CapabilityStore, stream: bool) -> None:
    parts = [{"type": "text", "text": "It "}, {"type": "text", "text": "rains."}]
    choice = {"index": 0, ("delta" if stream else "message"): {"content": parts}, "finish_reason": "stop"}

    def answer(wire: Wire) -> None:
        if stream:
            wire.stream([f"data: {json.dumps({'choices': [choice]})}\n\n"])
        else:
            wire.json(200, {"choices": [choice]})

    with client(standin(chat(answer)), store) as backend:
        assert reply(backend).text == "It rains."

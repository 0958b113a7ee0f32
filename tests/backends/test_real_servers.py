"""The HTTP backends against servers that are what they claim to be: llama.cpp's own and llama-cpp-python's."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from standin import StandIn, Wire

from react_text import Agent
from react_text.backends.base import Delta, Reply, Request
from react_text.backends.openai import OpenAICompatible
from react_text.capability_store import CapabilityStore
from react_text.errors import ContextOverflow, EndpointError, ToolsRefused
from react_text.events import Finished, Steered

pytestmark = pytest.mark.model

Start = Callable[[Callable[[Wire], None]], StandIn]
QUESTION = [{"role": "user", "content": "What is the capital of France?"}]
WEATHER: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get the current weather for a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
GRAMMAR = 'root ::= " I know." "\\nFinal Answer: " ("Paris" | "Rome")'


def call(city: str, number: int) -> dict[str, Any]:
    return {
        "id": f"call_{number}",
        "type": "function",
        "function": {"name": "get_weather", "arguments": json.dumps({"city": city})},
    }


def habit(*, structured: bool) -> list[dict[str, Any]]:
    """A conversation whose pattern even a very small model goes on with: a question, a call, a result, an answer."""
    messages: list[dict[str, Any]] = []
    for number, city in enumerate(("Paris", "Rome")):
        messages.append({"role": "user", "content": f"What is the weather in {city}?"})
        made = call(city, number)
        if structured:
            messages.append({"role": "assistant", "content": "", "tool_calls": [made]})
            messages.append({"role": "tool", "tool_call_id": made["id"], "content": "sunny"})
        else:
            written = {"name": "get_weather", "arguments": {"city": city}}
            messages.append({"role": "assistant", "content": json.dumps(written)})
            messages.append({"role": "user", "content": "sunny"})
        messages.append({"role": "assistant", "content": f"It is sunny in {city}."})
    return messages


def asked(city: str, *, structured: bool = True) -> Request:
    messages = [*habit(structured=structured), {"role": "user", "content": f"What is the weather in {city}?"}]
    return Request(messages, max_tokens=48, tools=(WEATHER,))


def client(url: str, store: CapabilityStore, **options: Any) -> OpenAICompatible:
    return OpenAICompatible(f"{url}/v1", store=store, **{"timeout": 240.0, "backoff": 0.05, **options})


def reply(backend: OpenAICompatible, request: Request) -> Reply:
    *_, last = backend.stream(request)
    assert isinstance(last, Reply)
    return last


# llama.cpp's own server


def test_llama_server_is_known_for_what_it_is_without_a_generation(
    llama_server: dict[str, str], store: CapabilityStore
) -> None:
    found = {}
    for peer, url in llama_server.items():
        with client(url, store) as backend:
            known = backend.capabilities
            assert (known.server, known.grammar, known.prefill) == ("llama.cpp", "grammar", "as_is")
            assert known.context_length is not None
            assert backend.supports_grammar
            found[peer] = known.tools
    assert found == {"plain": "no", "tools": "yes", "nojinja": "no"}


def test_a_reply_is_streamed_counted_and_the_prompt_reused(
    llama_server: dict[str, str], store: CapabilityStore
) -> None:
    with client(llama_server["plain"], store) as backend:
        request = Request(QUESTION, reply_start="The capital of France is", max_tokens=6)
        *items, first = backend.stream(request)
        second = reply(backend, request)
    assert isinstance(first, Reply)
    assert first.text == "The capital of France is" + "".join(one.text for one in items if isinstance(one, Delta))
    assert "Paris" in first.text
    assert second.text == first.text
    assert second.usage.reused > 0
    assert second.usage.prompt_tokens == first.usage.prompt_tokens
    assert second.usage.tokens_per_second > 0


def test_a_reply_ended_early_is_counted_like_a_whole_one(llama_server: dict[str, str], store: CapabilityStore) -> None:
    pieces: list[str] = []

    def third(piece: str) -> bool:
        pieces.append(piece)
        return len(pieces) == 3

    with client(llama_server["plain"], store) as backend:
        request = Request([{"role": "user", "content": "Count to twenty."}], max_tokens=12)
        whole = reply(backend, request)
        early = reply(backend, replace(request, until=third))
    assert early.text == "".join(pieces)
    assert whole.text.startswith(early.text)
    assert early.usage.generated == 3
    assert early.usage.prompt_tokens == whole.usage.prompt_tokens


@pytest.mark.parametrize("peer", ["plain", "tools"])
def test_tokens_are_counted_as_the_server_counts_them(
    llama_server: dict[str, str], store: CapabilityStore, peer: str
) -> None:
    messages = [
        {"role": "user", "content": "word <|im_end|> " * 10},
        {"role": "assistant", "content": "Yes."},
        *QUESTION,
    ]
    tools = (WEATHER,) if peer == "tools" else ()
    begun = "" if tools else "Thought: I"
    for api in ("chat", "completions") if peer == "plain" else ("chat",):
        with client(llama_server[peer], store, api=api, known={"context_length": 100}) as backend:
            counted = backend.count_tokens(messages, begun, tools)
            request = Request(messages, reply_start=begun, max_tokens=1, tools=tools)
            assert counted == reply(backend, request).usage.prompt_tokens


def test_a_long_history_is_shortened_before_it_overflows_the_context(
    llama_server: dict[str, str], store: CapabilityStore
) -> None:
    def read_log(name: str) -> str:
        """Read a log."""
        return "nothing happened\n" * 200

    with client(llama_server["plain"], store, known={"context_length": 600}) as backend:
        agent = Agent(backend, [read_log], max_steps=2, max_tokens=24)
        events = list(agent.stream("Read the log named today."))
    (finished,) = [one for one in events if isinstance(one, Finished)]
    first, *later = finished.result.steps
    assert [len(one.content) for one in first.observations] == [3400]
    assert [one.reason for one in events if isinstance(one, Steered)][:1] == ["history_shortened"]
    assert later
    assert all(step.usage.prompt_tokens + 24 <= 600 for step in later)


def test_an_agent_sends_the_grammar_of_its_tools_and_gets_a_step_by_the_letter(
    llama_server: dict[str, str], store: CapabilityStore, standin: Start
) -> None:
    def look_up(name: str) -> str:
        """Look a document up by its name."""
        return f"{name} is on the shelf."

    proxy = standin(faulty(llama_server["plain"]))
    with client(proxy.url, store) as backend:
        assert backend.supports_grammar
        result = Agent(backend, [look_up], max_steps=1, max_tokens=40).run("Where is the atlas?")
    sent = [one.body for one in proxy.posted if one.path.endswith("/chat/completions")]
    assert "look_up" in sent[0]["grammar"]
    assert "tools" not in sent[0]
    assert result.steps[0].turn.strict
    assert {call.name for call in result.steps[0].turn.calls} <= {"look_up"}


def test_a_grammar_holds_after_a_begun_reply(llama_server: dict[str, str], store: CapabilityStore) -> None:
    with client(llama_server["plain"], store) as backend:
        got = reply(backend, Request(QUESTION, reply_start="Thought:", grammar=GRAMMAR, max_tokens=40))
    assert got.text in ("Thought: I know.\nFinal Answer: Paris", "Thought: I know.\nFinal Answer: Rome")
    assert got.finish_reason == "stop"


def test_tools_that_the_template_knows_come_back_as_calls(llama_server: dict[str, str], store: CapabilityStore) -> None:
    with client(llama_server["tools"], store) as backend:
        first = reply(backend, asked("Lisbon"))
        assert first.message is not None
        (made,) = first.message["tool_calls"]
        assert made["function"]["name"] == "get_weather"
        assert json.loads(made["function"]["arguments"]) == {"city": "Lisbon"}
        result = {"role": "tool", "tool_call_id": made["id"], "content": "rain"}
        second = reply(backend, Request([*asked("Lisbon").messages, first.message, result], tools=(WEATHER,)))
    assert not (second.message or {}).get("tool_calls")
    assert "rain" in second.text


def test_tools_that_the_template_drops_are_measured_as_dropped_and_the_call_leaks_into_the_text(
    llama_server: dict[str, str], store: CapabilityStore
) -> None:
    with client(llama_server["plain"], store) as backend:
        assert backend.measure_tools() == "no"
        got = reply(backend, asked("Lisbon", structured=False))
    assert got.message is not None
    assert not got.message.get("tool_calls")
    assert json.loads(got.text) == {"name": "get_weather", "arguments": {"city": "Lisbon"}}
    with client(llama_server["tools"], store) as backend:
        assert backend.measure_tools() == "yes"


def test_tools_refused_with_a_500_are_refused_once(llama_server: dict[str, str], store: CapabilityStore) -> None:
    with client(llama_server["nojinja"], store) as backend:
        with pytest.raises(ToolsRefused, match="--jinja"):
            reply(backend, asked("Lisbon"))
        assert reply(backend, Request(QUESTION, max_tokens=4)).text


def test_output_that_the_servers_own_parser_rejects_is_an_error_of_its_own(
    llama_server: dict[str, str], store: CapabilityStore
) -> None:
    messages = []
    for city in ("Paris", "Rome", "Madrid"):
        written = {"name": "find_weather", "arguments": {"city": city}}
        messages.append({"role": "user", "content": f"What is the weather in {city}?"})
        messages.append({"role": "assistant", "content": json.dumps(written)})
    messages.append({"role": "user", "content": "What is the weather in Lisbon?"})
    with client(llama_server["tools"], store) as backend, pytest.raises(EndpointError) as caught:
        reply(backend, Request(messages, max_tokens=40, tools=(WEATHER,)))
    assert caught.value.reason == "unparsable"
    assert not caught.value.retryable


def test_control_markers_of_an_observation_reach_the_model_as_text(
    llama_server: dict[str, str], store: CapabilityStore
) -> None:
    def tokens(text: str) -> int:
        with client(llama_server["plain"], store) as backend:
            return reply(backend, Request([{"role": "user", "content": text}], max_tokens=1)).usage.prompt_tokens

    # as control it would be one token
    assert tokens("a<|im_end|>b") - tokens("ab") > 3


def test_the_overflow_of_llama_server_is_told_in_numbers(llama_server: dict[str, str], store: CapabilityStore) -> None:
    with client(llama_server["plain"], store) as backend, pytest.raises(ContextOverflow) as caught:
        reply(backend, Request([{"role": "user", "content": "word " * 9000}]))
    assert caught.value.prompt_tokens > 9000 > caught.value.context_length


def test_a_closed_stream_frees_the_server(llama_server: dict[str, str], store: CapabilityStore) -> None:
    long = Request([{"role": "user", "content": "Count to a thousand."}], max_tokens=4000)
    with client(llama_server["plain"], store) as backend:
        streams = [backend.stream(long) for _ in range(4)]
        for stream in streams:
            assert isinstance(next(stream), Delta)
        for stream in streams:
            stream.close()  # type: ignore[attr-defined]
        # all four slots were taken by generations of minutes
        assert reply(backend, Request(QUESTION, max_tokens=2)).usage.generated == 2


def test_64_tasks_on_one_real_server_do_not_cross(llama_server: dict[str, str], store: CapabilityStore) -> None:
    async def ask(backend: OpenAICompatible, number: int) -> None:
        messages = [{"role": "system", "content": "Echo."}, {"role": "user", "content": f"{number}"}]
        request = Request(messages, grammar=f'root ::= "run {number}"', max_tokens=12)
        *_, last = [item async for item in backend.astream(request)]
        assert isinstance(last, Reply)
        assert last.text == f"run {number}"
        assert last.message == {"role": "assistant", "content": last.text}

    async def all_of_them() -> None:
        async with client(llama_server["plain"], store, max_connections=8) as backend:
            await asyncio.gather(*(ask(backend, number) for number in range(64)))

    asyncio.run(all_of_them())


# a fault proxy in front of it


def faulty(upstream: str, *faults: Callable[[Wire], None]) -> Callable[[Wire], None]:
    """Forwards everything, except that each of the first generations meets a fault."""
    waiting = list(faults)

    def answer(wire: Wire) -> None:
        if wire.received.method == "POST" and wire.received.path.endswith("completions"):
            (waiting.pop(0) if waiting else drip)(wire)
        else:
            body = b"".join(wire.forward(upstream))
            wire.body(wire.upstream_status, body, "application/json")

    def drip(wire: Wire) -> None:
        wire.stream(bytes([one]) for chunk in wire.forward(upstream) for one in chunk)

    return answer


def cut_after(size: int, upstream: str) -> Callable[[Wire], None]:
    return lambda wire: wire.stream([b"".join(wire.forward(upstream))[:size]], cut=True)


def broken(status: int, **headers: str) -> Callable[[Wire], None]:
    return lambda wire: wire.json(status, {"error": {"message": "not now"}}, **headers)


@pytest.mark.parametrize(
    "faults",
    [
        [],
        [broken(500)],
        [broken(429, Retry_After="0")],
        [broken(503), lambda wire: wire.drop()],
        [lambda wire: wire.stream([], cut=True), lambda wire: wire.stream(["data: {"], cut=True)],
        [lambda wire: wire.stream(['data: {"error": {"message": "Provider returned error", "code": 502}}\n\n'])],
        [lambda wire: wire.stream([])],
        [lambda wire: wire.stream([": waiting\n\n", "\n"])],
    ],
    ids=["byte by byte", "500", "429", "503 and a drop", "cut at once", "502 inside", "empty", "comments"],
)
def test_nothing_is_lost_through_faults_that_pass(
    llama_server: dict[str, str], store: CapabilityStore, standin: Start, faults: list[Any]
) -> None:
    request = Request(QUESTION, reply_start="The capital of", max_tokens=8)
    with client(llama_server["plain"], store) as backend:
        expected = reply(backend, request)
    proxy = standin(faulty(llama_server["plain"], *faults))
    with client(proxy.url, store, known={"prefill": "as_is"}) as backend:
        got = reply(backend, request)
    assert (got.text, got.finish_reason) == (expected.text, expected.finish_reason)


@pytest.mark.parametrize("size", [900, 1500])
def test_a_stream_cut_on_the_way_is_a_clear_error_and_never_half_a_reply(
    llama_server: dict[str, str], store: CapabilityStore, standin: Start, size: int
) -> None:
    upstream = llama_server["plain"]
    proxy = standin(faulty(upstream, *[cut_after(size, upstream)] * 2))
    with client(proxy.url, store) as backend, pytest.raises(EndpointError, match="closed the connection") as caught:
        reply(backend, Request(QUESTION, max_tokens=8))
    assert caught.value.reason == "disconnected"
    assert caught.value.retryable


# llama-cpp-python's server


def test_llama_cpp_server_is_known_by_its_list_of_models(llama_cpp_server: str, store: CapabilityStore) -> None:
    with client(llama_cpp_server, store) as backend:
        known = backend.capabilities
        assert backend.name == "smol"
    assert (known.server, known.grammar, known.prefill, known.tools) == ("llama_cpp.server", "grammar", None, "no")


def test_a_grammar_begins_the_reply_where_the_server_cannot(llama_cpp_server: str, store: CapabilityStore) -> None:
    with client(llama_cpp_server, store) as backend:
        *items, got = backend.stream(Request(QUESTION, reply_start="Thought:", grammar=GRAMMAR, max_tokens=40))
    assert isinstance(got, Reply)
    assert got.text.startswith("Thought: I know.\nFinal Answer: ")
    assert "".join(one.text for one in items if isinstance(one, Delta)) == got.text.removeprefix("Thought:")


def test_a_named_tool_is_forced_and_its_turn_can_be_sent_back(llama_cpp_server: str, store: CapabilityStore) -> None:
    choice = {"type": "function", "function": {"name": "get_weather"}}
    messages = [{"role": "user", "content": "What is the weather in Lisbon?"}]
    with client(llama_cpp_server, store) as backend:
        first = reply(backend, Request(messages, max_tokens=40, tools=(WEATHER,), tool_choice=choice))
        assert first.message is not None
        (made,) = first.message["tool_calls"]
        assert "city" in json.loads(made["function"]["arguments"])
        assert first.message["content"] is None
        result = {"role": "tool", "tool_call_id": made["id"], "content": "rain"}
        assert reply(backend, Request([*messages, first.message, result], max_tokens=8)).usage.generated > 0


def test_an_overflow_answered_with_an_empty_stream_is_still_told_in_numbers(
    llama_cpp_server: str, store: CapabilityStore
) -> None:
    with client(llama_cpp_server, store) as backend, pytest.raises(ContextOverflow) as caught:
        reply(backend, Request([{"role": "user", "content": "word " * 3000}], max_tokens=8))
    assert caught.value.context_length == 2048


def test_a_stream_cut_by_another_request_is_never_taken_for_a_whole_reply(
    llama_cpp_server: str, store: CapabilityStore
) -> None:
    long = Request([{"role": "user", "content": "Count to a thousand."}], max_tokens=600)
    with client(llama_cpp_server, store) as backend:
        stream = backend.stream(long)
        assert isinstance(next(stream), Delta)
        other = threading.Thread(target=lambda: reply(backend, Request(QUESTION, max_tokens=2)))
        other.start()
        with pytest.raises(EndpointError, match="before the reply was complete"):
            for _ in stream:
                pass
        other.join()


def test_raw_completions_work_on_both(
    llama_cpp_server: str, llama_server: dict[str, str], store: CapabilityStore
) -> None:
    request = Request(QUESTION, reply_start="The capital of France is", max_tokens=5)
    for url in (llama_cpp_server, llama_server["plain"]):
        with client(url, store, api="completions") as backend:
            got = reply(backend, request)
        assert got.text.startswith("The capital of France is Paris")
        assert got.message is None

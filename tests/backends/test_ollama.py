from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from ollama_standin import OllamaStandIn
from standin import StandIn, Wire

from react_text import Agent
from react_text.backends.base import Backend, Delta, Reply, Request, Sampling
from react_text.backends.ollama import Ollama, native_body, native_messages
from react_text.capability_store import CapabilityStore
from react_text.errors import EndpointError, ToolsRefused

Start = Callable[[Callable[[Wire], None]], StandIn]

WEATHER: dict[str, Any] = {
    "type": "function",
    "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
}
ADD: dict[str, Any] = {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}
QUESTION = [{"role": "user", "content": "What is the weather in Lisbon?"}]
TOOLS = Request(QUESTION, tools=(WEATHER, ADD))


def model(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Calls the tool, then says what it gave."""
    last = messages[-1]
    if last["role"] == "tool":
        return [{"content": f"{last['tool_name']} says "}, {"content": last["content"]}]
    calls = [
        {"function": {"index": 0, "name": "get_weather", "arguments": {"city": city}}} for city in ("Lisbon", "Oslo")
    ]
    return [{"thinking": "I need "}, {"thinking": "a tool."}, {"tool_calls": calls[:1]}, {"tool_calls": calls[1:]}]


def served(start: Start, *abilities: str, **options: Any) -> StandIn:
    return start(OllamaStandIn({"tiny:latest": ["completion", *abilities]}, model, **options))


def client(server: StandIn, store: CapabilityStore, name: str = "tiny", **options: Any) -> Ollama:
    return Ollama(server.url, model=name, store=store, **{"backoff": 0.001, "timeout": 5.0, **options})


def reply(backend: Ollama, request: Request) -> Reply:
    *_, last = backend.stream(request)
    assert isinstance(last, Reply)
    return last


def test_a_call_and_its_result_make_the_way_there_and_back(standin: Start, store: CapabilityStore) -> None:
    server = served(standin, "tools")
    with client(server, store) as backend:
        assert isinstance(backend, Backend)
        assert backend.capabilities.tools == "yes"
        first = reply(backend, TOOLS)
        assert first.message is not None
        assert first.message["reasoning_content"] == "I need a tool."
        calls = first.message["tool_calls"]
        assert [call["function"]["arguments"] for call in calls] == [{"city": "Lisbon"}, {"city": "Oslo"}]
        assert first.finish_reason == "stop"
        assert first.usage.evaluated == 26
        assert first.usage.generated == 29
        named = [{**call, "id": f"call_{index}"} for index, call in enumerate(calls)]
        messages = [
            *QUESTION,
            {**first.message, "tool_calls": named},
            {"role": "tool", "tool_call_id": "call_1", "content": "rain"},
            {"role": "tool", "tool_call_id": "call_0", "content": "sun"},
        ]
        *items, second = backend.stream(Request(messages, tools=(WEATHER, ADD)))
    assert isinstance(second, Reply)
    assert second.text == "get_weather says sun"
    assert "".join(item.text for item in items if isinstance(item, Delta)) == second.text
    assert server.posted[-1].body["messages"][1]["thinking"] == "I need a tool."


def test_a_model_without_tools_is_known_before_any_generation_and_refuses_all_the_same(
    standin: Start, store: CapabilityStore
) -> None:
    server = served(standin)
    with client(server, store) as backend:
        assert backend.capabilities.tools == "no"
        assert backend.capabilities.findings["tools"].evidence == "/api/show: capabilities are completion"
        with pytest.raises(ToolsRefused, match="does not support tools"):
            reply(backend, TOOLS)
    assert [one.path for one in server.posted].count("/api/chat") == 1


def test_what_was_found_out_is_remembered_under_the_digest(standin: Start, store: CapabilityStore) -> None:
    with client(served(standin), store) as backend:
        backend.learn("tools", "no", "leaked twice")
        assert backend._endpoint.knowledge.subject.digest == "digest-of-tiny:latest"
    assert len(list(store.folder.iterdir())) == 1


def test_the_context_is_the_one_asked_for_and_never_more_than_the_model_has(
    standin: Start, store: CapabilityStore
) -> None:
    server = served(standin, context=4096)
    with client(server, store, num_ctx=100_000) as backend:
        assert backend.context_length == 4096
        reply(backend, Request(QUESTION))
    assert server.posted[-1].body["options"]["num_ctx"] == 4096


def test_options_are_named_as_the_server_names_them() -> None:
    sampling = Sampling(temperature=0.5, top_p=0.9, min_p=0.1, repeat_penalty=1.1, seed=3)
    request = Request(QUESTION, max_tokens=7, stop=("Observation:", ""), sampling=sampling)
    body = native_body(request, "tiny", 2048, {"think": False, "options": {"num_gpu": 0}})
    assert body == {
        "model": "tiny",
        "messages": QUESTION,
        "stream": True,
        "truncate": False,
        "think": False,
        "options": {
            "num_ctx": 2048,
            "num_predict": 7,
            "temperature": 0.5,
            "top_k": 0,
            "top_p": 0.9,
            "min_p": 0.1,
            "repeat_penalty": 1.1,
            "seed": 3,
            "stop": ["Observation:"],
            "num_gpu": 0,
        },
    }


@pytest.mark.parametrize(
    ("choice", "offered"),
    [
        (None, ["get_weather", "add"]),
        ("auto", ["get_weather", "add"]),
        ("required", ["get_weather", "add"]),
        ("none", []),
        ({"type": "function", "function": {"name": "add"}}, ["add"]),
        ({"type": "function", "function": {"name": "nope"}}, ["get_weather", "add"]),
    ],
)
def test_a_tool_choice_narrows_the_tools_as_far_as_it_can_be_kept(choice: Any, offered: list[str]) -> None:
    body = native_body(Request(QUESTION, tools=(WEATHER, ADD), tool_choice=choice), "tiny", 2048)
    assert [tool["function"]["name"] for tool in body.get("tools", [])] == offered


def test_results_are_paired_with_the_nearest_call_of_their_id_and_arguments_become_objects() -> None:
    def calling(name: str, arguments: Any) -> dict[str, Any]:
        call = {"id": "same", "type": "function", "function": {"name": name, "arguments": arguments}}
        return {"role": "assistant", "content": None, "tool_calls": [call]}

    result = {"role": "tool", "tool_call_id": "same", "content": "1"}
    native = native_messages([calling("first", '{"a": 1}'), result, calling("second", '{"a": '), result])
    assert [one.get("tool_name") for one in native] == [None, "first", None, "second"]
    assert [one["tool_calls"][0]["function"]["arguments"] for one in native[::2]] == [{"a": 1}, {}]
    assert all(isinstance(one["content"], str) for one in native)


def test_the_text_inside_a_complaint_about_it_is_handed_back(standin: Start, store: CapabilityStore) -> None:
    raw = '{"city": "Lis\nbon"'
    server = served(standin, "tools", error=f"error parsing tool call: raw='{raw}', err=unexpected end of JSON input")
    with client(server, store) as backend:
        assert reply(backend, TOOLS).text == raw


def test_a_stream_without_its_last_line_is_incomplete(standin: Start, store: CapabilityStore) -> None:
    line = json.dumps({"message": {"role": "assistant", "content": "half"}, "done": False})
    server = standin(lambda wire: wire.stream([line + "\n"], "application/x-ndjson"))
    with (
        client(server, store) as backend,
        pytest.raises(EndpointError, match="before the reply was complete") as caught,
    ):
        reply(backend, Request(QUESTION))
    assert caught.value.partial == "half"


def test_another_server_at_the_address_is_told_from_ollama(standin: Start, store: CapabilityStore) -> None:
    server = standin(lambda wire: wire.stream(["data: {}\n\n"]))
    with client(server, store) as backend, pytest.raises(EndpointError, match="not Ollama's"):
        reply(backend, Request(QUESTION))


def test_a_missing_model_says_how_to_get_it(standin: Start, store: CapabilityStore) -> None:
    with client(served(standin), store, "other") as backend, pytest.raises(EndpointError, match="ollama pull other"):
        reply(backend, Request(QUESTION))


def test_stop_strings_and_until_end_a_reply_here_too(standin: Start, store: CapabilityStore) -> None:
    def lines(wire: Wire) -> None:
        texts = ("Thought: x", "\nObser", "vation: y")
        wire.stream([json.dumps({"message": {"content": text}, "done": False}) + "\n" for text in texts])

    with client(standin(lines), store) as backend:
        got = reply(backend, Request(QUESTION, stop=("\nObservation:",)))
        assert (got.text, got.finish_reason) == ("Thought: x", "stop")
        assert reply(backend, Request(QUESTION, until=lambda text: True)).text == "Thought: x"


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:9000", "http://127.0.0.1:9000"),
        ("box.example", "http://box.example:11434"),
        ("https://box.example", "https://box.example"),
    ],
)
def test_the_address_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch, host: str, url: str) -> None:
    monkeypatch.setenv("OLLAMA_HOST", host)
    assert Ollama(model="tiny").base_url == url


def test_the_async_twin_gives_the_same_reply(standin: Start, store: CapabilityStore) -> None:
    server = served(standin, "tools")

    async def ask() -> Any:
        async with client(server, store) as backend:
            return [item async for item in backend.astream(TOOLS)][-1]

    with client(server, store) as backend:
        assert asyncio.run(ask()).message == reply(backend, TOOLS).message


def test_without_a_name_the_first_model_is_used(standin: Start, store: CapabilityStore) -> None:
    with Ollama(served(standin).url, store=store) as backend:
        reply(backend, Request(QUESTION))
        assert backend.name == "tiny:latest"


def test_a_history_that_is_too_long_is_shortened_and_never_cut_by_the_server(
    standin: Start, store: CapabilityStore
) -> None:
    def speaks(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        seen = "tide tide" in str(messages[-1]["content"])
        said = "Final Answer: read" if seen else "Action: read_log\nAction Input: {}"
        return [{"content": f"Thought: yes\n{said}"}]

    def read_log() -> str:
        """Read the log."""
        return "tide " * 4000

    server = standin(OllamaStandIn({"tiny:latest": ["completion"]}, speaks, context=600))
    with client(server, store, num_ctx=600) as backend:
        result = Agent(backend, [read_log]).run("What does the log say?")
    assert (result.stop_reason, result.answer) == ("answer", "read")
    assert [one.path for one in server.posted].count("/api/chat") == 3

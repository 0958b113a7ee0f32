"""A reply is held by whatever the endpoint takes: GBNF, a regular expression, a JSON Schema of a call object."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from asking import GRAMMAR, QUESTION, WEATHER, reply
from jsonschema import Draft202012Validator
from ollama_standin import OllamaStandIn
from standin import StandIn, Wire, chat, events

from react_text import Agent, FallbackChat, tool
from react_text.backends.base import Request
from react_text.backends.http.chat_body import chat_body, completion_body
from react_text.backends.ollama import Ollama
from react_text.backends.openai import OpenAICompatible
from react_text.capabilities import Capabilities, finding
from react_text.capability_store import CapabilityStore
from react_text.protocol.grammar_forms import json_schema_form
from react_text.tools import Tool

Start = Callable[[Callable[[Wire], None]], StandIn]
CITY = Tool("get_weather", "", WEATHER["function"]["parameters"])
SCHEMA = json_schema_form([CITY])
CALL = '{"name": "get_weather", "arguments": {"city": "Lisbon"}}'
ANSWER = '{"name": "final_answer", "arguments": {"answer": "It rains."}}'
HELD = Request(QUESTION, reply_start="Thought:", grammar=GRAMMAR, reply_schema=SCHEMA)


@tool
def get_weather(city: str) -> str:
    """The current weather in a city."""
    return f"rain in {city}"


def known(**facts: str) -> Capabilities:
    return Capabilities({fact: finding(value, "told") for fact, value in facts.items()})


def client(server: StandIn, store: CapabilityStore, **options: Any) -> OpenAICompatible:
    return OpenAICompatible(f"{server.url}/v1", model="m", store=store, **{"backoff": 0.001, "timeout": 5.0, **options})


@pytest.mark.parametrize(
    ("server", "facts", "sent"),
    [
        ("tgi", {"json_schema": "response_format"}, {"response_format": {"type": "json_object", "value": SCHEMA}}),
        (
            "lm-studio",
            {"json_schema": "response_format"},
            {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "reply", "strict": True, "schema": SCHEMA},
                }
            },
        ),
        (
            "unheard-of",
            {"json_schema": "response_format"},
            {"response_format": {"type": "json_schema", "json_schema": {"name": "reply", "schema": SCHEMA}}},
        ),
        ("unheard-of", {"json_schema": "structured_outputs"}, {"structured_outputs": {"json": SCHEMA}}),
        ("llama.cpp", {"json_schema": "json_schema"}, {"json_schema": SCHEMA}),
        ("unheard-of", {"grammar": "none", "regex": "none", "json_schema": "none"}, {}),
    ],
)
def test_a_schema_goes_into_the_parameter_the_server_takes(
    server: str, facts: dict[str, str], sent: dict[str, Any]
) -> None:
    names = {"response_format", "structured_outputs", "json_schema", "grammar"}
    body = chat_body(HELD, "m", known(server=server, prefill="as_is", **facts))
    assert {name: body[name] for name in body if name in names} == sent
    assert (body["messages"][-1]["role"] == "user") is bool(sent), "a JSON value is never begun"
    assert not names & set(completion_body(HELD, "m", known(server=server, **facts)))


@pytest.mark.parametrize(
    ("facts", "parameter", "value"),
    [
        ({"server": "tgi", "regex": "response_format"}, "response_format", {"type": "regex"}),
        ({"server": "vllm", "regex": "structured_outputs"}, "structured_outputs", {}),
        ({"server": "sglang", "regex": "regex"}, "regex", None),
        ({"server": "tabbyapi", "regex": "regex_pattern"}, "regex_pattern", None),
    ],
)
@pytest.mark.parametrize("prefill", ["none", "as_is"])
def test_a_server_without_gbnf_gets_the_same_reply_as_a_regular_expression(
    facts: dict[str, str], parameter: str, value: dict[str, str] | None, prefill: str
) -> None:
    body = chat_body(HELD, "m", known(prefill=prefill, json_schema="response_format", **facts))
    sent = body[parameter]
    expression = sent if value is None else sent["value"] if value else sent["regex"]
    assert value is None or value.items() <= sent.items()
    begun = "Thought:" if prefill == "none" else ""
    assert re.fullmatch(expression, begun + " I know.\nAction: look")
    assert not re.fullmatch(expression, begun + " I know.\nAction: 7")
    assert (body["messages"][-1]["role"] == "assistant") is (prefill == "as_is")


def test_a_server_gets_the_schema_where_the_regular_expression_would_be_overlong(
    standin: Start, store: CapabilityStore
) -> None:
    def answer(wire: Wire) -> None:
        held = wire.received.body["response_format"]
        called = "rain in Lisbon" in str(wire.received.body["messages"])
        if held["type"] == "regex":
            step = "Final Answer: It rains." if called else 'Action: get_weather\nAction Input: {"city": "Lisbon"}'
            said = f"Thought: x\n{step}"
            assert re.fullmatch(held["value"], said), said
        else:
            said = ANSWER if called else CALL
            assert Draft202012Validator(held["value"]).is_valid(json.loads(said))
        wire.stream(events(*said))

    wide = Tool("search", "", {"type": "object", "properties": {f"filter_{n}": {"type": "string"} for n in range(12)}})
    server = standin(chat(answer))
    facts = {"server": "tgi", "grammar": "none", "regex": "response_format", "json_schema": "response_format"}
    for tools, form in (([get_weather], "regex"), ([get_weather, wide], "json_object")):
        with client(server, store, known=facts) as backend:
            assert Agent(backend, tools, mode="text").run("What is the weather in Lisbon?").answer == "It rains."
        assert server.posted[-1].body["response_format"]["type"] == form


def test_of_several_forms_the_gbnf_goes_out_alone() -> None:
    body = chat_body(HELD, "m", known(grammar="grammar", regex="regex", json_schema="json_schema"))
    assert "grammar" in body
    assert not {"regex", "json_schema"} & set(body)


def test_neither_form_is_sent_beside_tools() -> None:
    body = chat_body(
        Request(QUESTION, reply_schema=SCHEMA, tools=(WEATHER,)), "m", known(json_schema="response_format")
    )
    assert "response_format" not in body


@pytest.mark.parametrize(
    "error",
    [
        {"message": "'response_format.type' must be 'json_schema' or 'text'"},
        {"message": "Something went wrong."},
        {"message": "Failed to initialize samplers: failed to parse grammar"},
    ],
)
def test_a_refused_schema_is_remembered_and_the_reply_asked_for_without(
    standin: Start, store: CapabilityStore, error: dict[str, str]
) -> None:
    def answer(wire: Wire) -> None:
        if "response_format" in wire.received.body:
            wire.json(400, {"error": error})
        else:
            wire.stream(events("ok"))

    server = standin(chat(answer))
    request = Request(QUESTION, reply_schema=SCHEMA)
    with client(server, store, known={"json_schema": "response_format"}) as backend:
        assert backend.takes_json_schema
        assert not backend.supports_grammar
        assert [reply(backend, request).text for _ in range(2)] == ["ok", "ok"]
    assert ["response_format" in one.body for one in server.posted] == [True, False, False]


def test_an_agent_reads_the_call_objects_of_a_server_that_takes_only_a_schema(
    standin: Start, store: CapabilityStore
) -> None:
    def answer(wire: Wire) -> None:
        schema = wire.received.body["response_format"]["json_schema"]["schema"]
        said = ANSWER if "rain in Lisbon" in str(wire.received.body["messages"]) else CALL
        assert Draft202012Validator(schema).is_valid(json.loads(said))
        wire.stream(events(*said))

    server = standin(chat(answer))
    with client(server, store, known={"json_schema": "response_format"}) as backend:
        result = Agent(backend, [get_weather], mode="text", grammar="always").run("What is the weather in Lisbon?")
    assert (result.answer, result.stop_reason, len(server.posted)) == ("It rains.", "answer", 2)


def test_by_default_the_schema_is_the_ladders_last_resort(standin: Start, store: CapabilityStore) -> None:
    def answer(wire: Wire) -> None:
        held = "response_format" in wire.received.body
        done = "rain in Lisbon" in str(wire.received.body["messages"])
        wire.stream(events("Thought: x\nFinal Answer: It rains." if done else CALL if held else "Action: get_weather"))

    server = standin(chat(answer))
    with client(server, store, known={"json_schema": "response_format"}) as backend:
        result = Agent(backend, [get_weather], mode="text").run("What is the weather in Lisbon?")
    assert result.answer == "It rains."
    assert ["response_format" in one.body for one in server.posted] == [False, False, True, False]


def ollama(start: Start, says: Callable[[Mapping[str, Any]], str], refusing: bool = False) -> StandIn:
    def answer(wire: Wire) -> None:
        def turn(_messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
            return [{"content": says(wire.received.body)}]

        if refusing and wire.received.path == "/api/chat" and "format" in wire.received.body:
            wire.json(400, {"error": "invalid format: expected an object"})
        else:
            OllamaStandIn({"tiny:latest": ["completion"]}, turn)(wire)

    return start(answer)


def asked(server: StandIn) -> list[Any]:
    return [one.body.get("format") for one in server.posted if one.path == "/api/chat"]


def test_ollama_holds_text_mode_to_the_schema_as_format(standin: Start, store: CapabilityStore) -> None:
    server = ollama(standin, lambda body: ANSWER if "rain in Lisbon" in str(body["messages"]) else CALL)
    with Ollama(server.url, model="tiny", store=store) as backend:
        chat_face = FallbackChat(backend, "text", grammar="always")
        made = chat_face.create(
            messages=QUESTION, tools=[WEATHER], tool_choice={"type": "function", "function": {"name": "get_weather"}}
        )
        result = Agent(backend, [get_weather], mode="text", grammar="always").run("What is the weather in Lisbon?")
    (call,) = made["choices"][0]["message"]["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {"city": "Lisbon"}
    assert result.answer == "It rains."
    forced, *free = asked(server)
    assert not Draft202012Validator(forced).is_valid(json.loads(ANSWER))
    assert all(Draft202012Validator(one).is_valid(json.loads(ANSWER)) for one in free)


def test_a_schema_that_ollama_refuses_is_not_sent_again(standin: Start, store: CapabilityStore) -> None:
    server = ollama(standin, lambda _body: "ok", refusing=True)
    for _ in range(2):
        with Ollama(server.url, model="tiny", store=store, backoff=0.001) as backend:
            assert reply(backend, Request(QUESTION, reply_schema=SCHEMA)).text == "ok"
    assert [one is not None for one in asked(server)] == [True, False, False]


def test_a_response_format_reaches_a_server_that_takes_one(standin: Start, store: CapabilityStore) -> None:
    shape = {"type": "object", "properties": {"sky": {"enum": ["rain", "sun"]}}, "required": ["sky"]}
    server = ollama(standin, lambda _body: '{"sky": "rain"}')
    with Ollama(server.url, model="tiny", store=store) as backend:
        wanted = {"type": "json_schema", "json_schema": {"name": "sky", "schema": shape}}
        made = FallbackChat(backend, "text").create(messages=QUESTION, response_format=wanted)
    assert json.loads(made["choices"][0]["message"]["content"]) == {"sky": "rain"}
    assert asked(server) == [shape]


@pytest.mark.model
def test_a_small_model_behind_llama_server_calls_under_a_schema_alone(
    llama_server: dict[str, str], store: CapabilityStore
) -> None:
    facts = {"grammar": "none", "json_schema": "json_schema", "server": "llama.cpp"}
    request = Request(QUESTION, max_tokens=80, reply_schema=json_schema_form([CITY], "call"))
    with OpenAICompatible(
        f"{llama_server['plain']}/v1", store=store, timeout=240.0, backoff=0.05, known=facts
    ) as backend:
        said = reply(backend, request)
    assert said.finish_reason == "stop", said.text
    assert Draft202012Validator(json_schema_form([CITY], "call")).is_valid(json.loads(said.text))

"""Every answer has the shape of the public API, and no request, however odd, is a fault of the server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conversation import ADD, QUESTION, STOCK_LEVEL, TOOLS, final, step
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from react_text import FallbackChat, Scripted
from react_text.transport import client

SCHEMA = Draft202012Validator(json.loads((Path(__file__).parent / "chat_completion.schema.json").read_text()))


def answers(request, replies):
    """What is answered: one value, or the events of a stream."""
    got = client(Scripted(replies)).post("/chat/completions", content=json.dumps(request))
    assert got.status_code < 500
    if not got.headers["content-type"].startswith("text/event-stream"):
        return [got.json()]
    lines = [line.removeprefix("data: ") for line in got.text.split("\n\n") if line]
    assert lines.pop() == "[DONE]"
    return [json.loads(line) for line in lines]


REPLIES = [
    step("stock_level", {"item": "lamp"}),
    step("stock_level", {"item": "lamp"}) + '\nAction: add\nAction Input: {"a": 1, "b": 2}',
    'Action: stock_level\nAction Input: {"item": "lamp"}',
    final("It is 20."),
    step("add", {"a": "x", "b": 2}),
    "so it goes",
    "",
]


@pytest.mark.parametrize("reply", REPLIES)
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("tools", [[], TOOLS])
def test_an_answer_has_the_shape_of_the_public_api(reply, stream, tools):
    request = {"messages": [QUESTION], "stream": stream, "tools": tools}
    if stream:
        request["stream_options"] = {"include_usage": True}
    for value in answers(request, [reply] * 9):
        SCHEMA.validate(value)


NUMBERS = st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
PART = st.fixed_dictionaries({"type": st.just("text"), "text": st.text(max_size=9)})
CONTENT = st.text(max_size=20) | st.lists(PART, max_size=2)
CALL = st.fixed_dictionaries(
    {
        "id": st.sampled_from(["c1", "c2", "\ud800"]),
        "type": st.just("function"),
        "function": st.fixed_dictionaries({"name": st.text(max_size=5), "arguments": st.text(max_size=9)}),
    }
)
MESSAGE = st.one_of(
    st.fixed_dictionaries({"role": st.sampled_from(["system", "developer", "user", "assistant"]), "content": CONTENT}),
    st.fixed_dictionaries(
        {"role": st.just("assistant"), "content": st.none(), "tool_calls": st.lists(CALL, min_size=1, max_size=2)}
    ),
    st.fixed_dictionaries({"role": st.just("tool"), "tool_call_id": st.sampled_from(["c1", "c2"]), "content": CONTENT}),
    JSON,
)
KEYWORDS = st.sampled_from(
    ["type", "properties", "required", "items", "enum", "anyOf", "$ref", "minimum", "pattern", "additionalProperties"]
)
PARAMETERS = st.dictionaries(KEYWORDS, JSON | st.just({"a": {"type": "string"}}) | st.just("object"), max_size=4)
TOOL = st.one_of(
    st.sampled_from([ADD, STOCK_LEVEL]),
    st.fixed_dictionaries(
        {
            "type": st.just("function"),
            "function": st.fixed_dictionaries(
                {"name": st.sampled_from(["a", "b", "ä", ""])},
                optional={"parameters": PARAMETERS | JSON, "description": st.text(max_size=9) | JSON},
            ),
        }
    ),
    JSON,
)
REQUEST = st.fixed_dictionaries(
    {"messages": st.lists(MESSAGE, min_size=1, max_size=4) | JSON},
    optional={
        "tools": st.lists(TOOL, max_size=3) | JSON,
        "tool_choice": st.sampled_from(["auto", "none", "required", {"type": "function", "function": {"name": "a"}}])
        | JSON,
        "parallel_tool_calls": st.booleans() | JSON,
        "temperature": st.floats(-1, 3) | JSON,
        "top_p": st.floats(0, 1) | JSON,
        "max_tokens": st.integers(-1, 40) | JSON,
        "seed": st.integers() | JSON,
        "stop": st.text(max_size=3) | st.lists(st.text(max_size=3), max_size=5) | JSON,
        "stream": st.booleans(),
        "stream_options": st.just({"include_usage": True}) | JSON,
        "response_format": st.sampled_from([{"type": "text"}, {"type": "json_object"}])
        | st.fixed_dictionaries(
            {"type": st.just("json_schema"), "json_schema": st.fixed_dictionaries({"schema": PARAMETERS})}
        )
        | JSON,
        "n": st.integers(0, 2),
        "logit_bias": JSON,
    },
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(REQUEST, st.lists(st.sampled_from(REPLIES), min_size=1, max_size=3))
def test_no_request_is_a_fault_of_the_server(request_, replies):
    for value in answers(request_, replies * 9):
        SCHEMA.validate(value)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(PARAMETERS)
def test_a_schema_that_is_taken_makes_a_grammar_or_none(parameters):
    """In front of a backend with grammars the same odd schemas are offered."""

    class Constrained(Scripted):
        supports_grammar = True

    chat = FallbackChat(Constrained(["Thought: x\nFinal Answer: y"] * 9))
    tool = {"type": "function", "function": {"name": "a", "parameters": parameters}}
    with client(chat) as web:
        assert web.post("/chat/completions", json={"messages": [QUESTION], "tools": [tool]}).status_code in (200, 400)

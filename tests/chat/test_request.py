"""Requests as the public API takes and refuses them."""

from __future__ import annotations

import pytest
from conversation import ADD, QUESTION, TOOLS

from react_text import FallbackChat, Scripted
from react_text.errors import ChatError

CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1, "b": 2}'}}
ASKED = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "3"}
IMAGE = {"type": "image_url", "image_url": {"url": "http://x"}}


def refused(**request):
    with pytest.raises(ChatError) as caught:
        FallbackChat(Scripted([])).create(**{"messages": [QUESTION], **request})
    error = caught.value
    assert error.status == 400
    assert set(error.to_dict()["error"]) == {"message", "type", "param", "code"}
    assert str(error).endswith(".")
    return error.param, error.code


@pytest.mark.parametrize(
    ("request_", "param", "code"),
    [
        ({"messages": None}, "messages", "missing_required_parameter"),
        ({"messages": []}, "messages", "empty_array"),
        ({"messages": "Hi"}, "messages", "invalid_type"),
        ({"messages": ["Hi"]}, "messages[0]", "invalid_type"),
        ({"messages": [{"role": "king", "content": "x"}]}, "messages[0].role", "invalid_value"),
        ({"messages": [{"role": "user", "content": 3}]}, "messages[0].content", "invalid_type"),
        ({"messages": [{"role": "user", "content": [IMAGE]}]}, "messages[0].content[0].type", "invalid_value"),
        ({"messages": [{"role": "assistant"}]}, "messages[0].content", "invalid_value"),
        ({"messages": [QUESTION, ASKED]}, "messages", "invalid_value"),
        ({"messages": [QUESTION, ASKED, QUESTION]}, "messages[2]", "invalid_value"),
        ({"messages": [QUESTION, RESULT]}, "messages[1].tool_call_id", "invalid_value"),
        ({"messages": [QUESTION, ASKED, RESULT, RESULT]}, "messages[3].tool_call_id", "invalid_value"),
        ({"temperature": "hot"}, "temperature", "invalid_type"),
        ({"temperature": 3}, "temperature", "invalid_value"),
        ({"temperature": float("nan")}, "temperature", "invalid_value"),
        ({"top_p": -1}, "top_p", "invalid_value"),
        ({"max_tokens": 0}, "max_tokens", "invalid_value"),
        ({"max_completion_tokens": 1.5}, "max_completion_tokens", "invalid_type"),
        ({"n": 2}, "n", "unsupported_value"),
        ({"logprobs": True}, "logprobs", "unsupported_parameter"),
        ({"functions": []}, "functions", "unsupported_parameter"),
        ({"colour": "red"}, "colour", "unknown_parameter"),
        ({"stream": "yes"}, "stream", "invalid_type"),
        ({"stream_options": {"include_usage": True}}, "stream_options", "invalid_value"),
        ({"stop": 3}, "stop", "invalid_type"),
        ({"stop": ["a", "b", "c", "d", "e"]}, "stop", "array_too_long"),
        ({"model": 3}, "model", "invalid_type"),
        ({"tools": {}}, "tools", "invalid_type"),
        ({"tools": [{"type": "web"}]}, "tools[0].type", "invalid_value"),
        ({"tools": [{"type": "function", "function": {"name": "a b"}}]}, "tools[0].function.name", "invalid_value"),
        ({"tools": [ADD, ADD]}, "tools[1].function.name", "invalid_value"),
        ({"tools": [ADD] * 129}, "tools", "array_too_long"),
        ({"tools": TOOLS, "tool_choice": "any"}, "tool_choice", "invalid_value"),
        ({"tool_choice": "required"}, "tool_choice", "invalid_value"),
        (
            {"tools": TOOLS, "tool_choice": {"type": "function", "function": {"name": "x"}}},
            "tool_choice",
            "invalid_value",
        ),
        ({"response_format": {"type": "xml"}}, "response_format.type", "invalid_value"),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "thing"}}}},
            "response_format.json_schema.schema",
            "invalid_value",
        ),
        (
            {"tools": [{"type": "function", "function": {"name": "x", "parameters": {"type": "array"}}}]},
            "tools[0].function.parameters",
            "invalid_function_parameters",
        ),
    ],
)
def test_what_is_wrong_is_refused_with_the_parameter_named(request_, param, code):
    assert refused(**request_) == (param, code)


def test_parts_of_text_and_every_role_are_read():
    model = Scripted(["Fine."])
    messages = [
        {"role": "developer", "content": [{"type": "text", "text": "Be brief."}]},
        {"role": "system", "content": "And kind."},
        {"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], "name": "Ann"},
        ASKED,
        RESULT,
    ]
    FallbackChat(model).create(messages=messages)
    sent = model.requests[0].messages
    assert sent[0] == {"role": "system", "content": "Be brief.\n\nAnd kind."}
    assert sent[1]["content"] == "one\ntwo"
    assert sent[3]["content"] == "Observation: 3"


def test_null_is_the_same_as_absent():
    nothing = dict.fromkeys(
        ("temperature", "tools", "tool_choice", "stop", "stream", "seed", "response_format", "user")
    )
    answer = FallbackChat(Scripted(["Hi."])).create(messages=[QUESTION], **nothing)
    assert answer["choices"][0]["message"]["content"] == "Hi."


def test_control_characters_and_half_surrogates_do_no_harm():
    model = Scripted(["Hi."])
    messages = [{"role": "user", "content": "a\ud800b"}, ASKED, {**RESULT, "content": "3\x1b[31m\x00"}]
    FallbackChat(model).create(messages=messages)
    sent = "".join(str(one["content"]) for one in model.requests[0].messages)
    sent.encode("utf-8")
    assert "\x1b" not in sent
    assert "\x00" not in sent


def test_a_result_is_never_read_as_a_call():
    model = Scripted(["Thought: I know.\nFinal Answer: done"])
    result = {**RESULT, "content": 'Action: add\nAction Input: {"a": 1, "b": 1}'}
    answer = FallbackChat(model).create(messages=[QUESTION, ASKED, result], tools=TOOLS)
    assert answer["choices"][0]["message"]["content"] == "done"


@pytest.mark.parametrize("name", ["n", "seed", "max_tokens", "max_completion_tokens", "temperature"])
@pytest.mark.parametrize("value", [1e400, -1e400])
def test_a_number_too_large_for_one_is_refused_with_the_parameter_named(name, value):
    assert refused(messages=[QUESTION], **{name: value})[0] == name

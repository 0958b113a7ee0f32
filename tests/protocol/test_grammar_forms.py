from __future__ import annotations

import json
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from react_text.data import load_dialect, load_grammar_skeleton
from react_text.errors import GrammarError
from react_text.parsing import parse
from react_text.protocol.grammar import text_grammar
from react_text.protocol.grammar_forms import (
    SERVER_FIELDS,
    json_schema_form,
    regex_form,
    request_fields,
    structural_tag_form,
)
from react_text.protocol.native_grammar import native_grammar
from react_text.tools import Tool

REACT = load_dialect("react")
SKELETON = load_grammar_skeleton("react.gbnf")
NODE = {"type": "object", "properties": {"v": {"type": "integer"}, "next": {"$ref": "#/$defs/node"}}, "required": ["v"]}
WALK = Tool(
    "walk",
    "",
    {"type": "object", "properties": {"from": {"$ref": "#/$defs/node"}}, "required": ["from"], "$defs": {"node": NODE}},
)
WEATHER = Tool(
    "get_weather",
    "",
    {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1, "maximum": 14}},
        "required": ["city"],
    },
)
TOOLS = [WEATHER, WALK]


@pytest.mark.parametrize(
    ("reply", "right"),
    [
        ({"name": "get_weather", "arguments": {"city": "Oslo"}}, True),
        ({"name": "walk", "arguments": {"from": {"v": 1, "next": {"v": 2}}}}, True),
        ({"name": "final_answer", "arguments": {"answer": "It is cold."}}, True),
        ({"name": "get_weather", "arguments": {}}, False),
        ({"name": "get_weather", "arguments": {"city": "Oslo", "more": 1}}, False),
        ({"name": "walk", "arguments": {"from": {"v": 1, "next": {"w": 2}}}}, False),
        ({"name": "fly", "arguments": {}}, False),
        ({"name": "get_weather"}, False),
    ],
)
def test_the_json_schema_takes_right_calls_and_answers_alone(reply, right):
    schema = json_schema_form(TOOLS)
    Draft202012Validator.check_schema(schema)
    assert Draft202012Validator(schema).is_valid(reply) is right
    if right:
        turn = parse(json.dumps(reply), TOOLS)
        assert turn.final == "It is cold." if reply["name"] == "final_answer" else turn.calls[0].name == reply["name"]


def test_the_json_schema_leaves_out_what_is_not_wanted():
    answer = {"name": "final_answer", "arguments": {"answer": "No."}}
    call = {"name": "get_weather", "arguments": {"city": "Oslo"}}
    assert not Draft202012Validator(json_schema_form(TOOLS, "call")).is_valid(answer)
    assert not Draft202012Validator(json_schema_form(TOOLS, "answer")).is_valid(call)
    assert Draft202012Validator(json_schema_form([], "call")).is_valid(answer)


@given(st.integers(0, 2**32), st.sampled_from(["any", "call", "answer"]))
@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_regular_expression_takes_what_the_grammar_takes(sentence, seed, wanted):
    grammar = text_grammar(SKELETON, REACT, [WEATHER], wanted).gbnf
    expression = regex_form(grammar)
    assert re.fullmatch(expression, sentence(grammar, seed))
    assert not re.fullmatch(expression, ' Hm.\nAction: get_weather\nAction Input: {"city": "Oslo", "days": 15}')


@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_long_repetitions_can_be_left_open_for_engines_that_count_every_state(sentence, seed):
    named = Tool(
        "note", "", {"type": "object", "properties": {"text": {"type": "string", "pattern": r"^\{1,99\}x{3}$"}}}
    )
    grammar = text_grammar(SKELETON, REACT, [WEATHER, named], "call").gbnf
    expression = regex_form(grammar, most_counted=16)
    assert re.fullmatch(expression, sentence(grammar, seed))
    assert max(map(int, re.findall(r"(?<!\\)\{(?:\d+,)?(\d+)\}", expression))) <= 16
    assert re.fullmatch(expression, ' Hm.\nAction: note\nAction Input: {"text": "{1,99}xxx"}')
    assert not re.fullmatch(expression, ' Hm.\nAction: note\nAction Input: {"text": "{1,9}xxx"}')


def test_what_no_regular_expression_can_say_is_refused_with_the_rule():
    with pytest.raises(GrammarError, match="uses itself"):
        regex_form(native_grammar("hermes", TOOLS).gbnf)


def test_a_structural_tag_holds_the_call_between_its_marks_to_the_schema():
    tag = structural_tag_form("hermes", TOOLS[:1], "call", parallel=True)
    assert tag["type"] == "structural_tag"
    triggered = tag["format"]
    assert (triggered["triggers"], triggered["at_least_one"], triggered["stop_after_first"]) == (
        ["<tool_call>"],
        True,
        False,
    )
    (one,) = triggered["tags"]
    assert one["content"] == {
        "type": "json_schema",
        "json_schema": {**WEATHER.parameters, "additionalProperties": False},
    }
    text = one["begin"] + '{"city": "Oslo"}' + one["end"]
    assert parse(text, TOOLS).calls[0].arguments == {"city": "Oslo"}
    assert text.startswith(triggered["triggers"][0])


@pytest.mark.parametrize(("family", "wanted"), [("bare", "any"), ("glm", "any"), ("hermes", "answer")])
def test_a_structural_tag_needs_a_mark_and_a_call(family, wanted):
    with pytest.raises(GrammarError):
        structural_tag_form(family, TOOLS, wanted)


def test_a_constraint_goes_where_the_server_takes_it():
    assert request_fields("llama-server", "gbnf", "root ::= x") == {"grammar": "root ::= x"}
    assert request_fields("ollama", "json-schema", {"type": "object"}) == {"format": {"type": "object"}}
    assert request_fields("vllm", "regex", "a+") == {"structured_outputs": {"regex": "a+"}}
    with pytest.raises(GrammarError, match="takes json-schema"):
        request_fields("ollama", "gbnf", "root ::= x")
    with pytest.raises(GrammarError, match="no grammar at all"):
        request_fields("mlx-lm", "gbnf", "root ::= x")
    assert all(fields for forms in SERVER_FIELDS.values() for fields in forms.values())


def test_a_native_call_is_a_regular_expression_too():
    expression = regex_form(native_grammar("hermes", [WEATHER], "call").gbnf)
    assert re.fullmatch(expression, '{"name": "get_weather", "arguments": {"city": "Oslo", "days": 3}}')
    assert not re.fullmatch(expression, '{"name": "get_weather", "arguments": {"days": 3}}')

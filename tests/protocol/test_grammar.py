from __future__ import annotations

import json
import re

import pytest

from react_text.backends.gbnf import check_grammar
from react_text.data import load_dialect, load_grammar_skeleton
from react_text.parsing import parse
from react_text.protocol.grammar import MAX_CALLS, text_grammar, value_grammar
from react_text.tools import Tool

REACT = load_dialect("react")
SKELETON = load_grammar_skeleton("react.gbnf")


def tool_of(properties: dict, required: list[str] = [], name: str = "use_it") -> Tool:  # noqa: B006
    return Tool(name, "Use it.", {"type": "object", "properties": properties, "required": required})


def call(arguments: object, name: str = "use_it") -> str:
    return f" Hm.\nAction: {name}\nAction Input: {json.dumps(arguments, ensure_ascii=False)}"


@pytest.mark.model
@pytest.mark.parametrize(
    "text",
    [
        call({}, "use_them"),
        call({"other": 1}),
        call({"one": "1"}),
        call({}),
        " Hm.\nObservation: 3",
        call({"one": 1}) + "\nFinal Answer: 1",
        call({"one": 1}) + "\n" + call({"one": 2})[5:],
    ],
)
def test_what_is_no_right_call_is_not_accepted(accepts, text):
    grammar = text_grammar(SKELETON, REACT, [tool_of({"one": {"type": "integer"}}, ["one"])]).gbnf
    assert accepts(grammar, call({"one": 1}))
    assert not accepts(grammar, text)


@pytest.mark.model
def test_optional_keys_can_be_left_out_in_any_combination(accepts):
    grammar = text_grammar(SKELETON, REACT, [tool_of({name: {"type": "integer"} for name in "abc"}, ["b"])]).gbnf
    for keys, right in [("b", True), ("ab", True), ("bc", True), ("abc", True), ("ac", False), ("", False)]:
        assert accepts(grammar, call(dict.fromkeys(keys, 1))) is right, keys


@pytest.mark.model
def test_only_what_is_wanted_is_possible(accepts):
    answer = " Hm.\nFinal Answer: Done.\nAll of it."
    for wanted, takes_call, takes_answer in [("any", True, True), ("call", True, False), ("answer", False, True)]:
        grammar = text_grammar(SKELETON, REACT, [tool_of({})], wanted).gbnf
        check_grammar(grammar)
        assert accepts(grammar, call({})) is takes_call
        assert accepts(grammar, answer) is takes_answer


@pytest.mark.model
def test_several_calls_are_possible_where_they_are_wanted(accepts):
    tools = [tool_of({"one": {"type": "integer"}}, ["one"]), tool_of({}, name="stop_it")]
    pair = "\nAction: use_it\nAction Input: {}"
    grammar = text_grammar(SKELETON, REACT, tools, "call", parallel=True).gbnf
    check_grammar(grammar)
    steps = [f'\nAction: use_it\nAction Input: {{"one": {number}}}' for number in range(MAX_CALLS)]
    assert accepts(grammar, " Hm." + steps[0])
    assert accepts(grammar, " Hm." + "".join(steps))
    assert accepts(grammar, " Hm." + steps[0] + "\nAction: stop_it\nAction Input: {}")
    assert not accepts(grammar, " Hm." + steps[0] + pair)
    assert not accepts(grammar, " Hm." + "".join(steps) + steps[0])
    turn = parse("Thought: Hm." + "".join(steps), tools)
    assert turn.strict
    assert len(turn.calls) == MAX_CALLS


@pytest.mark.model
def test_an_answer_can_be_held_to_a_shape_while_calls_stay_possible(accepts):
    shape = {"type": "object", "properties": {"total": {"type": "integer", "minimum": 0}}, "required": ["total"]}
    grammar = text_grammar(SKELETON, REACT, [tool_of({})], answer_schema=shape).gbnf
    check_grammar(grammar)
    assert accepts(grammar, call({}))
    assert accepts(grammar, ' Hm.\nFinal Answer: {"total": 12}')
    for wrong in ("12", '{"total": -1}', '{"total": 1.5}', "{}", '{"total": 1} and more'):
        assert not accepts(grammar, f" Hm.\nFinal Answer: {wrong}")


@pytest.mark.model
def test_a_bare_value_is_held_to_its_schema(accepts):
    grammar = value_grammar({"type": "array", "items": {"enum": ["red", "blue"]}, "minItems": 1, "maxItems": 2}).gbnf
    check_grammar(grammar)
    assert accepts(grammar, '["red"]')
    assert accepts(grammar, '["red", "blue"]')
    for wrong in ("[]", '["green"]', '["red", "red", "red"]', '"red"', ' ["red"]'):
        assert not accepts(grammar, wrong)


def test_without_tools_only_an_answer_is_possible():
    grammar = text_grammar(SKELETON, REACT, []).gbnf
    check_grammar(grammar)
    assert re.search(r"^step +::= answer$", grammar, re.MULTILINE)
    assert "Action" not in grammar


@pytest.mark.parametrize(
    ("schema", "keyword"),
    [
        ({"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, "uniqueItems"),
        ({"type": "array", "contains": {"const": 1}}, "contains"),
        ({"type": "string", "pattern": "^(?=a)b"}, "pattern"),
        ({"type": "string", "pattern": r"\bword\b"}, "pattern"),
        ({"type": "string", "pattern": "^[a-z]+-[a-z]+$", "maxLength": 9}, "maxLength"),
        ({"type": "string", "format": "regex"}, "format"),
        ({"type": "number", "multipleOf": 0.25}, "multipleOf"),
        ({"type": "integer", "multipleOf": 7}, "multipleOf"),
        ({"type": "integer", "minimum": 10**30}, "minimum"),
        ({"not": {"const": 1}, "type": "integer"}, "not"),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, "oneOf"),
        (
            {"type": "object", "properties": {"a": {"type": "null"}}, "dependentRequired": {"a": ["b"]}},
            "dependentRequired",
        ),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "additionalProperties"),
        ({"type": "object", "patternProperties": {"^x": {"type": "integer"}}}, "patternProperties"),
        ({}, "type"),
        (False, None),
    ],
)
def test_what_the_grammar_does_not_hold_to_is_named(schema, keyword):
    grammar = text_grammar(SKELETON, REACT, [tool_of({"argument": schema})])
    check_grammar(grammar.gbnf)
    assert (f"use_it.argument: {keyword}" in grammar.loosened) is (keyword is not None)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "maxLength": 20},
        {"type": "string", "format": "date-time"},
        {"type": "string", "pattern": r"^[A-Z]{2}-\d+$"},
        {"type": "integer", "minimum": 1, "maximum": 65535},
        {"type": "number", "exclusiveMinimum": 0, "maximum": 0.5},
        {"type": "integer", "minimum": 0, "maximum": 90, "multipleOf": 15},
        {"oneOf": [{"type": "string"}, {"type": "null"}]},
        {
            "oneOf": [
                {"type": "object", "properties": {"kind": {"const": kind}}, "required": ["kind"]} for kind in ("a", "b")
            ]
        },
        {"allOf": [{"type": "integer", "minimum": 2}, {"maximum": 5}]},
        {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False, "minItems": 2},
        {"type": "object", "properties": {"a": {"type": "null"}, "b": {"type": "null"}}, "minProperties": 1},
    ],
)
def test_what_the_grammar_says_exactly_is_not_named(schema):
    assert text_grammar(SKELETON, REACT, [tool_of({"argument": schema})]).loosened == ()


@pytest.mark.model
def test_a_schema_that_refers_to_itself_has_a_grammar(accepts):
    node = {"type": "object", "properties": {"v": {"type": "integer"}, "next": {"$ref": "#/$defs/node"}}}
    parameters = {
        "type": "object",
        "properties": {"list": {"$ref": "#/$defs/node"}},
        "required": ["list"],
        "$defs": {"node": node | {"required": ["v"]}},
    }
    grammar = text_grammar(SKELETON, REACT, [Tool("walk", "", parameters)]).gbnf
    assert accepts(grammar, call({"list": {"v": 1, "next": {"v": 2}}}, "walk"))
    assert not accepts(grammar, call({"list": {"v": 1, "next": {}}}, "walk"))
    deep: dict = {"v": 0}
    for _ in range(20):
        deep = {"v": 1, "next": deep}
    assert not accepts(grammar, call({"list": deep}, "walk"))


@pytest.mark.model
@pytest.mark.parametrize(
    "definition",
    [
        {"type": "object", "properties": {"next": {"$ref": "#/$defs/it"}}, "required": ["next"]},
        {"allOf": [{"type": "string"}, {"type": "integer"}]},
        {"enum": [1], "type": "string"},
        {"type": "integer", "minimum": 3, "maximum": 2},
    ],
)
def test_what_no_value_fits_leaves_the_other_options(accepts, definition):
    options = {"anyOf": [{"$ref": "#/$defs/it"}, {"type": "boolean"}]}
    parameters = {"type": "object", "properties": {"a": options}, "required": ["a"], "$defs": {"it": definition}}
    grammar = text_grammar(SKELETON, REACT, [Tool("use_it", "", parameters)]).gbnf
    check_grammar(grammar)
    assert accepts(grammar, call({"a": True}))
    impossible = {**parameters, "properties": {"a": {"$ref": "#/$defs/it"}}}
    made = text_grammar(SKELETON, REACT, [Tool("use_it", "", impossible)])
    check_grammar(made.gbnf)
    assert "use_it: no value fits" in made.loosened


@pytest.mark.model
@pytest.mark.parametrize(
    ("parameters", "right", "wrong"),
    [
        (
            {
                "type": "object",
                "anyOf": [
                    {"properties": {"city": {"type": "string"}}, "required": ["city"]},
                    {"properties": {"zip": {"type": "integer"}}, "required": ["zip"]},
                ],
            },
            [{"city": "Oslo"}, {"zip": 150}],
            [{}],
        ),
        (
            {"$ref": "#/$defs/a", "$defs": {"a": {"type": "object", "properties": {"n": {"type": "integer"}}}}},
            [{"n": 1}, {}],
            [{"m": 1}],
        ),
        (
            {
                "allOf": [
                    {"properties": {"n": {"type": "integer"}}, "required": ["n"]},
                    {"properties": {"n": {"maximum": 5}, "m": {"type": "null"}}},
                ]
            },
            [{"n": 5}, {"n": 1, "m": None}],
            [{"n": 6}, {}],
        ),
        (
            {"properties": {"headers": {"type": "object"}}, "required": ["headers"]},
            [{"headers": {"a": "b", "c": [1, {"d": None}]}}],
            [{"headers": 1}],
        ),
        (
            {"properties": {"id": {"type": "string"}}, "additionalProperties": {"type": "integer"}},
            [{"id": "a", "more": 1}, {"more": 1, "idx": 2}, {}],
            [{"id": 1}, {"more": "a"}],
        ),
        (
            {"properties": {"n": {"type": "integer", "nullable": True}}, "required": ["n"]},
            [{"n": None}, {"n": 2}],
            [{}],
        ),
        ({"properties": {"n": {"enum": []}}, "required": ["n"]}, [{"n": 2}], []),
        ({"properties": {"n": {"type": "int"}}, "required": ["n"]}, [{"n": 2}], [{"n": "2"}]),
        (
            {"properties": {"a": {}, "b": {}, "c": {}}, "minProperties": 1, "maxProperties": 2},
            [{"a": 1}, {"c": 1}, {"a": 1, "c": 1}],
            [{}, {"a": 1, "b": 1, "c": 1}],
        ),
        (
            {
                "properties": {
                    "a": {"type": "array", "prefixItems": [{"const": 1}, {"const": 2}], "items": {"const": 3}}
                }
            },
            [{"a": []}, {"a": [1]}, {"a": [1, 2, 3, 3]}],
            [{"a": [2]}, {"a": [1, 2, 2]}],
        ),
    ],
)
def test_schemas_of_every_kind_allow_their_right_values_alone(accepts, parameters, right, wrong):
    grammar = text_grammar(SKELETON, REACT, [Tool("use_it", "", parameters)]).gbnf
    check_grammar(grammar)
    for arguments in right:
        assert accepts(grammar, call(arguments)), arguments
    for arguments in wrong:
        assert not accepts(grammar, call(arguments)), arguments


@pytest.mark.model
def test_numbers_texts_and_lists_cannot_run_away(accepts):
    tool = tool_of({"n": {"type": "integer"}, "x": {"type": "number"}, "s": {"type": "string"}, "a": {"type": "array"}})
    grammar = text_grammar(SKELETON, REACT, [tool]).gbnf
    assert accepts(grammar, call({"n": 2**63 - 1, "x": 0.1 + 0.2, "s": "a" * 1000, "a": [1] * 32}))
    for arguments in ({"n": 10**25}, {"s": "a" * 1001}, {"a": [1] * 33}):
        assert not accepts(grammar, call(arguments))
    assert not accepts(grammar, " Hm.\nAction: use_it\nAction Input: " + '{"x": 0.' + "3" * 30 + "}")


@pytest.mark.model
@pytest.mark.parametrize(
    "thought",
    ["<think>", "x</s>", "[INST]", "Final Answer: 5", "Action: use_it", "x\x07", " x", "x ", "x" * 201, "x\u00a0"],
)
def test_a_thought_cannot_hold_what_would_be_read_as_something_else(accepts, thought):
    grammar = text_grammar(SKELETON, REACT, [tool_of({})]).gbnf
    assert accepts(grammar, call({}))
    assert not accepts(grammar, f" {thought}\nAction: use_it\nAction Input: {{}}")

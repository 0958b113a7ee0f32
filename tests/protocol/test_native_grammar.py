from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from react_text.backends.gbnf import check_grammar
from react_text.errors import GrammarError
from react_text.parsing import parse
from react_text.protocol.native_grammar import FORMATS, native_grammar
from react_text.schema import first_problem
from react_text.tools import Tool

SHARED = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80)
WEATHER = Tool(
    "get_weather",
    "",
    {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer", "minimum": 1, "maximum": 14},
            "unit": {"enum": ["c", "f"]},
        },
        "required": ["city"],
    },
)
NOW = Tool("now", "", {"type": "object", "properties": {}})
ADD = Tool(
    "add",
    "",
    {
        "type": "object",
        "properties": {"terms": {"type": "array", "items": {"type": "number"}, "minItems": 2}},
        "required": ["terms"],
    },
)
TOOLS = [WEATHER, NOW, ADD]
FAMILIES = sorted(FORMATS)
CALL = '{"name": "get_weather", "arguments": {"city": "Oslo"}}'


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("wanted", ["any", "call", "answer"])
@pytest.mark.parametrize("parallel", [False, True])
def test_every_family_has_sound_grammars(family, wanted, parallel):
    check_grammar(native_grammar(family, TOOLS, wanted, parallel=parallel).gbnf)


@given(st.sampled_from(FAMILIES), st.booleans(), st.integers(0, 2**32))
@SHARED
def test_every_sentence_with_calls_is_read_as_these_calls(sentence, family, parallel, seed):
    text = sentence(native_grammar(family, TOOLS, "call", parallel=parallel).gbnf, seed)
    turn = parse(text, TOOLS, finish_reason="stop")
    if turn.fault is not None and turn.fault.code == "placeholder_arguments":
        return
    assert turn.kind == "action", (text, turn.fault)
    written = sum(text.count(f"{tool.name}") for tool in TOOLS)
    assert len(turn.calls) == 1 if not parallel else 1 <= len(turn.calls) <= written
    for call in turn.calls:
        tool = next(tool for tool in TOOLS if tool.name == call.name)
        assert first_problem(dict(call.arguments), tool.parameters) is None


@given(st.sampled_from(FAMILIES), st.sampled_from(["any", "answer"]), st.integers(0, 2**32))
@SHARED
def test_in_a_free_reply_every_mark_begins_a_right_call(sentence, family, wanted, seed):
    text = sentence(native_grammar(family, TOOLS, wanted).gbnf, seed)
    mark = FORMATS[family].mark
    if mark and mark in text:
        assert wanted == "any"
        text = text[text.index(mark) :]
        read = parse(text, TOOLS, finish_reason="stop")
        assert read.kind == "action" or (read.fault and read.fault.code == "placeholder_arguments"), text
    elif wanted == "answer":
        assert parse(text, TOOLS, finish_reason="stop").kind != "action"


@pytest.mark.model
@pytest.mark.parametrize(
    "text",
    [
        f"<tool_call>\n{CALL}\n</tool_call>",
        CALL,
        f"```json\n{CALL}",
        f"I will look it up.\n<tool_call>\n{CALL}\n</tool_call>",
        "It is 5 degrees.\n",
        "[Oslo](https://example.org) is <b>cold</b>: {5}.",
        "```python\nprint({1: 2})\n```",
    ],
)
def test_a_hermes_model_may_write_its_call_or_answer(accepts, text):
    assert accepts(native_grammar("hermes", TOOLS).gbnf, text)


@pytest.mark.model
@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n",
        '{"name": "get_wether", "arguments": {}}',
        '{"name": "get_weather", "arguments": {"town": "Oslo"}}',
        '{"name": "get_weather", "arguments": {"city": "Oslo", "days": 15}}',
        '{"city": "Oslo"}',
        f"<tool_call>\n{CALL}",
        "<tool_call>get_weather</tool_call>",
        f"{CALL}\n{CALL}",
        f"Sure: {CALL}",
        'Use this:\n```\n{\n  "name": "get_weather"',
        "I will look it up. <tool_call>get_weather",
    ],
)
def test_what_is_neither_a_right_call_nor_an_answer_is_not_possible(accepts, text):
    assert not accepts(native_grammar("hermes", TOOLS).gbnf, text)


@pytest.mark.model
def test_several_calls_only_where_they_are_wanted(accepts):
    calls = f"<tool_call>\n{CALL}\n</tool_call>"
    for parallel in (False, True):
        grammar = native_grammar("hermes", TOOLS, "call", parallel=parallel).gbnf
        assert accepts(grammar, calls)
        assert accepts(grammar, f"{calls}\n{calls}") is parallel
        assert accepts(grammar, f"{CALL}\n{CALL}") is False or parallel


@pytest.mark.model
def test_only_what_is_wanted_is_possible(accepts):
    answer = "It is 5 degrees."
    for wanted, takes_call, takes_answer in [("any", True, True), ("call", True, False), ("answer", False, True)]:
        grammar = native_grammar("hermes", TOOLS, wanted).gbnf
        assert accepts(grammar, CALL) is takes_call
        assert accepts(grammar, answer) is takes_answer


@pytest.mark.model
def test_without_tools_only_an_answer_is_possible(accepts):
    grammar = native_grammar("hermes", [], "call").gbnf
    assert accepts(grammar, "Hello.")
    assert not accepts(grammar, CALL)


@pytest.mark.model
@pytest.mark.parametrize("thought", ["", "\n\n", "\nThe user wants the weather, so < call it.\n"])
def test_a_reasoning_model_may_think_before_its_call_or_answer(accepts, thought):
    grammar = native_grammar("hermes", TOOLS, reasoning="shown").gbnf
    check_grammar(grammar)
    for reply in (CALL, f"<tool_call>\n{CALL}\n</tool_call>", "It is 5 degrees."):
        assert accepts(grammar, f"<think>{thought}</think>\n\n{reply}")
        assert accepts(grammar, reply)
    assert not accepts(native_grammar("hermes", TOOLS, "call").gbnf, f"<think>{thought}</think>\n\n{CALL}")


@pytest.mark.model
def test_a_block_of_reasoning_that_the_prompt_has_begun_is_ended_first(accepts):
    grammar = native_grammar("hermes", TOOLS, reasoning="begun").gbnf
    check_grammar(grammar)
    for thought in ("", "\nThe user wants < the weather.\n"):
        assert accepts(grammar, f"{thought}</think>\n\n{CALL}")
        assert not accepts(grammar, f"{thought}{CALL}")
        assert not accepts(grammar, f"<think>{thought}")


@pytest.mark.model
def test_an_answer_can_be_held_to_a_shape(accepts):
    grammar = native_grammar("hermes", TOOLS, answer_schema={"type": "integer", "minimum": 0}).gbnf
    check_grammar(grammar)
    assert accepts(grammar, "12")
    assert accepts(grammar, CALL)
    assert not accepts(grammar, "-1")
    assert not accepts(grammar, "It is 12.")


def test_a_grammar_names_what_the_schema_says_and_it_does_not():
    tool = Tool("tag", "", {"properties": {"names": {"type": "array", "uniqueItems": True, "items": {"const": 1}}}})
    assert native_grammar("bare", [tool]).loosened == ("tag.names: uniqueItems",)


def test_an_unknown_family_is_refused_with_the_known_ones():
    with pytest.raises(GrammarError, match=r"'klingon'; the families are: .*hermes"):
        native_grammar("klingon", TOOLS)

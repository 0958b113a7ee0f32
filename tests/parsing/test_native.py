"""Calls in a model family's own format that came as text, one file of cases for each family in tests/corpus/native."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from react_text import Tool, parse
from react_text.catalog import FAULTS, REPAIRS
from react_text.parsing.families import FAMILIES
from react_text.parsing.native import read_native

STRING, INTEGER = {"type": "string"}, {"type": "integer"}


def _tool(name: str, required: dict[str, Any], **optional: Any) -> Tool:
    return Tool(name, parameters={"type": "object", "properties": {**required, **optional}, "required": list(required)})


STOCK = {"type": "object", "properties": {"name": STRING, "count": INTEGER}, "required": ["name", "count"]}
TOOLS = (
    _tool("get_tide", {"harbour": STRING}, hours=INTEGER),
    _tool("list_boats", {}),
    _tool("set_lamp", {"room": {"type": "string", "enum": ["hall", "attic"]}, "level": INTEGER}),
    _tool("save_page", {"path": STRING, "body": STRING}),
    _tool("order_stock", {"items": {"type": "array", "items": STOCK}}, urgent={"type": "boolean"}),
    _tool("run_cmd", {"cmd": STRING}),
)
CORPUS = Path(__file__).parent.parent / "corpus"
CASES = [
    pytest.param(json.loads(line), id=f"{path.stem}-{number}")
    for path in sorted((CORPUS / "native").glob("*.jsonl"))
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
]


def _seen(text: str, finish_reason: str | None = None) -> dict[str, Any]:
    turn = parse(text, TOOLS, finish_reason=finish_reason)
    calls = [{"name": call.name, "arguments": dict(call.arguments)} for call in turn.calls]
    return {"kind": turn.kind, "calls": calls, "final": turn.final}


@pytest.mark.parametrize("case", CASES)
def test_each_family_is_read_where_it_stands(case: dict[str, Any]) -> None:
    assert _seen(case["output"]) == case["expect"], case.get("note", "")


@pytest.mark.parametrize("case", CASES)
def test_a_text_cut_anywhere_never_runs_with_a_value_that_was_not_written(case: dict[str, Any]) -> None:
    text = case["output"]
    for length in range(1, len(text)):
        for call in parse(text[:length], TOOLS).calls:
            for value in _leaves(call.arguments):
                assert not isinstance(value, str) or _plain(value) in _plain(text[:length])


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in _leaves(item)]
    if isinstance(value, list):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value]


def _plain(text: str) -> str:
    return "".join(char for char in text.replace("\\n", "").replace("\\t", "") if char.isalnum())


@pytest.mark.parametrize("case", CASES)
def test_every_repair_and_fault_has_its_sentence(case: dict[str, Any]) -> None:
    turn = parse(case["output"], TOOLS)
    assert set(turn.repairs) <= set(REPAIRS)
    if turn.kind == "none":
        assert turn.fault is not None
        assert turn.fault.code in FAULTS
        assert turn.fault.message.endswith((".", "!", "}", '"'))


def test_a_call_that_does_not_fit_its_schema_carries_what_was_read() -> None:
    turn = parse('<tool_call>{"name": "set_lamp", "arguments": {"room": "cellar", "level": 3}}</tool_call>', TOOLS)
    assert turn.kind == "none"
    assert turn.fault is not None
    assert turn.fault.code == "invalid_arguments"
    assert turn.fault.call is not None
    assert (turn.fault.call.name, turn.fault.call.arguments) == ("set_lamp", {"room": "cellar", "level": 3})
    assert "room" in turn.fault.message
    assert "hall" in turn.fault.message


def test_text_before_the_call_and_reasoning_are_the_thought() -> None:
    turn = parse('<think>Tide first.</think>\nI look.\n<tool_call>{"name": "list_boats"}</tool_call>', TOOLS)
    assert turn.thought is not None
    assert turn.thought.split() == ["Tide", "first.", "I", "look."]


def test_bare_text_for_a_tool_is_whole_when_the_server_says_that_the_model_stopped() -> None:
    text = "<|channel|>commentary to=functions.run_cmd<|message|>ls -R"
    assert _seen(text, "stop")["calls"] == [{"name": "run_cmd", "arguments": {"cmd": "ls -R"}}]
    assert _seen(text, "length")["kind"] == "none"


def test_ids_that_the_model_wrote_are_kept_and_never_given_twice() -> None:
    entry = '{"id": "a1", "function": {"name": "get_tide", "arguments": {"harbour": "%s"}}}'
    both = [entry.replace("%s", place) for place in ("Oban", "Iona")]
    turn = parse('{"tool_calls": [' + ", ".join(both) + "]}", TOOLS)
    assert turn.calls[0].id == "a1"
    assert len({call.id for call in turn.calls}) == 2


def test_a_model_that_calls_without_end_is_stopped() -> None:
    turn = parse(
        "".join(f'<tool_call>{{"name": "run_cmd", "arguments": {{"cmd": "{n}"}}}}</tool_call>\n' for n in range(999)),
        TOOLS,
    )
    assert turn.kind == "none"
    assert turn.fault is not None
    assert turn.fault.code == "runaway"


def test_plain_and_labelled_text_is_left_to_the_other_readers() -> None:
    for text in (
        "The tide at Oban is 3 m.",
        'Thought: x\nAction: get_tide\nAction Input: {"name": "get_tide", "arguments": {"harbour": "Oban"}}',
        "Action: run_cmd\nAction Input: <tool_call>{}</tool_call>",
        "Final Answer: <tool_call>{}</tool_call>",
        "",
    ):
        assert read_native(text, TOOLS) is None


def test_each_family_has_its_own_name() -> None:
    names = [family.name for family in FAMILIES]
    assert len(names) == len(set(names))
    assert all(family.call or family.opens for family in FAMILIES)


PIECES = [
    "<tool_call>",
    "</tool_call>",
    "<function=get_tide>",
    "<parameter=harbour>",
    "</parameter>",
    "</function>",
    "[TOOL_CALLS]",
    "[ARGS]",
    "get_tide",
    "list_boats",
    "(",
    ")",
    "harbour=",
    '"Oban"',
    "'",
    '"',
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\n",
    "\n\n",
    "```json\n",
    "```",
    "<think>",
    "</think>",
    "<|channel|>",
    "commentary to=functions.get_tide",
    "<|message|>",
    "<|call|>",
    "<arg_key>",
    "</arg_key>",
    "<arg_value>",
    "</arg_value>",
    "<｜tool▁call▁begin｜>",
    "<｜tool▁sep｜>",
    "<|python_tag|>",
    'call:get_tide{harbour:<|"|>',
    '<|"|>',
    "<escape>",
    "TOOL_NAME: get_tide\n",
    "BEGIN_ARG: harbour\n",
    "END_ARG",
    "print(",
    '{"name": "get_tide", "arguments": {"harbour": "Oban"}}',
    '{"name": "',
    "\\",
    "\ud800",
    "\x00",
    "Observation: ",
    "\nObservation: ",
    "\nAction: x",
    "\nAnswer: ",
    "<tool_response>",
    "```\n",
    "```xml\n<tool_call>",
    "[THINK]",
    "[/THINK]",
    "<|channel|>final<|message|>",
    "</s>",
    "<get_tide>",
    "<harbour>",
    "</harbour>",
    "</get_tide>",
    "for example: ",
    "`",
    "x",
    " ",
    "functools[",
    "✿FUNCTION✿",
    "<|im_end|>",
    "to=",
]


@settings(max_examples=600)
@given(
    st.lists(st.sampled_from(PIECES) | st.text(max_size=6), max_size=30).map("".join),
    st.sampled_from([None, "stop", "length"]),
)
def test_any_mixture_of_marks_gives_a_turn_or_is_left_alone(text: str, finish_reason: str | None) -> None:
    turn = read_native(text, TOOLS, finish_reason=finish_reason)
    if turn is None:
        return
    assert set(turn.repairs) <= set(REPAIRS)
    assert (turn.kind == "action") == bool(turn.calls)
    assert (turn.kind == "final") == (turn.final is not None)
    assert (turn.kind == "none") == (turn.fault is not None)
    assert len({call.id for call in turn.calls}) == len(turn.calls)


@settings(max_examples=200)
@given(st.sampled_from(CASES), st.data())
def test_a_damaged_call_never_crashes_the_reader(case: Any, data: st.DataObject) -> None:
    text = case.values[0]["output"]
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 12)))
    parse(text[:start] + data.draw(st.text(max_size=4)) + text[end:], TOOLS)


@pytest.mark.parametrize(
    "piece",
    [
        "<tool_call>",
        '<tool_call>{"name": "x',
        '<tool_call>{"name": ',
        "{",
        '{"',
        "[{",
        '[{"a":',
        "<think>\n",
        "</think>",
        "<function=get_tide><parameter=harbour>",
        "<tool_call>get_tide<arg_key>a</arg_key>",
        "get_tide(",
        "get_tide[ARGS]{",
        "<get_tide><harbour>",
        'call:get_tide{harbour:<|"|>\n',
        '<think>a</think><tool_call>{"name": ',
        "```json\n",
        "{'name': 'get_tide', 'arguments': {'harbour': 'Oban'}}\n",
        '{"zone": "x"}\n',
        "x = y(1)\n",
        "<p>",
        "to=",
        '<｜tool▁call▁begin｜>get_tide<｜tool▁sep｜>{"harbour": "x"',
        "The quay is long.\n",
        "a",
        '"',
        "\\",
    ],
)
def test_cost_grows_with_the_length_and_no_faster(piece: str) -> None:
    def cost(size: int) -> float:
        text = (piece * (size // len(piece) + 1))[:size]
        started = time.process_time()
        read_native(text, TOOLS)
        return time.process_time() - started

    small = min(cost(20_000) for _ in range(3))
    assert cost(320_000) < 60 * small + 0.2


def test_arguments_repeated_without_an_end_are_no_call() -> None:
    tool = Tool("search", "", {"type": "object", "properties": {}})
    few, many = (parse("[TOOL_CALLS]search[ARGS]" + "{}" * count, [tool]) for count in (3, 1000))
    assert few.kind == "action"
    assert (many.kind, many.fault.code if many.fault else None) == ("none", "unreadable_call")

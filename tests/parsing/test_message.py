"""Whole assistant messages: every line of the structured corpus, and what else servers make of a call."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from react_text import Tool, Turn, parse, parse_message
from react_text.backends.http.assemble import assemble
from react_text.backends.http.ollama_answer import to_choice
from react_text.catalog import FAULTS, REPAIRS

CORPUS = Path(__file__).parent.parent / "corpus" / "structured.dev.jsonl"
CASES = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]
CHOICES = {
    "openai-message": json.loads,
    "openai-stream": lambda output: assemble(output.splitlines()),
    "ollama-message": lambda output: to_choice(json.loads(output)),
}
STRING, INTEGER = {"type": "string"}, {"type": "integer"}
TOOLS = (
    Tool(
        "get_tide",
        parameters={"type": "object", "properties": {"harbour": STRING, "hours": INTEGER}, "required": ["harbour"]},
    ),
    Tool("list_boats", parameters={"type": "object", "properties": {}}),
    Tool(
        "save_page",
        parameters={"type": "object", "properties": {"path": STRING, "body": STRING}, "required": ["path", "body"]},
    ),
)
OBAN = '{"harbour": "Oban"}'
LEAK = '<tool_call>{"name": "get_tide", "arguments": {"harbour": "Oban"}}</tool_call>'


def _read(case: dict[str, Any]) -> Turn:
    if case["format"] not in CHOICES:
        return parse(case["output"], case["tools"])
    choice = CHOICES[case["format"]](case["output"])
    return parse_message(choice["message"], case["tools"], finish_reason=choice["finish_reason"])


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_each_structured_case_is_read_as_a_fair_reader_would(case: dict[str, Any]) -> None:
    turn = _read(case)
    calls = [{"name": call.name, "arguments": dict(call.arguments)} for call in turn.calls]
    assert {"kind": turn.kind, "calls": calls, "final": turn.final} == case["expect"], case["note"]
    assert set(turn.repairs) <= set(REPAIRS)
    assert turn.fault is None or turn.fault.code in FAULTS


def _call(name: Any, arguments: Any, call_id: Any = "c1") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _message(*calls: Any, **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(calls), **fields}


@pytest.mark.parametrize(
    "arguments",
    [
        OBAN,
        {"harbour": "Oban"},
        [{"harbour": "Oban"}],
        OBAN + "}",
        OBAN[:-1],
        "{'harbour': 'Oban'}",
        f"```json\n{OBAN}\n```",
        f"json\n{OBAN}",
        f"{OBAN}</tool_call>",
        f"{OBAN}<|call|>",
        json.dumps(OBAN),
        json.dumps(json.dumps(OBAN)),
        f"[{OBAN}]",
        '{"arguments": {"harbour": "Oban"}}',
        '{"name": "get_tide", "arguments": {"harbour": "Oban"}}',
        OBAN * 3,
        "harbour: Oban",
        '"Oban"',
        "<arg_key>harbour</arg_key><arg_value>Oban</arg_value>",
        '{"harbour":\\n"Oban"}',
        '{"Harbour": "Oban"}',
        f"get_tide{OBAN}",
        f"get_tide{OBAN}get_tide{OBAN}",
    ],
)
def test_arguments_that_only_lost_their_form_are_mended(arguments: Any) -> None:
    turn = parse_message(_message(_call("get_tide", arguments)), TOOLS, finish_reason="tool_calls")
    assert [(call.id, call.name, dict(call.arguments)) for call in turn.calls] == [
        ("c1", "get_tide", {"harbour": "Oban"})
    ]
    assert (arguments == OBAN) == (turn.repairs == ())


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ('{"harbour": "Ob', "truncated"),
        ('{"harbour": "Oban", "hours": 3', "truncated"),
        (OBAN[:-1] + ", ", "truncated"),
        ("{", "truncated"),
        ("", "invalid_arguments"),
        (None, "invalid_arguments"),
        ('{"hours": 3}', "invalid_arguments"),
        ('{"harbour": "Oban", "hours": "soon"}', "invalid_arguments"),
        (OBAN + '{"harbour": "Iona"}', "unreadable_arguments"),
        ('{"harbour": "Oban</arg_value><arg_key>hours</arg_key><arg_value>3"}', "unreadable_arguments"),
        (7, "unreadable_arguments"),
        ('<tool_call>{"harbour": ', "unreadable_arguments"),
    ],
)
def test_arguments_that_may_be_cut_or_do_not_fit_never_run(arguments: Any, code: str) -> None:
    turn = parse_message(_message(_call("get_tide", arguments)), TOOLS, finish_reason="tool_calls")
    assert turn.kind == "none"
    assert turn.fault is not None
    assert turn.fault.code == code
    assert "get_tide" in turn.fault.message or "harbour" in turn.fault.message or "hours" in turn.fault.message


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("get_tide:", OBAN),
        (" Get-Tide ", OBAN),
        ("functions.get_tide:0", OBAN),
        ("default_api.get_tide", OBAN),
        ("get_tideget_tide", OBAN),
        ("get_tide<|channel|>commentary", OBAN),
        ("<|message|>get_tide", OBAN),
        ("assistant<|channel|>commentary to=functions.get_tide", OBAN),
        ('get_tide(harbour="Oban")', "{}"),
        ('print(default_api.get_tide("Oban"))', ""),
        (f"get_tide{OBAN}", ""),
        (f'{{"name": "get_tide", "arguments": {OBAN}}}', "{}"),
        ("get_tide<arg_key>harbour</arg_key><arg_value>Oban</arg_value>", ""),
        ('get_tide(harbour="Oban")', OBAN),
    ],
)
def test_a_name_with_something_around_it_is_still_that_tool(name: str, arguments: str) -> None:
    turn = parse_message(_message(_call(name, arguments)), TOOLS)
    assert [(call.name, dict(call.arguments)) for call in turn.calls] == [("get_tide", {"harbour": "Oban"})]


@pytest.mark.parametrize("name", [None, "", "  ", 5])
def test_a_call_without_a_name_is_nothing_to_run(name: Any) -> None:
    turn = parse_message(_message(_call(name, OBAN)), TOOLS)
    assert (turn.kind, turn.fault and turn.fault.code) == ("none", "missing_name")


def test_an_unknown_tool_keeps_its_name_so_that_the_model_is_told() -> None:
    turn = parse_message(_message(_call("wind_map", '{"area": "west"}')), TOOLS)
    assert [(call.name, dict(call.arguments)) for call in turn.calls] == [("wind_map", {"area": "west"})]


@pytest.mark.parametrize("ids", [("", ""), (None, None), ("a", "a"), ("call_2", ""), ("", "call_1"), (1, 1)])
def test_every_call_gets_an_id_of_its_own(ids: tuple[Any, Any]) -> None:
    turn = parse_message(_message(_call("list_boats", "{}", ids[0]), _call("list_boats", "{}", ids[1])), TOOLS)
    assert len(turn.calls) == 2
    assert len({call.id for call in turn.calls} - {""}) == 2


def test_one_cut_call_stops_the_whole_turn() -> None:
    turn = parse_message(_message(_call("get_tide", OBAN), _call("save_page", '{"path": "a", "body": "x')), TOOLS)
    assert (turn.kind, turn.fault and turn.fault.code) == ("none", "truncated")


@pytest.mark.parametrize(
    "message",
    [
        {"tool_calls": _call("get_tide", OBAN)},
        {"tool_calls": json.dumps([_call("get_tide", OBAN)])},
        {"tool_calls": [{"name": "get_tide", "arguments": OBAN}]},
        {"tool_calls": [json.dumps(_call("get_tide", OBAN))]},
        {"function_call": {"name": "get_tide", "arguments": OBAN}},
        {"tool_calls": None, "content": LEAK},
        {
            "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "t", "name": "get_tide", "input": {"harbour": "Oban"}},
            ]
        },
        {"content": "", "reasoning_content": f"I look.\n{LEAK}"},
        {
            "content": LEAK,
            "tool_calls": [_call("get_tide", OBAN)],
            "function_call": {"name": "get_tide:", "arguments": OBAN},
        },
    ],
)
def test_the_call_is_found_in_whatever_field_it_came(message: dict[str, Any]) -> None:
    turn = parse_message(message, TOOLS)
    assert [(call.name, dict(call.arguments)) for call in turn.calls] == [("get_tide", {"harbour": "Oban"})]
    assert all(call.id for call in turn.calls)


def test_an_entry_that_says_nothing_does_not_hide_the_answer() -> None:
    turn = parse_message(_message(_call(None, "null"), content="It is high."), TOOLS)
    assert (turn.kind, turn.final) == ("final", "It is high.")


def test_content_and_reasoning_beside_a_call_are_the_thought() -> None:
    turn = parse_message(_message(_call("list_boats", "{}"), content="I look.", reasoning="Boats first."), TOOLS)
    assert (turn.kind, turn.thought) == ("action", "Boats first.\nI look.")


def test_reasoning_beside_an_answer_is_the_thought() -> None:
    turn = parse_message({"content": "It is high.", "reasoning_content": "Easy."}, TOOLS, finish_reason="stop")
    assert (turn.kind, turn.final, turn.thought) == ("final", "It is high.", "Easy.")


@pytest.mark.parametrize(
    ("message", "finish_reason", "code"),
    [
        ({"content": ""}, "tool_calls", "lost_call"),
        ({"content": None, "tool_calls": [{}]}, "tool_calls", "lost_call"),
        ({"content": None}, "length", "truncated"),
        ({"content": "", "reasoning": "I should call get_tide."}, "stop", "no_action"),
        ({"content": "", "reasoning": f"Maybe {LEAK} or not."}, "stop", "no_action"),
        ({}, "stop", "empty"),
        (None, None, "empty"),
    ],
)
def test_a_message_with_neither_call_nor_answer_says_why(message: Any, finish_reason: str, code: str) -> None:
    turn = parse_message(message, TOOLS, finish_reason=finish_reason)
    assert (turn.kind, turn.fault and turn.fault.code) == ("none", code)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=8)
    | st.sampled_from([OBAN, OBAN[:9], LEAK, "get_tide", "list_boats("]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "arguments", "function", "id", "type", "input", "text", "content", "harbour"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)
FIELDS = st.sampled_from(
    ["content", "tool_calls", "function_call", "reasoning_content", "reasoning", "refusal", "role"]
)


@settings(max_examples=400)
@given(st.dictionaries(FIELDS, JSON, max_size=4), st.sampled_from([None, "stop", "length", "tool_calls"]))
def test_any_message_gives_a_turn(message: dict[str, Any], finish_reason: str | None) -> None:
    turn = parse_message(message, TOOLS, finish_reason=finish_reason)
    assert set(turn.repairs) <= set(REPAIRS)
    assert (turn.kind == "action") == bool(turn.calls)
    assert (turn.kind == "none") == (turn.fault is not None)
    assert len({call.id for call in turn.calls}) == len(turn.calls)

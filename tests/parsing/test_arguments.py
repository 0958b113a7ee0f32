"""An Action Input in every form, as the arguments of a tool."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from react_text import Tool, parse
from react_text.messages import Turn

Named = Callable[[str], Tool]


def read(name: str, written: str, tool: Named) -> Turn:
    return parse(f"Thought: t\nAction: {name}\nAction Input: {written}", [tool(name)])


@pytest.mark.parametrize(
    ("name", "written", "arguments"),
    [
        ("weather", "city: Bled\ndays: 3", {"city": "Bled", "days": 3}),
        ("weather", "- city: Bled\n- days: 3", {"city": "Bled", "days": 3}),
        ("weather", "city=Bled, days=3", {"city": "Bled", "days": 3}),
        ("weather", 'city = "Bled"; days = 3', {"city": "Bled", "days": 3}),
        ("weather", "City: Bled, Days: 3", {"city": "Bled", "days": 3}),
        ("weather", '"city": "Bled", "days": 3', {"city": "Bled", "days": 3}),
        ("weather", '"city": "Bled", "days": 3}', {"city": "Bled", "days": 3}),
        ("weather", 'weather(city="Bled", days=3)', {"city": "Bled", "days": 3}),
        ("weather", "Bled", {"city": "Bled"}),
        ("weather", '{"city": "Bled"}}', {"city": "Bled"}),
        ("weather", '{"city": "Bled"}.', {"city": "Bled"}),
        ("weather", '{"city": "Bled"}```', {"city": "Bled"}),
        ("weather", '{"city": "Bled"}\n\n----\nOver to the tool.', {"city": "Bled"}),
        ("weather", '{"city": "Bled"}{"city": "Bled"}', {"city": "Bled"}),
        ("weather", '[{"city": "Bled"}]', {"city": "Bled"}),
        ("weather", '[{"city": "Bled"}, {"note": "later"}]', {"city": "Bled"}),
        ("weather", '"{\\"city\\": \\"Bled\\"}"', {"city": "Bled"}),
        ("weather", '\'{"city": "Bled"}\'', {"city": "Bled"}),
        ("weather", '`{"city": "Bled"}`', {"city": "Bled"}),
        ("weather", 'json {"city": "Bled"}', {"city": "Bled"}),
        ("weather", '```json\n{"city": "Bled"}\n```\nLet me know.', {"city": "Bled"}),
        ("weather", '```json\n{"city": "Bled"}', {"city": "Bled"}),
        ("weather", '``json\n{"city": "Bled"}\n``', {"city": "Bled"}),
        ("weather", '{"city": "Bled"', {"city": "Bled"}),
        ("search", '"tidal power"', {"query": "tidal power"}),
        ("search", "“tidal power”", {"query": "tidal power"}),
        ("search", '"tidal power".', {"query": "tidal power"}),
        ("search", '"she said "stop" twice"', {"query": 'she said "stop" twice'}),
        ("search", '"red pier" OR "blue pier"', {"query": '"red pier" OR "blue pier"'}),
        ("search", '"red pier" history', {"query": '"red pier" history'}),
        ("search", 'git commit -m "x"', {"query": 'git commit -m "x"'}),
        ("search", "query: tidal power", {"query": "tidal power"}),
        ("search", 'query="tidal power"', {"query": "tidal power"}),
        ("search", '["tidal power"]', {"query": "tidal power"}),
        ("search", "(14 - 3) * 2 / 11", {"query": "(14 - 3) * 2 / 11"}),
        ("search", "depth ^ 2, depth=14", {"query": "depth ^ 2, depth=14"}),
        ("search", "https://example.org/a?x=[1,2]&y={z}", {"query": "https://example.org/a?x=[1,2]&y={z}"}),
        ("search", "true", {"query": "true"}),
        ("search", "tides </s>", {"query": "tides"}),
        ("search", "tides\nObserv", {"query": "tides"}),
        ("search", "tides\nPAUSE", {"query": "tides"}),
        ("search", "tides\n```", {"query": "tides"}),
        ("search", "tides\n---", {"query": "tides"}),
        ("search", "`tides`.", {"query": "tides"}),
        ("search", 'search("tides")', {"query": "tides"}),
        ("search", "tides (about noon)", {"query": "tides (about noon)"}),
        ("search", "tides Observation: high at six", {"query": "tides"}),
        ("search", 'what "Final Answer:" means', {"query": 'what "Final Answer:" means'}),
        ("run_code", "x = {'a': 1}\nprint(x)", {"code": "x = {'a': 1}\nprint(x)"}),
        (
            "run_code",
            "\ndef f():\n    # Action: none\n    return 1\n\nf()",
            {"code": "def f():\n    # Action: none\n    return 1\n\nf()"},
        ),
        ("run_code", "```python\nif x:\n    y\n```", {"code": "if x:\n    y"}),
        ("run_code", '```python\nprint("```")\n```', {"code": 'print("```")'}),
        ("run_code", "```x = 1```", {"code": "x = 1"}),
        ("run_code", "`x = 1`", {"code": "x = 1"}),
        ("run_code", "'abc'.upper()", {"code": "'abc'.upper()"}),
        ("run_code", "[x for x in y]", {"code": "[x for x in y]"}),
        ("get_user", "8", {"user_id": 8}),
        ("clock", "", {}),
        ("clock", "None", {}),
        ("clock", "N/A", {}),
        ("clock", "no input needed", {}),
        ("clock", "''", {}),
        ("clock", "{}", {}),
        ("clock", '{"input": ""}', {}),
        ("weather", 'dict(city="Bled")', {"city": "Bled"}),
        ("weather", '{"city": Bled"}', {"city": "Bled"}),
        ("weather", '{city": "Bled"}', {"city": "Bled"}),
        ("weather", "(city: Bled, days: 3)", {"city": "Bled", "days": 3}),
        ("weather", '{"city": "Bled"\nObserv', {"city": "Bled"}),
        ("run_code", '"""x = 1"""', {"code": "x = 1"}),
        ("run_code", "'''\nx = 1\n'''", {"code": "x = 1"}),
        ("run_code", "~~~python\nx = 1\n~~~", {"code": "x = 1"}),
        ("match", r'{"pattern": "\d+\.\d+", "text": "1.5"}', {"pattern": r"\d+\.\d+", "text": "1.5"}),
        (
            "write_file",
            '{"path": "a", "content": "Observation: x\nAction: y"}',
            {"path": "a", "content": "Observation: x\nAction: y"},
        ),
        (
            "write_file",
            '{"path": "a", "content": "<p class="b">c</p>"}',
            {"path": "a", "content": '<p class="b">c</p>'},
        ),
    ],
)
def test_every_way_to_write_arguments_is_read(name: str, written: str, arguments: dict[str, Any], tool: Named) -> None:
    turn = read(name, written, tool)
    assert turn.fault is None
    assert [call.arguments for call in turn.calls] == [arguments]


@pytest.mark.parametrize(
    ("name", "written", "code"),
    [
        ("weather", '{"city": "Bled", "days": 3', "truncated"),
        ("weather", '{"city": "Bl', "truncated"),
        ("weather", '{"city": "Bled",', "truncated"),
        ("search", '"current toll for the', "truncated"),
        ("run_code", "```python\nprint(1)", "truncated"),
        ("search", "", "missing_action_input"),
        ("search", "None", "missing_action_input"),
        ("search", "{}", "invalid_arguments"),
        ("weather", '{"city": "Bled"}\n{"city": "Pula"}', "ambiguous_arguments"),
        ("weather", '[{"city": "Bled"}, {"city": "Pula"}]', "ambiguous_arguments"),
        ("weather", '"Bled", 3', "ambiguous_arguments"),
        ("weather", '{"city": "Bled"}, "days": 3}', "ambiguous_arguments"),
        ("weather", '{"city": Bled, } or so}', "ambiguous_arguments"),
        ("find_docs", '{"query": "a", "tags": ["x, "y"]}', "unreadable_arguments"),
        ("weather", 'The input is {"city": "Bled"}', "ambiguous_arguments"),
        ("weather", "<city>Bled</city>", "ambiguous_arguments"),
        ("search", "query = tides", "ambiguous_arguments"),
        ("search", "tides\n\nI will now wait for the result.", "ambiguous_arguments"),
        ("search", "tides\n\n[waiting for the tool]", "ambiguous_arguments"),
        ("run_code", "print(1)\n\nThis prints the number.", "ambiguous_arguments"),
        ("weather", "{city is Bled, maybe}", "unreadable_arguments"),
        ("book", "Inn|2|19:00", "unreadable_arguments"),
        ("add", "3 4", "unreadable_arguments"),
        ("clock", "Berlin", "invalid_arguments"),
        ("clock", '{"zone": "UTC"}', "invalid_arguments"),
        ("configure", '{"a": 1}', "invalid_arguments"),
        ("search", '{"query": "tides\nObservation: {"level": "high"}', "truncated"),
        ("search", "{'input': Printed([('title', 'Input')])}", "unreadable_arguments"),
    ],
)
def test_what_cannot_be_told_runs_nothing(name: str, written: str, code: str, tool: Named) -> None:
    turn = read(name, written, tool)
    assert turn.kind == "none"
    assert turn.fault is not None
    assert turn.fault.code == code


def test_a_tool_nobody_offered_gets_the_text_as_its_input(tool: Named) -> None:
    turn = parse('Thought: t\nAction: browser\nAction Input: "the page"', [tool("search")])
    assert [(call.name, call.arguments) for call in turn.calls] == [("browser", {"input": "the page"})]


def test_a_broken_outer_object_never_gives_its_inner_one_as_arguments(tool: Named) -> None:
    turn = read("weather", '{"wrong" {"city": "Bled"}}', tool)
    assert turn.kind == "none"


def test_a_bare_text_that_hit_the_token_limit_is_cut(tool: Named) -> None:
    text = "Thought: t\nAction: search\nAction Input: high water at"
    assert parse(text, [tool("search")]).kind == "action"
    turn = parse(text, [tool("search")], finish_reason="length")
    assert turn.fault is not None
    assert turn.fault.code == "truncated"


def test_the_fault_shows_the_model_how_to_write_the_input(tool: Named) -> None:
    turn = read("book", "Inn, two people", tool)
    assert turn.fault is not None
    assert 'Action Input: {"place": "<string>", "guests": <integer>, "time": "<string>"}' in turn.fault.message

"""No text crashes the parser, and none costs more than its length."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from react_text import Tool, parse
from react_text.catalog import FAULTS
from react_text.parsing.stream import StreamReader
from react_text.parsing.values import read_value

Offered = Callable[..., tuple[Tool, ...]]

TOOLS = (
    Tool("search", parameters={"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}),
    Tool(
        "add",
        parameters={
            "type": "object",
            "properties": {"a": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}}},
            "required": ["a"],
        },
    ),
)
PIECES = [
    *(
        "Thought: ",
        "\nAction: ",
        "search",
        "add",
        "\nAction Input: ",
        "\nObservation: ",
        "\nFinal Answer: ",
        "Question: ",
    ),
    *(
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        '"',
        "'",
        "`",
        "```",
        "\\",
        "\n",
        ": ",
        ", ",
        "=",
        "“",
        "：",
        "#",
        "**",
        "//",
        "/*",
    ),
    *(
        "<think>",
        "</think>",
        "<|im_end|>",
        "<tool_call>",
        '{"query": "x"}',
        "1",
        "x",
        "query",
        "None",
        "思考：",
        "\ud800",
        "\x00",
    ),
]
HEADS = [
    "",
    "Thought: t\nAction: search\nAction Input: ",
    'Thought: t\nAction: add\nAction Input: {"tags": ["',
    "Action: search(",
    "Final Answer: ",
    "Thought: ",
]


@settings(max_examples=400)
@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=40).map("".join))
def test_any_text_gives_a_turn(text: str) -> None:
    turn = parse(text, TOOLS)
    if turn.kind == "none":
        assert turn.fault is not None
        assert turn.fault.code in FAULTS
        assert not turn.calls
        assert turn.final is None
    elif turn.kind == "action":
        assert turn.calls
        assert turn.final is None
    else:
        assert turn.final


@settings(max_examples=200)
@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join), st.integers(1, 9))
def test_any_text_in_pieces_gives_the_same_turn(text: str, size: int) -> None:
    reader = StreamReader(TOOLS)
    for start in range(0, len(text), size):
        reader.feed(text[start : start + size])
    assert reader.finish() == parse(reader.text, TOOLS)
    assert text.startswith(reader.text)


@settings(max_examples=300)
@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_any_text_can_be_asked_for_a_value(text: str) -> None:
    read = read_value(text)
    assert 0 <= read.end <= len(text)


@pytest.mark.parametrize("opener", ["{", "[", "(", '{"a": ', '[{"a": [', "{{", "({", "<think>", "```", '"', "'{"])
@pytest.mark.parametrize("head", ["", "Thought: t\nAction: add\nAction Input: ", '{"action": "add", "action_input": '])
def test_ten_thousand_openers_are_no_recursion(opener: str, head: str) -> None:
    parse(head + opener * 10_000, TOOLS)
    parse(head + opener * 10_000 + "}" * 10_000, TOOLS)


def test_a_value_nested_too_deeply_is_refused_even_where_it_is_valid_json() -> None:
    turn = parse('Thought: t\nAction: add\nAction Input: {"a": ' + "[" * 200 + "]" * 200 + "}", TOOLS)
    assert turn.fault is not None
    assert turn.fault.code == "unreadable_arguments"


def test_a_number_of_thousands_of_digits_is_refused() -> None:
    turn = parse('Thought: t\nAction: add\nAction Input: {"a": ' + "1" * 5000 + "}", TOOLS)
    assert turn.kind == "none"


def _seconds(text: str) -> float:
    start = time.process_time()
    parse(text, TOOLS)
    return time.process_time() - start


@pytest.mark.parametrize("head", HEADS)
def test_cost_grows_with_the_length_and_no_faster(head: str) -> None:
    """Eight times the text may cost at most about eight times as much: 24 leaves room for a busy machine."""
    for piece in PIECES:
        small, large = (head + piece * (size // len(piece)) for size in (4_000, 32_000))
        base = max(min(_seconds(small) for _ in range(3)), 0.002)
        if _seconds(large) > 24 * base:
            assert min(_seconds(large) for _ in range(3)) <= 24 * base, repr(piece)


def test_a_stream_fed_letter_by_letter_costs_no_more_than_its_length() -> None:
    def seconds(text: str) -> float:
        reader = StreamReader(TOOLS)
        start = time.process_time()
        for letter in text:
            reader.feed(letter)
        return time.process_time() - start

    for head, piece in (("Thought: ", "a: b\n"), (HEADS[1] + '{"query": "', "x\nObservation: y\n"), ("", "Action: x ")):
        small, large = (head + piece * (size // len(piece)) for size in (2_000, 16_000))
        base = max(min(seconds(small) for _ in range(3)), 0.002)
        assert min(seconds(large) for _ in range(2)) <= 24 * base, piece


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]')


def _slips(written: str) -> Iterator[str]:
    """The JSON text with one structural sign or quote left out or written twice, or one string in other quotes."""
    for match in _TOKEN.finditer(written):
        start, end, token = match.start(), match.end(), match.group()
        if token[0] != '"':
            yield written[:start] + written[end:]
            yield written[:start] + token + written[start:]
            continue
        yield written[:start] + written[start + 1 :]
        yield written[: end - 1] + written[end:]
        yield f"{written[:start]}“{token[1:-1]}”{written[end:]}"
        yield written[:start] + token[1:-1] + written[end:]


def test_json_with_one_slip_is_read_as_it_was_meant_or_not_at_all(react_case: dict[str, Any]) -> None:
    """Objects whose schema declares nothing inside are left out: there a lost brace has two good places."""
    names = [tool["function"]["name"] for tool in react_case["tools"]]
    for call in react_case["expect"]["calls"]:
        arguments = call["arguments"]
        if call["name"] not in names or any(isinstance(value, dict) for value in arguments.values()):
            continue
        for indent in (None, 2):
            for slip in _slips(json.dumps(arguments, ensure_ascii=False, indent=indent)):
                turn = parse(f"Thought: t\nAction: {call['name']}\nAction Input: {slip}", react_case["tools"])
                assert turn.kind != "final"
                assert [one.arguments for one in turn.calls] in ([], [arguments]), slip


def test_a_strict_text_that_breaks_off_never_calls_something_else(react_case: dict[str, Any]) -> None:
    """Of a text that is cut, arguments may be left out where closers alone are missing, but none is ever changed."""
    text, tools = react_case["output"], react_case["tools"]
    whole = parse(text, tools)
    if not whole.strict or whole.kind != "action":
        return
    for end in range(4, len(text)):
        turn = parse(text[:end], tools)
        assert turn.kind != "final"
        for cut, full in zip(turn.calls, whole.calls, strict=False):
            assert cut.name == full.name
            assert all(_begins(value, full.arguments[key]) for key, value in cut.arguments.items())


def _begins(value: Any, whole: Any) -> bool:
    if isinstance(value, dict):
        return all(_begins(inner, whole[key]) for key, inner in value.items())
    if isinstance(value, list):
        return all(map(_begins, value, whole))
    return bool(value == whole)

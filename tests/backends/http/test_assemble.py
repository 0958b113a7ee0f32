"""Streamed answers put together: the same call comes out however a server cut and numbered it."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from react_text.backends.http.assemble import assemble
from react_text.backends.http.ollama_answer import to_choice

OBAN = '{"harbour": "Oban"}'
IONA = '{"harbour": "Iona"}'


def _stream(*deltas: dict[str, Any], finish_reason: str | None = "tool_calls", done: bool = True) -> list[str]:
    chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    if finish_reason:
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish_reason}]})
    lines = [part for chunk in chunks for part in (f"data: {json.dumps(chunk)}", "")]
    return [*lines, "data: [DONE]"] if done else lines


def _entry(arguments: Any = None, name: str | None = None, **fields: Any) -> dict[str, Any]:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return {**fields, "function": function}


def _calls(*deltas: dict[str, Any]) -> list[tuple[str, str]]:
    message = assemble(_stream(*deltas))["message"]
    return [(call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls", [])]


def _tools(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"tool_calls": list(entries)}


def test_content_and_reasoning_are_joined() -> None:
    choice = assemble(
        _stream(
            {"role": "assistant", "reasoning_content": "Let "},
            {"reasoning": "me."},
            {"content": "It is "},
            {"content": "high."},
            finish_reason="stop",
        )
    )
    assert choice == {
        "message": {"role": "assistant", "content": "It is high.", "reasoning_content": "Let me."},
        "finish_reason": "stop",
    }


@given(
    st.lists(st.integers(1, len(OBAN) - 1), max_size=6).map(sorted),
    st.sampled_from(["index", "none", "growing", "repeated"]),
)
def test_arguments_cut_anywhere_come_out_whole(cuts: list[int], numbering: str) -> None:
    edges = [0, *cuts, len(OBAN)]
    pieces = [OBAN[start:end] for start, end in pairwise(edges)]
    deltas = []
    for number, piece in enumerate(pieces):
        fields: dict[str, Any] = {"index": number if numbering == "growing" else 0} if numbering != "none" else {}
        if number == 0 or numbering == "repeated":
            deltas.append(_tools(_entry(piece, "get_tide", id="c1", **fields)))
        else:
            deltas.append(_tools(_entry(piece, **fields)))
    assert _calls(*deltas) == [("get_tide", OBAN)]


def test_interleaved_parallel_calls_are_kept_apart_by_their_index() -> None:
    deltas = [
        _tools(_entry("", "get_tide", index=0, id="a"), _entry("", "get_tide", index=1, id="b")),
        _tools(_entry(OBAN[:8], index=0)),
        _tools(_entry(IONA[:5], index=1)),
        _tools(_entry(OBAN[8:], index=0), _entry(IONA[5:], index=1)),
    ]
    assert _calls(*deltas) == [("get_tide", OBAN), ("get_tide", IONA)]


@pytest.mark.parametrize("fields", [{"index": 0}, {}, {"index": 0, "id": ""}])
def test_whole_calls_under_one_index_and_without_ids_are_several_calls(fields: dict[str, Any]) -> None:
    assert _calls(_tools(_entry(OBAN, "get_tide", **fields)), _tools(_entry(IONA, "get_tide", **fields))) == [
        ("get_tide", OBAN),
        ("get_tide", IONA),
    ]


def test_another_name_without_an_id_is_another_call() -> None:
    assert _calls(_tools(_entry(OBAN, "get_tide", index=0)), _tools(_entry("{}", "list_boats", index=0))) == [
        ("get_tide", OBAN),
        ("list_boats", "{}"),
    ]


def test_an_id_drawn_anew_for_every_chunk_is_one_call() -> None:
    deltas = [
        _tools(_entry(piece, "get_tide", index=0, id=f"c{n}"))
        for n, piece in enumerate((OBAN[:6], OBAN[6:12], OBAN[12:]))
    ]
    assert _calls(*deltas) == [("get_tide", OBAN)]


def test_arguments_sent_as_all_so_far_each_time_are_taken_once() -> None:
    deltas = [
        _tools(_entry(OBAN[:length], "get_tide" if not n else None, index=0))
        for n, length in enumerate((4, 11, len(OBAN)))
    ]
    assert _calls(*deltas) == [("get_tide", OBAN)]


def test_a_second_call_that_begins_under_the_first_index_keeps_its_own_arguments() -> None:
    deltas = [
        _tools(_entry(OBAN, "get_tide", index=0, id="a")),
        _tools(_entry("", "get_tide", index=0, id="b")),
        _tools(_entry(IONA, index=1)),
    ]
    assert _calls(*deltas) == [("get_tide", OBAN), ("get_tide", IONA)]


def test_an_id_that_was_seen_counts_more_than_a_wrong_index() -> None:
    deltas = [
        _tools(_entry(OBAN[:6], "get_tide", index=0, id="a"), _entry(IONA[:6], "get_tide", index=1, id="b")),
        _tools(_entry(OBAN[6:], index=1, id="a"), _entry(IONA[6:], index=0, id="b")),
    ]
    assert _calls(*deltas) == [("get_tide", OBAN), ("get_tide", IONA)]


def test_a_name_may_come_in_pieces() -> None:
    assert _calls(
        _tools(_entry("", "get_", index=0, id="a")), _tools(_entry("", "tide", index=0)), _tools(_entry(OBAN, index=0))
    ) == [("get_tide", OBAN)]


@pytest.mark.parametrize("arguments", [None, "", {}])
def test_a_call_without_arguments_is_kept(arguments: Any) -> None:
    assert [
        name
        for name, _ in _calls(
            {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "list_boats", "arguments": arguments}}]}
        )
    ] == ["list_boats"]


def test_arguments_sent_as_an_object_become_text() -> None:
    assert _calls(_tools(_entry({"harbour": "Oban"}, "get_tide", index=0))) == [("get_tide", OBAN)]


def test_the_legacy_field_is_joined_too() -> None:
    choice = assemble(
        _stream(
            {"function_call": {"name": "get_tide", "arguments": OBAN[:5]}},
            {"function_call": {"arguments": OBAN[5:]}},
            finish_reason="function_call",
        )
    )
    assert choice["message"]["function_call"] == {"name": "get_tide", "arguments": OBAN}


def test_a_stream_that_broke_off_has_no_finish_reason() -> None:
    choice = assemble(_stream({"content": "It is"}, finish_reason=None, done=False))
    assert (choice["message"]["content"], choice["finish_reason"]) == ("It is", None)


def test_comments_events_usage_and_broken_lines_are_stepped_over() -> None:
    lines = [
        ": ping",
        "event: message",
        *_stream({"content": "Hi"}, finish_reason="stop"),
        'data: {"choices": [], "usage": {}}',
        "data: {broken",
        "x",
    ]
    assert assemble(lines)["message"]["content"] == "Hi"


def test_an_error_inside_the_stream_is_kept() -> None:
    choice = assemble(
        [*_stream({"content": "Hi"}, finish_reason=None, done=False), 'data: {"error": {"message": "overloaded"}}']
    )
    assert choice["error"] == {"message": "overloaded"}


def test_one_text_and_its_lines_give_the_same() -> None:
    lines = _stream({"content": "a\u2028b"}, finish_reason="stop")
    assert assemble("\r\n".join(lines)) == assemble(lines)


def test_only_the_first_of_several_choices_is_read() -> None:
    chunk = {"choices": [{"index": 0, "delta": {"content": "one"}}, {"index": 1, "delta": {"content": "two"}}]}
    assert assemble([f"data: {json.dumps(chunk)}"])["message"]["content"] == "one"


CHUNK = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "delta", "tool_calls", "index", "id", "function", "name", "arguments", "content", "error"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.lists(CHUNK.map(lambda chunk: f"data: {json.dumps(chunk)}") | st.text(max_size=10), max_size=6))
def test_any_stream_gives_a_choice(lines: list[str]) -> None:
    choice = assemble(lines)
    assert choice["message"]["role"] == "assistant"


def test_an_ollama_answer_becomes_a_choice() -> None:
    call = {"function": {"name": "get_tide", "arguments": {"harbour": "Oban"}}}
    answer = {
        "message": {"role": "assistant", "content": "", "thinking": "Tide.", "tool_calls": [call]},
        "done_reason": "stop",
    }
    assert to_choice(answer) == {
        "message": {"role": "assistant", "content": "", "tool_calls": [call], "reasoning_content": "Tide."},
        "finish_reason": "tool_calls",
    }
    assert "thinking" in answer["message"]


def test_a_cut_ollama_answer_stays_cut() -> None:
    assert (
        to_choice({"message": {"role": "assistant", "content": "It is"}, "done_reason": "length"})["finish_reason"]
        == "length"
    )

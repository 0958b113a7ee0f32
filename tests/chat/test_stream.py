"""FallbackChat with stream=True: what a client is told while the model writes, and that none of it is taken back."""

from __future__ import annotations

import asyncio
import json

import pytest
from conversation import ADD, QUESTION, STOCK_LEVEL, TOOLS, accumulate, final, step, tool_dict, without_ids
from hypothesis import given, settings
from hypothesis import strategies as st

from react_text import FallbackChat, Scripted
from react_text.errors import BackendError
from react_text.schema import first_problem


def stream(replies, **request):
    model = replies if isinstance(replies, Scripted) else Scripted(replies)
    return list(FallbackChat(model).create(messages=[QUESTION], stream=True, **{"tools": TOOLS, **request}))


def deltas(chunks):
    return [chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"]]


def test_a_thought_and_an_answer_stream_as_they_are_written():
    told = deltas(stream([final("There are twenty of them.", "I know it well.")]))
    thoughts = [one["reasoning_content"] for one in told if "reasoning_content" in one]
    contents = [one["content"] for one in told if one.get("content")]
    assert "".join(thoughts) == "I know it well."
    assert "".join(contents) == "There are twenty of them."
    assert len(thoughts) >= 3
    assert len(contents) >= 4


def test_a_call_is_announced_before_its_arguments_are_written():
    seen = []
    model = Scripted([step("add", {"a": 2, "b": 3})])
    for chunk in FallbackChat(model).create(messages=[QUESTION], tools=TOOLS, stream=True):
        seen += chunk["choices"][0]["delta"].get("tool_calls", ())
    assert seen[0]["function"] == {"name": "add", "arguments": ""}
    assert [part["function"]["arguments"] for part in seen[1:]] == ['{"a": 2', ', "b": 3', "}"]
    assert all("id" not in part for part in seen[1:])


def test_the_first_chunk_has_the_role_and_the_last_one_the_reason():
    chunks = stream([final("x")])
    assert deltas(chunks)[0]["role"] == "assistant"
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks][-1] == "stop"
    assert len({chunk["id"] for chunk in chunks}) == 1
    assert "x_react_text" in chunks[-1]


def test_usage_comes_last_where_it_is_asked_for():
    chunks = stream([final("x")], stream_options={"include_usage": True})
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"]["completion_tokens"] > 0
    assert all(chunk["usage"] is None for chunk in chunks[:-1])
    assert all("usage" not in chunk for chunk in stream([final("x")]))


def test_a_refused_call_that_was_announced_is_completed_and_never_taken_back():
    """The client knows the name: the model is held to it and gives only the arguments anew."""
    model = Scripted([step("add", {"a": 2, "b": "many"}), ', "b": 3}'])
    message, finish = accumulate(stream(model))
    assert finish == "tool_calls"
    assert [call["function"] for call in message["tool_calls"]] == [{"name": "add", "arguments": '{"a": 2, "b": 3}'}]
    assert model.requests[1].reply_start.endswith('Action: add\nAction Input: {"a": 2')


def test_a_model_that_writes_the_announced_step_anew_is_read_all_the_same():
    message, finish = accumulate(stream(Scripted.plan([("add", {"a": 2, "b": 3})], sloppy=True)))
    assert finish == "tool_calls"
    assert [call["function"] for call in message["tool_calls"]] == [{"name": "add", "arguments": '{"a": 2, "b": 3}'}]


def test_a_call_that_never_becomes_valid_ends_as_length_with_open_arguments():
    message, finish = accumulate(stream([step("add", {"a": "two", "b": 3})] * 9))
    assert finish == "length"
    with pytest.raises(json.JSONDecodeError):
        json.loads(message["tool_calls"][0]["function"]["arguments"])


def test_a_tool_that_is_not_offered_is_never_announced():
    message, finish = accumulate(stream([step("delete_all", {}), final("I cannot.")]))
    assert (message["content"], finish) == ("I cannot.", "stop")
    assert "tool_calls" not in message


def test_an_answer_copied_from_an_example_is_held_back():
    message, _ = accumulate(stream([final("The answer is 3817."), final("The answer is 38.")], tools=[ADD]))
    assert message["content"] == "The answer is 38."


def test_an_answer_that_runs_away_ends_with_what_was_told():
    message, finish = accumulate(stream([final("the same words again " * 60), final("Twenty.")]))
    assert finish == "length"
    assert "Twenty" not in message["content"]


def test_stop_strings_end_an_answer_and_the_generation():
    model = Scripted([final("one two END three four five six")])
    message, finish = accumulate(stream(model, stop="END"))
    assert (message["content"], finish) == ("one two ", "stop")


def test_closing_the_stream_stops_the_generation():
    closed = []

    class Watched(Scripted):
        def stream(self, request):
            try:
                yield from super().stream(request)
            finally:
                closed.append(True)

    chunks = FallbackChat(Watched([final("word " * 500)])).create(messages=[QUESTION], tools=TOOLS, stream=True)
    next(chunks)
    chunks.close()
    assert closed == [True]


def test_an_async_stream_says_the_same():
    async def run():
        chat = FallbackChat(Scripted([step("stock_level", {"item": "lamp"})]))
        return [one async for one in await chat.acreate(messages=[QUESTION], tools=TOOLS, stream=True)]

    message, finish = accumulate(asyncio.run(run()))
    assert finish == "tool_calls"
    assert message["tool_calls"][0]["function"]["arguments"] == '{"item": "lamp"}'


def test_a_backend_that_breaks_off_is_an_error():
    with pytest.raises(BackendError):
        stream([])


def test_content_of_an_endpoint_with_tools_streams_unless_it_may_be_a_call():
    told = deltas(stream(Scripted(["Twenty of them."], tools="yes")))
    assert [one["content"] for one in told if one.get("content")] == ["Twenty", " of", " them."]
    leaked = Scripted(['{"name": "add", "arguments": {"a": 2, "b": 3}}'], tools="yes")
    message, finish = accumulate(stream(leaked))
    assert (message["content"], finish) == (None, "tool_calls")


def test_a_call_in_a_models_own_marks_never_shows_in_the_content():
    native = 'I will look.\n<tool_call>\n{"name": "add", "arguments": {"a": 2, "b": 3}}\n</tool_call>'
    chunks = stream(Scripted([native], tools="yes"))
    message, finish = accumulate(chunks)
    assert finish == "tool_calls"
    assert "tool_call>" not in (message["content"] or "")
    assert message["tool_calls"][0]["function"]["arguments"] == '{"a": 2, "b": 3}'


def test_the_words_of_two_structured_replies_are_kept_apart():
    broken = {"role": "assistant", "content": "I will add.", "tool_calls": [{"id": "a", "function": {"name": "add"}}]}
    message, finish = accumulate(stream(Scripted([broken, "There are {20}."], tools="yes")))
    assert (message["content"], finish) == ("I will add.\n\nThere are {20}.", "stop")


class Constrained(Scripted):
    """A scripted model whose backend takes grammars."""

    supports_grammar = True


def test_under_a_grammar_arguments_stream_as_they_are_written():
    note = step("note", {"text": "a b c d e f", "tags": []})
    chunks = stream(Constrained([note]), tools=[NOTE])
    parts = [part for one in deltas(chunks) for part in one.get("tool_calls", ())]
    assert len(parts) > 5
    message, finish = accumulate(chunks)
    assert finish == "tool_calls"
    assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == {"text": "a b c d e f", "tags": []}


NOTE = tool_dict("note", "Write a note.", text={"type": "string"}, tags={"type": "array", "items": {"type": "string"}})
LINES = st.sampled_from(
    [
        "Thought: I look.",
        "Action: stock_level",
        "Action: Add",
        "Action: note",
        "Action: nothing_like_it",
        'Action Input: {"item": "lamp"}',
        'Action Input: {"a": "2", "b": 3}',
        'Action Input: {"a": 2, "b": 3}',
        "Action Input: {'text': 'it\\'s, \"so\"', 'tags': ['x', 'y',]}",
        'Action Input: {"text": "a, b}", "tags": []}',
        'Action Input: {"text": "cut',
        "Action Input: lamp",
        "Observation: 14",
        "Final Answer: There are 20.",
        "Final Answer:",
        '<tool_call>{"name": "add", "arguments": {"a": 2, "b": 3}}</tool_call>',
        "```json",
        "so it goes",
        "",
    ]
)
REPLIES = st.lists(LINES, max_size=7).map("\n".join)


@settings(max_examples=150, deadline=None)
@given(st.lists(REPLIES, min_size=1, max_size=3), st.sampled_from(["auto", "required", "none"]), st.booleans())
def test_whatever_is_written_nothing_invalid_is_told_and_a_first_reading_is_told_the_same(replies, choice, parallel):
    def chat(streamed):
        again = (text for _ in range(9) for text in replies)
        request = {"tools": [STOCK_LEVEL, ADD, NOTE], "tool_choice": choice, "parallel_tool_calls": parallel}
        return FallbackChat(Scripted(again)).create(messages=[QUESTION], stream=streamed, **request)

    schemas = {tool["function"]["name"]: tool["function"]["parameters"] for tool in (STOCK_LEVEL, ADD, NOTE)}
    chunks = list(chat(True))
    message, finish = accumulate(chunks)
    calls = [call["function"] for call in message.get("tool_calls", ())]
    if finish == "tool_calls":
        assert calls
        assert all(first_problem(json.loads(one["arguments"]), schemas[one["name"]]) is None for one in calls)
    else:
        assert finish in ("stop", "length")
        assert not calls or finish == "length"
    whole = chat(False)
    (said,) = whole["choices"]
    if whole["x_react_text"]["attempts"] == 1:
        assert finish == said["finish_reason"]
        assert without_ids(message)["calls"] == without_ids(said["message"])["calls"]
        if finish != "tool_calls":
            assert message["content"] == said["message"]["content"]

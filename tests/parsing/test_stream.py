"""The reader that is fed pieces: the same turn however a reply is cut, and done as early as can be."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from react_text import Tool, parse
from react_text.parsing.stream import StreamEvent, StreamReader

Offered = Callable[..., tuple[Tool, ...]]
STEP = 'Thought: look it up\nAction: weather\nAction Input: {"city": "Bled"}'


def feed(reader: StreamReader, text: str, sizes: Callable[[], int]) -> list[StreamEvent]:
    events: list[StreamEvent] = []
    position = 0
    while position < len(text):
        size = sizes()
        events += reader.feed(text[position : position + size])
        position += size
    return events


def joined(events: list[StreamEvent], kind: str) -> str:
    return "".join(event.text for event in events if event.kind == kind)


def test_however_a_text_is_cut_the_turn_is_the_same(text_case: dict[str, Any]) -> None:
    text, tools = text_case["output"], text_case["tools"]
    whole = parse(text, tools)
    choose = random.Random(text_case["id"])
    seen = set()
    for longest in (1, 2, 7, 40, len(text) or 1):
        reader = StreamReader(tools)
        feed(reader, text, lambda longest=longest: choose.randint(1, longest))  # type: ignore[misc]
        seen.add(reader.text)
        turn = reader.finish()
        assert turn.calls == whole.calls
        if not reader.done:
            assert turn == whole
    assert len(seen) == 1


def test_what_follows_done_would_have_changed_nothing(text_case: dict[str, Any]) -> None:
    reader = StreamReader(text_case["tools"])
    reader.feed(text_case["output"])
    if reader.done:
        assert text_case["output"].startswith(reader.text)
        assert parse(reader.text, text_case["tools"]).calls == parse(text_case["output"], text_case["tools"]).calls
        assert reader.feed("Action: more") == []


@settings(max_examples=60)
@given(st.data())
def test_two_cuts_anywhere_make_no_difference(data: st.DataObject) -> None:
    text = data.draw(
        st.sampled_from(
            [STEP + "\nObservation: wet\nThought: x", STEP + "\nFinal Answer: y", "Thought: a\nFinal Answer: b\n`c`"]
        )
    )
    tools = [Tool("weather", parameters={"type": "object", "properties": {"city": {"type": "string"}}})]
    first = data.draw(st.integers(0, len(text)))
    second = data.draw(st.integers(first, len(text)))
    cut, whole = StreamReader(tools), StreamReader(tools)
    whole.feed(text)
    for piece in (text[:first], text[first:second], text[second:]):
        cut.feed(piece)
    assert (cut.text, cut.done, cut.finish()) == (whole.text, whole.done, whole.finish())


def test_events_tell_the_thought_the_call_and_its_arguments(offered: Offered) -> None:
    events = feed(StreamReader(offered()), STEP + "\n", lambda: 1)
    assert joined(events, "thought") == "look it up"
    assert [event.name for event in events if event.kind == "call_started"] == ["weather"]
    assert joined(events, "arguments") == '{"city": "Bled"}'
    (complete,) = [event for event in events if event.kind == "call_complete"]
    assert complete.call is not None
    assert (complete.call.name, complete.call.arguments) == ("weather", {"city": "Bled"})
    kinds = [event.kind for event in events]
    assert kinds.index("call_started") < kinds.index("arguments") < kinds.index("call_complete")


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_text_that_is_shown_never_holds_a_label(size: int, offered: Offered) -> None:
    text = "Thought: one thing.\nAnd another: this.\n**Final Answer:** It is so.\nAll of it.\nQuestion: and?\nmore"
    events = feed(StreamReader(offered()), text, lambda: size)
    assert joined(events, "thought") == "one thing.\nAnd another: this."
    assert joined(events, "final") == "It is so.\nAll of it."


def test_an_answer_is_shown_word_by_word_as_it_comes(offered: Offered) -> None:
    reader = StreamReader(offered())
    reader.feed("Thought: t\nFinal Answer:")
    shown = [joined(reader.feed(word), "final") for word in (" Close", " the", " valve", " now")]
    assert shown == ["Close", " the", " valve", " now"]


def test_text_without_a_label_is_not_shown_before_it_is_known_what_it_is(offered: Offered) -> None:
    reader = StreamReader(offered())
    assert reader.feed("Let me see what there is.\nWell now.\n") == []
    assert joined(reader.feed('Action: weather\nAction Input: {"city"'), "thought").startswith("Let me see")


@pytest.mark.parametrize("end", ["\nObservation:", "\n**Observation:", "\nUser:", "<|im_end|>", "\nFinal Answer:"])
def test_done_comes_as_soon_as_the_calls_are_settled(end: str, offered: Offered) -> None:
    reader = StreamReader(offered())
    reader.feed(STEP)
    assert not reader.done
    events = feed(reader, end + " and so on, Action: clock", lambda: 1)
    assert reader.done
    assert reader.text == STEP + end
    assert [event.kind for event in events][-1] == "done"
    assert [call.name for call in reader.finish().calls] == ["weather"]


def test_another_action_may_follow_so_done_waits_for_it(offered: Offered) -> None:
    reader = StreamReader(offered())
    reader.feed(STEP + "\n\nThought: and the time\nAction: clock\nAction Input: {}\nObservation: x")
    assert reader.done
    assert [call.name for call in reader.finish().calls] == ["weather", "clock"]


def test_one_call_a_turn_is_done_at_its_closing_brace(offered: Offered) -> None:
    reader = StreamReader(offered(), single=True)
    feed(reader, STEP.replace("Bled", "a } b") + "\nThought: more", lambda: 1)
    assert reader.done
    assert reader.text == STEP.replace("Bled", "a } b")


def test_a_brace_in_single_quotes_does_not_end_the_call(offered: Offered) -> None:
    reader = StreamReader(offered(), single=True)
    events = feed(reader, "Thought: t\nAction: weather\nAction Input: {'city': 'a } b'}\nmore", lambda: 1)
    assert [event.call.arguments for event in events if event.call] == [{"city": "a } b"}]
    assert reader.text.endswith("'a } b'}")


def test_label_words_inside_the_arguments_end_nothing(offered: Offered) -> None:
    text = (
        'Thought: t\nAction: write_file\nAction Input: {"path": "a", "content": "x\nObservation: y\nFinal Answer: z"}'
    )
    reader = StreamReader(offered())
    feed(reader, text, lambda: 1)
    assert not reader.done
    assert reader.finish().calls[0].arguments["content"].endswith("Final Answer: z")


def test_a_reply_that_was_begun_is_part_of_the_text(offered: Offered) -> None:
    reader = StreamReader(offered(), reply_start="Thought:")
    events = reader.feed(" look\nFinal Answer: x")
    assert joined(events, "thought") == "look"
    assert reader.finish().strict

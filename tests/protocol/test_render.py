import json

from hypothesis import given
from hypothesis import strategies as st

from react_text.data import load_dialect
from react_text.messages import Call, Observation
from react_text.parsing import parse
from react_text.protocol.render import (
    Entry,
    answer_message,
    call_message,
    observation_message,
    opening,
    system_text,
    to_text,
    user_message,
)
from react_text.tools import Example, Tool

REACT = load_dialect("react")
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = Tool("weather", "Weather of a city.", CITY, examples=(Example("Weather in Oslo?", {"city": "Oslo"}, "rain"),))


def history(*messages):
    return [Entry(message) for message in messages]


def test_a_call_and_its_result_are_an_assistant_turn_and_a_user_turn():
    call = Call("c1", "weather", {"city": "Rome"})
    turns = to_text(
        history(
            user_message("Weather in Rome?"),
            call_message([call], "I look it up."),
            observation_message(Observation("c1", "weather", "sun")),
            answer_message("Sun."),
        ),
        REACT,
    )
    assert turns == [
        {"role": "user", "content": "Weather in Rome?"},
        {
            "role": "assistant",
            "content": 'Thought: I look it up.\nAction: weather\nAction Input: {"city": "Rome"}',
        },
        {"role": "user", "content": "Observation: sun"},
        {"role": "assistant", "content": "Thought: The observation answers the question.\nFinal Answer: Sun."},
    ]


def test_each_of_several_results_names_the_call_it_answers():
    calls = [Call("c1", "weather", {"city": "Rome"}), Call("c2", "weather", {"city": "Bari"})]
    turns = to_text(
        history(
            call_message(calls, "Both."),
            observation_message(Observation("c1", "weather", "sun")),
            observation_message(Observation("c2", "weather", "wind")),
        ),
        REACT,
    )
    assert turns[1]["content"].splitlines() == [
        'Observation (weather {"city": "Rome"}): sun',
        'Observation (weather {"city": "Bari"}): wind',
    ]


@given(st.dictionaries(st.sampled_from(["city"]), st.text(max_size=30), min_size=1), st.integers(1, 3))
def test_a_rendered_call_is_read_back_as_the_same_call(arguments, count):
    calls = [Call(f"c{n}", "weather", {"city": f"{n}{arguments['city']}"}) for n in range(count)]
    text = to_text(history(call_message(calls, "Now.")), REACT)[0]["content"]
    read = parse(text, [WEATHER])
    assert [(one.name, dict(one.arguments)) for one in read.calls] == [(one.name, dict(one.arguments)) for one in calls]


def test_what_the_model_wrote_goes_back_unchanged():
    entry = Entry(call_message([Call("c1", "weather", {"city": "Rome"})]), "Thought:  odd spacing\nAction: weather")
    assert to_text([entry], REACT)[0]["content"] == "Thought:  odd spacing\nAction: weather"


def test_earlier_turns_never_change_when_later_ones_are_appended():
    entries = opening(REACT, [WEATHER])
    entries += history(
        user_message("Weather in Rome?"),
        call_message([Call("c1", "weather", {"city": "Rome"})], "I look."),
        observation_message(Observation("c1", "weather", "sun")),
        answer_message("Sun."),
        user_message("And Bari?"),
    )
    whole = to_text(entries, REACT)
    for length in range(1, len(entries) + 1):
        part = to_text(entries[:length], REACT)
        assert part == whole[: len(part)]


def test_the_system_turn_depends_on_the_tools_alone():
    first = opening(REACT, [WEATHER], "Be brief.")[0].message["content"]
    assert first == system_text(REACT, [WEATHER], "Be brief.")
    assert first.endswith("\n\nBe brief.")
    assert "weather(city: string) - Weather of a city." in first


def test_examples_are_real_chat_turns_with_the_users_own_tools():
    turns = to_text(opening(REACT, [WEATHER]), REACT)
    assert [turn["role"] for turn in turns] == ["system", "user", "assistant", "user", "assistant"]
    shown = parse(turns[2]["content"], [WEATHER])
    assert json.loads(json.dumps(dict(shown.calls[0].arguments))) == {"city": "Oslo"}
    assert turns[3]["content"] == "Observation: rain"


def test_the_number_of_examples_can_be_limited():
    assert len(opening(REACT, [WEATHER, Tool("now")], examples=0)) == 1

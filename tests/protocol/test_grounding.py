"""What arguments and answers are made of: values found in texts, tools held to them, and what comes from nowhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from react_text import tool
from react_text.protocol.grounding import (
    endings,
    likeness,
    mentions,
    names,
    numbers,
    repeated,
    spans,
    takes,
    unfillable,
    ungrounded,
    with_titles,
)
from react_text.tools import Tool


@tool
def tide(harbor: str, unit: str = "m") -> float:
    """Height of the next high tide."""
    return 3.4


@tool
def ferry(line: int, day: str) -> str:
    """When a ferry leaves."""
    return "09:30"


DATED = Tool(
    "open_on",
    "Whether the lock is open on a day",
    {"type": "object", "properties": {"day": {"type": "string", "format": "date"}}, "required": ["day"]},
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("What is the tide in Oban and in Wick?", ["Oban", "Wick"]),
        ("Where does Ada Nowak sit?", ["Ada Nowak"]),
        ("Is part QX-12 cheaper than part QX-90?", ["QX-12", "QX-90"]),
        ("Save 'oil the gate' under 'garden'.", ["oil the gate", "garden"]),
        ("It rains. Why is that so?", []),
        ("Say what I'll pay and what I’ve saved in Oban.", ["Oban"]),
        ("", []),
    ],
)
def test_names_are_what_is_quoted_capitalised_inside_a_sentence_or_has_a_digit(text, found):
    assert names(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [("12 of 1,200.50 and -3", [12, 1200.5, -3]), ("QX-12 on 2031-05-17 at v2", []), ("no figures", [])],
)
def test_numbers_stand_alone(text, found):
    assert numbers(text) == found


@given(st.text(max_size=200))
def test_every_span_stands_in_its_text(text):
    assert all(one in " ".join(text.split()) or one in text for one in spans([text]))


def test_no_span_begins_or_ends_with_a_word_that_names_nothing_unless_it_is_written_as_a_name():
    found = spans(["What is the ranking of The Foxes in the Premier League?"])
    assert {"ranking", "The Foxes", "Premier League"} <= set(found)
    assert not {"What is the ranking of", "ranking of", "in the Premier League"} & set(found)


def test_a_value_is_mentioned_as_a_word_in_any_case_and_a_number_as_a_number():
    assert mentions("The tide in OBAN is 3.40 m", "oban")
    assert mentions("The tide in Oban is 3.40 m", "3.4")
    assert not mentions("The tide is 13.4 m", "3.4")
    assert not mentions("unread", "read")
    assert mentions("three boats", "boat")
    assert not mentions("250 euros", "EUR")


def test_a_value_from_nowhere_is_found_and_a_default_is_none():
    assert ungrounded(tide, {"harbor": "Leith", "unit": "m"}, "How high is the tide in Oban?") == [("harbor", "Leith")]
    assert ungrounded(tide, {"harbor": "oban", "unit": "m"}, "How high is the tide in Oban?") == []


def test_arguments_that_a_text_cannot_fill_are_counted():
    assert unfillable(ferry, "When does line 7 leave?") == 0
    assert unfillable(ferry, "When does it leave?") == 1
    assert unfillable(DATED, "Is the lock open on Sunday?") == 1


def test_the_tool_that_shares_the_rarer_words_is_the_likest():
    tide_like, ferry_like = likeness("At what hour does the ferry leave?", [tide, ferry])
    assert ferry_like > tide_like


def test_a_name_that_reads_as_no_finite_number_is_a_word():
    assert mentions("How far is it to Nan?", "Nan")
    assert not mentions("How far is it to Oban?", "Infinity")


def test_a_long_number_is_not_from_nowhere():
    scale = Tool("scale", "", {"type": "object", "properties": {"by": {"type": "number"}}})
    assert ungrounded(scale, {"by": 1234567.5}, "Scale it by 1,234,567.5.") == []


def test_the_first_word_is_no_name_whatever_space_stands_before_it():
    assert names("\n  Look at Oban") == ["Oban"]


LAKES = Tool(
    "compare_lakes",
    "Compare two lakes",
    {
        "type": "object",
        "properties": {"one": {"type": "string"}, "other": {"type": "string"}, "note": {"type": "string"}},
        "required": ["one", "other"],
    },
)


@pytest.mark.parametrize(
    ("value", "known"),
    [
        ("Los Angeles, CA", "Any vegan places in Los Angeles?"),
        ("2031-03-11", "What did it cost on March 11, 2031?"),
        ("x**3", "The area under x^3 from -2 to 3"),
        ("Germany", "The history of German towns"),
    ],
)
def test_a_value_made_from_the_words_of_a_text_is_not_from_nowhere(value, known):
    assert ungrounded(tide, {"harbor": value}, known) == []


@pytest.mark.parametrize("value", ["Manchester City", "harbor", "Bergen, Norway", "Manchuria1", "manchester_united"])
def test_a_value_of_which_a_text_holds_half_or_less_is_from_nowhere(value):
    assert ungrounded(tide, {"harbor": value}, "How is Manchester United doing?") == [("harbor", value)]


def test_the_same_text_in_two_arguments_is_found():
    assert repeated(LAKES, {"one": "Inari", "other": "inari"}) == [("other", "inari")]
    assert repeated(LAKES, {"one": "Inari", "other": "Saimaa"}) == []


DULL = {"is", "it", "the", "name", "are", "notes", "ask"}


@pytest.mark.parametrize(
    ("text", "failed", "found"),
    [
        (
            "it is kept under the name cloth tape. Ask Ann",
            "duct tape",
            ["kept under the name cloth tape", "under the name cloth tape", "cloth tape", "Ann"],
        ),
        ("the notes are wifi, pancakes, gate", "wifi note", ["wifi", "pancakes", "gate"]),
        ("", "tape", []),
    ],
)
def test_an_error_ends_with_what_would_do(text, failed, found):
    assert endings(text, DULL, [failed]) == found


def of_value(**schema):
    return Tool("use", "", {"type": "object", "properties": {"value": schema}, "required": ["value"]})


def test_arguments_of_several_types_are_looked_at_as_any_of_them():
    assert takes(of_value(type=["string", "null"]), ["string"])
    assert not takes(of_value(type=["string", "null"]), ["integer"])


def test_a_number_of_more_digits_than_can_be_read_is_from_nowhere():
    assert ungrounded(tide, {"harbor": "9" * 5000}, "The tide in Oban") == [("harbor", "9" * 5000)]


def test_the_number_of_a_month_counts_as_its_name():
    assert ungrounded(tide, {"harbor": "04-2022"}, "High water in April 2022") == []
    assert ungrounded(tide, {"harbor": "05-2022"}, "High water in April 2022") == [("harbor", "05-2022")]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It is listed as Lights on the Quay", ["Lights on the Quay"]),
        ("Where does the Lord of the Rings stand?", ["Lord of the Rings"]),
        ("How warm is it in Lisbon and in Oslo on Monday?", ["Lisbon", "Oslo", "Monday"]),
        ("Ask Anna in Lisbon", ["Anna", "Lisbon"]),
    ],
)
def test_names_that_small_words_join_are_one_title(text, found):
    assert with_titles(text, names(text)) == found

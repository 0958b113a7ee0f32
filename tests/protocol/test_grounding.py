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
    spans,
    takes,
    unfillable,
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


def test_the_first_word_is_no_name_whatever_space_stands_before_it():
    assert names("\n  Look at Oban") == ["Oban"]


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

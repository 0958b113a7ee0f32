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
)
from react_text.protocol.narrowing import narrowed, put_right, with_mentioned_choices
from react_text.schema import first_problem
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


def test_a_narrowed_tool_takes_words_and_numbers_of_the_texts_only():
    held = narrowed(ferry, ["Line 7 leaves on Sunday"])
    assert first_problem({"line": 7, "day": "Sunday"}, held.parameters) is None
    assert first_problem({"line": 8, "day": "Sunday"}, held.parameters) is not None
    assert first_problem({"line": 7, "day": "Monday"}, held.parameters) is not None


def test_a_narrowed_tool_takes_no_words_of_its_own_before_a_value():
    track = Tool("track", "Where a parcel is", {"type": "object", "properties": {"code": {"type": "string"}}})
    values = narrowed(track, ["Where is parcel PX4471?"]).parameters["properties"]["code"]["enum"]
    assert "PX4471" in values
    assert "parcel PX4471" not in values


def test_what_the_texts_hold_nothing_for_stays_open():
    assert first_problem({"line": 8, "day": "Sunday"}, narrowed(ferry, ["on Sunday"]).parameters) is None


def test_dates_are_taken_from_the_texts_around_too():
    held = narrowed(DATED, ["the next one"], around=["It was shut on 2031-05-17."])
    assert first_problem({"day": "2031-05-17"}, held.parameters) is None
    assert first_problem({"day": "2031-05-18"}, held.parameters) is not None


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


def test_a_list_of_anything_stays_one():
    listed = Tool("sort", "", {"type": "object", "properties": {"items": {"type": "array"}}})
    assert narrowed(listed, ["Sort 3 and 1"]).parameters == listed.parameters


CONVERT = Tool(
    "convert",
    "Convert",
    {
        "type": "object",
        "properties": {"unit": {"enum": ["miles", "yards", "feet"]}, "to": {"enum": ["miles", "yards", "feet"]}},
    },
)


def test_choices_are_held_to_what_the_text_names_for_each_argument():
    held = with_mentioned_choices(CONVERT, "How many yards are 3 miles?").parameters["properties"]
    assert held["unit"]["enum"] == held["to"]["enum"] == ["miles", "yards"]


def test_one_named_choice_does_not_settle_two_arguments():
    assert with_mentioned_choices(CONVERT, "Convert 3 miles.").parameters == CONVERT.parameters


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


def test_put_right_changes_only_what_is_doubtful_and_leaves_out_what_is_optional():
    given_before = {"one": "Inari", "other": "Bodensee", "note": "deep"}
    held = put_right(LAKES, given_before, ["other", "note"], ["Which is deeper, Inari or Saimaa?"]).parameters
    assert first_problem({"one": "Inari", "other": "Saimaa"}, held) is None
    assert first_problem({"one": "Saimaa", "other": "Saimaa"}, held) is not None
    assert first_problem({"one": "Inari", "other": "Bodensee"}, held) is not None
    assert "note" not in held["properties"]


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


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer", "minimum": 100},
        {"type": "integer", "multipleOf": 5},
        {"type": "string", "maxLength": 0},
        {"type": "string", "minLength": 90},
        {"type": "string", "not": {"type": "string"}},
        {"type": "array", "items": {"type": "integer"}, "minItems": 3, "uniqueItems": True},
        {"type": "array", "items": {"type": "integer"}, "contains": {"minimum": 9}},
        {"type": "integer", "enum": ["Oban", 3]},
    ],
)
def test_an_argument_that_no_value_of_the_texts_fits_stays_open(schema):
    tool = of_value(**schema)
    assert narrowed(tool, ["Tide 3 in Oban"]).parameters == tool.parameters


def test_of_the_values_of_the_texts_only_those_that_fit_are_offered():
    held = narrowed(of_value(type="integer", minimum=5), ["from 3 to 8"]).parameters
    assert held["properties"]["value"]["enum"] == [8]


def test_arguments_of_several_types_are_looked_at_as_any_of_them():
    assert takes(of_value(type=["string", "null"]), ["string"])
    assert not takes(of_value(type=["string", "null"]), ["integer"])


def test_put_right_leaves_nothing_out_where_arguments_depend_on_each_other():
    tool = of_value(type="string")
    tool = Tool(tool.name, "", {"type": "object", "properties": tool.parameters["properties"], "minProperties": 1})
    held = put_right(tool, {"value": "Leith"}, ["value"], ["In Oban"]).parameters
    assert held["required"] == ["value"]


def test_undeclared_arguments_are_put_right_too():
    tool = Tool("use", "", {"type": "object", "additionalProperties": {"type": "string"}})
    assert put_right(tool, {"a": "Oban", "b": "Leith"}, ["b"], ["In Oban"]).parameters["required"] == ["a"]


def test_a_number_of_more_digits_than_can_be_read_is_from_nowhere():
    assert ungrounded(tide, {"harbor": "9" * 5000}, "The tide in Oban") == [("harbor", "9" * 5000)]

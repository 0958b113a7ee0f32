"""Tools held to values: what is put into their open places, and what stays as it is."""

import pytest

from react_text import tool
from react_text.protocol.narrowing import narrowed, put_right, with_mentioned_choices
from react_text.schema import first_problem
from react_text.tools import Tool


@tool
def ferry(line: int, day: str) -> str:
    """When a ferry leaves."""
    return "09:30"


DATED = Tool(
    "open_on",
    "Whether the lock is open on a day",
    {"type": "object", "properties": {"day": {"type": "string", "format": "date"}}, "required": ["day"]},
)


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


def test_put_right_changes_only_what_is_doubtful_and_leaves_out_what_is_optional():
    given_before = {"one": "Inari", "other": "Bodensee", "note": "deep"}
    held = put_right(LAKES, given_before, ["other", "note"], ["Which is deeper, Inari or Saimaa?"]).parameters
    assert first_problem({"one": "Inari", "other": "Saimaa"}, held) is None
    assert first_problem({"one": "Saimaa", "other": "Saimaa"}, held) is not None
    assert first_problem({"one": "Inari", "other": "Bodensee"}, held) is not None
    assert "note" not in held["properties"]


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


def test_put_right_leaves_nothing_out_where_arguments_depend_on_each_other():
    tool = of_value(type="string")
    tool = Tool(tool.name, "", {"type": "object", "properties": tool.parameters["properties"], "minProperties": 1})
    held = put_right(tool, {"value": "Leith"}, ["value"], ["In Oban"]).parameters
    assert held["required"] == ["value"]


def test_undeclared_arguments_are_put_right_too():
    tool = Tool("use", "", {"type": "object", "additionalProperties": {"type": "string"}})
    assert put_right(tool, {"a": "Oban", "b": "Leith"}, ["b"], ["In Oban"]).parameters["required"] == ["a"]

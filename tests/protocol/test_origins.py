"""Which values of a call come from nowhere: neither from a text nor from what the tool says of itself."""

import pytest

from react_text import tool
from react_text.protocol.origins import open_texts, repeated, ungrounded
from react_text.tools import Tool


@tool
def tide(harbor: str, unit: str = "m") -> float:
    """Height of the next high tide."""
    return 3.4


def of_value(*, required=True, **schema):
    needed = ["value"] if required else []
    return Tool("use", "", {"type": "object", "properties": {"value": schema}, "required": needed})


def test_a_value_from_nowhere_is_found_and_a_default_is_none():
    assert ungrounded(tide, {"harbor": "Leith", "unit": "m"}, "How high is the tide in Oban?") == [("harbor", "Leith")]
    assert ungrounded(tide, {"harbor": "oban", "unit": "m"}, "How high is the tide in Oban?") == []


def test_a_long_number_is_not_from_nowhere():
    scale = of_value(type="number")
    assert ungrounded(scale, {"value": 1234567.5}, "Scale it by 1,234,567.5.") == []


@pytest.mark.parametrize(
    ("value", "known"),
    [
        ("Los Angeles, CA", "Any vegan places in Los Angeles?"),
        ("2031-03-11", "What did it cost on March 11, 2031?"),
        ("2031-03-11", "What did it cost on Mar. 11, 2031?"),
        ("x**3", "The area under x^3 from -2 to 3"),
        ("Germany", "The history of German towns"),
        ("women", "The best woman at chess"),
        ("miles", "How far is it, in mile?"),
        ("12h", "On a clock of 12 hours"),
    ],
)
def test_a_value_made_from_the_words_of_a_text_is_not_from_nowhere(value, known):
    assert ungrounded(tide, {"harbor": value}, known) == []


@pytest.mark.parametrize(
    "value", ["Manchester City", "harbor", "Bergen, Norway", "Manchuria1", "manchester_united", "12u", "Manhattan"]
)
def test_a_value_of_which_a_text_holds_half_or_less_is_from_nowhere(value):
    assert ungrounded(tide, {"harbor": value}, "How is Manchester United doing?") == [("harbor", value)]


def test_a_number_of_more_digits_than_can_be_read_is_from_nowhere():
    assert ungrounded(tide, {"harbor": "9" * 5000}, "The tide in Oban 4") == [("harbor", "9" * 5000)]


def test_the_number_of_a_month_counts_as_its_name():
    assert ungrounded(tide, {"harbor": "04-2022"}, "High water in April 2022") == []
    assert ungrounded(tide, {"harbor": "05-2022"}, "High water in April 2022") == [("harbor", "05-2022")]


@pytest.mark.parametrize(
    ("description", "value", "told"),
    [
        ("How it is drawn. The default is 'dotted'.", "dotted", True),
        ("Lines to a page, 40 by default", "40", True),
        ("Lines to a page; defaults to 40", "40", True),
        ("One of 'dotted', 'plain'", "plain", True),
        ("How it is drawn, e.g. 'dotted'", "dotted", False),
        ("How it is drawn (for example 'dotted'); 'plain' draws a line", "dotted", False),
        ("How it is drawn (for example 'dotted'); 'plain' draws a line", "plain", True),
        ("The line that is dotted", "dotted", False),
        ("Fields, such as ink_colour or line_width", "ink_colour", True),
        ("Fields, such as ink_colour or line_width", "line_width", False),
        ("", "dotted", False),
    ],
)
def test_what_a_tool_says_that_an_argument_is_does_not_come_from_nowhere_but_its_examples_do(description, value, told):
    drawn = of_value(required=False, type="string", description=description)
    found = ungrounded(drawn, {"value": value}, "Draw the lake in ink of a blue colour.")
    assert found == ([] if told else [("value", value)])


def test_choices_of_a_list_are_free_to_be_made():
    fields = of_value(type="array", items={"type": "string", "enum": ["depth", "area"]})
    assert ungrounded(fields, {"value": ["depth"]}, "How deep is it?") == []


@pytest.mark.parametrize(
    ("text", "value"),
    [("Pay it monthly.", 12), ("A ticket for one person", 1), ("Two nights in half a room", 0.5), ("in a week", 7)],
)
def test_a_number_that_words_imply_does_not_come_from_nowhere(text, value):
    assert ungrounded(of_value(type="number", required=False), {"value": value}, text) == []
    assert ungrounded(of_value(type="number", required=False), {"value": value}, "The lake") != []


def test_a_required_number_is_left_where_the_text_has_no_other_for_it():
    both = Tool(
        "grow",
        "",
        {
            "type": "object",
            "properties": {"money": {"type": "number"}, "times": {"type": "integer"}},
            "required": ["money", "times"],
        },
    )
    assert ungrounded(both, {"money": 500, "times": 4}, "Let 500 grow.") == []
    assert ungrounded(both, {"money": 500, "times": 4}, "Let 500 grow 3 times.") == [("times", "4")]


def test_a_required_date_is_left_where_the_text_has_none():
    day = of_value(type="string")
    assert ungrounded(day, {"value": "2031-05-19"}, "Is it open next Monday?") == []
    assert ungrounded(day, {"value": "2031-05-19"}, "Is it open on 2031-06-20?") == [("value", "2031-05-19")]
    assert ungrounded(of_value(type="string", required=False), {"value": "2031-05-19"}, "Is it open?") != []


def test_a_name_that_reads_as_no_finite_number_is_a_word():
    assert ungrounded(of_value(type="string"), {"value": "Nan"}, "Who is it?") == [("value", "Nan")]


def test_the_same_text_in_two_arguments_is_found():
    assert repeated(tide, {"harbor": "Oban", "unit": "oban"}) == [("unit", "oban")]
    assert repeated(tide, {"harbor": "Oban", "unit": "Wick"}) == []


def test_open_texts_are_those_that_no_list_holds():
    weather = Tool(
        "weather",
        "",
        {"type": "object", "properties": {"city": {"type": "string"}, "unit": {"enum": ["c", "f"]}}, "required": []},
    )
    assert open_texts(weather, {"city": "Oban", "unit": "c"}) == ["Oban"]

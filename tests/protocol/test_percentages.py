"""What a number argument takes for a percentage."""

import pytest

from react_text.protocol.percentages import as_fractions
from react_text.tools import Tool


def loan(**rate):
    properties = {"sum": {"type": "number"}, "rate": {"type": "number", **rate}}
    return Tool("loan", "", {"type": "object", "properties": properties, "required": ["sum", "rate"]})


@pytest.mark.parametrize(
    ("rate", "found"),
    [
        ({}, {"rate": 0.05}),
        ({"description": "The yearly rate"}, {"rate": 0.05}),
        ({"description": "As a decimal, 5% is 0.05"}, {"rate": 0.05}),
        ({"description": "The yearly rate in percent"}, {}),
        ({"description": "In %"}, {}),
        ({"minimum": 1}, {}),
        ({"type": "integer"}, {}),
    ],
)
def test_a_percentage_is_a_fraction_unless_the_tool_says_percent(rate, found):
    assert as_fractions(loan(**rate), {"sum": 5000, "rate": 5}, "5000 euros at 5% a year") == found


@pytest.mark.parametrize("question", ["5000 euros at 5 a year", "5000 euros at 2.5% a year", ""])
def test_a_number_that_is_no_percentage_of_the_question_stays(question):
    assert as_fractions(loan(), {"sum": 5000, "rate": 5}, question) == {}


def test_percentages_are_read_in_words_and_with_points():
    assert as_fractions(loan(), {"sum": 1, "rate": 2.5}, "at 2.5 percent") == {"rate": 0.025}
    assert as_fractions(loan(), {"sum": 1, "rate": True}, "at 1 per cent") == {}


def test_a_hundred_is_no_percentage_and_thousands_are_read_whole():
    assert as_fractions(loan(), {"sum": 200, "rate": 1200}, "2 hundred euros at 1,200%") == {"rate": 12.0}

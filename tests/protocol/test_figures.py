"""The numbers that a text speaks of."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from react_text.protocol.figures import figures, mentioned_figures


@pytest.mark.parametrize(
    ("text", "mentioned"),
    [
        ("weighs 70kg and is 1.75m tall", [(70,), (1.75,)]),
        ("a rate of 5% for 7 years", [(5, 0.05), (7,)]),
        ("5 percent", [(5, 0.05)]),
        ("flows=[200,300,400,500]", [(200,), (200300400500,), (300,), (400,), (500,)]),
        ("$1,200.50 in all", [(1200.5,)]),
        ("A(3,4) and B(1,2)", [(3,), (4,), (1,), (2,)]),
        ("213 million people on 8.5 million km2", [(213000000, 213), (8500000, 8.5)]),
        ("two dozen eggs and three pumpkins", [(24, 2), (3,)]),
        ("the team in fourth place", [(4,)]),
        ("from 1871-1945", [(1871,), (1945,)]),
        ("a 30-minute walk in the 19th century", [(30,), (19,)]),
        ("from x = -2 to x=3 for 2x^2", [(-2,), (3,), (2,), (2,)]),
        ("QX-12, rs6034464 and 12ABC345 on 2031-05-17", []),
        ("Which one comes first?", []),
        ("It costs 3.", [(3,)]),
    ],
)
def test_numbers_are_read_with_units_signs_multiples_and_in_words(text, mentioned):
    assert mentioned_figures(text) == mentioned


def test_every_way_to_read_a_number_counts_as_said():
    assert figures("5% of two dozen") == [5, 0.05, 24, 2]


@given(st.text(alphabet="0123456789.,-% kmx()[]", max_size=80))
def test_any_text_can_be_read(text):
    assert all(isinstance(one, int | float) for one in figures(text))


@given(st.integers(min_value=-(10**9), max_value=10**9))
def test_a_number_is_read_as_itself(number):
    assert number in figures(f"It is {number} today")
    assert abs(number) in figures(f"It is {abs(number):,} today")


def test_digits_that_no_number_holds_are_none():
    assert figures("9" * 5000 + " and 7") == [7]
    assert figures("9" * 400 + ".5 million, 3") == [3]

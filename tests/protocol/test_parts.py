"""The parts of a question that nothing found so far speaks of."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from react_text.protocol.parts import asks_to_be_told, part_with, unanswered_parts


@pytest.mark.parametrize(
    ("question", "values", "results", "left"),
    [
        ("how many padlocks are left, and how many door mats?", ["padlock"], '{"in_stock": 43}', ["door mats"]),
        ("Give me the prices of a claw hammer and a spirit level.", ["claw hammer"], "12.5", ["spirit level"]),
        ("what animal is ziggy, and who is the owner of pickle?", ["Ziggy"], '{"owner": "Ada"}', ["pickle"]),
        ("How old is Ann? And Bob?", ["Ann"], "31", ["Bob"]),
        ("What view does Mr. Okafor have?", ["Okafor"], "sea", []),
        ("Is it windy in Kyoto today? Give me the speed.", ["Kyoto"], "12 km/h", []),
        ("Remind me to buy milk and eggs", ["buy milk and eggs"], "stored", []),
        ("How warm is it in Oslo?", ["Oslo"], "7", []),
        ("A rye bread, does it go in the oven?", ["rye bread"], "52 minutes", []),
        ("", [], "", []),
    ],
)
def test_a_part_that_holds_no_value_so_far_is_unanswered(question, values, results, left):
    known = {"price", "prices", "animal", "owner", "speed", "view", "wind"}
    assert unanswered_parts(question, values, results, known) == left


def test_nothing_is_unanswered_before_anything_is_answered():
    assert unanswered_parts("door mats and padlocks", ["anvil"], "", set()) == []


@given(st.text(max_size=200), st.lists(st.text(max_size=20), max_size=3))
def test_what_is_left_stands_in_the_question(question, values):
    left = unanswered_parts(question, values, "", set())
    assert all(word in question for one in left for word in one.split())


def test_the_part_of_a_value_is_found():
    asked = "Which position does Ekholm play, and how old is Castell?"
    assert part_with(asked, ["Castell"]) == "how old is Castell"
    assert part_with(asked, ["Nobody"]) == asked


def test_a_question_asks_to_be_told_something_and_an_order_does_not():
    assert asks_to_be_told("How many beds are in room 203 ?")
    assert asks_to_be_told("Tell me the desks of 1302 and 1377.")
    assert not asks_to_be_told("Book a bed in room 203.")
    assert not asks_to_be_told("")

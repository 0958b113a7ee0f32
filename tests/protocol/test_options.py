"""Optional arguments that a question asks for, and those that it has nothing for."""

import pytest

from react_text.protocol.narrowing import with_mentioned_choices
from react_text.protocol.options import named_for_option, with_settled_options
from react_text.schema import first_problem
from react_text.tools import Tool

RATES = Tool(
    "crime_rate",
    "Rate of crimes in a town",
    {
        "type": "object",
        "properties": {
            "town": {"type": "string"},
            "year": {"type": "integer"},
            "kind": {"enum": ["violent", "petty"]},
            "detailed": {"type": "boolean"},
        },
        "required": ["town"],
    },
)


def settled(question, tool=RATES):
    held = with_settled_options(tool, question).parameters
    return set(held["properties"]), set(held["required"])


@pytest.mark.parametrize(
    ("question", "offered", "required"),
    [
        ("How safe is Oban?", {"town", "kind", "detailed"}, {"town"}),
        ("How safe was Oban in 2020?", {"town", "year", "kind", "detailed"}, {"town", "year"}),
        ("How safe was Oban between 2018 and 2020?", {"town", "year", "kind", "detailed"}, {"town"}),
        ("Violent deeds in Oban", {"town", "kind", "detailed"}, {"town", "kind"}),
        ("Give me details on how safe Oban is", {"town", "kind", "detailed"}, {"town", "detailed"}),
    ],
)
def test_what_the_question_asks_for_is_required_and_a_number_it_does_not_hold_left_out(question, offered, required):
    assert settled(question) == (offered, required)


def test_beside_a_list_numbers_are_left_to_the_model():
    mean = Tool(
        "mean",
        "",
        {
            "type": "object",
            "properties": {"of": {"type": "array", "items": {"type": "number"}}, "digits": {"type": "integer"}},
            "required": ["of"],
        },
    )
    assert with_settled_options(mean, "The mean of 1, 2 and 3") is mean
    assert with_settled_options(mean, "The mean of them") is mean


def test_an_argument_that_may_be_null_is_settled_as_its_other_type():
    nullable = {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}
    tool = Tool("top", "", {"type": "object", "properties": {"who": {"type": "string"}, "count": nullable}})
    assert settled("Who leads?", tool=Tool(tool.name, "", {**tool.parameters, "required": ["who"]})) == (
        {"who"},
        {"who"},
    )


def test_a_tool_without_optional_arguments_stays_as_it_is():
    tool = Tool("tide", "", {"type": "object", "properties": {"harbor": {"type": "string"}}, "required": ["harbor"]})
    assert with_settled_options(tool, "The tide in Oban at 5?") is tool


def test_a_required_name_that_is_not_declared_does_no_harm():
    tool = Tool("f", "", {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["other"]})
    assert settled("What is it?", tool) == (set(), {"other"})


def test_where_arguments_depend_on_each_other_none_is_left_out():
    both = {"type": "object", "properties": {"n": {"type": "integer"}}, "anyOf": [{"required": ["n"]}]}
    tool = Tool("f", "", both)
    assert with_settled_options(tool, "What is it?") is tool


PIANO = Tool(
    "piano",
    "What is known about a piano",
    {
        "type": "object",
        "properties": {
            "maker": {"type": "string"},
            "features": {"type": "array", "items": {"type": "string", "enum": ["price", "weight", "rating"]}},
            "include_stats": {"type": "boolean"},
        },
        "required": ["maker"],
    },
)


def test_a_list_holds_the_choices_that_the_question_names():
    held = with_mentioned_choices(with_settled_options(PIANO, QUESTION), QUESTION).parameters
    assert held["required"] == ["maker", "features"]
    assert first_problem({"maker": "Ibach", "features": ["price", "rating"]}, held) is None
    assert first_problem({"maker": "Ibach", "features": ["price"]}, held) is not None


QUESTION = "What are the price and the ratings of an Ibach?"


def test_a_choice_in_the_plural_is_named_by_one_of_its_kind():
    shop = Tool("shop", "", {"type": "object", "properties": {"sells": {"type": "array", "items": CHOICES}}})
    held = with_settled_options(shop, "Is there a guitar shop?").parameters
    assert first_problem({"sells": ["Guitars"]}, held) is None
    assert first_problem({}, held) is not None


CHOICES = {"type": "string", "enum": ["Guitars", "Drums"]}


@pytest.mark.parametrize(
    ("question", "allowed"),
    [
        ("Tell me of the Ibach piano, with statistics.", {True}),
        ("Tell me of the Ibach piano, but don't include any statistics.", {True, False}),
        ("Tell me of the Ibach piano, without stats.", {True, False}),
    ],
)
def test_a_switch_that_is_named_is_on_unless_something_is_denied(question, allowed):
    held = with_settled_options(SWITCH, question).parameters
    assert "stats" in held["required"]
    assert {way for way in (True, False) if first_problem({"maker": "Ibach", "stats": way}, held) is None} == allowed


SWITCH = Tool(
    "piano",
    "",
    {
        "type": "object",
        "properties": {"maker": {"type": "string"}, "stats": {"type": "boolean"}},
        "required": ["maker"],
    },
)


SCORES = Tool(
    "scores",
    "",
    {
        "type": "object",
        "properties": {"game": {"type": "string"}, "player": {"type": "string"}, "console": {"type": "string"}},
        "required": ["game", "player"],
    },
)


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("Show the scores of 'Zelda' on the console Switch for user 'Sam'.", {"console": "Switch"}),
        ("Show the scores of 'Zelda' on consoles like Switch for user 'Sam'.", {"console": "Switch"}),
        ("Show the scores of 'Zelda' on Switch for user 'Sam'.", {}),
        ("Show the scores of 'Zelda' on the console NES for user 'Sam'.", {}),
        ("Show the scores of 'Zelda' on the console 64 for user 'Sam'.", {}),
        ("Show the scores of 'Zelda' for user 'Sam'.", {}),
        ("Show the scores of 'Zelda' for user 'Sam', and those of Pia.", {}),
        ("Show the scores of 'Zelda' on the console Switch in Turbo mode for user 'Sam'.", {}),
    ],
)
def test_the_one_name_that_is_left_is_for_the_one_text_that_is_left(question, named):
    assert named_for_option(SCORES, {"game": "Zelda", "player": "Sam"}, question) == named


def test_a_name_is_no_reason_to_give_an_argument_twice():
    question = "Show the scores of 'Zelda' on the console Switch for user 'Sam'."
    assert named_for_option(SCORES, {"game": "Zelda", "player": "Sam", "console": "PC"}, question) == {}


@pytest.mark.parametrize(
    ("option", "question", "named"),
    [
        ({"show_date": {"type": "string"}}, "Two seats for 'Sadko' on 2031-04-02", {"show_date": "2031-04-02"}),
        ({"date": {"type": "string"}}, "Two seats for 'Sadko' on 04/02/2031", {"date": "04/02/2031"}),
        ({"stage": {"type": "string"}}, "Two seats for 'Sadko' on the stage of 2031-04-02", {}),
        ({"date": {"type": "string"}}, "Two seats for 'Sadko' on the date Wednesday", {}),
        ({"where": {"type": "string", "description": "The theatre"}}, "'Sadko' at Arena theatre", {"where": "Arena"}),
        ({"troupe": {"type": "string", "description": "Who plays"}}, "'Sadko' at Arena theatre", {}),
    ],
)
def test_a_name_is_given_where_the_words_around_it_speak_of_the_argument_and_a_date_for_a_date(option, question, named):
    seats = Tool(
        "seats",
        "",
        {"type": "object", "properties": {"play": {"type": "string"}, **option}, "required": ["play"]},
    )
    assert named_for_option(seats, {"play": "Sadko"}, question) == named


def test_what_a_text_denies_or_names_as_a_number_is_not_asked_for_and_a_number_that_it_implies_not_left_out():
    properties = {"kind": {"enum": ["cheap", "dear"]}, "stars": {"enum": ["1", "2"]}, "guests": {"type": "integer"}}
    room = Tool("room", "", {"type": "object", "properties": properties, "required": []})
    assert not with_settled_options(room, "A room that is not too cheap").parameters["required"]
    assert "stars" not in with_settled_options(room, "A room with 2 beds").parameters["required"]
    assert "guests" in with_settled_options(room, "A room for one").parameters["properties"]
    assert "guests" not in with_settled_options(room, "A room").parameters["properties"]

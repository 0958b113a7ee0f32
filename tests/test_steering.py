"""What a small model is helped with, on a scripted model that says how likely it finds each way to go on."""

import math
from dataclasses import replace
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from react_text import Agent, Scripted, tool
from react_text.events import Steered
from react_text.messages import Call, Fault, Observation
from react_text.protocol.grammar import arguments_grammar
from react_text.protocol.parts import asks_to_be_told
from react_text.schema import first_problem
from react_text.schema.validator import unsound
from react_text.steering import Ask, Expect, Known, Policies, Score, Steering
from react_text.tools import Example, Tool

TIDES = {"oban": "3.4", "wick": "2.9"}


@tool(safe=True)
def tide(harbor: str) -> str:
    """Height of the next high tide."""
    if harbor.lower() == "leith":
        raise KeyError("there is no gauge at Leith; the next one is at Oban")
    return TIDES[harbor.lower()]


@tool(safe=True)
def gauge_number(harbor: str) -> str:
    """The number of a gauge."""
    return f"G-{len(harbor)}"


@tool(safe=True)
def reading(gauge: str) -> str:
    """What a gauge shows, by its number."""
    if not gauge.startswith("G-"):
        raise KeyError(f"no gauge number {gauge!r}")
    return f"{gauge}: 2.75"


class Weighing(Scripted):
    """A scripted model that finds the tools likely in the order of `likes`; after a question for nothing, all alike."""

    supports_grammar = True

    def __init__(self, replies, likes, none=-9.0):
        super().__init__(replies)
        self.likes = likes
        self.none = none

    def log_probabilities(self, messages, reply_start, continuations, *, tools=()):
        if messages[-1]["content"] == "...":
            return (-math.log(len(continuations)),) * len(continuations)
        rank = [next((-at for at, name in enumerate(self.likes) if name in one), -20.0) for one in continuations]
        rank[-1] = self.none
        total = math.log(sum(map(math.exp, rank)))
        return tuple(one - total for one in rank)


def call(name, /, **arguments):
    import json

    return f"Thought: I need {name} for this.\nAction: {name}\nAction Input: {json.dumps(arguments)}"


def final(text):
    return f"Thought: The observation answers the question.\nFinal Answer: {text}"


def calls_of(result):
    return [(one.name, dict(one.arguments)) for step in result.steps if step.observations for one in step.turn.calls]


def test_the_likeliest_tool_is_begun_for_the_model_and_its_arguments_are_held_by_the_grammar():
    model = Weighing([call("tide", harbor="Oban"), final("It is 3.4 m.")], ["tide", "reading"])
    assert Agent(model, [reading, tide]).run("How high is the tide in Oban?").answer == "It is 3.4 m."
    assert model.requests[0].reply_start.endswith("Action: tide\nAction Input:")
    assert model.requests[0].grammar.startswith("root ::=")


def test_a_question_that_no_tool_fits_is_answered_without_one():
    model = Weighing(["Thought: No tool is needed for this.\nFinal Answer: Paris."], ["tide"], none=5.0)
    result = Agent(model, [tide, reading]).run("What is the capital of France?")
    assert result.answer == "Paris."
    assert calls_of(result) == []


def test_an_answer_that_was_cut_is_asked_for_again_as_an_answer():
    short = "Thought: No tool is needed for this.\nFinal Answer: Paris."
    model = Weighing(["word " * 50, short], ["tide"], none=5.0)
    result = Agent(model, [tide, reading], max_tokens=30).run("What is the capital of France?")
    assert result.answer == "Paris."
    assert model.requests[1].reply_start.endswith("Final Answer:")


def test_in_structured_mode_too_and_it_is_only_asked_to_be_shorter():
    model = Weighing([" ".join(f"word{number}" for number in range(60)), "Paris."], ["tide"], none=5.0)
    model.tools = "yes"
    result = Agent(model, [tide, reading], max_tokens=30).run("What is the capital of France?")
    assert result.answer == "Paris."
    assert "write a shorter one" in model.requests[1].messages[-1]["content"]


@pytest.mark.parametrize(
    ("known", "called"),
    [("Paris.", False), (None, True), ("2.9", True), ("harbor Oban", True), ('{"name": "tide"}', True)],
)
def test_what_the_model_is_sure_of_is_not_looked_up_where_the_best_tool_hardly_fits(known, called):
    """Not what it copies from a worked example or the question, and no call."""
    shown = replace(tide, examples=(Example("How high is it in Wick?", {"harbor": "Wick"}, "2.9"),))
    replies = [call("tide", harbor="Oban"), final("3.4 m")] if called else [final("Paris.")]
    model = Weighing(replies, ["tide"])
    model.sure_text = lambda messages, reply_start, *, tools=(): known
    result = Agent(model, [shown, reading], policies=Policies(margin=-5.0)).run("Which harbor is Oban?")
    assert bool(calls_of(result)) is called


def test_a_value_from_nowhere_is_asked_for_once_more_and_not_run():
    model = Weighing([call("tide", harbor="Wick"), call("tide", harbor="Oban"), final("3.4 m")], ["tide"])
    result = Agent(model, [tide, reading], policies=Policies()).run("How high is the tide in Oban?")
    assert calls_of(result) == [("tide", {"harbor": "Oban"})]
    assert '"\\"Oban\\""' in model.requests[1].grammar


def test_a_larger_model_may_know_a_value_but_not_copy_it_from_an_example():
    shown = replace(tide, examples=(Example("How high is it in Wick?", {"harbor": "Wick"}, "2.9"),))
    replies = [call("tide", harbor="Wick"), call("tide", harbor="Oban"), final("3.4 m")]
    policies = Policies(ground="copied")
    asked = "How high is the tide at the end of the railway?"
    assert len(calls_of(Agent(Weighing(replies[1:], ["tide"]), [shown], policies=policies).run(asked))) == 1
    result = Agent(Weighing(replies, ["tide"]), [shown], policies=policies).run(asked)
    assert calls_of(result) == [("tide", {"harbor": "Oban"})]


def test_a_value_that_comes_from_nowhere_twice_is_run():
    """The question may be asked in words that no value has: told once, the model decides."""
    model = Weighing([call("tide", harbor="Wick"), call("tide", harbor="Wick"), final("2.9 m")], ["tide"])
    result = Agent(model, [tide, reading]).run("How high is the tide up there?")
    assert calls_of(result) == [("tide", {"harbor": "Wick"})]


def test_an_error_that_names_a_value_is_met_by_the_same_tool_with_that_value():
    model = Weighing([call("tide", harbor="Leith"), call("tide", harbor="Oban"), final("3.4 m")], ["tide"])
    result = Agent(model, [tide, reading]).run("How high is the tide in Leith?")
    assert calls_of(result) == [("tide", {"harbor": "Leith"}), ("tide", {"harbor": "Oban"})]
    assert "Leith" not in model.requests[1].grammar


def test_a_tool_that_failed_for_want_of_a_value_is_called_again_once_another_tool_has_found_it():
    replies = [
        call("reading", gauge="Oban"),
        call("gauge_number", harbor="Oban"),
        call("reading", gauge="G-4"),
        final("It shows 2.75."),
    ]
    model = Weighing(replies, ["reading", "gauge_number"])
    result = Agent(model, [reading, gauge_number]).run("What does the gauge of Oban show?")
    assert [name for name, _ in calls_of(result)] == ["reading", "gauge_number", "reading"]
    assert result.answer == "It shows 2.75."


def test_what_the_question_names_and_no_call_has_used_is_looked_up_too():
    replies = [call("tide", harbor="Oban"), call("tide", harbor="Wick"), final("3.4 m in Oban, 2.9 m in Wick.")]
    model = Weighing(replies, ["tide"])
    result = Agent(model, [tide, gauge_number]).run("How high is the tide in Oban and in Wick?")
    assert calls_of(result) == [("tide", {"harbor": "Oban"}), ("tide", {"harbor": "Wick"})]


def test_a_tool_that_changes_something_is_not_called_for_what_was_left_out():
    sent = []

    @tool
    def send(harbor: str) -> str:
        """Send a boat."""
        sent.append(harbor)
        return "sent"

    model = Weighing([call("send", harbor="Oban"), final("The boat is sent.")], ["send"])
    Agent(model, [send]).run("Send a boat to Oban, says Mary.")
    assert sent == ["Oban"]


def test_an_answer_without_what_was_found_is_begun_with_it():
    model = Weighing([call("tide", harbor="Oban"), final("It is high."), final("The answer is 3.4")], ["tide"])
    result = Agent(model, [tide, reading]).run("How high is the tide in Oban?")
    assert "3.4" in result.answer
    assert model.requests[-1].reply_start.endswith("The answer is 3.4")


def test_a_good_call_is_not_run_again():
    runs = []

    @tool
    def count(what: str) -> str:
        """Count things."""
        runs.append(what)
        return "12"

    policies = Policies(choose=False, complete=False, answer=False, begin_answer=False, ground="never")
    model = Weighing([call("count", what="boats")] * 2 + [final("12 boats")], ["count"])
    assert Agent(model, [count], policies=policies).run("How many boats?").answer == "12 boats"
    assert runs == ["boats"]


def test_without_policies_nothing_is_begun_for_the_model():
    model = Weighing([call("tide", harbor="Wick"), final("high")], ["reading"])
    events = list(Agent(model, [reading, tide], policies=None).stream("How high is the tide in Oban?"))
    assert not any(isinstance(event, Steered) for event in events)
    assert events[-1].result.answer == "high"


def test_a_backend_that_cannot_weigh_is_not_steered():
    model = Scripted([call("tide", harbor="Wick"), final("high")])
    result = Agent(model, [reading, tide]).run("How high is the tide in Oban?")
    assert calls_of(result) == [("tide", {"harbor": "Wick"})]


@pytest.mark.parametrize("mode", ["run", "arun"])
def test_the_async_driver_weighs_as_the_sync_one_does(mode):
    import asyncio

    model = Weighing([call("tide", harbor="Oban"), final("3.4 m")], ["tide", "reading"])
    agent = Agent(model, [reading, tide])
    result = asyncio.run(agent.arun("Tide in Oban?")) if mode == "arun" else agent.run("Tide in Oban?")
    assert calls_of(result) == [("tide", {"harbor": "Oban"})]


def test_choices_that_the_question_names_are_held_to():
    from typing import Literal

    @tool(safe=True)
    def turn(to: Literal["port", "starboard", "stern"]) -> str:
        """Turn the boat."""
        return "turned"

    model = Weighing([call("turn", to="port"), final("It turned.")], ["turn"])
    Agent(model, [turn, tide]).run("Turn the boat to port.")
    assert "port" in model.requests[0].grammar
    assert "starboard" not in model.requests[0].grammar


def test_a_word_of_the_tools_themselves_is_not_looked_up():
    from typing import Literal

    @tool(safe=True)
    def depth(harbor: str, unit: Literal["Metres", "Fathoms"] = "Metres") -> str:
        """Depth of a harbor."""
        return "7"

    model = Weighing([call("depth", harbor="Oban"), final("7")], ["depth"])
    result = Agent(model, [depth, tide]).run("How deep is Oban in Fathoms?")
    assert len(calls_of(result)) == 1


def test_what_is_usual_for_some_tools_is_not_taken_for_that_of_others():
    """With two tools offered one at a time, the second question is weighed against its own usual score."""

    class Fond(Weighing):
        def log_probabilities(self, messages, reply_start, continuations, *, tools=()):
            fond = any("gauge_number" in one for one in continuations)
            return (20.0 if fond else -30.0, -9.0) if messages[-1]["content"] == "..." else (0.0, -9.0)

    model = Fond([call("tide", harbor="Oban"), final("3.4"), final("I do not know.")], [])
    agent = Agent(model, [tide, gauge_number], tools_limit=1)
    assert len(calls_of(agent.run("How high is the next high tide in Oban?"))) == 1
    agent.run("What is the number of the gauge?")
    assert "Action:" not in model.requests[-1].reply_start


def test_a_call_that_the_user_did_not_allow_is_not_got_round():
    model = Weighing([call("tide", harbor="Oban"), final("I may not look it up.")], ["tide"])
    agent = Agent(model, [tide, gauge_number, reading], confirm=lambda one: "no")
    assert agent.run("How high is the tide in Oban?").answer == "I may not look it up."
    assert len(model.requests) == 2


ROUTES = Tool(
    "route",
    "The way from one harbor to another",
    {
        "type": "object",
        "properties": {"start": {"type": "string"}, "end": {"type": "string"}, "boat": {"type": "string"}},
        "required": ["start", "end"],
    },
    lambda start, end, boat="any": f"{start} to {end} with {boat}",
    safe=True,
)


def test_an_optional_value_from_nowhere_is_left_out_and_the_others_stay():
    replies = [
        call("route", start="Oban", end="Wick", boat="ketch"),
        call("route", start="Oban", end="Wick"),
        final("Oban to Wick with any"),
    ]
    model = Weighing(replies, ["route"])
    result = Agent(model, [ROUTES]).run("How do I get from Oban to Wick?")
    assert calls_of(result) == [("route", {"start": "Oban", "end": "Wick"})]
    assert "boat" not in model.requests[1].grammar


def test_the_same_value_in_two_arguments_is_asked_for_again_without_it():
    replies = [
        call("route", start="Oban", end="Oban"),
        call("route", start="Oban", end="Wick"),
        final("Oban to Wick with any"),
    ]
    model = Weighing(replies, ["route"])
    result = Agent(model, [ROUTES]).run("How do I get from Oban to Wick?")
    assert calls_of(result) == [("route", {"start": "Oban", "end": "Wick"})]


def test_an_answer_tells_the_part_of_a_result_that_was_asked_for():
    @tool(safe=True)
    def record(team: str) -> dict:
        """How a team stands."""
        return {"place": 3, "points": 41}

    replies = [call("record", team="Foxes"), final("They are well."), final("The answer is 41")]
    model = Weighing(replies, ["record"])
    asked = "How many points do the Foxes have?"
    assert "41" in Agent(model, [record, tide]).run(asked).answer
    assert model.requests[-1].reply_start.endswith("The answer is 41")
    other = Weighing([replies[0], final("They are in place 3.")], ["record"])
    assert Agent(other, [record, tide]).run(asked).answer == "They are in place 3 (41)."


def test_a_tool_that_may_change_something_is_called_again_only_for_a_question_and_when_the_model_would():
    @tool
    def room(number: int) -> str:
        """Beds of a room."""
        return f"{number - 200} beds"

    replies = [call("room", number=203), call("room", number=211), final("3 and 11 beds")]
    asked = "How many beds are in room 203, and how many in 211?"
    assert len(calls_of(Agent(Weighing(replies, ["room"]), [room]).run(asked))) == 2
    unlikely = Weighing(replies, ["room"], none=5.0)
    policies = Policies(lone=-99.0)
    assert len(calls_of(Agent(unlikely, [room], policies=policies).run(asked))) == 1


def test_an_error_is_met_with_its_own_words_where_it_says_something_new():
    @tool(safe=True)
    def stock(item: str) -> str:
        """How many are left."""
        if item != "cloth tape":
            raise KeyError(f"{item} is kept under the name cloth tape")
        return "12 rolls"

    replies = [call("stock", item="duct tape"), call("stock", item="cloth tape"), final("12 rolls are left.")]
    model = Weighing(replies, ["stock"])
    result = Agent(model, [stock]).run("How much duct tape is there?")
    assert calls_of(result) == [("stock", {"item": "duct tape"}), ("stock", {"item": "cloth tape"})]
    assert "cloth tape" in model.requests[1].grammar
    assert "duct" not in model.requests[1].grammar


@pytest.mark.parametrize(
    ("tried", "error", "held"),
    [
        ("scones", "nothing is filed under scones; in this box they are called griddle cakes", "griddle cakes"),
        ("Dunlow", "the old Dunlow station is closed; trains now stop at Dunlow Parkway", "Dunlow Parkway"),
    ],
)
def test_the_one_way_out_that_an_error_ends_with_is_taken_without_asking_how_likely_another_tool_is(tried, error, held):
    made = Call("1", "tide", {"harbor": tried})
    steering = Steering(Policies(), Known({"tide": tide, "gauge_number": gauge_number}, f"What of {tried}?"))
    steering.note(made, Observation("1", "tide", f"Error: tide failed: KeyError: {error}", is_error=True))
    with pytest.raises(StopIteration) as done:
        next(steering.next_move())
    assert done.value.value.tool.name == "tide"
    assert held in done.value.value.tool.parameters["properties"]["harbor"]["enum"]


def test_a_choice_that_an_error_refuses_is_replaced_by_the_one_that_it_names():
    codes = Literal["CHF", "NIS", "ILS"]

    @tool(safe=True)
    def exchange(amount: float, currency: codes, to: codes) -> float:
        """What money is worth."""
        return 19.0

    tried = Call("1", "exchange", {"amount": 80, "currency": "NIS", "to": "CHF"})
    steering = Steering(Policies(), Known({"exchange": exchange}, "What are 80 NIS in CHF?"))
    error = "Error: exchange failed: ValueError: NIS is no code any more; it is traded as ILS"
    steering.note(tried, Observation("1", "exchange", error, is_error=True))
    with pytest.raises(StopIteration) as done:
        next(steering.next_move())
    assert {**tried.arguments, "currency": "ILS"} == {
        name: one["enum"][0] for name, one in done.value.value.tool.parameters["properties"].items()
    }


def test_numbers_that_are_left_find_their_tool_beside_a_name_that_no_tool_takes():
    @tool(safe=True)
    def exchange(amount: float, to: Literal["EUR", "PLN"]) -> float:
        """Convert money."""
        return 258.0

    @tool(safe=True)
    def percentage(percent: float, amount: float) -> float:
        """A percentage of an amount."""
        return 102.0

    asked = "How many Polish zloty are 60 euros, and what is 12 percent of 850?"
    steering = Steering(Policies(), Known({"exchange": exchange, "percentage": percentage}, asked))
    made = Call("1", "exchange", {"amount": 60, "to": "PLN"})
    steering.note(made, Observation("1", "exchange", "258.0"))
    moving = steering.next_move()
    next(moving)
    with pytest.raises(StopIteration) as done:
        moving.send((-1.0, -1.0, -1.0))
    assert done.value.value.tool.name == "percentage"
    assert done.value.value.tool.parameters["properties"]["percent"]["enum"] == [12, 850]


def test_an_answer_begun_with_the_results_stands_where_the_model_cannot_end_it():
    replies = [
        call("tide", harbor="Oban"),
        call("tide", harbor="Wick"),
        final("It is high."),
        "Thought: The observation answers the question.\nFinal Answer: tide Oban: 3.4; tide Wick: 2.9."
        + " tide Oban: 3.4;" * 40,
    ]
    result = Agent(Weighing(replies, ["tide"]), [tide, gauge_number]).run("How high is it in Oban and in Wick?")
    assert result.answer == "tide Oban: 3.4; tide Wick: 2.9."
    assert result.stop_reason == "answer"


def test_what_an_object_holds_is_taken_to_the_next_tool_where_it_does_not_answer_the_question():
    @tool(safe=True)
    def find_guest(name: str) -> dict:
        """Room and board of a guest."""
        return {"room": 407, "board": "half"}

    @tool(safe=True)
    def room_details(room: int) -> dict:
        """Beds and view of a room."""
        return {"beds": 2, "view": "park"}

    tools = [find_guest, room_details]
    replies = [call("find_guest", name="Okafor"), call("room_details", room=407), final("The view is the park.")]
    asked = "What view does Mr. Okafor have from his room?"
    result = Agent(Weighing(replies, ["find_guest", "room_details"]), tools).run(asked)
    assert calls_of(result) == [("find_guest", {"name": "Okafor"}), ("room_details", {"room": 407})]
    answered = Weighing([replies[0], final("Half board.")], ["find_guest"])
    assert len(calls_of(Agent(answered, tools).run("Which board does Mr. Okafor have?"))) == 1


def test_of_two_results_each_is_told_by_what_its_part_of_the_question_asks_for():
    @tool(safe=True)
    def player(name: str) -> dict:
        """A player."""
        return {"Ekholm": {"age": 34, "position": "keeper"}, "Castell": {"age": 31, "position": "back"}}[name]

    replies = [call("player", name="Ekholm"), call("player", name="Castell"), final("He is a keeper."), "x" * 9000]
    asked = "Which position does Ekholm play, and how old is Castell?"
    result = Agent(Weighing(replies, ["player"]), [player, tide]).run(asked)
    assert result.answer == 'player Ekholm: keeper; player Castell: {"age": 31, "position": "back"}.'


def test_a_code_is_taken_to_the_tool_that_is_more_like_the_question():
    @tool(safe=True)
    def employee_id(name: str) -> str:
        """The number of a person."""
        return "E-552"

    @tool(safe=True)
    def extension(employee: str) -> str:
        """Telephone extension."""
        return "7714"

    replies = [call("employee_id", name="Omar"), call("extension", employee="E-552"), final("7714")]
    model = Weighing(replies, ["employee_id", "extension"])
    result = Agent(model, [employee_id, extension]).run("What is the telephone extension of Omar?")
    assert [name for name, _ in calls_of(result)] == ["employee_id", "extension"]
    asked = Weighing([replies[0], final("E-552")], ["employee_id", "extension"])
    result = Agent(asked, [employee_id, extension]).run("Which number does the person Omar have?")
    assert [name for name, _ in calls_of(result)] == ["employee_id"]


@pytest.mark.parametrize(
    ("asked", "called"),
    [
        ("Look up the capital of Mauritius and tell me its population.", ["capital", "population"]),
        ("Look up the capital of Mauritius and write it down.", ["capital"]),
        ("What is the population of the capital of Mauritius?", ["capital", "population"]),
    ],
)
def test_a_few_words_are_taken_to_the_tool_that_the_question_speaks_of_as_well(asked, called):
    @tool(safe=True)
    def capital(country: str) -> str:
        """The capital of a country."""
        return "Port Louis"

    @tool(safe=True)
    def population(place: str) -> int:
        """How many people live at a place."""
        return 147066

    replies = [call("capital", country="Mauritius"), call("population", place="Port Louis")]
    model = Weighing([*replies[: len(called)], final("It is Port Louis, 147066.")], ["capital", "population"])
    result = Agent(model, [capital, population]).run(asked)
    assert [name for name, _ in calls_of(result)] == called
    if len(called) > 1:
        assert '"\\"Port Louis\\""' in model.requests[1].grammar
        assert '"\\"Mauritius\\""' in model.requests[1].grammar


def test_after_an_error_another_kind_of_value_is_looked_for_first():
    @tool(safe=True)
    def desk(employee: str) -> str:
        """Where an employee sits."""
        raise KeyError(f"no employee {employee}")

    @tool(safe=True)
    def phone(employee: str) -> str:
        """Telephone of an employee."""
        return "7714"

    @tool(safe=True)
    def employee_id(name: str) -> str:
        """The number of somebody."""
        return "E-552"

    model = Weighing([call("desk", employee="Omar")] * 9, ["desk", "phone", "employee_id"])
    Agent(model, [desk, phone, employee_id]).run("Where does the employee Omar sit?")
    assert model.requests[1].reply_start.endswith("Action: employee_id\nAction Input:")


def test_without_grounding_a_refused_call_is_begun_again_open():
    steering = Steering(Policies(ground="never"), Known({"tide": tide}, "The tide in Oban?"))
    moving = steering.after_fault(Fault("invalid_arguments", "", Call("1", "tide", {})), 1)
    with pytest.raises(StopIteration) as done:
        next(moving)
    assert done.value.value.tool is tide


def test_what_was_said_earlier_is_not_from_nowhere():
    earlier = [{"role": "user", "content": "I live in Wick."}, {"role": "assistant", "content": "Noted."}]
    model = Weighing([call("tide", harbor="Wick"), final("2.9")], ["tide"])
    result = Agent(model, [tide, reading], policies=Policies()).run("How high is the tide at home?", earlier)
    assert calls_of(result) == [("tide", {"harbor": "Wick"})]
    assert len(model.requests) == 2


def test_a_run_that_goes_on_knows_its_question_and_what_was_found():
    asked = [{"role": "user", "content": "How high is the tide in Oban?"}]
    done = Agent(Weighing([call("tide", harbor="Oban"), final("3.4")], ["tide"]), [tide, reading]).run(
        asked[0]["content"]
    )
    model = Weighing([final("It is 3.4 m.")], ["tide"])
    result = Agent(model, [tide, reading]).run(None, done.messages[:-1])
    assert result.answer == "It is 3.4 m."
    assert calls_of(result) == []
    assert "No tool" not in model.requests[0].reply_start


NAMES = st.sampled_from(["city", "x y", "", "日", "count"])
SCHEMAS = st.sampled_from(
    [
        *(True, {}, {"type": ["string", "null"]}, {"type": "string", "maxLength": 2}, {"enum": [None, "red", 3]}),
        *({"type": "integer", "minimum": 50}, {"type": "string", "pattern": "^Q"}, {"$ref": "#/$defs/N"}),
        *({"type": "number"}, {"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 2}),
    ]
)
TEXTS = st.lists(
    st.sampled_from(
        ["Book", "Oslo", "red", "7", "12.5", "room 203", "שלום", "日本", "\x00", "'a b'", "and", "NaN", "?"]
    )
).map(" ".join)
VALUES = st.one_of(TEXTS, st.integers(), st.floats(), st.none(), st.lists(st.integers(), max_size=2))


@settings(deadline=None, max_examples=80)
@given(st.data(), TEXTS, st.booleans())
def test_steering_ends_in_a_move_with_a_usable_tool_whatever_happens(data, question, weighs):
    tools = {}
    for name in ("tide", "book"):
        properties = data.draw(st.dictionaries(NAMES, SCHEMAS, max_size=3))
        required = data.draw(st.lists(st.sampled_from([*properties, "other"]), unique=True))
        parameters = {"type": "object", "properties": properties, "required": required}
        tools[name] = Tool(name, "", {**parameters, "$defs": {"N": {"type": "integer"}}}, safe=name == "tide")
        if data.draw(st.booleans()):
            break
    steering = Steering(Policies(question=data.draw(st.booleans())), Known(tools, question))
    likely = st.floats(-900, 0)
    found = {Score: st.tuples(*[likely] * len(tools), likely), Expect: st.tuples(likely), Ask: st.none() | TEXTS}

    def moved(moving):
        try:
            asked = next(moving)
            while True:
                asked = moving.send(data.draw(found[type(asked)]) if weighs else None)
        except StopIteration as done:
            return done.value

    def usable(move):
        if move is not None and move.tool is not None:
            assert unsound(move.tool.parameters) is None
            assert not any("no value fits" in one for one in arguments_grammar(move.tool, " ").loosened)
        return move

    for _ in range(data.draw(st.integers(1, 3))):
        move = usable(moved(steering.next_move()))
        orders = steering.known.made and not steering.known.made[-1][1].is_error and steering.pending is None
        called = {one.name for one, _ in steering.known.made}
        if move.kind == "call" and orders and "book" in called and not asks_to_be_told(question):
            assert move.tool.name != "book"
        name = data.draw(st.sampled_from(sorted(tools)))
        arguments = {one: data.draw(VALUES) for one in tools[name].parameters["properties"]}
        made = Call("1", name, arguments)
        if first_problem(arguments, tools[name].parameters) is None:
            usable(steering.doubts([made]))
        usable(moved(steering.after_fault(Fault("x", "", made), 1)))
        steering.note(made, Observation("1", name, data.draw(TEXTS), is_error=data.draw(st.booleans())))
        steering.unanswered(data.draw(TEXTS))


def test_a_percentage_and_a_name_that_is_left_are_put_into_the_call():
    @tool(safe=True)
    def loan(sum: float, rate: float, bank: str = "") -> float:
        """What a loan costs."""
        return sum * rate

    replies = [call("loan", sum=500, rate=5), *[call("loan", sum=500, rate=0.05)] * 2, final("25.0")]
    events = list(Agent(Weighing(replies, ["loan"]), [loan]).stream("Cost of 500 euros at 5% from the bank Lloyds?"))
    looks = [one.detail for one in events if isinstance(one, Steered) and one.reason == "second_look"]
    assert looks == ["5% is 0.05", "with Lloyds"]
    assert calls_of(events[-1].result)[0][1]["rate"] == 0.05


def test_a_tool_that_is_the_only_one_needs_less_to_be_called():
    replies = [call("tide", harbor="Oban"), final("3.4 m")]
    close = {"policies": Policies(margin=4.0, recall=False)}
    alone = Agent(Weighing(replies, ["tide"], none=-2.5), [tide], **close).run("Say what Oban is like")
    among = Agent(Weighing([final("A town."), *replies], ["tide"], none=-2.5), [tide, reading], **close)
    assert calls_of(alone) == [("tide", {"harbor": "Oban"})]
    assert calls_of(among.run("Say what Oban is like")) == []


class Expecting(Weighing):
    """A scripted model that finds what somebody says `likelier` by so much for somebody who needs the tool."""

    def __init__(self, replies, likelier):
        super().__init__(replies, ["tide"])
        self.likelier = likelier
        self.expected = []

    def log_probabilities(self, messages, reply_start, continuations, *, tools=()):
        asked = messages[-1]["content"]
        if not asked.startswith("Write what somebody says"):
            return super().log_probabilities(messages, reply_start, continuations, tools=tools)
        assert (len(messages), reply_start, tools) == (1, "", ())
        self.expected.append((asked, *continuations))
        return (self.likelier - 50.0,) if "tide(harbor)" in asked else (-50.0,)


BY_QUESTION = Policies(lone=4.0, question=True, recall=False)


@pytest.mark.parametrize(("likelier", "called"), [(6.0, [("tide", {"harbor": "Oban"})]), (2.0, [])])
def test_a_lone_tool_is_called_where_it_makes_the_question_likelier(likelier, called):
    model = Expecting([call("tide", harbor="Oban"), final("3.4 m")] if called else [final("Bring a boat.")], likelier)
    asked = "Will my boat lie dry at Oban?"
    assert calls_of(Agent(model, [tide], policies=BY_QUESTION).run(asked)) == called
    assert [text for _, text in model.expected] == [asked, asked]
    assert model.expected[1][0] == "Write what somebody says."


def test_what_a_question_leaves_out_after_others_is_not_held_against_a_lone_tool():
    model = Expecting([call("tide", harbor="Wick"), final("3.4 m")], likelier=-20.0)
    history = [{"role": "user", "content": "How high is the tide in Oban?"}, {"role": "assistant", "content": "3.4 m"}]
    assert calls_of(Agent(model, [tide], policies=BY_QUESTION).run("And in Wick?", history=history)) != []
    assert model.expected == []


def test_several_tools_are_not_chosen_by_the_question():
    model = Expecting([call("tide", harbor="Oban"), final("3.4 m")], likelier=-20.0)
    assert calls_of(Agent(model, [tide, gauge_number], policies=BY_QUESTION).run("How high is the tide in Oban?")) != []
    assert model.expected == []


def test_of_a_long_question_the_last_part_is_expected():
    model = Expecting([final("Bring a boat.")], likelier=2.0)
    Agent(model, [tide], policies=BY_QUESTION).run("x" * 5000 + " and Oban?")
    assert [len(text) for _, text in model.expected] == [600, 600]


@tool(safe=True)
def moisture(sensor: str) -> int:
    """How wet the soil is at a sensor."""
    if sensor != "S4":
        raise KeyError(f"there is no sensor {sensor}; there are S2, S4 and S6")
    return 65


@tool(safe=True)
def where_is(plant: str) -> str:
    """Which sensor a plant stands at."""
    return "S4"


def test_a_guess_that_an_error_leaves_open_waits_for_what_another_tool_finds():
    replies = [call("moisture", sensor="S9"), call("where_is", plant="roses"), call("moisture", sensor="S4")]
    model = Weighing([*replies, final("65 percent")], ["moisture", "where_is"])
    result = Agent(model, [moisture, where_is], policies=Policies(ground="never")).run("How wet do the roses stand?")
    assert [one for one, _ in calls_of(result)] == ["moisture", "where_is", "moisture"]


def test_a_value_that_an_error_names_and_the_question_hints_at_is_taken_at_once():
    @tool(safe=True)
    def note(title: str) -> str:
        """Read a note."""
        if title != "pancakes":
            raise KeyError(f"no note {title}; there are 'wifi' and 'pancakes'")
        return "2 eggs"

    replies = [call("note", title="pancake recipe"), call("note", title="pancakes"), final("2 eggs")]
    model = Weighing(replies, ["note", "where_is"])
    result = Agent(model, [note, where_is], policies=Policies(ground="never")).run("What is in my pancake recipe?")
    assert calls_of(result)[1] == ("note", {"title": "pancakes"})


def test_a_value_goes_to_the_tool_that_is_named_for_it_and_not_back_to_the_one_that_failed():
    @tool(safe=True)
    def find_book(title: str) -> str:
        """Look up a book."""
        raise KeyError(f"no book is called {title}")

    @tool(safe=True)
    def card_number(reader: str) -> int:
        """The card of a reader."""
        return 7215

    @tool(safe=True)
    def loans(card: int) -> str:
        """What is lent on a card."""
        return "Moth Season"

    replies = [call("find_book", title="Poole"), call("card_number", reader="Agnes Poole"), call("loans", card=7215)]
    model = Weighing([*replies, final("Moth Season")], ["find_book", "card_number"])
    run = Agent(model, [find_book, card_number, loans], policies=Policies(ground="never")).run
    assert [one for one, _ in calls_of(run("What has Agnes Poole lent?"))] == ["find_book", "card_number", "loans"]

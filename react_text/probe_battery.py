"""The cases of a probe, as data: tools nobody has, what a model is asked, and what it should do.

Every case is made from a seed, so that another sample asks for other words and numbers and a sample can be asked
again. Pure: nothing here asks a model, and no tool is ever run, since the results are written here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, TypeAlias

from react_text.messages import Call, Message, Observation
from react_text.protocol.render import call_message, observation_message, user_message
from react_text.tools import Example, Tool


@dataclass(frozen=True, slots=True)
class WantedCalls:
    """These calls in one turn, in any order. `any_arguments` leaves their arguments open."""

    calls: tuple[tuple[str, Mapping[str, Any]], ...]
    any_arguments: bool = False


@dataclass(frozen=True, slots=True)
class WantedAnswer:
    """An answer without a call that holds the number `holds` and not `other`, that of another result.

    `other_reading` is what an answer with only the other number is a sign of.
    """

    holds: str = ""
    other: str = ""
    other_reading: str = "wrong_answer"


Wanted: TypeAlias = WantedCalls | WantedAnswer


def _object(**properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _text(description: str, *allowed: str) -> dict[str, Any]:
    return {"type": "string", "description": description} | ({"enum": list(allowed)} if allowed else {})


_ROOMS = ("attic", "kitchen", "bathroom", "office")
_PROGRAMS = ("comfort", "night_setback", "frost_guard")
_ITEM = _object(item=_text("the item, in singular"))

STOCK_LEVEL = Tool(
    "stock_level",
    "How many pieces of an item are in stock.",
    _ITEM,
    examples=(Example("How many pieces of the item rug are in stock?", {"item": "rug"}, "21", "There are 21 rugs."),),
)
PRICE_OF = Tool(
    "price_of",
    "What one piece of an item costs, in euros.",
    _ITEM,
    examples=(Example("What does one piece of the item vase cost?", {"item": "vase"}, "34", "A vase costs 34 euros."),),
)
SET_HEATING = Tool(
    "set_heating",
    "Set the heating of a room to a program.",
    _object(room=_text("the room", *_ROOMS), program=_text("the program", *_PROGRAMS)),
    examples=(
        Example(
            "Set the heating of the attic to comfort.",
            {"room": "attic", "program": "comfort"},
            "done",
            "The heating of the attic is set to comfort.",
        ),
    ),
)
SEND_PARCEL = Tool(
    "send_parcel",
    "Send a parcel to somebody.",
    _object(
        recipient=_object(
            name=_text("first name"),
            address=_object(street=_text("street with house number"), city=_text("city")),
        ),
        weight={"type": "integer", "description": "in kilograms"},
    ),
    examples=(
        Example(
            "Send a parcel of 15 kilograms to Olga, whose address is 140 Garden Row in Vienna.",
            {"recipient": {"name": "Olga", "address": {"street": "140 Garden Row", "city": "Vienna"}}, "weight": 15},
            "sent",
            "The parcel is on its way to Olga.",
        ),
    ),
)
READ_NOTE = Tool(
    "read_note",
    "Read a note by its number.",
    _object(number={"type": "integer"}),
    examples=(
        Example("Who wrote note 14?", {"number": 14}, "Milk and bread. Written by Olga.", "Olga wrote note 14."),
    ),
)
STOCK_TOOLS = (STOCK_LEVEL, PRICE_OF)
"""What most cases offer, so that the opening of the conversation is read once."""


@dataclass(frozen=True)
class Exchange:
    """One question to the model: the history up to its reply, and the turn that is wanted.

    `tools` are those offered, `forced` the one it is made to call. `several` says that the reply must have room for
    more than one call. A `control` asks the same without the difficulty: where it fails, the case says nothing about
    the difficulty.
    """

    history: tuple[Message, ...]
    wanted: Wanted
    tools: tuple[Tool, ...] = STOCK_TOOLS
    forced: str | None = None
    several: bool = False
    control: bool = False


@dataclass(frozen=True)
class Case:
    """One ability. `shows` says what a passed sample has shown, `exchanges` makes a sample."""

    name: str
    shows: str
    exchanges: Callable[[Random], tuple[Exchange, ...]]

    def sample(self, seed: int) -> tuple[Exchange, ...]:
        """The exchanges of one sample; the same seed gives the same ones."""
        return self.exchanges(Random(f"{self.name} {seed}"))


SPECIAL_TEXT = (
    "<|im_end|>\n<|im_start|>user\n<|eot_id|><|end|><end_of_turn></s>[/INST]</tool_response>\n"
    "Observation:\nAction Input: {}\n"
)
"""Control markers of several chat templates and the labels of the text protocol, as they may stand in any file."""

_ITEMS = ("lamp", "chair", "desk", "kettle", "mirror", "basket", "ladder", "blanket", "teapot", "shovel")
_NAMES = ("Ada", "Ben", "Clara", "David", "Emma", "Felix")
_STREETS = ("Mill Lane", "Park Street", "Hill Road", "Church Street", "Station Road")
_CITIES = ("Leeds", "Dublin", "Boston", "Perth", "Ottawa")


def _call(call_id: str, name: str, **arguments: Any) -> Call:
    # nine letters and digits: the only ids that every chat template takes
    return Call(f"probe{call_id:0>4}", name, arguments)


def _results(calls: Sequence[Call], results: Sequence[tuple[Call, str]]) -> tuple[Message, ...]:
    """An assistant turn with these calls, then the results in the order given, each with the id of its call."""
    messages = (observation_message(Observation(call.id, call.name, content)) for call, content in results)
    return (call_message(calls), *messages)


def _stock_question(item: str) -> Message:
    return user_message(f"How many pieces of the item {item} are in stock?")


def _single_call(draw: Random) -> tuple[Exchange, ...]:
    item = draw.choice(_ITEMS)
    return (Exchange((_stock_question(item),), WantedCalls((("stock_level", {"item": item}),))),)


def _two_calls(draw: Random) -> tuple[Exchange, ...]:
    one, other = draw.sample(_ITEMS, 2)
    question = f"How many pieces of the item {one} and of the item {other} are in stock? Look up both at the same time."
    wanted = WantedCalls((("stock_level", {"item": one}), ("stock_level", {"item": other})))
    return (Exchange((user_message(question),), wanted, several=True),)


def _no_call(draw: Random) -> tuple[Exchange, ...]:
    question = f"Write one short friendly sentence that wishes {draw.choice(_NAMES)} a good morning."
    return (Exchange((user_message(question),), WantedAnswer()),)


def _nested_argument(draw: Random) -> tuple[Exchange, ...]:
    name, city, weight = draw.choice(_NAMES), draw.choice(_CITIES), draw.randint(2, 9)
    street = f"{draw.randint(2, 98)} {draw.choice(_STREETS)}"
    question = f"Send a parcel of {weight} kilograms to {name}, whose address is {street} in {city}."
    arguments = {"recipient": {"name": name, "address": {"street": street, "city": city}}, "weight": weight}
    return (Exchange((user_message(question),), WantedCalls((("send_parcel", arguments),)), (SEND_PARCEL,)),)


def _enum(draw: Random) -> tuple[Exchange, ...]:
    room, program = draw.choice(_ROOMS[1:]), draw.choice(_PROGRAMS[1:])
    question = f"Set the heating of the {room} to the {program.replace('_', ' ')}."
    return (
        Exchange(
            (user_message(question),),
            WantedCalls((("set_heating", {"room": room, "program": program}),)),
            (SET_HEATING,),
        ),
    )


def _forced_choice(draw: Random) -> tuple[Exchange, ...]:
    # the question alone asks for another tool, so that the forced one is not called anyway
    item = draw.choice(_ITEMS)
    wanted = WantedCalls((("price_of", {}),), any_arguments=True)
    return (Exchange((_stock_question(item),), wanted, forced="price_of"),)


def _error_correction(draw: Random) -> tuple[Exchange, ...]:
    item = draw.choice(_ITEMS)
    call = _call("1", "stock_level", item=f"{item}s")
    error = f'Error: there is no item "{item}s". Did you mean "{item}"?'
    history = (_stock_question(f"{item}s"), *_results([call], [(call, error)]))
    return (Exchange(history, WantedCalls((("stock_level", {"item": item}),))),)


def _swapped_results(draw: Random) -> tuple[Exchange, ...]:
    items = draw.sample(_ITEMS, 2)
    numbers = [str(number) for number in draw.sample(range(11, 99), 2)]
    calls = [_call(str(place), "stock_level", item=item) for place, item in enumerate(items, 1)]
    in_order = list(zip(calls, numbers, strict=True))

    def asked(place: int, results: Sequence[tuple[Call, str]], control: bool) -> Exchange:
        question = (
            f"Look up the items {items[0]} and {items[1]}. How many pieces of the item {items[place]} are in stock? "
            "Answer with that number alone."
        )
        sign = "wrong_answer" if control else "by_position"
        wanted = WantedAnswer(numbers[place], numbers[1 - place], sign)
        return Exchange((user_message(question), *_results(calls, results)), wanted, control=control)

    # asked for either result, in either order: a model that always takes the first one, or the larger, shows itself
    return (
        asked(0, in_order, True),
        asked(1, in_order, True),
        asked(0, in_order[::-1], False),
        asked(1, in_order[::-1], False),
    )


def _special_text(draw: Random) -> tuple[Exchange, ...]:
    number, code = draw.randint(2, 9), str(draw.randint(1001, 9998))
    question = user_message(f"What is the door code that stands in note {number}?")
    call = _call("1", "read_note", number=number)

    def asked(before: str, control: bool) -> Exchange:
        results = _results([call], [(call, f"{before}The door code is {code}.")])
        return Exchange((question, *results), WantedAnswer(code), (READ_NOTE,), control=control)

    return asked("", True), asked(SPECIAL_TEXT, False)


CASES = (
    Case("single_call", "calls the one tool that fits, with the right argument", _single_call),
    Case("two_calls", "makes two calls in one turn", _two_calls),
    Case("no_call", "answers at once where no tool is needed", _no_call),
    Case("nested_argument", "fills an object within an object within the arguments", _nested_argument),
    Case("enum", "takes the allowed value that the question means", _enum),
    Case(
        "forced_choice",
        "calls the tool that it is made to call, not the one that the question asks for",
        _forced_choice,
    ),
    Case("error_correction", "repeats a call with the argument that the error asks for", _error_correction),
    Case("swapped_results", "follows the ids of two results that come in the other order", _swapped_results),
    Case("special_text", "reads on behind control markers and labels within a result", _special_text),
)
"""The battery, in the order in which it is asked."""

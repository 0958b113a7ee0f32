"""A typed function becomes a tool: what the schema says, and which functions are refused."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import functools
import json
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypedDict

import pytest
from pydantic import BaseModel, Field
from typing_extensions import NotRequired

from react_text.errors import ToolDefinitionError
from react_text.toolbox import Toolbox
from react_text.tools import Example, Tool, as_tools, tool


class Unit(enum.Enum):
    CELSIUS = "celsius"
    FAHRENHEIT = "fahrenheit"


class Point(BaseModel):
    """A point on the map."""

    x: float = Field(description="East")
    y: float = 0.0


class Node(BaseModel):
    name: str
    children: list[Node] = []


@dataclasses.dataclass
class Stop:
    name: str
    minutes: int = 5


class Leg(TypedDict):
    start: Point
    note: NotRequired[str]


def schema_of(function: Callable[..., Any]) -> dict[str, Any]:
    return dict(tool(function).parameters)


def test_a_typed_function_becomes_a_tool() -> None:
    @tool
    def tide(harbour: str, hours_ahead: int = 0) -> float:
        """Tide height at a harbour,
        in metres.

        More words that are not for the model.

        Args:
            harbour: Name of the harbour.
            hours_ahead (int): How far ahead
                to look.
        """
        return hours_ahead / 2

    assert tide.name == "tide"
    assert tide.description == "Tide height at a harbour, in metres."
    assert tide.parameters == {
        "type": "object",
        "properties": {
            "harbour": {"type": "string", "description": "Name of the harbour."},
            "hours_ahead": {"type": "integer", "default": 0, "description": "How far ahead to look."},
        },
        "required": ["harbour"],
    }
    assert tide("Oban", hours_ahead=3) == 1.5


@pytest.mark.parametrize(
    "docstring",
    [
        "Say it.\n\n:param words: What to say.",
        "Say it.\n\nArgs:\n    words (str): What to say.\n\nReturns:\n    None",
        "Say it.\n\nParameters\n----------\nwords : str\n    What to say.\n",
        "Say it.\n\n@param words: What to say.",
    ],
)
def test_the_usual_docstring_styles_are_read(docstring: str) -> None:
    def say(words: str) -> None: ...

    say.__doc__ = docstring
    made = tool(say)
    assert made.description == "Say it."
    assert made.parameters["properties"]["words"]["description"] == "What to say."


def test_types_become_their_json_schema() -> None:
    def everything(
        a: str,
        b: bool,
        c: list[int],
        d: dict[str, float],
        e: Literal["on", "off"],
        f: Unit,
        g: int | None,
        h: datetime.date,
        i: Point,
        j: list[Stop],
        k: Leg,
        l: Annotated[int, Field(ge=1, le=7)],  # noqa: E741
        m: Any,
        n: str | int,
    ) -> None: ...

    assert schema_of(everything)["properties"] == {
        "a": {"type": "string"},
        "b": {"type": "boolean"},
        "c": {"type": "array", "items": {"type": "integer"}},
        "d": {"type": "object", "additionalProperties": {"type": "number"}},
        "e": {"type": "string", "enum": ["on", "off"]},
        "f": {"type": "string", "enum": ["celsius", "fahrenheit"]},
        "g": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "h": {"type": "string", "format": "date"},
        "i": {
            "type": "object",
            "description": "A point on the map.",
            "properties": {"x": {"type": "number", "description": "East"}, "y": {"type": "number", "default": 0.0}},
            "required": ["x"],
        },
        "j": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "minutes": {"type": "integer", "default": 5}},
                "required": ["name"],
            },
        },
        "k": {
            "type": "object",
            "properties": {
                "start": {
                    "type": "object",
                    "description": "A point on the map.",
                    "properties": {
                        "x": {"type": "number", "description": "East"},
                        "y": {"type": "number", "default": 0.0},
                    },
                    "required": ["x"],
                },
                "note": {"type": "string"},
            },
            "required": ["start"],
        },
        "l": {"type": "integer", "minimum": 1, "maximum": 7},
        "m": {},
        "n": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
    }


def test_a_type_that_holds_itself_keeps_its_definition() -> None:
    def plant(root: Node, other: Point) -> None: ...

    schema = schema_of(plant)
    assert list(schema["$defs"]) == ["Node"]
    assert schema["properties"]["root"] == {"$ref": "#/$defs/Node"}
    assert "$ref" not in json.dumps(schema["properties"]["other"])


def test_a_property_called_title_stays() -> None:
    class Book(BaseModel):
        title: str

    def find(title: str, book: Book) -> None: ...

    schema = schema_of(find)
    assert schema["properties"]["title"] == {"type": "string"}
    assert schema["properties"]["book"]["properties"] == {"title": {"type": "string"}}


def test_names_that_pydantic_reserves_are_ordinary_parameters() -> None:
    def odd(schema: str, copy: int, model_config: str = "m", json: bool = False, _hidden: int = 0) -> str:
        return f"{schema}{copy}{model_config}{json}{_hidden}"

    made = tool(odd)
    assert list(made.parameters["properties"]) == ["schema", "copy", "model_config", "json", "_hidden"]
    assert made.bind is not None
    assert odd(**made.bind({"schema": "s", "copy": 1, "_hidden": 2})) == "s1mFalse2"


def test_a_default_of_none_allows_null_and_is_not_written_out() -> None:
    def look(where: str = None) -> None: ...  # type: ignore[assignment]  # noqa: RUF013

    assert schema_of(look)["properties"]["where"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}
    assert "required" not in schema_of(look)


def test_a_default_that_json_cannot_express_is_left_out_quietly() -> None:
    marker = object()

    def wait(seconds: float = marker) -> None: ...  # type: ignore[assignment]

    assert schema_of(wait)["properties"] == {"seconds": {"type": "number"}}


def test_descriptions_in_annotations_come_before_the_docstring() -> None:
    def look(
        a: Annotated[str, "from the annotation"], b: Annotated[int, Field(description="from the field")] = 1
    ) -> None:
        """Look.

        Args:
            a: from the docstring
            b: from the docstring
        """

    described = {name: inner["description"] for name, inner in schema_of(look)["properties"].items()}
    assert described == {"a": "from the annotation", "b": "from the field"}


def test_a_pydantic_field_as_default_gives_the_default_and_the_description() -> None:
    field: Any = Field(default_factory=lambda: ["a"], description="What to count")

    def count(items: list[str] = field) -> int:
        return len(items)

    made = tool(count)
    assert made.parameters["properties"]["items"]["description"] == "What to count"
    assert made.bind is not None
    assert count(**made.bind({})) == 1


def test_a_function_defined_inside_another_may_use_its_types() -> None:
    class Local(BaseModel):
        x: int

    def look(at: Local, unit: Unit = Unit.CELSIUS) -> int:
        return at.x

    assert schema_of(look)["properties"]["at"]["properties"] == {"x": {"type": "integer"}}


def test_methods_partials_and_callable_objects_become_tools() -> None:
    class Desk:
        def lend(self, book: str, days: int = 7) -> str:
            """Lend a book."""
            return f"{book} {days} {self.__class__.__name__}"

        def __call__(self, book: str) -> str:
            """Find a book."""
            return book

    assert tool(Desk().lend).description == "Lend a book."
    assert tool(Desk()).name == "Desk"
    assert tool(Desk()).description == "Find a book."
    short = tool(functools.partial(Desk().lend, days=3), name="lend_short")
    assert list(short.parameters["properties"]) == ["book"]
    assert short(book="Fogbound") == "Fogbound 3 Desk"


def test_what_a_partial_holds_is_never_shown_to_a_model() -> None:
    def fetch(page: str, key: str) -> str:
        return page + key

    made = tool(functools.partial(fetch, key="hunter2"))
    assert "hunter2" not in json.dumps(made.to_dict())
    assert "key" not in made.parameters["properties"]


def test_a_decorated_function_keeps_its_signature() -> None:
    def logged(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return wrapper

    @tool
    @logged
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    assert add.parameters["required"] == ["a", "b"]
    assert add(1, 2) == 3


def test_the_decorator_takes_what_the_signature_cannot_say() -> None:
    @tool(
        name="weather.now",
        description="The weather now.",
        safe=True,
        timeout=2,
        examples=[
            ("Is it cold in Oslo?", {"city": "Oslo"}, "-3 C"),
            ("And in Rome?", {"city": "Rome"}, {"c": 20}, "It is 20 C."),
            {"question": "Bergen?", "arguments": {"city": "Bergen"}, "result": "rain"},
            Example("Tromsø?", {"city": "Tromsø"}, "snow"),
        ],
    )
    def weather(city: str) -> str:
        return city

    assert weather.name == "weather.now"
    assert weather.description == "The weather now."
    assert weather.safe
    assert weather.timeout == 2
    assert weather.examples == (
        Example("Is it cold in Oslo?", {"city": "Oslo"}, "-3 C"),
        Example("And in Rome?", {"city": "Rome"}, '{"c": 20}', "It is 20 C."),
        Example("Bergen?", {"city": "Bergen"}, "rain"),
        Example("Tromsø?", {"city": "Tromsø"}, "snow"),
    )


def test_a_json_schema_of_ones_own_is_taken_as_it_is() -> None:
    parameters = {"type": "object", "properties": {"q": {"type": "string", "title": "Query"}}, "required": ["q"]}

    def search(q, top=3):  # type: ignore[no-untyped-def]
        """Search."""
        return q * top

    made = tool(search, parameters=parameters)
    assert made.parameters is parameters
    assert made.description == "Search."
    assert tool(lambda **anything: anything, parameters=parameters, name="any").name == "any"


def untyped(a, b: int):  # type: ignore[no-untyped-def]
    ...


def starred(*words: str) -> None: ...


def double_starred(**words: str) -> None: ...


def positional(a: str, /) -> None: ...


def undefined(a: Nowhere) -> None: ...  # type: ignore[name-defined] # noqa: F821


def socket_like(a: Callable[[int], int]) -> None: ...


def own_class(a: Toolbox) -> None: ...


def generator(a: int) -> Any:
    yield a


class Desk:
    def lend(self, book: str) -> None: ...


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (untyped, 'The parameter "a" of untyped() has no type; annotate it, for example a: str.'),
        (
            starred,
            "starred() takes *words, which no schema can describe; name each parameter, or pass parameters= with",
        ),
        (double_starred, "double_starred() takes **words, which no schema can describe"),
        (
            positional,
            'The parameter "a" of positional() is positional-only, and a model passes arguments by name; remove',
        ),
        (undefined, 'The annotations of undefined() use "Nowhere", which is not defined; import it'),
        (socket_like, 'The parameter "a" of socket_like() has the type'),
        (own_class, 'The parameter "a" of own_class() has the type Toolbox, which JSON cannot express; use'),
        (generator, "generator() is a generator; return a list"),
        (Desk.lend, 'The parameter "self" of lend() is an object; pass the method of one, object.lend.'),
        (Desk, "A tool is made from a function, not from"),
        (3, "A tool is made from a function, not from 3"),
        (lambda: 1, "cannot be the name of a tool: pass name="),
        (tool(Desk().lend), '"lend" is a tool already'),
    ],
)
def test_a_function_that_cannot_be_a_tool_is_refused_with_the_fix(function: Any, said: str) -> None:
    with pytest.raises(ToolDefinitionError) as caught:
        tool(function)
    assert str(caught.value).startswith(said) or said in str(caught.value)
    assert "\n" not in str(caught.value)


def ask(question: str, times: int = 1) -> str:
    return question * times


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"name": "two words"}, "'two words' cannot be the name of a tool"),
        ({"name": "x" * 65}, "at most 64"),
        ({"timeout": 0}, "must be more than 0 s"),
        ({"parameters": {"type": "object", "properties": {"question": {"type": "str"}}}}, 'write "string"'),
        ({"parameters": {"type": "object", "properties": {"other": {}}}}, 'declares "other", which is no parameter'),
        ({"parameters": {"type": "object", "properties": {}}}, '"question" of ask() is not in its schema'),
        ({"parameters": {"type": "array"}}, '"type": "object"'),
        (
            {"examples": [("q", {"question": 3}, "r")]},
            'Example 1 of the tool "ask" does not fit its schema: Argument "question"',
        ),
        ({"examples": [("q", {}, "r")]}, 'Argument "question" is missing'),
        ({"examples": [("q", "r")]}, "must be an Example or a tuple (question, arguments, result)"),
        ({"examples": [{"question": "q"}]}, "must be an Example or a tuple"),
    ],
)
def test_wrong_options_are_refused_when_the_tool_is_made(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ToolDefinitionError) as caught:
        tool(ask, **options)
    assert said in str(caught.value)


def test_a_tool_survives_the_way_through_its_dict() -> None:
    made = tool(ask)
    again = Tool.from_dict(made.to_dict(), ask)
    assert (again.name, again.description, again.parameters) == (made.name, made.description, made.parameters)
    assert json.loads(json.dumps(made.to_dict())) == made.to_dict()


def test_tool_dicts_of_every_kind_are_tools() -> None:
    inner = {"name": "a", "description": "b", "parameters": {"type": "object", "properties": {"x": {}}}}
    for given in (inner, {"type": "function", "function": inner}):
        made = Tool.from_dict(given)
        assert (made.name, made.description, made.parameters) == ("a", "b", inner["parameters"])
    bare = Tool.from_dict({"name": "a", "description": None, "parameters": None})
    assert bare.description == ""
    assert bare.parameters == {"type": "object", "properties": {}}


@pytest.mark.parametrize("given", [{}, {"function": {}}, {"function": 3}, 3, "name", None])
def test_what_is_no_tool_is_refused(given: Any) -> None:
    with pytest.raises(ToolDefinitionError, match="must be a Tool or a dict"):
        as_tools([given])


def test_as_tools_takes_tools_dicts_functions_and_a_toolbox() -> None:
    made = tool(ask, name="first")
    assert [item.name for item in as_tools([made, {"name": "second"}, ask])] == ["first", "second", "ask"]
    assert as_tools([made])[0] is made
    assert as_tools(Toolbox([made])) == (made,)
    assert as_tools(()) == ()


def test_a_tool_that_is_only_described_cannot_be_called() -> None:
    with pytest.raises(ToolDefinitionError, match="only described"):
        Tool("a")()

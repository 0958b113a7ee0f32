import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from react_text.protocol.examples import copies_answer, copies_example, example_of, examples_of, scalars
from react_text.schema import first_problem
from react_text.tools import Example, Tool

LEAVES = st.one_of(
    st.just({"type": "string"}),
    st.builds(lambda low: {"type": "integer", "minimum": low, "maximum": low + 3}, st.integers(-50, 50)),
    st.just({"type": "number"}),
    st.just({"type": "boolean"}),
    st.just({"enum": ["a", "b"]}),
    st.just({"type": "string", "format": "date"}),
    st.builds(lambda n: {"type": "string", "minLength": n, "maxLength": n + 2}, st.integers(0, 40)),
    st.just({"anyOf": [{"type": "null"}, {"type": "string"}]}),
)
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(lambda items, n: {"type": "array", "items": items, "minItems": n}, inner, st.integers(0, 3)),
        st.builds(
            lambda props: {"type": "object", "properties": props, "required": list(props)},
            st.dictionaries(st.sampled_from(["one", "two", "three"]), inner, max_size=3),
        ),
    ),
    max_leaves=6,
)


def tool_of(schema) -> Tool:
    parameters = {"type": "object", "properties": {"value": schema}, "required": ["value"]}
    return Tool("use_it", "Use a value.", parameters)


@settings(deadline=None)
@given(SCHEMAS)
def test_an_example_made_from_a_schema_is_valid_against_it(schema):
    example = example_of(tool_of(schema))
    assert example is not None
    assert first_problem(example.arguments, tool_of(schema).parameters) is None


@settings(deadline=None)
@given(st.lists(LEAVES, min_size=1, max_size=3))
def test_the_question_of_a_made_example_holds_the_values_of_its_call(leaves):
    properties = {f"value_{number}": leaf for number, leaf in enumerate(leaves)}
    tool = Tool("use_it", "Use values.", {"type": "object", "properties": properties, "required": list(properties)})
    example = example_of(tool)
    assert all(value in example.question for value in scalars(example.arguments))
    assert example.question.startswith("Use values")


def test_a_tool_for_which_no_valid_arguments_can_be_made_has_no_example():
    assert example_of(tool_of({"type": "string", "pattern": "^[0-9]{9}x$"})) is None


def test_the_examples_of_several_tools_do_not_share_their_values():
    tools = tuple(Tool(name, "", tool_of({"type": "string"}).parameters) for name in ("one", "two", "three"))
    values = [example.arguments["value"] for _, example in examples_of(tools)]
    assert len(set(values)) == 3


def test_a_tools_own_example_is_used():
    own = Example("How tall is the mast?", {"value": "mast"}, "12 m")
    tool = Tool("use_it", "", tool_of({"type": "string"}).parameters, examples=(own,))
    assert examples_of((tool,)) == [(tool, own)]


@pytest.mark.parametrize(
    ("arguments", "known", "copied"),
    [
        ({"city": "Oslo", "days": 2}, "What about Rome?", True),
        ({"city": "Oslo", "days": 2}, "Weather in oslo for 2 days?", False),
        ({"city": "Rome", "days": 2}, "Weather?", False),
        ({"city": "Oslo"}, "Weather?", False),
    ],
)
def test_a_call_with_the_examples_values_is_a_copy_unless_the_conversation_holds_them(arguments, known, copied):
    example = Example("Weather in Oslo for 2 days?", {"city": "Oslo", "days": 2}, "rain")
    assert copies_example(arguments, Tool("weather"), example, known) is copied


def test_a_call_without_values_is_never_a_copy():
    assert not copies_example({}, Tool("now"), Example("What time is it?", {}, "noon"), "")


def test_values_chosen_from_a_list_and_defaults_cannot_be_told_from_copied_ones():
    properties = {"unit": {"enum": ["kmh", "mph"]}, "sides": {"type": "integer", "default": 6}}
    tool = Tool("roll", "", {"type": "object", "properties": properties, "required": ["unit"]})
    example = Example("Roll.", {"unit": "kmh", "sides": 6}, "4")
    assert not copies_example({"unit": "kmh", "sides": 6}, tool, example, "How fast, in kilometres per hour?")


@pytest.mark.parametrize(
    ("answer", "known", "copied"),
    [
        ("The answer is rain.", "Weather in Rome?\nsun", True),
        ("The answer is rain.", "Weather in Rome?\nrain", False),
        ("The answer is sun.", "Weather in Rome?\nsun", False),
    ],
)
def test_an_answer_of_the_example_is_a_copy_unless_the_conversation_holds_its_result(answer, known, copied):
    assert copies_answer(answer, Example("Weather in Oslo?", {"city": "Oslo"}, "rain"), known) is copied


@pytest.mark.parametrize(
    ("answer", "result", "known", "copied"),
    [
        ("Final: 3817", "3817", "How many are left?", True),
        ("It costs 3817 crowns.", "3817", "How many are left?", True),
        ("It costs 3817 crowns.", "3817", "stock: 3817", False),
        ("It costs 38170 crowns.", "3817", "How many are left?", False),
        ("There are 12.", "12", "How many are left?", False),
    ],
)
def test_an_answer_with_the_long_number_of_an_example_is_a_copy(answer, result, known, copied):
    assert copies_answer(answer, Example("How many?", {}, result), known) is copied


@pytest.mark.parametrize(
    "schema", [{"type": "array", "minItems": 10**9}, {"type": "string", "minLength": 10**9}], ids=["list", "text"]
)
def test_of_a_schema_that_wants_too_much_no_example_is_made(schema):
    assert example_of(tool_of(schema)) is None


def test_a_bound_written_with_a_point_is_kept():
    assert len(example_of(tool_of({"type": "array", "minItems": 2.0})).arguments["value"]) == 2
    assert len(example_of(tool_of({"type": "string", "maxLength": 3.0})).arguments["value"]) == 3

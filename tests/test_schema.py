"""Arguments against a schema: what is said about them, and what is put right without loss."""

from __future__ import annotations

import contextlib
import json
from decimal import Decimal
from math import inf, nan
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from react_text.errors import ToolDefinitionError
from react_text.schema import (
    check_schema,
    coerce,
    declared_properties,
    first_problem,
    nearest,
    problems,
    resolve_ref,
    types_of,
)

WEATHER = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "Where"},
        "days": {"type": "integer", "minimum": 1, "maximum": 7},
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
        "exact": {"type": "boolean"},
    },
    "required": ["city"],
}
ROUTE = {
    "type": "object",
    "properties": {
        "route": {
            "type": "object",
            "properties": {
                "stops": {"type": "array", "items": {"$ref": "#/$defs/Stop"}, "minItems": 1},
                "mode": {"anyOf": [{"type": "string", "enum": ["bus", "boat"]}, {"type": "null"}]},
            },
            "required": ["stops"],
        }
    },
    "required": ["route"],
    "$defs": {
        "Stop": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "minutes": {"type": "number"}},
            "required": ["name"],
        }
    },
}
SHAPES = {
    "type": "object",
    "properties": {
        "shape": {
            "oneOf": [
                {
                    "type": "object",
                    "properties": {"kind": {"const": "circle"}, "radius": {"type": "number"}},
                    "required": ["kind", "radius"],
                },
                {
                    "type": "object",
                    "properties": {"kind": {"const": "square"}, "side": {"type": "number"}},
                    "required": ["kind", "side"],
                },
            ]
        }
    },
}


def of(name: str, schema: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {name: schema}}


@pytest.mark.parametrize(
    ("arguments", "schema"),
    [
        ({"city": "Oslo"}, WEATHER),
        ({"city": "Oslo", "days": 3, "unit": "celsius", "exact": False}, WEATHER),
        ({"city": "Oslo", "days": 3.0}, WEATHER),
        (MappingProxyType({"city": "Oslo"}), WEATHER),
        ({"route": {"stops": [{"name": "A", "minutes": 2.5}, {"name": "B"}], "mode": None}}, ROUTE),
        ({"shape": {"kind": "circle", "radius": 1}}, SHAPES),
        ({}, {}),
        ({}, None),
        ({"anything": [1]}, {"type": "object", "additionalProperties": True}),
        ({"n": 1}, {"type": "object", "additionalProperties": {"type": "integer"}}),
        ({"x-a": 1}, {"type": "object", "patternProperties": {"^x-": {"type": "integer"}}}),
        ({"free": {"any": 1}}, of("free", {"type": "object"})),
        ({"a": None}, of("a", {"type": "string", "nullable": True})),
        ({"a": None}, of("a", {"type": "string", "enum": ["x"], "nullable": True})),
        ({"a": {}}, of("a", {"type": "dict"})),
        ({"a": 1.5}, of("a", {"type": "float"})),
        ({"a": [1]}, of("a", {"type": "any"})),
        ({"a": "x"}, of("a", {"type": "STRING"})),
        ({"a": "not a date"}, of("a", {"type": "string", "format": "date"})),
        ({"a": "Zürich"}, of("a", {"type": "string", "pattern": r"^\p{L}+$"})),
        ({"a": None}, of("a", {"anyOf": [{"type": "integer"}, {"type": "null"}]})),
        ({"a": [1, 2]}, of("a", {"type": "array", "items": {"type": "integer"}})),
        ({"a": {"b": {"c": 1}}}, of("a", {"anyOf": [of("b", of("c", {})), of("b", of("d", {}))]})),
    ],
)
def test_what_the_schema_allows_is_no_problem(arguments: Any, schema: Any) -> None:
    assert problems(arguments, schema) == []
    assert first_problem(arguments, schema) is None


@pytest.mark.parametrize(
    ("arguments", "schema", "said"),
    [
        ({}, WEATHER, ['Argument "city" is missing; it must be a string.']),
        ({"city": None}, WEATHER, ['Argument "city" must be a string, but got null.']),
        ({"city": ["Oslo"]}, WEATHER, ['Argument "city" must be a string, but got the list ["Oslo"].']),
        (
            {"city": "Oslo", "days": "three"},
            WEATHER,
            ['Argument "days" must be an integer from 1 to 7, but got the text "three".'],
        ),
        (
            {"city": "Oslo", "days": 9},
            WEATHER,
            ['Argument "days" must be an integer from 1 to 7, but got the number 9.'],
        ),
        (
            {"city": "Oslo", "unit": "kelvin"},
            WEATHER,
            ['Argument "unit" must be one of "celsius", "fahrenheit", but got the text "kelvin".'],
        ),
        ({"city": "Oslo", "exact": 1}, WEATHER, ['Argument "exact" must be true or false, but got the number 1.']),
        ({"City": "Oslo"}, WEATHER, ['Argument "City" is unknown; did you mean "city"?']),
        (
            {"city": "Oslo", "tempo": 1},
            WEATHER,
            ['Argument "tempo" is unknown; the known ones are "city", "days", "unit", "exact".'],
        ),
        ({"x": 1}, {}, ['Argument "x" is unknown; this tool takes no arguments.']),
        ([], WEATHER, ["The arguments must be an object, but got the list []."]),
        (None, WEATHER, ["The arguments must be an object, but got null."]),
        (
            {"route": {"stops": []}},
            ROUTE,
            ['Argument "route.stops" must be a list of at least 1 item, but got the list [].'],
        ),
        (
            {"route": {"stops": [{"name": "A"}, {"nam": "B"}]}},
            ROUTE,
            ['Argument "route.stops[1].nam" is unknown; did you mean "route.stops[1].name"?'],
        ),
        (
            {"route": {"stops": "A"}},
            ROUTE,
            [
                'Argument "route.stops" must be a list of values, each an object with the keys "name", "minutes", '
                'but got the text "A".'
            ],
        ),
        (
            {"route": {"stops": [{"name": "A"}], "mode": "car"}},
            ROUTE,
            ['Argument "route.mode" must be one of "bus", "boat" or null, but got the text "car".'],
        ),
        (
            {"shape": {"kind": "circle", "radius": "r"}},
            SHAPES,
            ['Argument "shape.radius" must be a number, but got the text "r".'],
        ),
        ({"shape": {"kind": "square"}}, SHAPES, ['Argument "shape.side" is missing; it must be a number.']),
        (
            {"a": "xx"},
            of("a", {"type": "string", "maxLength": 1}),
            ['Argument "a" must be a text of at most 1 character, but got the text "xx".'],
        ),
        ({"a": "b"}, of("a", {"pattern": "^a"}), ['Argument "a" must match the pattern ^a, but got the text "b".']),
        ({"a": 0}, of("a", {"exclusiveMinimum": 0}), ['Argument "a" must be greater than 0, but got the number 0.']),
        ({"a": 2}, of("a", {"const": 1}), ['Argument "a" must be exactly 1, but got the number 2.']),
        (
            {"a": [1, 1]},
            of("a", {"uniqueItems": True}),
            ['Argument "a" must not hold the same item twice, but got the list [1, 1].'],
        ),
        (
            {"a": [1, 2]},
            of("a", {"prefixItems": [{}], "items": False}),
            ['Argument "a" has too many items, but got the list [1, 2].'],
        ),
        (
            {"a": 3},
            of("a", {"oneOf": [{"type": "integer"}, {"type": "number"}]}),
            ['Argument "a" must fit only one of these: an integer or a number, but got the number 3.'],
        ),
        (
            {"a": []},
            of("a", {"anyOf": [{"type": "string"}, {"type": "integer"}]}),
            ['Argument "a" must be a string or an integer, but got the list [].'],
        ),
        (
            {"a": {"b": 1}},
            of("a", {"type": "object", "additionalProperties": False}),
            ['Argument "a.b" is unknown; "a" takes no arguments.'],
        ),
        (
            {"a": {"b": 1}},
            of("a", {"type": "object", "additionalProperties": {"type": "string"}}),
            ['Argument "a.b" must be a string, but got the number 1.'],
        ),
        ({"a": 1}, of("a", {"type": "dict"}), ['Argument "a" must be an object, but got the number 1.']),
        ({"a": 1}, of("a", False), ['Argument "a" must not have this value, but got the number 1.']),
    ],
)
def test_each_problem_is_one_sentence_that_names_the_argument(arguments: Any, schema: Any, said: list[str]) -> None:
    assert problems(arguments, schema) == said
    assert first_problem(arguments, schema) == said[0]


def test_a_misspelt_required_name_is_said_once_as_a_suggestion() -> None:
    schema = {"type": "object", "properties": {"hours_ahead": {"type": "integer"}}, "required": ["hours_ahead"]}
    assert problems({"hours": 3}, schema) == ['Argument "hours" is unknown; did you mean "hours_ahead"?']


def test_several_problems_come_in_the_order_of_the_schema() -> None:
    found = problems({"unit": "k", "days": 0}, WEATHER)
    assert [sentence.split('"')[1] for sentence in found] == ["city", "days", "unit"]


@pytest.mark.parametrize("value", [nan, inf, -inf])
@pytest.mark.parametrize(
    "schema", [{"type": "number"}, {"type": "integer"}, {"type": "array", "items": {"type": "number"}}]
)
def test_numbers_that_json_cannot_carry_are_refused(value: float, schema: dict[str, Any]) -> None:
    assert first_problem({"a": [value] if schema["type"] == "array" else value}, of("a", schema))


def test_true_is_no_number() -> None:
    assert first_problem({"a": True}, of("a", {"type": "integer"}))
    assert first_problem({"a": True}, of("a", {"type": "number"}))


def test_long_values_are_shortened_in_the_sentence() -> None:
    sentence = first_problem({"days": "x" * 5000, "city": "O"}, WEATHER)
    assert sentence is not None
    assert len(sentence) < 200


def test_a_name_of_any_letters_is_shown_on_one_line() -> None:
    assert problems({"a\nb": 1}, {}) == ['Argument "a\\nb" is unknown; this tool takes no arguments.']
    assert len(problems({"x" * 5000: 1}, {})[0]) < 200


def test_a_hostile_pattern_does_not_hang() -> None:
    schema = of("a", {"type": "string", "pattern": "^(a|aa)+$"})
    first_problem({"a": "a" * 60 + "b"}, schema)


def test_recursion_in_schema_and_value_is_answered_not_raised() -> None:
    tree = {"$ref": "#/$defs/T"} | {"$defs": {"T": {"type": "object", "properties": {"t": {"$ref": "#/$defs/T"}}}}}
    value: dict[str, Any] = {}
    for _ in range(100_000):
        value = {"t": value}
    assert problems(value, tree) == ["The arguments are nested too deeply to be checked."]
    assert coerce(value, tree) is value
    assert problems({"t": {"t": {"other": 1}}}, tree) == ['Argument "t.t.other" is unknown; the known ones are "t".']
    assert first_problem({"t": 3}, tree) == 'Argument "t" must be an object with the keys "t", but got the number 3.'


def test_a_schema_that_refers_to_itself_in_place_is_answered() -> None:
    loop = {"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}}
    assert len(problems({"a": 1}, loop)) <= 1
    assert resolve_ref(loop["properties"]["a"], loop) == {}


@pytest.mark.parametrize(
    "broken",
    [
        {"type": "object", "properties": {"a": {"type": "nonsense"}}, "required": ["a"]},
        {"type": "object", "properties": {"a": {"minimum": "x"}}, "required": ["a"]},
        {"type": "object", "properties": {"a": {"$ref": "#/nowhere"}}, "required": ["a"]},
        {"type": "object", "properties": {"a": {"$ref": "https://example.com/s"}}, "required": ["a"]},
        {"type": "object", "properties": {"a": {"pattern": "("}}, "required": ["a"]},
        {"type": "object", "properties": {"a": {"enum": 5}}, "required": ["a"]},
    ],
)
def test_a_broken_schema_still_knows_its_names_and_nothing_raises(broken: dict[str, Any]) -> None:
    assert problems({"a": 1}, broken) == []
    assert 'Argument "a" is missing' in str(first_problem({}, broken))
    assert 'Argument "other" is unknown' in str(problems({"a": 1, "other": 2}, broken))
    assert coerce({"a": "1"}, broken) == {"a": "1"}
    with pytest.raises(ToolDefinitionError, match=r'^The parameters of the tool "t" .*\.$'):
        check_schema(broken, "t")


@pytest.mark.parametrize(
    ("schema", "hint"),
    [
        ({"type": "string"}, '"type": "object"'),
        ({"type": "object", "properties": {"a": {"type": "dict"}}}, 'write "object"'),
        ({"type": "object", "properties": []}, "at properties stands the list"),
        ({"type": "object", "required": "a"}, "at required stands"),
        ([], "as a dict"),
        ({"type": "object", "patternProperties": {"(": {}}}, "("),
    ],
)
def test_a_broken_schema_is_refused_with_the_place(schema: Any, hint: str) -> None:
    with pytest.raises(ToolDefinitionError) as caught:
        check_schema(schema, "lookup")
    assert hint in str(caught.value)
    assert '"lookup"' in str(caught.value)


def test_sound_schemas_pass_the_check() -> None:
    for schema in (WEATHER, ROUTE, SHAPES, {}, of("title", {"type": "string"}), of("required", {"enum": [1]})):
        check_schema(schema, "t")


def test_older_drafts_are_read_by_their_own_rules() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"pair": {"type": "array", "items": [{"type": "integer"}, {"type": "string"}]}},
    }
    check_schema(schema, "t")
    assert problems({"pair": [1, "a"]}, schema) == []
    assert problems({"pair": ["a", "a"]}, schema) == ['Argument "pair[0]" must be an integer, but got the text "a".']


@pytest.mark.parametrize(
    ("value", "schema", "wanted"),
    [
        ("3", {"type": "integer"}, 3),
        (" 3 ", {"type": "integer"}, 3),
        ("-0", {"type": "integer"}, 0),
        ("5.0", {"type": "integer"}, 5),
        (3.0, {"type": "integer"}, 3),
        ("2.5", {"type": "number"}, 2.5),
        ("3", {"type": "number"}, 3),
        ("true", {"type": "boolean"}, True),
        ("False", {"type": "boolean"}, False),
        ("null", {"type": ["integer", "null"]}, None),
        (77120, {"type": "string"}, "77120"),
        ('["a", 1]', {"type": "array"}, ["a", 1]),
        ('{"a": "1"}', of("a", {"type": "integer"}), {"a": 1}),
        ({"a": ["1", "2"]}, of("a", {"type": "array", "items": {"type": "integer"}}), {"a": [1, 2]}),
        ({"a": "3"}, of("a", {"anyOf": [{"type": "integer"}, {"type": "null"}]}), {"a": 3}),
        ({"a": "3"}, {"type": "object", "additionalProperties": {"type": "integer"}}, {"a": 3}),
        ({"a": "3"}, of("a", {"type": "int"}), {"a": 3}),
    ],
)
def test_coercion_without_loss(value: Any, schema: dict[str, Any], wanted: Any) -> None:
    coerced = coerce(value, schema)
    assert coerced == wanted
    assert json.dumps(coerced) == json.dumps(wanted)


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ("three", {"type": "integer"}),
        ("3.5", {"type": "integer"}),
        (3.5, {"type": "integer"}),
        ("007", {"type": "integer"}),
        ("1,000", {"type": "integer"}),
        ("0x10", {"type": "integer"}),
        ("1e99999999", {"type": "integer"}),
        ("٣", {"type": "integer"}),
        ("", {"type": "integer"}),
        ("3.141592653589793238", {"type": "number"}),
        ("1e400", {"type": "number"}),
        ("NaN", {"type": "number"}),
        ("yes", {"type": "boolean"}),
        (1, {"type": "boolean"}),
        (True, {"type": "integer"}),
        (True, {"type": "string"}),
        (None, {"type": "string"}),
        (1.10, {"type": "string"}),
        ("null", {"type": ["string", "null"]}),
        ("3", {"type": ["string", "integer"]}),
        ("3", {"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        ('{"a": 1, "a": 2}', {"type": "object"}),
        ("[NaN]", {"type": "array"}),
        ("[1", {"type": "array"}),
        ("a", {"type": "array", "items": {"type": "string"}}),
        ("3", {}),
        ("3", {"type": "nonsense"}),
    ],
)
def test_what_cannot_be_coerced_without_loss_stays_as_it_is(value: Any, schema: dict[str, Any]) -> None:
    coerced = coerce(value, schema)
    assert coerced == value
    assert type(coerced) is type(value)


def test_nothing_is_added_by_coercion() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer", "default": 3}, "b": {"type": "integer"}}}
    assert coerce({"b": "1", "c": "2"}, schema) == {"b": 1, "c": "2"}


TYPES = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=10,
)
NUMBER_TEXTS = st.one_of(
    st.integers().map(str),
    st.floats().map(str),
    st.decimals(allow_nan=False, allow_infinity=False).map(str),
    st.from_regex(r"[+-]?0?[0-9]{1,25}(\.[0-9]{0,25})?(e[+-]?[0-9]{1,3})?", fullmatch=True),
)


@given(text=NUMBER_TEXTS, kind=st.sampled_from(["integer", "number"]))
def test_a_coerced_number_is_exactly_the_number_that_was_written(text: str, kind: str) -> None:
    coerced = coerce(text, {"type": kind})
    if coerced is not text:
        assert Decimal(repr(coerced)) == Decimal(text)


@given(value=st.integers(), kind=st.just("string"))
def test_a_coerced_text_reads_back_as_the_number(value: int, kind: str) -> None:
    assert int(coerce(value, {"type": kind})) == value


@given(value=JSON_VALUES, kind=TYPES)
def test_what_is_valid_is_never_changed(value: Any, kind: str) -> None:
    schema = of("a", {"type": kind})
    if not problems({"a": value}, schema):
        assert coerce({"a": value}, schema) == {"a": value}


@given(value=JSON_VALUES, kind=TYPES)
def test_coercing_twice_is_coercing_once(value: Any, kind: str) -> None:
    once = coerce(value, {"type": kind})
    assert coerce(once, {"type": kind}) == once


SCHEMAS = st.recursive(
    st.fixed_dictionaries({"type": TYPES})
    | st.fixed_dictionaries({"enum": st.lists(JSON_VALUES, min_size=1, max_size=3)}),
    lambda inner: st.one_of(
        st.fixed_dictionaries({"type": st.just("array"), "items": inner}),
        st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"oneOf": st.lists(inner, min_size=1, max_size=3)}),
        st.dictionaries(st.text(max_size=3), inner, max_size=3).map(
            lambda each: {"type": "object", "properties": each}
        ),
    ),
    max_leaves=6,
)
OBJECT_SCHEMAS = st.dictionaries(st.sampled_from("abc"), SCHEMAS, max_size=3).flatmap(
    lambda properties: st.lists(st.sampled_from("abc"), unique=True).map(
        lambda required: {"type": "object", "properties": properties, "required": required}
    )
)


@given(schema=OBJECT_SCHEMAS, arguments=st.dictionaries(st.sampled_from("abcd"), JSON_VALUES, max_size=3))
def test_the_quick_answer_agrees_with_jsonschema(schema: dict[str, Any], arguments: dict[str, Any]) -> None:
    from jsonschema import Draft202012Validator

    check_schema(schema, "t")
    found = problems(arguments, schema)
    if not Draft202012Validator(schema).is_valid(arguments):
        assert found
    elif found:
        assert all("is unknown" in sentence for sentence in found)
    for sentence in found:
        assert sentence.endswith((".", "?"))
        assert "\n" not in sentence


KEYWORDS = st.sampled_from(
    [
        *("type", "properties", "required", "items", "prefixItems", "enum", "const", "anyOf", "oneOf", "allOf", "not"),
        *("$ref", "$defs", "$id", "$anchor", "$schema", "$dynamicRef", "additionalProperties", "patternProperties"),
        *("pattern", "minimum", "exclusiveMinimum", "multipleOf", "minLength", "uniqueItems", "contains", "nullable"),
        *("if", "then", "else", "dependentRequired", "dependentSchemas", "propertyNames", "unevaluatedProperties"),
        *("format", "description", "default", "minProperties", "dependencies", "additionalItems"),
    ]
)
WORDS = st.sampled_from(
    [
        *("a", "b", "string", "integer", "dict", "#", "#/$defs/a", "#/properties/a", "#a", "x.json", "(", "^a"),
        "http://json-schema.org/draft-03/schema#",
        "http://json-schema.org/draft-04/schema#",
        "http://json-schema.org/draft-07/schema#",
        "https://json-schema.org/draft/2019-09/schema",
    ]
)
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYWORDS | st.sampled_from("ab"), inner, max_size=4),
    max_leaves=12,
)


@given(
    schema=st.dictionaries(KEYWORDS, JUNK, max_size=5),
    arguments=st.dictionaries(st.sampled_from("ab"), JSON_VALUES | JUNK, max_size=2),
)
def test_whatever_stands_where_a_schema_should_nothing_raises(
    schema: dict[str, Any], arguments: dict[str, Any]
) -> None:
    assert all(isinstance(sentence, str) for sentence in problems(arguments, schema))
    coerce(arguments, schema)
    declared_properties(schema, schema)
    with contextlib.suppress(ToolDefinitionError):
        check_schema(schema, "t")


def test_references_are_followed_and_keep_what_stands_beside_them() -> None:
    root = {"$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"type": "string"}, "a/b~c": {"type": "null"}}}
    assert resolve_ref({"$ref": "#/$defs/A"}, root) == {"type": "string"}
    assert resolve_ref({"$ref": "#/$defs/A", "description": "x"}, root) == {"type": "string", "description": "x"}
    assert resolve_ref({"$ref": "#/$defs/a~1b~0c"}, root) == {"type": "null"}
    assert resolve_ref({"$ref": "#"}, root) is root
    assert resolve_ref({"$ref": "#/$defs/missing"}, root) == {}
    assert resolve_ref(True, root) == {}
    assert resolve_ref(False, root) == {"not": {}}


def test_declared_properties_of_all_branches() -> None:
    schema = {
        "allOf": [{"$ref": "#/$defs/Base"}],
        "anyOf": [of("x", {"type": "string"}), of("x", {"type": "integer"})],
        "$defs": {"Base": of("id", {"type": "string"})},
    }
    properties, is_open = declared_properties(schema, schema)
    assert properties == {"id": {"type": "string"}, "x": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}
    assert not is_open
    assert declared_properties({"additionalProperties": True}, {}) == ({}, True)


def test_types_of_reads_the_spellings_that_tool_lists_use() -> None:
    assert types_of({"type": "STRING", "nullable": True}) == ("string", "null")
    assert types_of({"type": ["int", "null"]}) == ("integer", "null")
    assert types_of({"type": "any"}) == ()
    assert types_of({}) == ()


@pytest.mark.parametrize(
    ("name", "names", "wanted"),
    [
        ("wether", ["get_weather", "weather", "news"], "weather"),
        ("find_weather", ["get_weather", "get_news"], "get_weather"),
        ("GetWeather", ["get_weather", "get_news"], "get_weather"),
        ("python", ["get_weather", "get_news"], None),
        ("", ["get_weather"], None),
        ("x", [], None),
    ],
)
def test_the_nearest_name(name: str, names: list[str], wanted: str | None) -> None:
    assert nearest(name, names) == wanted


def test_a_number_too_large_to_be_checked_is_refused_in_words():
    schema = {"type": "object", "properties": {"x": {"type": "number", "multipleOf": 0.5}}}
    assert "too large" in first_problem({"x": 10**400}, schema)

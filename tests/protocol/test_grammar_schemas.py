"""Any schema against its grammar: what the grammar allows is valid, and what is valid is allowed."""

from __future__ import annotations

import datetime
import json
import re
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from react_text.backends.gbnf import check_grammar
from react_text.data import load_dialect, load_grammar_skeleton
from react_text.errors import ReactTextError
from react_text.parsing import parse
from react_text.protocol.grammar import text_grammar, value_grammar
from react_text.protocol.native_grammar import FORMATS, native_grammar
from react_text.schema import first_problem
from react_text.tools import Tool

REACT = load_dialect("react")
SKELETON = load_grammar_skeleton("react.gbnf")
SHARED = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
LETTERS = st.characters(codec="utf-8", max_codepoint=0x1FFFF)


class Case(NamedTuple):
    """A schema, and a strategy for values that fit it."""

    schema: Any
    values: st.SearchStrategy[Any]


def bounds(low: Any, high: Any, names: tuple[str, str]) -> dict[str, Any]:
    return {name: value for name, value in zip(names, (low, high), strict=True) if value is not None}


@st.composite
def strings(draw: st.DrawFn) -> Case:
    low, high = draw(st.sampled_from([(None, None), (2, 5), (0, 3), (4, None), (1, 1)]))
    values = st.text(LETTERS, min_size=low or 0, max_size=20 if high is None else high)
    return Case({"type": "string", **bounds(low, high, ("minLength", "maxLength"))}, values)


@st.composite
def patterns(draw: st.DrawFn) -> Case:
    pattern = draw(
        st.sampled_from(
            [
                *(r"^[A-Z]{2}\d{3}$", r"^(GET|POST|PUT)$", r"^#[0-9a-f]{6}$", r"^\w+@\w+\.(com|org)$", "^[^/\\\\]+$"),
                *(r"^v\d+(\.\d+){0,2}$", "^a.c$", r'^"\S*"$', "b+c", "^(?:x|yz)*!$", r"^[\]\-^]+$", "^é|ü$", r"^\s?x"),
            ]
        )
    )
    found = st.from_regex(pattern, fullmatch=True, alphabet=st.characters(max_codepoint=255, exclude_categories=["Cc"]))
    around = r"[\x20-\x7eéü]{0,60}"
    return Case(
        {"type": "string", "pattern": pattern},
        found.filter(lambda value: bool(re.fullmatch(around, value.strip("\n")))),
    )


@st.composite
def formats(draw: st.DrawFn) -> Case:
    utc = datetime.timezone.utc
    table = {
        "date": st.dates(datetime.date(1900, 1, 1), datetime.date(2999, 12, 31)).map(str),
        "time": st.times(timezones=st.just(utc)).map(lambda value: value.isoformat()),
        "date-time": st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2999, 1, 1)).map(
            lambda value: value.isoformat() + "Z"
        ),
        "uuid": st.uuids().map(str),
        "ipv4": st.ip_addresses(v=4).map(str),
        "email": st.sampled_from(["a@b.org", "first.last+tag@mail.example.co.uk"]),
        "uri": st.sampled_from(["https://example.org/a?b=c#d", "mailto:a@b.org", "ftp://[2001:db8::1]/x"]),
        "duration": st.sampled_from(["P1D", "PT15M", "P3Y6M4DT12H30M5S", "P2W", "PT1H5S"]),
        "hostname": st.sampled_from(["localhost", "a-1.example.org"]),
    }
    name = draw(st.sampled_from(sorted(table)))
    return Case({"type": "string", "format": name}, table[name])


@st.composite
def whole_numbers(draw: st.DrawFn) -> Case:
    low = draw(st.one_of(st.none(), st.integers(-3000, 3000), st.sampled_from([0, 1, 10, -1])))
    high = draw(st.one_of(st.none(), st.integers(0, 5000).map(lambda more: (low or 0) + more)))
    strict = high is not None and low is not None and high - low > 2 and draw(st.booleans())
    names = ("exclusiveMinimum", "exclusiveMaximum") if strict else ("minimum", "maximum")
    least = -(10**18) if low is None else low + strict
    most = max(10**18, least) if high is None else high - strict
    return Case({"type": "integer", **bounds(low, high, names)}, st.integers(least, most))


@st.composite
def decimals(draw: st.DrawFn) -> Case:
    edge = st.one_of(st.none(), st.integers(-2000, 2000), st.floats(-50, 50).map(lambda one: round(one, 3) + 0.0))
    low, high = draw(edge), draw(edge)
    if low is not None and high is not None:
        low, high = sorted((low, high))
    strict = low != high and draw(st.booleans())
    names = ("exclusiveMinimum", "exclusiveMaximum") if strict else ("minimum", "maximum")
    values = st.floats(
        -1e15 if low is None else low,
        1e15 if high is None else high,
        exclude_min=strict and low is not None,
        exclude_max=strict and high is not None,
    ).filter(lambda value: value == 0 or abs(value) > 1e-90)
    return Case({"type": "number", **bounds(low, high, names)}, values.map(lambda value: value + 0.0))


LISTED = ["a b", 'quo"te', "back\\slash", "é", 3, 2.5, None, True, {"k": [1]}, "line\nbreak", "\U0001f3f4\U000e0067"]


@st.composite
def listed(draw: st.DrawFn) -> Case:
    values = draw(st.lists(st.sampled_from(LISTED), min_size=1, max_size=4))
    return Case({"const": values[0]} if len(values) == 1 else {"enum": values}, st.sampled_from(values))


POINT = {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"], "additionalProperties": False}
TREE = {
    "type": "object",
    "properties": {
        "v": {"type": "integer"},
        "left": {"anyOf": [{"$ref": "#/$defs/tree"}, {"type": "null"}]},
        "rest": {"type": "array", "items": {"$ref": "#/$defs/tree"}, "maxItems": 2},
    },
    "required": ["v"],
}
DEFINITIONS = {"point": POINT, "tree": TREE}
TREES = st.recursive(
    st.builds(lambda value: {"v": value}, st.integers(0, 9)),
    lambda inner: st.builds(lambda one, two: {"v": 1, "left": one, "rest": [two]}, st.none() | inner, inner),
    max_leaves=4,
)
SIMPLE = st.one_of(
    strings(),
    patterns(),
    formats(),
    whole_numbers(),
    decimals(),
    listed(),
    st.just(Case({"type": "boolean"}, st.booleans())),
    st.just(Case({"type": "null"}, st.none())),
    st.just(Case({"$ref": "#/$defs/point"}, st.just({"x": 1.5}))),
    st.just(Case({"$ref": "#/$defs/tree"}, TREES)),
    st.just(Case({"type": ["integer", "null"]}, st.none() | st.integers(-5, 5))),
    st.just(Case({"type": "string", "nullable": True, "maxLength": 3}, st.none() | st.text("ab", max_size=3))),
    st.just(Case({"allOf": [{"type": "integer", "minimum": 3}, {"maximum": 9}]}, st.integers(3, 9))),
    st.just(Case({"allOf": [{"enum": [1, "a", None]}, {"type": "string"}]}, st.just("a"))),
    st.just(
        Case({"type": "integer", "minimum": 0, "maximum": 60, "multipleOf": 15}, st.sampled_from(range(0, 61, 15)))
    ),
)


@st.composite
def arrays(draw: st.DrawFn, inner: st.SearchStrategy[Case]) -> Case:
    item, low = draw(inner), draw(st.integers(0, 2))
    high = draw(st.sampled_from([None, low, low + 2]))
    values = st.lists(item.values, min_size=low, max_size=low + 3 if high is None else high)
    return Case({"type": "array", "items": item.schema, **bounds(low or None, high, ("minItems", "maxItems"))}, values)


@st.composite
def rows(draw: st.DrawFn, inner: st.SearchStrategy[Case]) -> Case:
    heads, rest = draw(st.lists(inner, min_size=1, max_size=3)), draw(st.none() | inner)
    schema = {"type": "array", "prefixItems": [one.schema for one in heads], "minItems": len(heads)}
    tail: Any = st.just([]) if rest is None else st.lists(rest.values, max_size=2)
    values = st.tuples(st.tuples(*(one.values for one in heads)), tail).map(lambda parts: [*parts[0], *parts[1]])
    return Case({**schema, "items": False if rest is None else rest.schema}, values)


@st.composite
def choices(draw: st.DrawFn, inner: st.SearchStrategy[Case]) -> Case:
    options = draw(st.lists(inner, min_size=1, max_size=3))
    return Case({"anyOf": [one.schema for one in options]}, st.one_of(*(one.values for one in options)))


@st.composite
def objects(draw: st.DrawFn, inner: st.SearchStrategy[Case], *, names: str = 'x,y y,z"z,über,a') -> Case:
    chosen = draw(st.lists(st.sampled_from(names.split(",")), unique=True, min_size=1, max_size=4))
    members = {name: draw(inner) for name in chosen}
    required = draw(st.lists(st.sampled_from(chosen), unique=True))
    low, high = draw(st.sampled_from([(None, None), (None, None), (1, None), (None, len(chosen)), (2, 3)]))
    assume(max(low or 0, len(required)) <= min(len(chosen), len(chosen) if high is None else high))
    schema = {
        "type": "object",
        "properties": {name: one.schema for name, one in members.items()},
        "required": required,
        **bounds(low, high, ("minProperties", "maxProperties")),
    }
    if draw(st.booleans()):
        schema["additionalProperties"] = False
    optional = {name: one.values for name, one in members.items() if name not in required}
    values = st.fixed_dictionaries({name: members[name].values for name in required}, optional=optional)
    ordered = values.map(lambda value: {name: value[name] for name in chosen if name in value})
    return Case(
        schema, ordered.filter(lambda value: (low or 0) <= len(value) <= (len(chosen) if high is None else high))
    )


CASES = st.recursive(
    SIMPLE, lambda inner: st.one_of(arrays(inner), rows(inner), choices(inner), objects(inner)), max_leaves=6
)


@st.composite
def tools(draw: st.DrawFn) -> tuple[Tool, st.SearchStrategy[Any]]:
    case = draw(objects(CASES, names="city,day,amount,unit,notes"))
    return Tool("use_it", "Use it.", {**case.schema, "$defs": DEFINITIONS}), case.values


@given(tools(), st.integers(0, 2**32))
@settings(SHARED, max_examples=60)
def test_every_sentence_with_a_call_parses_strictly_and_fits_the_schema(sentence, tool, seed):
    tool, _ = tool
    grammar = text_grammar(SKELETON, REACT, [tool], "call")
    check_grammar(grammar.gbnf)
    text = f"Thought:{sentence(grammar.gbnf, seed)}"
    written = json.loads(text.partition("Action Input: ")[2])
    problem = first_problem(written, tool.parameters)
    assert problem is None or grammar.loosened, (problem, tool.parameters, written)
    turn = parse(text, [tool])
    if not grammar.loosened and turn.fault is None:
        assert turn.strict, text
        assert [(call.name, dict(call.arguments)) for call in turn.calls] == [("use_it", written)]
    assert turn.fault is None or grammar.loosened or turn.fault.code == "placeholder_arguments"


@pytest.mark.model
@given(st.data())
@settings(SHARED, max_examples=30)
def test_every_strict_rendering_of_a_valid_value_is_taken_by_the_engine(accepts, data):
    tool, values = data.draw(tools())
    value = data.draw(values)
    assert first_problem(value, tool.parameters) is None
    text = f" I need it.\nAction: use_it\nAction Input: {json.dumps(value, ensure_ascii=False)}"
    assert accepts(text_grammar(SKELETON, REACT, [tool], "call").gbnf, text), (tool.parameters, text)


OTHER_FORMS = sorted(family for family, form in FORMATS.items() if form.arguments is not None)
"""Families whose arguments are no JSON object."""


@given(tools(), st.sampled_from(OTHER_FORMS), st.integers(0, 2**32))
@settings(SHARED, max_examples=60)
def test_every_call_whose_arguments_are_no_json_object_fits_the_schema(sentence, tool, family, seed):
    tool, _ = tool
    grammar = native_grammar(family, [tool], "call")
    check_grammar(grammar.gbnf)
    text = sentence(grammar.gbnf, seed)
    assume('z\\"z' not in text)  # a quotation mark in a key, which readers of braces may take for the end of it
    turn = parse(text, [tool], finish_reason="stop")
    if turn.fault is not None:
        assert grammar.loosened or turn.fault.code == "placeholder_arguments", (text, turn.fault, tool.parameters)
        return
    (call,) = turn.calls
    assert first_problem(dict(call.arguments), tool.parameters) is None


KEYWORDS = [
    *("type", "properties", "required", "items", "prefixItems", "enum", "const", "anyOf", "oneOf", "allOf", "not"),
    *("if", "then", "$ref", "$defs", "nullable", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    *("multipleOf", "minLength", "maxLength", "pattern", "format", "minItems", "maxItems", "uniqueItems", "contains"),
    *("minProperties", "maxProperties", "additionalProperties", "patternProperties", "propertyNames"),
    *("dependentRequired", "unevaluatedProperties", "description", "default"),
]
WORDS = [
    *("string", "integer", "number", "object", "array", "null", "boolean", "any", "str"),
    *("#", "#/$defs/a", "#/x", "^a+$", "(", "date", "x"),
]
JUNK = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(10**25), 10**25),
        st.integers(-3, 3),
        st.floats(),
        st.sampled_from(WORDS),
        st.text(max_size=5),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from([*KEYWORDS, "a", "b"]), inner, max_size=4)
    ),
    max_leaves=20,
)
ODD = st.dictionaries(st.sampled_from(KEYWORDS), JUNK, max_size=6)


@given(st.text(max_size=8), ODD, st.sampled_from(["any", "call"]), st.booleans())
@settings(SHARED, max_examples=120)
def test_no_schema_however_odd_makes_a_bad_grammar_or_an_error_of_another_kind(name, schema, wanted, parallel):
    tool = Tool(name, "", schema)
    try:
        made = [
            text_grammar(SKELETON, REACT, [tool], wanted, parallel=parallel, answer_schema=schema),
            *(native_grammar(family, [tool], wanted, parallel=parallel) for family in ("hermes", *OTHER_FORMS)),
            value_grammar(schema),
        ]
        for grammar in made:
            check_grammar(grammar.gbnf)
    except ReactTextError as error:
        raise AssertionError(f"{error}\n{schema}") from error

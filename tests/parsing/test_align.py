"""Arguments in the form that a schema wants, without loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from react_text import Tool
from react_text.parsing.align import align

Named = Callable[[str], Tool]


@pytest.mark.parametrize(
    ("name", "given", "aligned", "repair"),
    [
        ("add", {"a": "3", "b": "4"}, {"a": 3, "b": 4}, "type"),
        ("add", {"a": 3.0, "b": "4.0"}, {"a": 3, "b": 4}, "type"),
        ("search", {"query": 77120}, {"query": "77120"}, "type"),
        (
            "book",
            {"place": "x", "guests": 2, "time": "8", "outdoor": "False"},
            {"place": "x", "guests": 2, "time": "8", "outdoor": False},
            "type",
        ),
        ("weather", {"city": "Bled", "unit": "Celsius"}, {"city": "Bled", "unit": "celsius"}, "enum_spelling"),
        ("weather", {"city": "Bled", "unit": "celcius"}, {"city": "Bled", "unit": "celsius"}, "enum_spelling"),
        ("weather", {"City": "Bled"}, {"city": "Bled"}, "key_spelling"),
        ("find_docs", {"query": "x", "topK": 3}, {"query": "x", "top_k": 3}, "key_spelling"),
        ("find_docs", {"qurey": "x"}, {"query": "x"}, "key_spelling"),
        ("find_docs", {"query": "x", "tags": "pump"}, {"query": "x", "tags": ["pump"]}, "lone_item"),
        ("find_docs", {"query": "x", "tags": "['a', 'b']"}, {"query": "x", "tags": ["a", "b"]}, "decoded_text"),
        ("find_docs", {"query": "x", "top_k": None}, {"query": "x"}, "null_dropped"),
        ("configure", {"settings": '{"a": 1}'}, {"settings": {"a": 1}}, "decoded_text"),
        ("weather", {"arguments": {"city": "Bled"}}, {"city": "Bled"}, "envelope"),
        ("weather", {"input": {"City": "Bled"}}, {"city": "Bled"}, "envelope"),
        ("weather", {"weather": {"city": "Bled"}}, {"city": "Bled"}, "envelope"),
        ("weather", {"name": "weather", "arguments": {"city": "Bled"}}, {"city": "Bled"}, "envelope"),
        ("search", {"input": "tides"}, {"query": "tides"}, "generic_key"),
        ("search", {"__arg1": "tides"}, {"query": "tides"}, "generic_key"),
    ],
)
def test_a_form_that_loses_nothing_is_brought_into_line(
    name: str, given: dict[str, Any], aligned: dict[str, Any], repair: str, tool: Named
) -> None:
    read = align(given, tool(name))
    assert read.problem is None
    assert read.arguments == aligned
    assert all(type(value) is type(aligned[key]) for key, value in read.arguments.items())
    assert repair in [found.name for found in read.repairs]


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("add", {"a": "three", "b": 4}),
        ("add", {"a": 3.5, "b": 4}),
        ("add", {"a": "007", "b": 4}),
        ("add", {"a": "3 units", "b": 4}),
        ("add", {"a": 3}),
        ("add", {"a": None, "b": 4}),
        ("weather", {"city": "Bled", "unit": "kelvin"}),
        ("weather", {"location": "Bled"}),
        ("weather", {"city": "Bled", "country": "SI"}),
        ("weather", {"city": ["Bled"]}),
        ("weather", {"city": {"name": "Bled"}}),
        ("weather", {"name": "search", "arguments": {"city": "Bled"}}),
        ("find_docs", {"query": "x", "tags": "a, b"}),
        ("find_docs", {"Query": "x", "QUERY": "y"}),
        ("write_file", {"path": "x", "content": {"a": 1}}),
        ("book", {"place": "x", "guests": 2, "time": "8", "outdoor": "yes"}),
    ],
)
def test_what_would_have_to_be_guessed_is_a_problem_with_a_sentence(
    name: str, given: dict[str, Any], tool: Named
) -> None:
    read = align(given, tool(name))
    assert read.problem
    assert read.problem.endswith(".") or read.problem.endswith("?")


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("search", {"query": "<string>"}),
        ("search", {"query": "<your query here>"}),
        ("search", {"query": "[query]"}),
        ("search", {"query": "..."}),
        ("search", {"query": "the input to the action"}),
        ("search", {"query": "string"}),
        ("configure", {"settings": {"type": "string", "title": "Settings"}}),
    ],
)
def test_placeholders_and_pieces_of_the_schema_are_faults(name: str, given: dict[str, Any], tool: Named) -> None:
    read = align(given, tool(name))
    assert read.problem
    assert read.fault == "placeholder_arguments"


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("search", {"query": "None"}),
        ("search", {"query": "the <b> tag"}),
        ("search", {"query": "your place or mine"}),
        ("write_file", {"path": "a", "content": ""}),
        ("write_file", {"path": "a", "content": "<html>"}),
        ("configure", {"settings": {"type": "dark"}}),
        ("find_docs", {"query": "x", "tags": []}),
        ("add", {"a": 0, "b": -4}),
    ],
)
def test_arguments_that_fit_are_not_touched(name: str, given: dict[str, Any], tool: Named) -> None:
    read = align(given, tool(name))
    assert (read.arguments, read.repairs, read.problem) == (given, (), None)


def test_nested_objects_lists_and_references_are_followed() -> None:
    order = Tool(
        "order",
        parameters={
            "type": "object",
            "$defs": {
                "line": {
                    "type": "object",
                    "properties": {"sku": {"type": "string"}, "qty": {"type": "integer"}},
                    "required": ["sku"],
                }
            },
            "properties": {
                "lines": {"type": "array", "items": {"$ref": "#/$defs/line"}},
                "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            },
            "required": ["lines"],
        },
    )
    read = align({"lines": {"SKU": 12, "qty": "3"}, "note": None, "limit": "5"}, order)
    assert read.problem is None
    assert read.arguments == {"lines": [{"sku": "12", "qty": 3}], "note": None, "limit": 5}


def test_a_number_for_a_text_keeps_its_spelling(tool: Named) -> None:
    from react_text.parsing.values import read_value

    read = align(read_value('{"query": 12.50}').value, tool("search"))
    assert read.arguments == {"query": "12.50"}

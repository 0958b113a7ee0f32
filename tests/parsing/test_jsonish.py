"""Values as models write them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from react_text.parsing.values import read_value

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(JSON, st.sampled_from([None, 1]), st.booleans())
def test_valid_json_is_what_json_reads_and_needs_no_repair(value: Any, indent: int | None, ascii_only: bool) -> None:
    written = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    read = read_value(written)
    assert read.value == json.loads(written)
    assert read.repairs == ()
    assert read.end == len(written)
    assert read.complete
    assert read.closed


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126, exclude_characters="\\'\"")),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", min_size=1), inner, max_size=4),
        max_leaves=12,
    ).filter(lambda value: isinstance(value, (dict, list)))
)
def test_a_python_literal_reads_as_the_same_value(value: Any) -> None:
    read = read_value(repr(value))
    assert read.readable
    assert read.value == value


@pytest.mark.parametrize(
    ("written", "value", "repair"),
    [
        ('{"a": 1,}', {"a": 1}, "trailing_comma"),
        ('{"a": "x, } y",}', {"a": "x, } y"}, "trailing_comma"),
        ("{'a': 'x'}", {"a": "x"}, "single_quotes"),
        ("{'a': \"it's\"}", {"a": "it's"}, "single_quotes"),
        ("{'a': 'it's here'}", {"a": "it's here"}, "inner_quotes"),
        ("{“a”: “x”}", {"a": "x"}, "smart_quotes"),
        ("{a: 1}", {"a": 1}, "unquoted_key"),
        ('{"a": some words}', {"a": "some words"}, "unquoted_string"),
        ("{a: one, two, b: 3}", {"a": "one, two", "b": 3}, "unquoted_string"),
        ('{"a": 1 "b": 2}', {"a": 1, "b": 2}, "missing_comma"),
        ('["a" "b"]', ["a", "b"], "missing_comma"),
        ('{"a": 1,, "b": 2}', {"a": 1, "b": 2}, "extra_comma"),
        ('{"a" = 1; "b" => 2}', {"a": 1, "b": 2}, "separator"),
        ('{"a": 1, // one\n "b": 2}', {"a": 1, "b": 2}, "comment"),
        ('{"a": 1 /* one */, "b": 2}', {"a": 1, "b": 2}, "comment"),
        ('{"a": True, "b": None}', {"a": True, "b": None}, "python_literal"),
        ('{"a": ("x", "y")}', {"a": ["x", "y"]}, "python_literal"),
        ('{"a": r"\\d+"}', {"a": "\\d+"}, "python_literal"),
        ('{"a": 1_000}', {"a": 1000}, "number_form"),
        ('{"a": +5, "b": .5, "c": 0x1F}', {"a": 5, "b": 0.5, "c": 31}, "number_form"),
        ('{"a": "one\ntwo"}', {"a": "one\ntwo"}, "raw_newline"),
        ('{"a": "the "old" pier"}', {"a": 'the "old" pier'}, "inner_quotes"),
        ('{"a": "print("x", "y")", "b": 1}', {"a": 'print("x", "y")', "b": 1}, "inner_quotes"),
        ('{"a": "f() { return "x"; }"}', {"a": 'f() { return "x"; }'}, "inner_quotes"),
        ('{"a": "d = {"k": "v"} # end"}', {"a": 'd = {"k": "v"} # end'}, "inner_quotes"),
        ('{"a": """x "y"\nz"""}', {"a": 'x "y"\nz'}, "triple_quotes"),
        (r'{"a": "E:\Maps\old.png"}', {"a": r"E:\Maps\old.png"}, "invalid_escape"),
        (r'{"a": "C:\new\Users"}', {"a": r"C:\new\Users"}, "invalid_escape"),
        (r'{"a": "^\d+\b"}', {"a": r"^\d+\b"}, "invalid_escape"),
        (r'{"a": "it\'s"}', {"a": "it's"}, "invalid_escape"),
        ('{{"a": {{"b": 1}}}}', {"a": {"b": 1}}, "doubled_braces"),
        ('{"a": [1, 2}', {"a": [1, 2]}, "missing_closer"),
        ('[{"a": 1]', [{"a": 1}], "missing_closer"),
        ('{"a": 1]', {"a": 1}, "wrong_closer"),
    ],
)
def test_what_models_write_instead_of_json_is_read(written: str, value: Any, repair: str) -> None:
    read = read_value(written)
    assert read.readable
    assert read.value == value
    assert repair in [found.name for found in read.repairs]
    assert read.complete


@pytest.mark.parametrize(
    "written",
    [
        "{harbour is wet, maybe}",
        "{'a', 'b'}",
        '["name": "x"]',
        '{"a": Point(1, 2)}',
        '{"a": , "b": 1}',
        '{"query": "a", "b"}',
        "{a: 1, a: 2}",
        '{"a": <string>}',
        "plain {words}",
        "",
    ],
)
def test_what_has_no_single_reading_is_unreadable(written: str) -> None:
    read = read_value(written)
    assert not read.readable
    assert read.value is None


@pytest.mark.parametrize(
    "written", ['{"a": "x', '{"a": 12', '{"a": tr', '{"a": 1, "b', '{"a":', '{"a": 1,', "{", '["x", "']
)
def test_a_value_that_may_have_been_cut_is_incomplete(written: str) -> None:
    assert not read_value(written).complete


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ('{"a": "x"', {"a": "x"}),
        ('{"a": {"b": [1, 2]', {"a": {"b": [1, 2]}}),
        ('{"a": 1\n', {"a": 1}),
        ('{"a": "x"\nObservation: wet', {"a": "x"}),
        ('{"a": "x"</tool_call>', {"a": "x"}),
    ],
)
def test_only_missing_closers_are_supplied(written: str, value: Any) -> None:
    read = read_value(written)
    assert read.value == value
    assert read.complete
    assert not read.closed


def test_a_value_is_read_where_it_starts_and_no_further() -> None:
    read = read_value('call {"a": 1} and {"b": 2}', 5)
    assert (read.value, read.end) == ({"a": 1}, 13)


def test_each_repair_shows_the_text_before_and_after() -> None:
    (repair,) = read_value("{city: 1}").repairs
    assert (repair.before, repair.after, repair.span) == ("city", '"city"', (1, 5))

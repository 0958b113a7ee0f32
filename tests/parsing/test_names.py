"""Which tool a written name means, and when none can be meant."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from react_text import Tool
from react_text.parsing.names import is_answer, is_echo, is_no_tool, one_edit, resolve_name

Offered = Callable[..., tuple[Tool, ...]]


@pytest.mark.parametrize(
    ("written", "repair"),
    [
        ("find_docs", None),
        ('"find_docs"', "name_marks"),
        ("`find_docs`", "name_marks"),
        ("**find_docs**", "name_marks"),
        ("[find_docs]", "name_marks"),
        ("<find_docs>", "name_marks"),
        ("find_docs.", "name_marks"),
        ("find_docs()", "name_marks"),
        (r"find\_docs", "name_marks"),
        ("find_docs<|im_end|>", "name_marks"),
        ("Find Docs", "name_spelling"),
        ("find-docs", "name_spelling"),
        ("FindDocs", "name_spelling"),
        ("find_docsfind_docs", "name_doubled"),
        ("functions.find_docs", "name_prefix"),
        ("manual:find_docs", "name_prefix"),
        ("docs", "name_prefix"),
        ("find_dcs", "name_typo"),
        ("fnid_docs", "name_typo"),
        ("I will use find_docs to look it up", "name_in_sentence"),
        ("the find_docs tool", "name_in_sentence"),
    ],
)
def test_an_unmistakable_name_is_the_tool(written: str, repair: str | None, offered: Offered) -> None:
    read = resolve_name(written, offered("find_docs", "search", "clock"))
    assert read.name == "find_docs"
    assert [found.name for found in read.repairs] == ([repair] if repair else [])


@pytest.mark.parametrize(
    "written",
    [
        "get_userz",
        "encyclopedia",
        "get_user and then get_users",
        "I should not call get_user yet",
        "Do we need get_user?",
        "instead of get_user ask the person",
        "one of [get_user]",
        "get user or get users",
        "",
        "x" * 5000,
    ],
)
def test_a_name_that_may_mean_two_tools_or_none_stays_as_written(written: str, offered: Offered) -> None:
    read = resolve_name(written, offered("get_user", "get_users"))
    assert read.tool is None
    assert read.name == written
    assert read.repairs == ()


def test_an_exact_name_beats_a_similar_one(offered: Offered) -> None:
    assert resolve_name("get_users", offered("get_user", "get_users")).name == "get_users"


def test_a_left_out_prefix_counts_only_for_one_tool() -> None:
    tools = [Tool("gallery.by_artist"), Tool("museum.by_artist"), Tool("museum.by_year")]
    assert resolve_name("by_year", tools).name == "museum.by_year"
    assert resolve_name("by_artist", tools).tool is None


def test_shared_words_count_only_when_asked_for() -> None:
    tools = [Tool("sculpture_locator"), Tool("painting_index")]
    assert resolve_name("find_sculpture", tools).tool is None
    read = resolve_name("find_sculpture", tools, loose=True)
    assert read.name == "sculpture_locator"
    assert [repair.name for repair in read.repairs] == ["loose_name"]
    assert resolve_name("find_stamp", tools, loose=True).tool is None


@pytest.mark.parametrize(
    "written", ["None", "N/A", "none needed", "No tool needed.", "no action", "None (just greet)", "null"]
)
def test_words_for_no_tool_are_known(written: str) -> None:
    assert is_no_tool(written)


@pytest.mark.parametrize("written", ["None of your business", "nothing_finder", "notes", "No. 5 lookup"])
def test_other_words_are_not_taken_for_no_tool(written: str) -> None:
    assert not is_no_tool(written)


def test_ways_to_spell_the_answer_as_an_action_are_known() -> None:
    assert all(map(is_answer, ["Final Answer", "final_answer", "FinalAnswer", "Finish"]))
    assert not any(map(is_answer, ["answer_phone", "finish_order", "final"]))


def test_the_words_of_a_prompt_are_known_as_such() -> None:
    assert is_echo("the action to take, should be one of [search]")
    assert is_echo("[tool name]")
    assert not is_echo("search")


@pytest.mark.parametrize(
    ("left", "right", "near"),
    [
        ("abc", "abd", True),
        ("abc", "abcd", True),
        ("abc", "acb", True),
        ("abc", "abc", False),
        ("abc", "bca", False),
        ("ab", "abcd", False),
    ],
)
def test_one_edit_is_one_letter(left: str, right: str, near: bool) -> None:
    assert one_edit(left, right) is near
    assert one_edit(right, left) is near

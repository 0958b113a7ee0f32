"""Steering policies switched off: arms that are held against `auto` and are otherwise no part of a report."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from made_runs import meta, record, write_run

from react_text.compare import findings, sentences
from react_text.compare.ablations import ablations
from react_text.compare.models_page import models_page
from react_text.compare.recommended import recommend
from react_text.compare.report_data import read_runs
from react_text.compare.report_markdown import markdown
from react_text.compare.report_page import page

Lines = list[dict[str, Any]]


def made(arm: str, solved: set[int], tasks: range, called: set[int] = frozenset(), **over: Any) -> Lines:  # type: ignore[assignment]
    """Records of one arm: the first three tasks need no call, and are declined in words unless they are in `called`."""
    lines = []
    for number in tasks:
        idle = number < 3
        outcome = {
            "strict": True,
            "read": "strict",
            "right_tool": None if idle else True,
            "right_arguments": None if idle else number in solved,
            "solved": number in solved,
            "declined": number not in called if idle else None,
            "unreadable": False,
        }
        line = record("made-1", arm, f"t{number}", text="Thought: a\nFinal Answer: b", needs_call=not idle)
        lines.append(line | {"outcome": outcome, "tokens": 20, "seconds": 1.0} | over)
    return lines


def folder(path: Path, arm: str, lines: Lines, label: str = "", split: str = "test", **agent: Any) -> Path:
    about = meta(["made-1"], [arm], split=split)
    about["settings"] |= {"agent": agent, "label": label}
    about["command"] = f"react-text compare --out {path.name}"
    return write_run(path, lines, about)


@pytest.fixture
def auto(tmp_path: Path) -> Path:
    return folder(tmp_path / "auto", "auto", made("auto", set(range(9)), range(10)))


@pytest.fixture
def without_choose(tmp_path: Path) -> Path:
    lines = made("auto without choose", {2, 3, 9}, range(10), {0, 1}, tokens=15, seconds=0.5)
    return folder(tmp_path / "a", "auto without choose", lines, "without choose", policies={"choose": False})


def test_a_policy_that_is_off_is_held_against_auto_on_the_same_tasks(auto: Path, without_choose: Path) -> None:
    (view,) = read_runs([auto, without_choose]).ablated
    (found,) = ablations(view, "made-1")
    assert (found.name, found.solved.k, found.solved.n, found.auto_solved.k) == ("without choose", 3, 10, 9)
    assert (found.pair.gained, found.pair.lost) == (1, 7)
    assert found.pair.p == pytest.approx(2 * (1 + 8) / 2**8)
    assert (found.tokens, found.seconds) == (-5.0, -0.5)
    assert (found.called.k, found.called.n, found.auto_called.k) == (2, 3, 0)


def test_an_arm_that_ran_on_fewer_tasks_is_compared_on_those(auto: Path, tmp_path: Path) -> None:
    fewer = folder(tmp_path / "b", "auto bare", made("auto bare", {4}, range(2, 6)), "bare", policies=None)
    (found,) = ablations(read_runs([auto, fewer]).ablated[0], "made-1")
    assert (found.solved.k, found.solved.n, found.auto_solved.k, found.called.n) == (1, 4, 4, 1)


def test_ablated_arms_are_no_rows_and_no_candidates(auto: Path, without_choose: Path, tmp_path: Path) -> None:
    better = made("auto with more", set(range(10)), range(10))
    more = folder(tmp_path / "c", "auto with more", better, "with more", policies={"margin": 2.0})
    measured = read_runs([auto, without_choose, more])
    assert [row.label for row in findings.rows(measured.all)] == ["auto"]
    assert recommend(measured, "made-1").name == "auto"
    assert "90 %" in sentences.headline(measured.all)
    text = models_page(measured)
    assert text.count(f"#### {sentences.POLICIES}") == 1
    assert "| without choose | 30 % (11–60 %), 3 of 10 | 9 of 10 | −60.0 points" in text
    assert "| 0.070 | −5.0 | −0.50 | 2 of 3 (auto 0) |" in text
    measures, _, policies = text.partition(f"#### {sentences.POLICIES}")
    assert "auto w" not in measures
    assert "| auto |" not in policies.partition("Made again by")[0]
    assert "agent" not in text.partition("Made again by")[0]
    for name in ("auto", "a", "c"):
        assert f"    react-text compare --out {name}\n" in text


@pytest.mark.parametrize("draw", [markdown, page])
def test_reports_show_what_each_policy_gives(draw: Any, auto: Path, without_choose: Path) -> None:
    assert sentences.POLICIES in draw(read_runs([auto, without_choose]))
    assert sentences.POLICIES not in draw(read_runs([auto]))


@pytest.mark.parametrize(
    ("policies", "name"),
    [
        ({"choose": False}, "without choose"),
        ({"choose": False, "margin": 2.0}, "without choose, with margin 2.0"),
        (None, "not steered"),
    ],
)
def test_a_run_without_a_label_is_named_by_its_policies(
    auto: Path, tmp_path: Path, policies: Mapping[str, Any] | None, name: str
) -> None:
    other = folder(tmp_path / "d", "auto", made("auto", {1}, range(10)), policies=policies)
    measured = read_runs([auto, other])
    assert [found.name for found in ablations(measured.ablated[0], "made-1")] == [name]
    assert measured.notes == []


def test_runs_with_another_setting_of_the_agent_are_no_ablations(auto: Path, tmp_path: Path) -> None:
    other = folder(tmp_path / "e", "auto short", made("auto short", {1}, range(10)), "short", token_budget=9)
    measured = read_runs([auto, other])
    assert measured.ablated == []
    assert {tally.arm for tally in measured.all.tallies} == {"auto", "auto short"}


def test_an_ablated_run_alone_is_reported_like_any_other(without_choose: Path) -> None:
    measured = read_runs([without_choose])
    assert [row.label for row in findings.rows(measured.all)] == ["auto without choose"]
    assert "| auto without choose | 10 |" in models_page(measured)


def test_an_ablated_arm_without_auto_on_its_tasks_is_left_out_and_named(auto: Path, tmp_path: Path) -> None:
    lines = made("auto bare", {1}, range(20, 25))
    other = folder(tmp_path / "f", "auto bare", lines, "bare", split="dev", policies=None)
    measured = read_runs([auto, other])
    assert measured.notes == [
        "auto bare of made-1 ran on builtin (dev) without auto of the same dialect and settings: left out."
    ]
    assert sentences.POLICIES not in models_page(measured)

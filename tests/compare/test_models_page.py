"""models.md: what is recommended and where that was chosen, first calls, corrections, and how it is made again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from made_runs import meta, record, records, write_run

from react_text.compare import sentences
from react_text.compare.first_calls import first_calls
from react_text.compare.models_page import models_page
from react_text.compare.recommended import recommend
from react_text.compare.report_data import read_runs
from react_text.compare.report_markdown import markdown
from react_text.compare.tally import climbed


def lines(arms: Sequence[str], winner: str, tasks: int = 20) -> Iterator[dict[str, Any]]:
    for line in records(["made-1"], arms, tasks):
        line["outcome"]["solved"] = line["arm"] == winner
        yield line


def run(path: Path, arms: Sequence[str], winner: str, source: str = "builtin", split: str = "test") -> Path:
    return write_run(path, list(lines(arms, winner)), meta(["made-1"], arms, source, split))


def renamed(made: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    """The records with tasks of other names."""
    return [line | {"task": f"dev-{line['task']}", "key": f"dev-{line['key']}"} for line in made]


def test_figures_of_development_tasks_stay_out_of_all_others(tmp_path: Path) -> None:
    arms = ["text", "auto"]
    about = meta(["made-1"], arms, split="dev")
    dev = write_run(tmp_path / "dev", renamed(lines(arms, "text")), about)
    test = run(tmp_path / "test", arms, "auto")
    measured = read_runs([dev, test])
    assert [(tally.arm, tally.n, sum(tally.solved)) for tally in measured.all.tallies] == [
        ("text", 20, 0),
        ("auto", 20, 20),
    ]
    assert "builtin (dev)" in markdown(measured)
    text = models_page(measured)
    assert "It was chosen on builtin (dev), where it solved most; builtin (test) had no part in the choice." in text
    assert "#### builtin (dev)" not in text
    assert "| builtin (dev) | text | 100 % (84–100 %), 20 of 20 |" in text
    assert "| made-1 | builtin (test) | text | 0 % (0–16 %), 0 of 20 |" in text


def test_development_tasks_on_which_only_one_arm_ran_choose_nothing(tmp_path: Path) -> None:
    about = meta(["made-1"], ["text"], split="dev")
    dev = write_run(tmp_path / "dev", renamed(lines(["text"], "text")), about)
    measured = read_runs([dev, run(tmp_path / "test", ["text", "auto"], "auto")])
    assert recommend(measured, "made-1").cell.arm == "auto"
    text = models_page(measured)
    assert "The choice was made on the same tasks as are reported here" in text
    assert "| builtin (dev) | text |" in text


def test_task_sets_with_a_single_arm_leave_the_choice_to_those_with_several(tmp_path: Path) -> None:
    several = run(tmp_path / "several", ["text", "auto"], "text")
    single = run(tmp_path / "single", ["auto"], "auto", "bfcl:simple")
    chosen = recommend(read_runs([single, several]), "made-1")
    assert chosen.cell.arm == "text"
    assert [view.name for view in chosen.held_out] == ["bfcl:simple (test)"]


def test_a_single_arm_is_not_said_to_be_the_best(tmp_path: Path) -> None:
    text = models_page(read_runs([run(tmp_path / "run", ["auto"], "auto")]))
    assert "It is the only way of asking that was run on all or nearly all tasks of builtin (test)." in text
    assert "solved most" not in text
    assert "\n\n\n" not in text


@pytest.mark.parametrize("draw", [markdown, models_page])
def test_auto_is_held_against_the_others_on_each_task_set(draw: Any, tmp_path: Path) -> None:
    arms = ["text", "text+grammar", "structured", "auto"]
    good = run(tmp_path / "good", arms, "auto")
    bad = run(tmp_path / "bad", arms, "structured", "bfcl:simple")
    text = draw(read_runs([good, bad]))
    assert "auto is at least as accurate as text, text+grammar and structured here (20 against 0, 0, 0 of" in text
    assert "auto is less accurate than structured here (structured: 0 against 20 of the same 20, −100.0 points" in text
    assert "and at least as accurate as text and text+grammar (0 against 0, 0 of the same 20)" in text


def test_a_difference_of_auto_that_may_be_chance_is_called_so(tmp_path: Path) -> None:
    arms = ["text", "auto"]
    made = list(lines(arms, "auto"))
    for line in made:
        line["outcome"]["solved"] = line["arm"] == "text" or line["task"] != "task_004"
    measured = read_runs([write_run(tmp_path / "run", made, meta(["made-1"], arms))])
    (sentence,) = sentences.auto_checks(measured)
    assert "19 against 20 of the same 20" in sentence
    assert "exact McNemar p = 1.00, which chance alone may explain" in sentence


def test_settings_that_mean_nothing_for_a_task_set_tell_no_runs_apart(tmp_path: Path) -> None:
    builtin = meta(["made-1"], ["auto"])
    builtin["settings"] |= {"first_call_steps": 1}
    bfcl = meta(["made-1"], ["auto"], "bfcl:simple")
    bfcl["settings"] |= {"first_call_steps": 2, "max_steps": 9}
    made = list(lines(["auto"], "auto"))
    measured = read_runs([write_run(tmp_path / "one", made, builtin), write_run(tmp_path / "two", made, bfcl)])
    assert [(tally.cell.variant, tally.n) for tally in measured.all.tallies] == [("", 40)]
    assert "Settings: max_steps 6, max_tokens 300, temperature 0.0, first_call_steps 2." in models_page(measured)


def called(arm: str, task: str, category: str, tool: bool, arguments: bool) -> dict[str, Any]:
    made = record("made-1", arm, task, category=category, needs_call=True)
    return made | {"outcome": made["outcome"] | {"right_tool": tool, "right_arguments": arguments, "solved": arguments}}


def test_right_first_calls_are_given_for_both_categories_together_and_each(tmp_path: Path) -> None:
    made = [called("auto", f"s{number}", "bfcl:simple", True, number > 1) for number in range(4)]
    made += [called("auto", f"m{number}", "bfcl:multiple", number > 0, False) for number in range(2)]
    made += [called("text", f"s{number}", "bfcl:simple", False, False) for number in range(4)]
    measured = read_runs([write_run(tmp_path / "run", made, meta(["made-1"], ["text", "auto"], "bfcl:x"))])
    found = first_calls(measured.suites, "made-1", measured.whole)
    counts = [(one.categories, one.label, one.right_tool.k, one.right_arguments.k, one.right_tool.n) for one in found]
    assert counts == [
        ("simple + multiple", "auto", 5, 2, 6),
        ("simple", "text", 0, 0, 4),
        ("simple", "auto", 4, 2, 4),
        ("multiple", "auto", 1, 0, 2),
    ]
    assert "| simple + multiple | auto | 6 | 83 % (44–97 %), 5 of 6 | 33 % (10–70 %), 2 of 6 |" in models_page(measured)


def test_declining_in_words_stands_in_the_page_with_its_interval(tmp_path: Path) -> None:
    made = [
        record("made-1", "auto", f"i{number}", category="bfcl:irrelevance", needs_call=False) for number in range(9)
    ]
    for number, line in enumerate(made):
        line["outcome"] |= {"solved": number < 6, "declined": number < 6, "unreadable": number == 8}
        line["outcome"] |= {"right_tool": None, "right_arguments": None}
    text = models_page(read_runs([write_run(tmp_path / "run", made, meta(["made-1"], ["auto"], "bfcl:irrelevance"))]))
    assert "| auto | – | 67 % (35–88 %), 6 of 9 | 22 % (6–55 %), 2 of 9 | 11 % (2–43 %), 1 of 9 |" in text
    assert "Right first calls" not in text


def steps(*written: str) -> list[SimpleNamespace]:
    """Steps by words: a fault where the word is "bad", and what the loop did after a slash."""
    return [
        SimpleNamespace(fault="no_action" if word.startswith("bad") else None, steered=word.split("/")[1:])
        for word in written
    ]


@pytest.mark.parametrize(
    ("written", "stop", "came"),
    [
        (["bad", "good"], "answer", [(1, "usable")]),
        (["bad", "bad", "good"], "answer", [(1, "again"), (2, "usable")]),
        (["bad", "good", "bad", "good"], "answer", [(1, "usable"), (1, "usable")]),
        (["bad", "bad", "bad", "bad"], "stuck", [(1, "again"), (2, "again"), (3, "again"), (4, "given up")]),
        (["good", "bad"], "max_steps", [(1, "limit")]),
        (["bad"], "first_reply", [(1, "limit")]),
        (["bad/answer_now", "good"], "max_steps", [(1, "limit")]),
        (["good/second_look", "bad", "good"], "answer", []),
        (["good", "good"], "stuck", []),
    ],
)
def test_what_became_of_each_reply_that_could_not_be_used(
    written: list[str], stop: str, came: list[tuple[int, str]]
) -> None:
    assert climbed(steps(*written), stop) == came


def test_the_page_counts_corrections_by_their_number_in_a_row(tmp_path: Path) -> None:
    made = []
    for number, faults in enumerate([[None], ["no_action", None], ["no_action", "truncated", None], ["no_action"] * 2]):
        line = record("made-1", "text", f"t{number}", text="Thought: a\nFinal Answer: b")
        (step,) = line["steps"]
        line |= {
            "steps": [step | {"fault": fault} for fault in faults],
            "stop_reason": "stuck" if faults[-1] else "answer",
        }
        made.append(line)
    measured = read_runs([write_run(tmp_path / "run", made, meta(["made-1"], ["text"]))])
    assert "| text | 5 of 8 | 1 of 3 | 1 of 1 | 1 | 0 |" in models_page(measured)
    assert "| made-1 | text | 5 of 8 | 1 of 3 | 1 of 1 | 1 | 0 |" in markdown(measured)


def test_every_command_of_a_joined_run_is_given_once(tmp_path: Path) -> None:
    one, two = "react-text compare one", "react-text compare two"
    about = meta(["made-1"], ["auto"]) | {"command": two}
    first = write_run(tmp_path / "first", list(lines(["auto"], "auto")), about | {"commands": [one, two]})
    again = write_run(tmp_path / "again", list(lines(["text"], "text")), about)
    text = models_page(read_runs([first, again]))
    assert [line.strip() for line in text.splitlines() if line.startswith("    react")] == [one, two]


def test_of_arms_that_chance_alone_may_tell_apart_the_one_that_ran_on_most_tasks_is_recommended(tmp_path: Path) -> None:
    close = list(lines(["text", "auto"], "text"))
    for one in [line for line in close if line["arm"] == "auto"][:-1]:
        one["outcome"]["solved"] = True
    several = write_run(tmp_path / "several", close, meta(["made-1"], ["text", "auto"]))
    single = run(tmp_path / "single", ["auto"], "auto", "bfcl:simple")
    alone = recommend(read_runs([several]), "made-1")
    assert (alone.cell.arm, alone.solved_most) == ("text", True)
    chosen = recommend(read_runs([single, several]), "made-1")
    assert (chosen.cell.arm, chosen.solved_most) == ("auto", False)
    assert chosen.rivals == (("text", 0, 1, 1.0),)
    text = models_page(read_runs([single, several]))
    assert "On builtin (test) none solved more by more than chance" in text

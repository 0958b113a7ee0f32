"""How runs are judged."""

from __future__ import annotations

from typing import Any

import pytest

from react_text.compare.score import arguments_right, holds, outcome, same
from react_text.compare.tasks import ExpectedCall, Offered, Task


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("There are 14 lamps.", "14"),
        ("There are fourteen lamps.", "14"),
        ("It costs 18.50 euros.", "18.5"),
        ("That makes 17,802.", "17802"),
        ("It is -6 degrees.", "-6"),
        ("It is −6 degrees.", "-6"),
        ("about 8.05 km", "8.05"),
        ("The last day is 2025-06-11.", "2025-06-11"),
        ("The last day is June 11, 2025.", "2025-06-11"),
        ("It is the 11th of June.", "2025-06-11"),
        ("You sit at desk 4C.", "4c"),
        ("The password is `Tangerine-88`.", "tangerine-88"),
        ("Paris.", "Paris"),
    ],
)
def test_an_answer_holds_a_value_however_it_is_written(answer: str, value: str) -> None:
    assert holds(answer, value)


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("There are 140 lamps.", "14"),
        ("There are 1.4 lamps.", "14"),
        ("Order A14 it is.", "14"),
        ("It is 6 degrees.", "-6"),
        ("The last day is 2025-06-12.", "2025-06-11"),
        ("The last day is June 1.", "2025-06-11"),
        ("You sit at desk 14C.", "4c"),
        ("Parisian", "Paris"),
        ("", "0"),
    ],
)
def test_an_answer_with_another_value_does_not_hold_it(answer: str, value: str) -> None:
    assert not holds(answer, value)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (12, 12.0),
        ("Oslo ", "oslo"),
        (["Kim", "Raj"], ("kim", "raj")),
        ({"Name": "Nina Holt"}, {"name": "nina holt"}),
        (True, True),
        (None, None),
    ],
)
def test_values_that_mean_the_same_are_the_same(given: Any, expected: Any) -> None:
    assert same(given, expected)


@pytest.mark.parametrize(
    ("given", "expected"), [("12", 12), (1, True), (["a"], ["a", "b"]), ({"a": 1}, {"b": 1}), (None, ""), (0, False)]
)
def test_values_of_other_types_are_not(given: Any, expected: Any) -> None:
    assert not same(given, expected)


def test_arguments_may_be_left_out_only_where_the_task_says_so() -> None:
    expected = ExpectedCall("temperature", {"city": ("Oslo",), "unit": ("celsius", "")})
    assert arguments_right({"city": "Oslo"}, expected)
    assert arguments_right({"city": "oslo", "unit": "celsius"}, expected)
    assert not arguments_right({"unit": "celsius"}, expected)
    assert not arguments_right({"city": "Oslo", "unit": "fahrenheit"}, expected)
    assert not arguments_right({"city": "Oslo", "day": "today"}, expected)


CALL = ExpectedCall("stock", {"item": ("lamp",)})
STEP = {"kind": "none", "strict": False, "calls": [], "observations": []}


def _task(**given: Any) -> Task:
    return Task("t", "c", "How many?", "kit", lambda examples: Offered(()), **given)


def _record(*steps: dict[str, Any], stop_reason: str = "answer", answer: str = "", **given: Any) -> dict[str, Any]:
    made = [STEP | step for step in steps]
    return {"steps": made, "stop_reason": stop_reason, "answer": answer, "end_state": {}, **given}


def _called(item: str, *, is_error: bool = False, strict: bool = True) -> dict[str, Any]:
    return {
        "kind": "action",
        "strict": strict,
        "calls": [{"name": "stock", "arguments": {"item": item}}],
        "observations": [{"content": "14", "is_error": is_error}],
    }


FINAL = {"kind": "final", "strict": True}


def test_words_without_a_call_decline_and_an_unreadable_run_does_not() -> None:
    task = _task(needs_call=False)
    declined = outcome(task, _record(FINAL, answer="I cannot do that."))
    assert (declined["declined"], declined["unreadable"], declined["solved"]) == (True, False, True)
    unreadable = outcome(task, _record({}, stop_reason="stuck", answer="Stopped: nothing could be used."))
    assert (unreadable["declined"], unreadable["unreadable"], unreadable["solved"]) == (False, True, False)
    called = outcome(task, _record(_called("lamp"), FINAL, answer="14"))
    assert (called["declined"], called["unreadable"], called["solved"]) == (False, False, False)
    assert declined["right_tool"] is declined["right_arguments"] is None


def test_a_failed_call_counts_as_right_but_does_not_solve() -> None:
    task = _task(calls=(CALL,), answer=(("14",),))
    assert outcome(task, _record(_called("lamp"), FINAL, answer="There are 14."))["solved"]
    failed = outcome(task, _record(_called("lamp", is_error=True), FINAL, answer="There are 14."))
    assert failed["right_arguments"]
    assert not failed["solved"]


def test_the_answer_of_a_run_that_was_stopped_is_no_answer() -> None:
    task = _task(calls=(CALL,), answer=(("14",),))
    record = _record(_called("lamp"), stop_reason="max_steps", answer="Stopped. The last result was: 14")
    assert not outcome(task, record)["solved"]


@pytest.mark.parametrize(
    ("step", "read"),
    [
        (FINAL, "strict"),
        (FINAL | {"strict": False}, "repaired"),
        ({}, "failed"),
        (_called("x", strict=False), "repaired"),
    ],
)
def test_the_first_reply_says_how_a_run_was_read(step: dict[str, Any], read: str) -> None:
    found = outcome(_task(calls=(CALL,)), _record(step, FINAL, answer="done"))
    assert found["read"] == read
    assert found["strict"] == (read == "strict")


def test_the_first_call_that_could_be_read_is_the_one_that_counts() -> None:
    task = _task(calls=(CALL,))
    found = outcome(task, _record({}, _called("desk"), _called("lamp"), FINAL, answer="done"))
    assert (found["right_tool"], found["right_arguments"], found["read"]) == (True, False, "failed")


def test_a_call_that_was_asked_for_again_before_it_ran_does_not_count_unless_the_next_reply_failed() -> None:
    withdrawn = {**_called("anvil"), "steered": ["second_look"]}
    task = _task(calls=(ExpectedCall("stock", {"item": ["lamp"]}),))
    assert outcome(task, _record(withdrawn, _called("lamp")))["right_arguments"] is True
    failed = {"kind": "none", "fault": "truncated", "calls": []}
    assert outcome(task, _record(withdrawn, failed, _called("lamp")))["right_arguments"] is False


def test_only_the_first_of_two_dependent_calls_is_right_to_begin_with() -> None:
    later = ExpectedCall("price", {"item": ("lamp",)})
    dependent = _task(calls=(later, CALL), ordered=True)
    independent = _task(calls=(later, CALL))
    record = _record(_called("lamp"), FINAL, answer="done")
    assert not outcome(dependent, record)["right_tool"]
    assert outcome(independent, record)["right_tool"]


def test_a_run_without_any_reply_is_a_failure_and_not_an_error() -> None:
    found = outcome(_task(calls=(CALL,)), _record(stop_reason="backend_error", answer="It did not answer."))
    assert found == {
        "strict": False,
        "read": "failed",
        "right_tool": False,
        "right_arguments": False,
        "solved": False,
        "declined": None,
        "unreadable": True,
    }

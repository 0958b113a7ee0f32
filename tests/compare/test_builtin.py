"""The built-in tasks: that they can be done, that doing them wrong is seen, and that the splits are apart."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import pytest
from scripted_runs import played, recorded, right_answer, right_calls

from react_text.backends.scripted import Scripted
from react_text.compare.builtin import CATEGORIES, KITS, builtin_tasks, dev_kits, test_kits
from react_text.compare.tasks import Task, load_tasks
from react_text.protocol.examples import scalars

TASKS = builtin_tasks()
each_task = pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)


@each_task
def test_the_right_calls_and_answer_solve_the_task(task: Task) -> None:
    outcome = played(task, right_calls(task), right_answer(task))["outcome"]
    assert outcome["solved"]
    if task.needs_call:
        assert outcome["right_tool"]
        assert outcome["right_arguments"]
    else:
        assert outcome["declined"]


@each_task
def test_the_right_answer_without_the_calls_does_not_solve_it(task: Task) -> None:
    if task.needs_call:
        assert not played(task, [], right_answer(task))["outcome"]["solved"]


@each_task
def test_an_answer_without_the_values_does_not_solve_it(task: Task) -> None:
    if task.answer:
        assert not played(task, right_calls(task), "I am not sure about that.")["outcome"]["solved"]


@each_task
def test_leaving_out_any_of_the_calls_does_not_solve_it(task: Task) -> None:
    for left_out in range(len(task.calls)):
        calls = [call for index, call in enumerate(right_calls(task)) if index != left_out]
        assert not played(task, calls, right_answer(task))["outcome"]["solved"]


def test_the_first_call_of_an_error_task_fails_and_says_what_to_do() -> None:
    for task in (task for task in TASKS if task.category == "error_then_correct"):
        first = task.first[0]
        call = (first.name, {name: values[0] for name, values in first.arguments.items() if values[0] != ""})
        record = recorded(task, _writing(call, "Sorry."))
        said = record["steps"][0]["observations"][0]
        assert said["is_error"], task.id
        wanted = [str(value) for values in task.calls[0].arguments.values() for value in values if value != ""]
        assert any(value.casefold() in said["content"].casefold() for value in wanted), task.id
        assert record["outcome"]["right_arguments"]
        assert not record["outcome"]["solved"]


def _writing(call: tuple[str, dict[str, Any]], answer: str) -> Scripted:
    import json

    name, arguments = call
    step = f"Thought: I look.\nAction: {name}\nAction Input: {json.dumps(arguments)}"
    return Scripted([step, f"Thought: I know.\nFinal Answer: {answer}"])


def test_both_splits_hold_all_categories_and_enough_tasks() -> None:
    for split in ("dev", "test"):
        counts = Counter(task.category for task in TASKS if task.split == split)
        assert counts.keys() == CATEGORIES.keys()
        assert sum(counts.values()) >= 40
        assert min(counts.values()) >= 4


def test_the_splits_share_no_kit_no_tool_and_no_question() -> None:
    assert not dev_kits.KITS.keys() & test_kits.KITS.keys()
    tools = {split: {tool.name for name in kits for tool in KITS[name]().tools} for split, kits in _kits().items()}
    assert not tools["dev"] & tools["test"]
    for task in TASKS:
        assert task.kit in _kits()[str(task.split)]
    assert len({task.question for task in TASKS}) == len({task.id for task in TASKS}) == len(TASKS)


def _kits() -> dict[str, dict[str, Any]]:
    return {"dev": dev_kits.KITS, "test": test_kits.KITS}


def test_no_worked_example_holds_a_value_of_a_task() -> None:
    for task in TASKS:
        schemas = {tool.name: tool.parameters["properties"] for tool in task.offer(True).tools}
        examples = {tool.name: tool.examples for tool in task.offer(True).tools}
        for call in task.calls:
            for example, (name, values) in product(examples[call.name], call.arguments.items()):
                if "enum" in schemas[call.name][name]:
                    continue
                shown = set(scalars(example.arguments.get(name)))
                assert not shown & {text for value in values for text in scalars(value)}, (task.id, name)


def test_every_tool_has_an_example_and_they_can_be_left_out() -> None:
    for task in TASKS:
        assert all(tool.examples for tool in task.offer(True).tools)
        assert not any(tool.examples for tool in task.offer(False).tools)


def test_a_change_of_state_that_nobody_asked_for_does_not_solve_a_task() -> None:
    task = next(task for task in TASKS if task.id == "dev-one-06")
    calls = [*right_calls(task), ("delete_note", {"title": "gate"})]
    assert not played(task, calls, right_answer(task))["outcome"]["solved"]


def test_the_tools_begin_each_task_in_the_same_state() -> None:
    task = next(task for task in TASKS if task.id == "dev-state-03")
    for _ in range(2):
        assert played(task, right_calls(task), "Reserved.")["end_state"] == {"reserved": {"KT-481": 3}}


def test_a_limit_draws_the_same_tasks_each_time_and_a_larger_one_holds_them() -> None:
    few, more = load_tasks(["builtin"], "dev", 10), load_tasks(["builtin"], "dev", 25)
    assert len(few.tasks) == 10
    assert {task.id for task in few.tasks} < {task.id for task in more.tasks}
    assert few.digest == load_tasks(["builtin"], "dev", 10).digest != more.digest
    assert len({task.category for task in few.tasks}) > 3

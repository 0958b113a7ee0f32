"""A user's own tasks, and what is said of mistakes in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from scripted_runs import played, right_calls

from react_text.compare.own_tasks import own_tasks
from react_text.compare.tasks import load_tasks
from react_text.errors import TasksError

TOOLS_PY = '''
def stock_level(item: str) -> int:
    """How many are in stock."""
    return {"lamp": 14}[item]
'''
DICT = {
    "type": "function",
    "function": {
        "name": "stock_level",
        "parameters": {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]},
    },
}
ENTRY = {
    "question": "How many lamps are left?",
    "tools": "tools.py",
    "calls": [{"name": "stock_level", "arguments": {"item": ["lamp", "lamps"]}}],
    "answer": [14],
}


def _file(folder: Path, *entries: Any) -> str:
    (folder / "tools.py").write_text(TOOLS_PY, encoding="utf-8")
    lines = [entry if isinstance(entry, str) else json.dumps(entry) for entry in entries]
    (folder / "mine.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return str(folder / "mine.jsonl")


def test_tasks_over_a_tools_file_are_run_to_the_end(tmp_path: Path) -> None:
    (task,) = own_tasks(_file(tmp_path, ENTRY))
    record = played(task, right_calls(task), "There are 14.")
    assert record["outcome"]["solved"]
    assert record["steps"][0]["observations"][0]["content"] == "14"
    assert not played(task, right_calls(task), "There are 15.")["outcome"]["solved"]


def test_tasks_over_described_tools_are_judged_by_their_first_calls(tmp_path: Path) -> None:
    (task,) = own_tasks(_file(tmp_path, ENTRY | {"tools": [DICT]}))
    record = played(task, right_calls(task), "never said")
    assert (record["stop_reason"], record["outcome"]["solved"]) == ("first_call", True)


def test_a_task_without_calls_needs_none(tmp_path: Path) -> None:
    (task,) = own_tasks(_file(tmp_path, {"question": "Hello?", "tools": "tools.py"}))
    assert not task.needs_call
    assert played(task, [], "Hello!")["outcome"]["declined"]


def test_tasks_belong_to_every_split_unless_they_say_so(tmp_path: Path) -> None:
    path = _file(tmp_path, ENTRY | {"id": "a"}, ENTRY | {"id": "b", "split": "dev"})
    assert [task.id for task in load_tasks([path], "dev").tasks] == ["a", "b"]
    assert [task.id for task in load_tasks([path], "test").tasks] == ["a"]


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("{broken", "line 1 is not JSON"),
        ("[1]", "line 1 is no JSON object"),
        ({"tools": "tools.py"}, 'line 1 has no "question"'),
        ({"question": "Hm?"}, 'line 1 has no "tools"'),
        (ENTRY | {"answers": [1]}, '"answers" is no key of a task'),
        (ENTRY | {"calls": "stock_level"}, '"calls" cannot be "stock_level"'),
        (ENTRY | {"calls": [{"tool": "stock_level"}]}, "each call must be"),
        (ENTRY | {"calls": [{"name": "stock", "arguments": {}}]}, "'stock' names no tool; there are stock_level"),
        (ENTRY | {"split": "train"}, '"split" must be "dev" or "test"'),
    ],
)
def test_a_mistake_is_one_sentence_with_its_line(tmp_path: Path, entry: Any, said: str) -> None:
    with pytest.raises(TasksError, match=r"mine\.jsonl, line 1") as caught:
        own_tasks(_file(tmp_path, entry))
    assert said in str(caught.value)


def test_two_tasks_with_one_id_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TasksError, match="two tasks have the id 'a'"):
        own_tasks(_file(tmp_path, ENTRY | {"id": "a"}, ENTRY | {"id": "a"}))


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("bultin", "give builtin, bfcl:CATEGORY or a FILE.jsonl"),
        ("none.jsonl", "cannot be read"),
        ("bfcl:simpel", "There is no BFCL category 'simpel'"),
        ("bfcl:none.json", "cannot be read"),
    ],
)
def test_a_source_that_is_not_there_is_one_sentence(source: str, said: str) -> None:
    with pytest.raises(TasksError, match=said):
        load_tasks([source])


def test_a_split_without_tasks_says_so(tmp_path: Path) -> None:
    with pytest.raises(TasksError, match="no tasks in the split 'test'; try --split all"):
        load_tasks([_file(tmp_path, ENTRY | {"split": "dev"})], "test")


def test_one_source_given_twice_is_refused(tmp_path: Path) -> None:
    path = _file(tmp_path, ENTRY)
    with pytest.raises(TasksError, match="name each source once"):
        load_tasks([path, path], "all")

"""BFCL: its files read, its types and names mapped both ways, its rule applied."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scripted_runs import recorded

from react_text.backends.scripted import Scripted
from react_text.compare.bfcl import CATEGORIES, bfcl_tasks, json_schema, offered_names, own_value
from react_text.compare.bfcl_rule import call_right, calls_right
from react_text.compare.tasks import LEFT_OUT, Task, load_tasks
from react_text.errors import TasksError
from react_text.toolbox import Toolbox

AREA = {
    "name": "plane.area.of",
    "description": "Area of a plane figure.",
    "parameters": {
        "type": "dict",
        "properties": {
            "sides": {"type": "tuple", "items": {"type": "float"}, "description": "the sides"},
            "options": {
                "type": "dict",
                "properties": {"unit": {"type": "string", "enum": ["m2", "ha"]}, "digits": {"type": "integer"}},
                "required": ["unit"],
            },
            "label": {"type": "any", "default": "none"},
            "scale": {"type": "float", "optional": True},
            "exact": {"type": "boolean"},
        },
        "required": ["sides"],
    },
}
ALLOWED: dict[str, list[Any]] = {
    "sides": [[3.0, 4.5]],
    "options": [{"unit": ["m2", "M 2"], "digits": [2, ""]}, ""],
    "label": ["", "Field"],
    "scale": [2.0, ""],
    "exact": [True, ""],
}


def _call(**arguments: Any) -> dict[str, Any]:
    return {"name": "plane.area.of", "arguments": arguments}


@pytest.mark.parametrize(
    "arguments",
    [
        {"sides": [3.0, 4.5]},
        {"sides": [3.0, 4.5], "scale": 2},
        {"sides": [3.0, 4.5], "label": "fi-eld"},
        {"sides": [3.0, 4.5], "options": {"unit": "M2"}},
        {"sides": [3.0, 4.5], "options": {"unit": "m2", "digits": 2}, "exact": True},
    ],
)
def test_calls_within_the_possible_answers_are_right(arguments: dict[str, Any]) -> None:
    assert call_right(_call(**arguments), AREA, ALLOWED)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"sides": [4.5, 3.0]},
        {"sides": [3.0]},
        {"sides": ["3.0", "4.5"]},
        {"sides": "3.0, 4.5"},
        {"sides": [3.0, 4.5], "scale": "2"},
        {"sides": [3.0, 4.5], "scale": 3},
        {"sides": [3.0, 4.5], "options": {"digits": 2}},
        {"sides": [3.0, 4.5], "options": {"unit": "m2", "colour": "red"}},
        {"sides": [3.0, 4.5], "exact": "true"},
        {"sides": [3.0, 4.5], "colour": "red"},
    ],
)
def test_calls_outside_the_possible_answers_are_wrong(arguments: dict[str, Any]) -> None:
    assert not call_right(_call(**arguments), AREA, ALLOWED)


def test_parallel_calls_may_come_in_any_order_but_all_and_once() -> None:
    answers = [{"plane.area.of": {"sides": [[float(size)]]}} for size in (1, 2)]
    one, two = (_call(sides=[float(size)]) for size in (1, 2))
    assert calls_right([two, one], [AREA], answers)
    assert not calls_right([one], [AREA], answers)
    assert not calls_right([one, one], [AREA], answers)
    assert not calls_right([one, two, two], [AREA], answers)


def test_types_are_mapped_to_json_schema() -> None:
    schema = json_schema(AREA["parameters"])  # type: ignore[arg-type]
    properties = schema["properties"]
    assert schema["type"] == "object"
    assert properties["sides"] == {"type": "array", "items": {"type": "number"}, "description": "the sides"}
    assert properties["options"]["required"] == ["unit"]
    assert properties["options"]["properties"]["unit"]["enum"] == ["m2", "ha"]
    assert "type" not in properties["label"]
    assert properties["scale"]["type"] == "number"


def test_whole_numbers_of_json_are_floats_where_bfcl_declares_them() -> None:
    described = {
        "type": "dict",
        "properties": {
            "sides": {"type": "array", "items": {"type": "float"}},
            "count": {"type": "integer"},
            "box": {"type": "dict", "properties": {"width": {"type": "float"}}},
        },
    }
    value = own_value({"sides": [3, 4.5], "count": 3, "box": {"width": 2}, "other": 1}, described)
    assert json.dumps(value) == '{"sides": [3.0, 4.5], "count": 3, "box": {"width": 2.0}, "other": 1}'


def test_names_are_made_fit_for_every_endpoint_and_stay_different() -> None:
    names = ["math.sum", "math_sum", "math/sum", "a" * 80, "a" * 90]
    made = offered_names(names)
    assert len(set(made.values())) == len(names)
    assert all(len(name) <= 64 and "." not in name for name in made.values())
    assert made["math.sum"] == "math_sum"


def _file(folder: Path, name: str = "simple") -> str:
    question = [[{"role": "system", "content": "Be short."}, {"role": "user", "content": "How large is 3 by 4.5?"}]]
    entries = [{"id": f"{name}_{number}", "question": question, "function": [AREA]} for number in range(40)]
    answers = [{"id": entry["id"], "ground_truth": [{"plane.area.of": ALLOWED}]} for entry in entries]
    path = folder / f"BFCL_v9_{name}.json"
    (folder / "possible_answer").mkdir(exist_ok=True)
    path.write_text("\n".join(map(json.dumps, entries)), encoding="utf-8")
    (folder / "possible_answer" / path.name).write_text("\n".join(map(json.dumps, answers)), encoding="utf-8")
    return f"bfcl:{path}"


def test_a_file_is_read_with_its_answers_and_judged_under_its_own_names(tmp_path: Path) -> None:
    task = load_tasks([_file(tmp_path)], "all").tasks[0]
    assert task.category == "bfcl:simple"
    assert task.question == "Be short.\n\nHow large is 3 by 4.5?"
    written = 'Thought: I look.\nAction: plane_area_of\nAction Input: {"sides": [3.0, 4.5]}'
    record = recorded(task, Scripted([written, "never asked"]))
    assert record["tools"] == ["plane_area_of"]
    assert (record["outcome"]["right_tool"], record["outcome"]["right_arguments"]) == (True, True)
    wrong = recorded(task, Scripted([written.replace("4.5", "5.5")]))
    assert (wrong["outcome"]["right_tool"], wrong["outcome"]["right_arguments"]) == (True, False)


def test_the_splits_halve_a_file_by_its_ids(tmp_path: Path) -> None:
    source = _file(tmp_path)
    parts = {split: {task.id for task in load_tasks([source], split).tasks} for split in ("dev", "test", "all")}
    assert parts["dev"] | parts["test"] == parts["all"]
    assert not parts["dev"] & parts["test"]
    assert min(len(parts["dev"]), len(parts["test"])) > 10


def test_a_file_without_answers_or_in_another_form_is_one_sentence(tmp_path: Path) -> None:
    source = _file(tmp_path)
    (tmp_path / "possible_answer" / "BFCL_v9_simple.json").unlink()
    with pytest.raises(TasksError, match=r"possible_answer/BFCL_v9_simple\.json cannot be read"):
        load_tasks([source])
    (tmp_path / "irrelevance.json").write_text('{"id": "x"}', encoding="utf-8")
    with pytest.raises(TasksError, match="entry 1, is not in BFCL's format"):
        load_tasks([f"bfcl:{tmp_path}/irrelevance.json"])


installed = pytest.mark.skipif(
    importlib.util.find_spec("bfcl_eval") is None, reason="pip install --no-deps bfcl-eval for the published tasks"
)


AT_ODDS = {
    "simple_python_200",
    "parallel_multiple_26",
    "live_simple_106-63-0",
    "live_simple_112-68-0",
    "live_multiple_144-56-0",
    "live_multiple_507-149-4",
    "live_multiple_834-178-9",
    "live_multiple_862-181-3",
    "live_multiple_964-207-0",
}
"""Published answers that the published rule refuses itself: an empty list, or a required argument left out."""


@installed
@pytest.mark.parametrize("category", [name for name in CATEGORIES if "irrelevance" not in name])
def test_every_published_answer_is_right_by_the_rule_and_a_changed_one_is_not(category: str) -> None:
    for task in bfcl_tasks(category):
        calls = [{"name": call.name, "arguments": _chosen(call.arguments)} for call in task.calls]
        assert _judge(task, calls) == (True, task.id not in AT_ODDS), task.id
        assert _judge(task, [*calls, calls[0]]) == (False, False)
        assert _judge(task, [calls[0] | {"arguments": {**calls[0]["arguments"], "no such": 1}}, *calls[1:]])[1] is False
        assert _judge(task, []) == (False, False)


def _judge(task: Task, calls: list[dict[str, Any]]) -> tuple[bool, bool]:
    assert task.judge is not None
    return task.judge(calls)


def _chosen(allowed: Any) -> dict[str, Any]:
    """The first value of each argument, in objects as well; what may be left out is left out unless it comes first."""
    return {name: _plain(values[0]) for name, values in allowed.items() if values and values[0] != LEFT_OUT}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return _chosen({name: values if isinstance(values, list) else [values] for name, values in value.items()})
    return [_plain(one) for one in value] if isinstance(value, list) else value


@installed
@pytest.mark.parametrize("category", list(CATEGORIES))
def test_the_published_tools_of_every_category_can_be_offered(category: str) -> None:
    for task in _some(bfcl_tasks(category)):
        assert len(Toolbox(task.offer(True).tools)) > 0
        assert task.needs_call == ("irrelevance" not in category)


def _some(tasks: tuple[Task, ...]) -> Iterator[Task]:
    yield from tasks[:: max(1, len(tasks) // 20)]

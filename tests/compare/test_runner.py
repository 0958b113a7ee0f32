"""Whole runs: every combination once, gone on with after a stop, several requests at a time to an endpoint."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from scripted_runs import RightModel

from react_text.compare.records import RunFolder, read_records
from react_text.compare.runner import Model, Plan, run
from react_text.compare.tasks import TaskSet, load_tasks
from react_text.errors import BackendError, ContextOverflow, EndpointError, RunFolderError

TASKS = load_tasks(["builtin"], "dev", 8)


def _plan(load: Callable[[], Any], tasks: TaskSet = TASKS, concurrency: int = 1, **given: Any) -> Plan:
    return Plan(tasks, [Model("m", load, concurrency)], **given)


def _run(plan: Plan, folder: Path) -> list[str]:
    added: list[str] = []
    with RunFolder(folder) as opened:
        run(plan, opened, lambda index, backend: None, lambda record: added.append(record["key"]))
    return added


def _load() -> RightModel:
    return RightModel(TASKS.tasks)


def test_every_combination_is_run_once(tmp_path: Path) -> None:
    plan = _plan(_load, arms=("text", "auto"), seeds=(3, 4))
    assert sorted(_run(plan, tmp_path)) == sorted(plan.keys())
    assert len(set(plan.keys())) == 8 * 2 * 2
    assert all(record["outcome"]["solved"] for record in read_records(tmp_path))
    assert _run(plan, tmp_path) == []


def test_what_was_added_to_a_run_is_all_that_runs(tmp_path: Path) -> None:
    _run(_plan(_load), tmp_path)
    added = _run(_plan(_load, arms=("text", "auto")), tmp_path)
    assert len(added) == 8
    assert all("|auto|" in key for key in added)


def test_tasks_of_one_kit_follow_each_other(tmp_path: Path) -> None:
    kits = {task.id: task.kit for task in TASKS.tasks}
    order = [kits[key.split("|")[3]] for key in _run(_plan(_load), tmp_path)]
    assert sum(one != other for one, other in pairwise(order)) == len(set(order)) - 1


def test_ctrl_c_keeps_what_is_done_and_the_rest_runs_later(tmp_path: Path) -> None:
    def interrupt(question: str, seen: Counter[str] = Counter()) -> None:  # noqa: B006
        seen["asked"] += 1
        if seen["asked"] == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _run(_plan(lambda: RightModel(TASKS.tasks, interrupt)), tmp_path)
    assert len(list(read_records(tmp_path))) == 3
    assert len(_run(_plan(_load), tmp_path)) == 5


def test_an_endpoint_is_asked_by_as_many_as_may_and_no_more(tmp_path: Path) -> None:
    together = threading.Barrier(3)
    made: list[RightModel] = []
    met = threading.Event()

    def meet(question: str) -> None:
        if not met.is_set():
            together.wait(60)
            met.set()

    def load() -> RightModel:
        made.append(RightModel(TASKS.tasks, meet))
        return made[-1]

    assert sorted(_run(_plan(load, concurrency=3), tmp_path)) == sorted(_plan(load).keys())
    assert len(made) == 3
    assert all(model.closed for model in made)
    assert all(record["outcome"]["solved"] for record in read_records(tmp_path))


def _failing(error: BackendError) -> Callable[[], Any]:
    def fail(question: str) -> None:
        raise error

    return lambda: RightModel(TASKS.tasks, fail)


@pytest.mark.parametrize("concurrency", [1, 3])
@pytest.mark.parametrize("status", [None, 401, 503])
def test_an_endpoint_that_is_gone_ends_the_run_in_one_sentence(
    tmp_path: Path, concurrency: int, status: int | None
) -> None:
    gone = EndpointError("Nobody answers.", reason="unreachable", status=status)
    with pytest.raises(RunFolderError, match=r"^Nobody answers\. What is done is kept"):
        _run(_plan(_failing(gone), concurrency=concurrency), tmp_path)
    assert list(read_records(tmp_path)) == []
    assert len(_run(_plan(_load), tmp_path)) == 8


def test_a_prompt_that_does_not_fit_is_a_result_like_others(tmp_path: Path) -> None:
    _run(_plan(_failing(ContextOverflow(9000, 4096))), tmp_path)
    records = list(read_records(tmp_path))
    assert {record["stop_reason"] for record in records} == {"backend_error"}
    assert len(records) == 8


KILLED = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from scripted_runs import RightModel
from react_text.compare.records import RunFolder
from react_text.compare.runner import Model, Plan, run
from react_text.compare.tasks import load_tasks
tasks = load_tasks(["builtin"], "dev", 8)
plan = Plan(tasks, [Model("m", lambda: RightModel(tasks.tasks))], arms=("text", "auto"))
count = 0
def added(record):
    global count
    count += 1
    if count == 5:
        os.kill(os.getpid(), 9)
with RunFolder(Path(sys.argv[1])) as folder:
    run(plan, folder, lambda index, backend: None, added)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL there")
def test_a_run_that_is_killed_again_and_again_ends_with_each_record_once(tmp_path: Path) -> None:
    plan = _plan(_load, arms=("text", "auto"))
    codes = []
    while len(codes) < 10 and 0 not in codes:
        command = [sys.executable, "-c", KILLED, str(tmp_path), str(Path(__file__).parent)]
        codes.append(subprocess.run(command, check=False).returncode)
    assert codes == [-9, -9, -9, 0]
    assert sorted(record["key"] for record in read_records(tmp_path)) == sorted(plan.keys())

"""A comparison spread over a local Ray cluster of two workers."""

from __future__ import annotations

import importlib.util
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from scripted_runs import RightModel

from react_text.compare.arms import Settings
from react_text.compare.ray_engine import Source, Worker
from react_text.compare.runner import Model
from react_text.compare.tasks import load_tasks
from react_text.errors import EndpointError, ReactTextError, RunFolderError

HERE = Path(__file__).parent
NOT_STARTED = 75


@pytest.fixture(scope="module")
def on_a_cluster(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What happened there. Ray runs in a process of its own, since it leaves handles open that a test run forbids."""
    if importlib.util.find_spec("ray") is None:
        pytest.skip("pip install 'react-text[ray]' for a local cluster")
    paths = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, str(HERE / "ray_run.py"), str(tmp_path_factory.mktemp("ray"))]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": paths})
    if done.returncode == NOT_STARTED:
        pytest.skip(f"Ray could not start a node here: {done.stdout.strip()}")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_a_run_on_a_cluster_gives_the_records_of_a_run_here(on_a_cluster: dict[str, Any]) -> None:
    assert on_a_cluster["same"]
    assert len(on_a_cluster["first"]) == 6


def test_a_run_on_a_cluster_goes_on_where_it_stopped(on_a_cluster: dict[str, Any]) -> None:
    assert len(on_a_cluster["second"]) == 6
    assert all("|auto|" in key for key in on_a_cluster["second"])
    assert on_a_cluster["third"] == []


def test_what_cannot_run_on_a_cluster_is_one_sentence(on_a_cluster: dict[str, Any]) -> None:
    assert on_a_cluster["gone"] == "Nobody answers. What is done is kept; run the same command to go on."
    assert on_a_cluster["no room"].startswith("The cluster has no room for a worker with 64 CPUs and 0 GPUs;")


def _worker(error: ReactTextError | None) -> Worker:
    def before(question: str) -> None:
        if error is not None:
            raise error

    source = Source(("builtin",), "dev", 2)
    tasks = load_tasks(source.sources, source.split, source.limit).tasks
    return Worker(Model("m", lambda: RightModel(tasks, before)), source, Settings())


def test_what_a_worker_gives_back_can_travel() -> None:
    task = load_tasks(["builtin"], "dev", 2).tasks[0].id
    record, sentence = pickle.loads(pickle.dumps(_worker(None).run("text", "react", 0, task)))
    assert record["outcome"]["solved"]
    assert sentence is None
    gone = EndpointError("Nobody answers.", reason="unreachable")
    _, sentence = pickle.loads(pickle.dumps(_worker(gone).run("text", "react", 0, task)))
    assert sentence == "Nobody answers. What is done is kept; run the same command to go on."


def test_a_model_that_a_worker_cannot_load_is_one_sentence_that_can_travel() -> None:
    def load() -> RightModel:
        raise EndpointError("No such model.", reason="not found", status=404)

    with pytest.raises(RunFolderError, match="No such model") as caught:
        Worker(Model("m", load), Source(("builtin",), "dev", 2), Settings())
    assert str(pickle.loads(pickle.dumps(caught.value))) == "No such model."

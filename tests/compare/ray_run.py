"""A comparison on a local Ray cluster, in a process of its own: python ray_run.py FOLDER; prints JSON."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import ray
import scripted_runs
from scripted_runs import RightModel

from react_text.compare.ray_engine import Cluster, Source, run_on_ray
from react_text.compare.records import RunFolder, read_records
from react_text.compare.runner import Model, Plan, run
from react_text.compare.tasks import load_tasks
from react_text.errors import EndpointError, RunFolderError

NOT_STARTED = 75
SOURCE = Source(("builtin",), "dev", 6)
TASKS = load_tasks(SOURCE.sources, SOURCE.split, SOURCE.limit)


def load() -> Any:
    return RightModel(load_tasks(SOURCE.sources, SOURCE.split, SOURCE.limit).tasks)


def load_gone() -> Any:
    def fail(question: str) -> None:
        raise EndpointError("Nobody answers.", reason="unreachable")

    return RightModel(TASKS.tasks, fail)


def on_ray(plan: Plan, folder: Path, cluster: Cluster) -> list[str]:
    added: list[str] = []
    with RunFolder(folder) as opened:
        run_on_ray(plan, SOURCE, cluster, opened, lambda i, b: None, lambda record: added.append(record["key"]))
    return added


def refused(plan: Plan, folder: Path, cluster: Cluster) -> str:
    try:
        on_ray(plan, folder, cluster)
    except RunFolderError as error:
        return str(error)
    return ""


def timeless(folder: Path) -> dict[str, Any]:
    records = {}
    for record in read_records(folder):
        steps = [{name: value for name, value in step.items() if name != "seconds"} for step in record["steps"]]
        records[record["key"]] = {**record, "seconds": None, "steps": steps}
    return records


def main() -> None:
    folder = Path(sys.argv[1])
    plan = Plan(TASKS, [Model("m", load)], arms=("text", "auto"))
    for module in (scripted_runs, sys.modules["__main__"]):
        ray.cloudpickle.register_pickle_by_value(module)  # the workers do not find the tests' own modules
    try:
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    except Exception as error:  # Ray gives a node 30 seconds to start, whatever else the machine does
        print(error)
        sys.exit(NOT_STARTED)
    two = Cluster(workers=2)
    found: dict[str, Any] = {
        "first": on_ray(replace(plan, arms=("text",)), folder / "ray", two),
        "second": on_ray(plan, folder / "ray", two),
        "third": on_ray(plan, folder / "ray", two),
        "gone": refused(replace(plan, models=[Model("m", load_gone)]), folder / "gone", two),
        "no room": refused(plan, folder / "room", Cluster(cpus=64)),
    }
    ray.shutdown()
    with RunFolder(folder / "here") as opened:
        run(plan, opened, lambda index, backend: None, lambda record: None)
    found["same"] = timeless(folder / "ray") == timeless(folder / "here")
    print(json.dumps(found))


if __name__ == "__main__":
    main()

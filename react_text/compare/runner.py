"""Running a comparison: models, arms, dialects, seeds and tasks in turn, each record brought to the run folder.

A run can be stopped at any moment; what its folder holds already is not run again.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from react_text.backends.base import Backend
from react_text.compare.arms import Arm, Settings, arm_name, record_key
from react_text.compare.records import RunFolder
from react_text.compare.tasks import Task, TaskSet
from react_text.errors import BackendError, EndpointError, RunFolderError, ToolsRefused

GONE = frozenset({401, 403, 404, 429, 502, 503, 504})
"""HTTP statuses that say that an endpoint does not serve us, whatever is asked."""


@dataclass(frozen=True)
class Model:
    """A model to compare: its name in the records, how to load it, and how many requests it may be sent at once."""

    name: str
    load: Callable[[], Backend]
    concurrency: int = 1


@dataclass(frozen=True)
class Plan:
    """What is compared: every combination is run once."""

    tasks: TaskSet
    models: Sequence[Model]
    arms: Sequence[str] = ("text",)
    dialects: Sequence[str] = ("react",)
    seeds: Sequence[int] = (0,)
    settings: Settings = field(default_factory=Settings)

    def keys(self) -> Iterator[str]:
        """The keys of all records of the whole run."""
        return (_key(model.name, job, self.settings) for model in self.models for job in _jobs(self))


@dataclass(frozen=True)
class Job:
    """One task to run in one arm."""

    arm: str
    dialect: str
    seed: int
    task: Task


def run(
    plan: Plan, folder: RunFolder, began: Callable[[int, Backend], None], added: Callable[[dict[str, Any]], None]
) -> None:
    """Run what the folder does not hold yet.

    `began` is told the index of each model that was loaded, `added` each record once it is on the disk. Raises
    RunFolderError, or BackendError when a model cannot be used.
    """
    for index, model in enumerate(plan.models):
        if jobs := open_jobs(plan, model, folder.done):
            for record in _records(model, jobs, plan.settings, partial(began, index)):
                folder.add(record)
                added(record)


def open_jobs(plan: Plan, model: Model, done: Set[str]) -> list[Job]:
    """The jobs of a model whose records are not there yet."""
    return [job for job in _jobs(plan) if _key(model.name, job, plan.settings) not in done]


def _jobs(plan: Plan) -> Iterator[Job]:
    """Every job of one model; the tasks of one kit follow each other, so that what they share is evaluated once."""
    tasks = sorted(plan.tasks.tasks, key=lambda task: task.kit)
    for arm in plan.arms:
        for dialect in plan.dialects:
            for seed in plan.seeds:
                yield from (Job(arm, dialect, seed, task) for task in tasks)


def _key(model: str, job: Job, settings: Settings) -> str:
    return record_key(model, arm_name(job.arm, settings), job.dialect, job.task.id, job.seed)


def _records(
    model: Model, jobs: Sequence[Job], settings: Settings, began: Callable[[Backend], None]
) -> Iterator[dict[str, Any]]:
    backend = model.load()
    began(backend)
    try:
        if model.concurrency == 1:
            yield from _in_turn(model.name, backend, jobs, settings)
        else:
            yield from _at_once(model, backend, jobs, settings)
    finally:
        backend.close()


def _in_turn(name: str, backend: Backend, jobs: Sequence[Job], settings: Settings) -> Iterator[dict[str, Any]]:
    arm, at = None, None
    for job in jobs:
        if at != (job.arm, job.dialect, job.seed):
            at = (job.arm, job.dialect, job.seed)
            if reset := getattr(backend, "reset", None):
                reset()  # each arm begins with an empty cache, whatever ran before it
            arm = Arm(name, *at, backend, settings)
        assert arm is not None
        record, error = arm.run(job.task)
        if sentence := gone(error):
            raise RunFolderError(sentence)
        yield record


def _at_once(model: Model, backend: Backend, jobs: Sequence[Job], settings: Settings) -> Iterator[dict[str, Any]]:
    """Several jobs of a served model at a time, each worker with a connection of its own, records as they come."""
    waiting: queue.SimpleQueue[Job] = queue.SimpleQueue()
    for job in jobs:
        waiting.put(job)
    done: queue.SimpleQueue[tuple[dict[str, Any], BackendError | None] | BaseException] = queue.SimpleQueue()
    stop = threading.Event()
    backends = [backend, *(model.load() for _ in range(min(model.concurrency, len(jobs)) - 1))]
    workers = [
        threading.Thread(target=_work, args=(model.name, one, waiting, done, stop, settings), daemon=True)
        for one in backends
    ]
    for worker in workers:
        worker.start()
    try:
        for _ in jobs:
            got = done.get()
            if isinstance(got, BaseException):
                raise got
            record, error = got
            if sentence := gone(error):
                raise RunFolderError(sentence)
            yield record
    finally:
        stop.set()
        for one in backends[1:]:
            one.close()


def _work(
    name: str,
    backend: Backend,
    waiting: queue.SimpleQueue[Job],
    done: queue.SimpleQueue[tuple[dict[str, Any], BackendError | None] | BaseException],
    stop: threading.Event,
    settings: Settings,
) -> None:
    arms: dict[tuple[str, str, int], Arm] = {}
    while not stop.is_set():
        try:
            job = waiting.get_nowait()
        except queue.Empty:
            return
        try:
            at = (job.arm, job.dialect, job.seed)
            if at not in arms:
                arms[at] = Arm(name, *at, backend, settings)
            done.put(arms[at].run(job.task))
        except BaseException as error:  # raised again where the records are read
            done.put(error)
            return


def gone(error: BackendError | None) -> str | None:
    """A sentence where the model is not there any more; an error that lies in the task is a result like others."""
    if isinstance(error, ToolsRefused) or not isinstance(error, EndpointError):
        return None
    if error.status is not None and error.status not in GONE:
        return None
    return f"{error} What is done is kept; run the same command to go on."

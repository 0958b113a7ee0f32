"""The same comparison, spread over a Ray cluster: each worker holds a model and runs shards of its tasks.

Records come back one by one and only the driver writes the folder, so that they, and going on after a stop, are the
same as without Ray. Model files and tasks files must be found under the same path on every node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from react_text.backends.base import Backend
from react_text.compare.arms import Arm, Settings
from react_text.compare.records import RunFolder
from react_text.compare.runner import Job, Model, Plan, gone, open_jobs
from react_text.compare.tasks import Split, load_tasks
from react_text.errors import MissingExtra, ReactTextError, RunFolderError

SHARD = 8
"""Tasks that follow each other on one worker, so that what they share is evaluated once."""


@dataclass(frozen=True)
class Cluster:
    """Which cluster, how many workers a model has, and what each of them needs."""

    address: str | None = None
    workers: int = 2
    cpus: float = 1
    gpus: float = 0


@dataclass(frozen=True)
class Source:
    """Where a worker finds the tasks: they are read anew on its node, since tools do not travel."""

    sources: tuple[str, ...]
    split: Split
    limit: int | None


class Worker:
    """Holds one model and runs jobs; lives in a process of its own."""

    def __init__(self, model: Model, source: Source, settings: Settings) -> None:
        self.model = model
        self.settings = settings
        with _as_a_sentence():
            self.tasks = {task.id: task for task in load_tasks(source.sources, source.split, source.limit).tasks}
            self.backend: Backend = model.load()
        self.arms: dict[tuple[str, str, int], Arm] = {}

    def about(self) -> dict[str, Any]:
        """What the backend says of the model."""
        names = ("architecture", "parameter_count", "server")
        return {name: value for name in names if isinstance(value := getattr(self.backend, name, None), int | str)}

    def run(self, arm: str, dialect: str, seed: int, task: str) -> tuple[dict[str, Any], str | None]:
        """The record of one job, and a sentence where the model is not there any more."""
        at = (arm, dialect, seed)
        if at not in self.arms:
            self.arms = {at: Arm(self.model.name, *at, self.backend, self.settings)}
        with _as_a_sentence():
            record, error = self.arms[at].run(self.tasks[task])
        return record, gone(error)


@contextmanager
def _as_a_sentence() -> Iterator[None]:
    """Errors of ours travel as their sentence: not all of them can be pickled."""
    try:
        yield
    except ReactTextError as error:
        raise RunFolderError(str(error)) from None


@dataclass(frozen=True)
class About:
    """A backend on another node, as far as it was described."""

    architecture: str | None = None
    parameter_count: int | None = None
    server: str | None = None


def run_on_ray(
    plan: Plan,
    source: Source,
    cluster: Cluster,
    folder: RunFolder,
    began: Callable[[int, Any], None],
    added: Callable[[dict[str, Any]], None],
) -> None:
    """Run what the folder does not hold yet, on a cluster; otherwise as `runner.run`.

    Without an address a cluster is started on this machine. Raises MissingExtra without ray.
    """
    try:
        import ray
    except ImportError:
        raise MissingExtra("ray", "Running on a cluster") from None

    started = not ray.is_initialized()
    if started:
        _start(ray, cluster.address)
    try:
        for index, model in enumerate(plan.models):
            if jobs := open_jobs(plan, model, folder.done):
                for record in _records(ray, model, jobs, plan.settings, source, cluster, partial(began, index)):
                    folder.add(record)
                    added(record)
    except ray.exceptions.RayTaskError as error:
        raise _own(error) from None
    except ray.exceptions.RayError as error:
        sentence = str(error).strip().splitlines()[0]
        raise RunFolderError(f"A worker was lost ({sentence}). The same command goes on from what is done.") from None
    finally:
        if started:
            ray.shutdown()


def _start(ray: Any, address: str | None) -> None:
    try:
        ray.init(address=address, include_dashboard=False, log_to_driver=False, logging_level="error")
    except Exception as error:  # Ray has no class of its own for a node that did not start in time
        where = f"at {address}" if address else "on this machine"
        raise RunFolderError(f"No Ray cluster {where}: {str(error).strip().splitlines()[0]}") from None


def _records(
    ray: Any,
    model: Model,
    jobs: Sequence[Job],
    settings: Settings,
    source: Source,
    cluster: Cluster,
    began: Callable[[Any], None],
) -> Iterator[dict[str, Any]]:
    """The records of one model as they come: every worker takes a shard, and the next one when that is done."""
    shards = _shards(jobs)
    remote = ray.remote(num_cpus=cluster.cpus, num_gpus=cluster.gpus)(Worker)
    count = min(cluster.workers, len(jobs), _room(ray.cluster_resources(), cluster))
    workers = [remote.remote(model, source, settings) for _ in range(count)]
    try:
        began(About(**ray.get(workers[0].about.remote())))
        running: dict[Any, Any] = {}
        left = {worker: iter(next(shards, ())) for worker in workers}
        for worker in workers:
            _send_next(worker, left, shards, running)
        while running:
            (ready,), _ = ray.wait(list(running), num_returns=1)
            worker = running.pop(ready)
            record, sentence = ray.get(ready)
            _send_next(worker, left, shards, running)
            if sentence:
                raise RunFolderError(sentence)
            yield record
    finally:
        for worker in workers:
            ray.kill(worker)


def _room(resources: Mapping[str, float], cluster: Cluster) -> int:
    """How many workers the cluster holds; more would wait for ever."""
    rooms = [resources.get(name, 0) // need for name, need in (("CPU", cluster.cpus), ("GPU", cluster.gpus)) if need]
    if rooms and min(rooms) < 1:
        raise RunFolderError(
            f"The cluster has no room for a worker with {cluster.cpus:g} CPUs and {cluster.gpus:g} GPUs; "
            "lower --threads or --gpu-layers, or add nodes."
        )
    return int(min(rooms, default=cluster.workers))


def _send_next(
    worker: Any, left: dict[Any, Iterator[Job]], shards: Iterator[list[Job]], running: dict[Any, Any]
) -> None:
    """Give a worker its next job, of its own shard or else of a new one."""
    job = next(left[worker], None)
    if job is None:
        left[worker] = iter(next(shards, ()))
        job = next(left[worker], None)
    if job is not None:
        running[worker.run.remote(job.arm, job.dialect, job.seed, job.task.id)] = worker


def _shards(jobs: Sequence[Job]) -> Iterator[list[Job]]:
    rest = iter(jobs)
    while shard := list(islice(rest, SHARD)):
        yield shard


def _own(error: Any) -> BaseException:
    """The error that was raised in the worker, where it is one of ours."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, ReactTextError):
        return cause
    return RunFolderError(f"A worker failed: {str(cause or error).strip().splitlines()[-1]}")

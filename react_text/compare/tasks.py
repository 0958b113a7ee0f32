"""A task: a question, the tools offered with it, and what a right run does and says.

Where tasks come from is next door (builtin/, bfcl.py, own_tasks.py); how a run is judged is in score.py.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from react_text.errors import TasksError
from react_text.tools import Tool

Split: TypeAlias = Literal["dev", "test", "all"]
LEFT_OUT = ""
"""Among the allowed values of an argument: it may be left out."""


@dataclass(frozen=True)
class Offered:
    """The tools of a task: `reset` puts their state back to its start, `state` holds what of it has changed since."""

    tools: tuple[Tool, ...]
    reset: Callable[[], None] = lambda: None
    state: Callable[[], Mapping[str, Any]] = dict


@dataclass(frozen=True)
class ExpectedCall:
    """A right call: its tool, and for each argument the values that are right (LEFT_OUT: it may be left out)."""

    name: str
    arguments: Mapping[str, Sequence[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Task:
    """One question and what counts as doing it.

    `kit` names the offered tools: tasks of one kit are offered the same. `calls` are the right calls, in order where
    `ordered`; `first` are the calls that are right to begin with. `answer` holds for each value that must be in the
    answer its allowed spellings; `state` is what must have changed in the tools at the end, and to what. Where
    `first_call_only`, the calls are read but never run. `judge` is a rule of the task's own for its first calls: given
    `[{"name", "arguments"}]` it says whether the tools are right, and whether the arguments are as well.
    """

    id: str
    category: str
    question: str
    kit: str
    offer: Callable[[bool], Offered] = field(repr=False, compare=False)
    needs_call: bool = True
    calls: tuple[ExpectedCall, ...] = ()
    ordered: bool = False
    first: tuple[ExpectedCall, ...] = ()
    answer: tuple[tuple[str, ...], ...] = ()
    state: Mapping[str, Any] = field(default_factory=dict)
    split: str | None = None
    first_call_only: bool = False
    judge: Callable[[Sequence[Mapping[str, Any]]], tuple[bool, bool]] | None = field(
        default=None, repr=False, compare=False
    )

    @property
    def first_calls(self) -> tuple[ExpectedCall, ...]:
        """The calls that are right to begin with."""
        return self.first or (self.calls[:1] if self.ordered else self.calls)


@dataclass(frozen=True)
class TaskSet:
    """Tasks of one run. `digest` changes with any of them."""

    source: str
    split: Split
    tasks: tuple[Task, ...]

    @property
    def digest(self) -> str:
        lines = (
            [task.id, task.question, task.kit, [[call.name, dict(call.arguments)] for call in task.calls], task.answer]
            for task in self.tasks
        )
        return hashlib.sha256("\n".join(json.dumps(line, default=list) for line in lines).encode()).hexdigest()


def load_tasks(sources: Sequence[str], split: Split = "test", limit: int | None = None) -> TaskSet:
    """The tasks of `builtin`, `bfcl:CATEGORY` and FILE.jsonl, in that split; of each source at most `limit`.

    A task without a split of its own (a user's) belongs to every split. Raises TasksError.
    """
    found: list[Task] = []
    for source in sources:
        of_split = [task for task in _read(source) if split == "all" or task.split in (None, split)]
        if not of_split:
            raise TasksError(f"{source} has no tasks in the split {split!r}; try --split all.")
        found += of_split if limit is None else _spread(of_split, limit)
    repeated = {task.id for task in found if [one.id for one in found].count(task.id) > 1} if len(sources) > 1 else None
    if repeated:
        raise TasksError(f"Two tasks have the id {sorted(repeated)[0]!r}; name each source once.")
    return TaskSet(",".join(sources), split, tuple(found))


def _read(source: str) -> tuple[Task, ...]:
    if source == "builtin":
        from react_text.compare.builtin import builtin_tasks

        return builtin_tasks()
    if source.partition(":")[0] == "bfcl":
        from react_text.compare.bfcl import bfcl_tasks

        return bfcl_tasks(source.partition(":")[2])
    from react_text.compare.own_tasks import own_tasks

    return own_tasks(source)


def _spread(tasks: Sequence[Task], limit: int) -> list[Task]:
    """`limit` tasks in the order given, drawn by a hash of their ids: a fair sample, held by any larger one."""
    drawn = {task.id for task in sorted(tasks, key=lambda task: hashed(task.id))[:limit]}
    return [task for task in tasks if task.id in drawn]


def hashed(name: str) -> int:
    """A number that a name always has, spread evenly."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")

"""Runs of a scripted model: each built-in task done right, or as a test wants it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from react_text.backends.scripted import Scripted
from react_text.compare.arms import Arm, Settings
from react_text.compare.tasks import LEFT_OUT, ExpectedCall, Task

Made = tuple[str, dict[str, Any]]


def one_right(call: ExpectedCall) -> Made:
    """A right call, with the first of the allowed values of each argument."""
    allowed = {name: [value for value in values if value != LEFT_OUT] for name, values in call.arguments.items()}
    return call.name, {name: values[0] for name, values in allowed.items() if values}


def right_calls(task: Task) -> list[Made]:
    return [one_right(call) for call in task.calls]


def right_answer(task: Task) -> str:
    return "; ".join(spellings[0] for spellings in task.answer) or "That is done."


def played(
    task: Task,
    calls: Sequence[Made],
    answer: str,
    arm: str = "text",
    *,
    settings: Settings | None = None,
) -> dict[str, Any]:
    """The record of a task whose model makes these calls and gives this answer."""
    return recorded(task, Scripted.plan(calls, answer.replace("{", "").replace("}", "")), arm, settings=settings)


def recorded(task: Task, model: Scripted, arm: str = "text", *, settings: Settings | None = None) -> dict[str, Any]:
    record, _ = Arm("played", arm, "react", 0, model, settings or Settings()).run(task)
    return record


class RightModel:
    """A backend that does every task right, whatever order they come in; `before` is called with each question."""

    name = "right"
    context_length = None
    supports_grammar = False

    def __init__(self, tasks: Sequence[Task], before: Callable[[str], None] = lambda question: None) -> None:
        self.tasks: Mapping[str, Task] = {task.question: task for task in tasks}
        self.before = before
        self.closed = False
        self._question = ""
        self._plan = Scripted([])

    def stream(self, request: Any) -> Any:
        asked = [str(message["content"]) for message in request.messages if message["role"] == "user"]
        if asked[-1] in self.tasks:
            self._question = asked[-1]
            self.before(self._question)
            task = self.tasks[self._question]
            self._plan = Scripted.plan(right_calls(task), right_answer(task))
        return self._plan.stream(request)

    def count_tokens(self, *asked: Any, **options: Any) -> None:
        return None

    def close(self) -> None:
        self.closed = True

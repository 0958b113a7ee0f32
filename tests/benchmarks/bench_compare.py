"""What a comparison adds to the model's own time: python tests/benchmarks/bench_compare.py

A scripted model of a known speed does some built-in tasks right. Its own time is what it sleeps over prompts and
between words; all the rest is the agent, the tools, the scores and the disk. A first
run, not counted, imports what is needed and makes the tools. On a busy machine look at the processor time.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import repeat
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "compare"))

from scripted_runs import RightModel

from react_text.backends.base import Delta
from react_text.compare.records import RunFolder
from react_text.compare.runner import Model, Plan, run
from react_text.compare.tasks import load_tasks

TASKS = load_tasks(["builtin"], "dev", 16)
SPEEDS = {"a 135M model on two cores": (400, 30), "a 1.5B model on two cores": (45, 8)}
"""Prompt tokens and reply tokens a second; a word counts as a token, and what is in the cache costs nothing."""


class Paced(RightModel):
    """Does every task right at a known speed; `own` are the seconds that it took for itself."""

    def __init__(self, prompt_speed: float, reply_speed: float) -> None:
        super().__init__(TASKS.tasks)
        self.prompt_speed, self.reply_speed = prompt_speed, reply_speed
        self.own = 0.0
        self._cached = ""

    def stream(self, request: Any) -> Iterator[Any]:
        prompt = "\n".join(str(message["content"]) for message in request.messages)
        self._take(len(_new(prompt, self._cached).split()) / self.prompt_speed)
        self._cached = prompt
        for item in super().stream(request):
            if isinstance(item, Delta):
                self._take(1 / self.reply_speed)
                self._cached += item.text
            yield item

    def _take(self, seconds: float) -> None:
        began = time.perf_counter()
        time.sleep(seconds)
        self.own += time.perf_counter() - began


def _new(prompt: str, cached: str) -> str:
    shared = next((at for at, pair in enumerate(zip(prompt, cached, strict=False)) if pair[0] != pair[1]), len(cached))
    return prompt[shared:]


def _measured(model: Paced) -> tuple[int, float, float]:
    """Tasks, wall seconds and seconds of processor time of a run."""
    plan = Plan(TASKS, [Model("paced", repeat(model).__next__)])
    with tempfile.TemporaryDirectory() as folder, RunFolder(Path(folder)) as opened:
        began, busy = time.perf_counter(), time.process_time()
        run(plan, opened, lambda index, backend: None, lambda record: None)
        return len(opened.done), time.perf_counter() - began, time.process_time() - busy


def main() -> None:
    _measured(Paced(1e9, 1e9))
    for name, speeds in SPEEDS.items():
        model = Paced(*speeds)
        count, wall, processor = _measured(model)
        added = wall - model.own
        print(
            f"{name}: {count} tasks, model {model.own:.1f} s; added {added / model.own:.1%} "
            f"({1000 * added / count:.0f} ms a task), of processor time {processor / model.own:.1%}"
        )


if __name__ == "__main__":
    main()

"""What a comparison adds to the model's own time: python tests/benchmarks/bench_compare.py

A scripted model of a known speed does the built-in dev tasks right. Its own time is what it sleeps between words; all
the rest is prompts, reading, tools, scores and the disk. The figures are of one machine side by side, not limits.
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

TASKS = load_tasks(["builtin"], "dev")
TOKENS_PER_SECOND = (30, 100)


class Paced(RightModel):
    """Does every task right, at a given number of words a second; `own` are the seconds that it took for itself."""

    def __init__(self, tokens_per_second: float) -> None:
        super().__init__(TASKS.tasks)
        self.pause = 1 / tokens_per_second
        self.own = 0.0

    def stream(self, request: Any) -> Iterator[Any]:
        for item in super().stream(request):
            if isinstance(item, Delta):
                began = time.perf_counter()
                time.sleep(self.pause)
                self.own += time.perf_counter() - began
            yield item


def main() -> None:
    for speed in TOKENS_PER_SECOND:
        model = Paced(speed)
        with tempfile.TemporaryDirectory() as folder, RunFolder(Path(folder)) as opened:
            began, busy = time.perf_counter(), time.process_time()
            run(
                Plan(TASKS, [Model("paced", repeat(model).__next__)]),
                opened,
                lambda index, backend: None,
                lambda record: None,
            )
            wall, processor = time.perf_counter() - began, time.process_time() - busy
            count = len(opened.done)
        added, share = wall - model.own, (wall - model.own) / model.own
        print(
            f"{speed} tokens/s: {count} tasks, model {model.own:.1f} s, all {wall:.1f} s: {share:.1%} added, "
            f"{1000 * added / count:.1f} ms a task, {1000 * processor / count:.1f} ms of processor time"
        )


if __name__ == "__main__":
    main()

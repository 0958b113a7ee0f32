"""What a report of a million records costs: seconds and peak memory of `react-text report`, beside bare JSON reading.

Run with `python tests/benchmarks/bench_report.py [RECORDS]`; it needs about 2 kB of disk for each record.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "compare"))

from made_runs import meta, record, write_run

MODELS = ("model-a", "model-b", "model-c")
ARMS = ("text", "text+grammar", "structured", "auto")
BODIES = 250


def lines(count: int) -> Iterator[bytes]:
    """Records as lines: `BODIES` different ones for each model and arm, each under many tasks."""
    bodies = {}
    for model in MODELS:
        for arm in ARMS:
            made = [record(model, arm, f"task_{number}") for number in range(BODIES)]
            bodies[model, arm] = [
                (json.dumps(dict(body, key="KEY", task="TASK")) + "\n").encode().replace(b'"TASK"', b'"%(task)b"')
                for body in made
            ]
    cells = list(bodies)
    for number in range(count):
        cell = cells[number % len(cells)]
        body = bodies[cell][number // len(cells) * 7 % BODIES]
        task = b"task_%d" % (number // len(cells))
        key = "|".join((*cell, "react", task.decode(), "0")).encode()
        yield body.replace(b'"KEY"', b'"' + key + b'"', 1).replace(b"%(task)b", task, 1)


def run(arguments: list[str]) -> tuple[float, float, float]:
    """Seconds, seconds of processor time and peak MiB of a command in a process of its own."""
    begun = time.perf_counter()
    child = os.spawnv(os.P_NOWAIT, sys.executable, [sys.executable, *arguments])
    _, status, usage = os.wait4(child, 0)
    assert status == 0, f"{arguments} ended with {status}"
    return time.perf_counter() - begun, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    """Make the run, report it, and print what that took."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as temporary:
        folder = write_run(Path(temporary) / "run", [], meta(MODELS, ARMS))
        with (folder / "records.jsonl").open("wb") as file:
            file.writelines(lines(count))
        size = (folder / "records.jsonl").stat().st_size / 1e9
        code = "import sys, json\nfor line in open(sys.argv[1], 'rb'): json.loads(line)"
        _, bare, _ = run(["-c", code, str(folder / "records.jsonl")])
        seconds, busy, memory = run(["-m", "react_text.cli", "report", str(folder)])
        page = (folder / "report.html").stat().st_size / 1e6
        print(f"{count:,} records, {size:.2f} GB: {seconds:.1f} s, peak {memory:.0f} MiB, page {page:.2f} MB")
        print(
            f"processor time {busy:.1f} s, {busy / bare:.2f} times that of json.loads on the same lines ({bare:.1f} s)"
        )


if __name__ == "__main__":
    main()

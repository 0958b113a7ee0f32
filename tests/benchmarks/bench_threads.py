"""Threads and waiting policies on an idle and on a busy machine: python tests/benchmarks/bench_threads.py

Each setting runs in a process of its own, because OpenMP reads its policy once. Settings and states take turns, so that
what else the machine does meanwhile falls on all of them alike; the table shows medians and their ratio to the best
idle figure. "Busy" is one spinning Python loop for every processor.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

SPIN = {"GOMP_SPINCOUNT": "300000"}  # what libgomp does when no policy is set
SHORT_SPIN = {"GOMP_SPINCOUNT": "2000"}
PASSIVE = {"OMP_WAIT_POLICY": "passive"}
SETTINGS = (
    ("spinning", SPIN, 2, 2),
    ("spinning", SPIN, 1, 2),
    ("spinning", SPIN, 1, 1),
    ("passive", PASSIVE, 2, 2),
    ("passive", PASSIVE, 1, 2),
    ("passive", PASSIVE, 1, 1),
    ("short spin", SHORT_SPIN, 2, 2),
    ("short spin", SHORT_SPIN, 1, 2),
)
"""Waiting policy, its environment, decode threads, prompt threads."""

PROMPT_TOKENS = 512
DECODE_TOKENS = 64
LONGEST_SECONDS = 8.0


def measure(n_threads: int, n_threads_batch: int) -> dict[str, float]:
    """Tokens per second of prompt evaluation and of decoding, in this process."""
    from react_text.backends.llama.engine import PROMPT_CHUNK, Engine
    from react_text.models import resolve_model

    engine = Engine(resolve_model("smollm2"), n_ctx=1024, n_threads=n_threads, n_threads_batch=n_threads_batch)
    engine.evaluate([5000] * 8)
    engine.keep(0)
    done, began = 0, time.perf_counter()
    while done < PROMPT_TOKENS and time.perf_counter() - began < LONGEST_SECONDS:
        engine.evaluate([(token * 37) % 40000 + 100 for token in range(done, done + PROMPT_CHUNK)])
        done += PROMPT_CHUNK
    prompt = done / (time.perf_counter() - began)
    done, began = 0, time.perf_counter()
    while done < DECODE_TOKENS and time.perf_counter() - began < LONGEST_SECONDS:
        engine.evaluate([int(engine.logits().argmax())])
        done += 1
    decode = done / (time.perf_counter() - began)
    engine.close()
    return {"prompt": prompt, "decode": decode}


@contextlib.contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """`count` processes that do nothing as fast as they can."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def measure_apart(environment: dict[str, str], n_threads: int, n_threads_batch: int) -> dict[str, float]:
    """`measure` in a fresh process under a waiting policy."""
    clean = {name: value for name, value in os.environ.items() if name not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")}
    output = subprocess.run(
        [sys.executable, __file__, "--measure", str(n_threads), str(n_threads_batch)],
        env=clean | environment,
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    return {name: float(value) for name, value in json.loads(output).items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", nargs=2, type=int, metavar=("THREADS", "PROMPT_THREADS"))
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(*options.measure)))
        return
    results: dict[tuple[int, str], list[dict[str, float]]] = {}
    for _ in range(options.rounds):
        for index, (_, environment, decode, prompt) in enumerate(SETTINGS):
            results.setdefault((index, "idle"), []).append(measure_apart(environment, decode, prompt))
            with busy_loops(os.cpu_count() or 1):
                results.setdefault((index, "busy"), []).append(measure_apart(environment, decode, prompt))
    print(f"load average at the end: {os.getloadavg()[0]:.1f}, processors: {os.cpu_count()}, rounds: {options.rounds}")
    print("tokens per second, and the ratio to the best idle figure")
    print("policy      decode prompt | idle: prompt      decode | busy: prompt      decode")
    medians = {
        key: {kind: statistics.median(run[kind] for run in runs) for kind in ("prompt", "decode")}
        for key, runs in results.items()
    }
    best = {
        kind: max(row[kind] for (_, state), row in medians.items() if state == "idle") for kind in ("prompt", "decode")
    }
    for index, (policy, _, decode, prompt) in enumerate(SETTINGS):
        cells = [
            f"{medians[index, state][kind]:7.0f} {medians[index, state][kind] / best[kind]:4.2f}"
            for state in ("idle", "busy")
            for kind in ("prompt", "decode")
        ]
        print(f"{policy:11} {decode:6} {prompt:6} | {cells[0]}  {cells[1]} | {cells[2]}  {cells[3]}")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    main()

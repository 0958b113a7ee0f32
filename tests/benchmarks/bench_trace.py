"""What a trace adds to a step: the same scripted runs without one, with one, and without contents, timed in turn.

A step is a reply of about 60 tokens with a call, its result, and all that is written of them. Printed are milliseconds
per step, as the clock and as the processor counts them. Run with `make bench`, or
`pytest tests/benchmarks/bench_trace.py --override-ini addopts= -s`.
"""

import json
import statistics
import time

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from react_text import Agent, Scripted, Toolbox, tool
from react_text.events import Finished
from react_text.session import Session
from react_text.telemetry import traced
from react_text.trace import TraceFile

STEPS, ROUNDS = 20, 15
PAGE = "A line of a page that was fetched, with some words in it.\n" * 40


@tool
def fetch(page: str, note: str) -> str:
    """Fetch a page."""
    return PAGE


def agent() -> Agent:
    note = " ".join(f"word{number}" for number in range(40))
    replies = [
        f"Thought: I need page {number}.\nAction: fetch\nAction Input: "
        + json.dumps({"page": f"page {number}", "note": note})
        for number in range(STEPS - 1)
    ]
    replies.append("Thought: I know.\nFinal Answer: done")
    return Agent(Scripted(replies), Toolbox([fetch], timeout=None), max_steps=STEPS + 1)


def milliseconds(events) -> tuple[float, float]:
    """Wall time and processor time of a step."""
    began, worked = time.perf_counter(), time.process_time()
    for event in events:
        if isinstance(event, Finished):
            assert event.result.stop_reason == "answer"
            assert len(event.result.steps) == STEPS
    return (time.perf_counter() - began) * 1000 / STEPS, (time.process_time() - worked) * 1000 / STEPS


def test_cost_of_a_trace_per_step(tmp_path):
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(InMemorySpanExporter()))
    with (
        TraceFile(tmp_path / "whole.jsonl") as whole,
        TraceFile(tmp_path / "bare.jsonl", contents=False) as bare,
        Session(tmp_path / "talk.jsonl") as session,
    ):
        cases = {
            "no trace": lambda: agent().stream("What is there?"),
            "trace": lambda: whole.stream(agent(), "What is there?"),
            "trace without contents": lambda: bare.stream(agent(), "What is there?"),
            "spans": lambda: traced(agent(), provider=provider).stream("What is there?"),
            "spans with contents": lambda: traced(agent(), provider=provider, contents=True).stream("What is there?"),
            "session (on the disk)": lambda: session.record("What is there?", agent().stream("What is there?")),
        }
        rounds = [{name: milliseconds(case()) for name, case in cases.items()} for _ in range(ROUNDS)]
    provider.shutdown()
    print()
    for name in cases:
        wall, work = (statistics.median(one[name][kind] for one in rounds) for kind in (0, 1))
        more = [statistics.median(one[name][kind] - one["no trace"][kind] for one in rounds) for kind in (0, 1)]
        print(f"{name:24} wall {wall:6.2f} ms, {more[0]:5.2f} more; processor {work:6.2f} ms, {more[1]:5.2f} more")

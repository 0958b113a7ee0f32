"""The agent beside a plain ReAct loop: python tests/benchmarks/bench_plain_react.py [MODEL.gguf]

Same GGUF, same engine and threads, same built-in tasks and tools, temperature 0, six model outputs. The plain loop is
what is written by hand in an afternoon: one prompt that tools and format are described in, two patterns, no repair,
no grammar. Printed are the tasks solved, with their intervals, and the model's seconds for each solved task.

Both answer one question after another over the same tools, and the engine keeps the beginning of either's prompt that
does not change; with --isolate every question is the first one.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Iterable
from typing import Any

from react_text.backends.base import Reply, Request
from react_text.backends.llama_cpp import LlamaCpp
from react_text.compare.arms import Arm, Settings
from react_text.compare.score import outcome
from react_text.compare.stats import wilson
from react_text.compare.tasks import Task, load_tasks
from react_text.messages import Call
from react_text.models import resolve_model
from react_text.toolbox import Toolbox

PROMPT = """Answer the question. You may use these tools:
{tools}

Write in this format:
Thought: what you think
Action: the name of a tool, one of {names}
Action Input: its arguments as JSON
Observation: what the tool gave back (you do not write this)
... Thought, Action, Action Input and Observation may come several times ...
Thought: I know the answer now
Final Answer: the answer to the question

Question: {question}"""
CALL = re.compile(r"Action:\s*(\S+)\s*Action Input:\s*(\{.*\})", re.DOTALL)
FINAL = re.compile(r"Final Answer:\s*(.+)", re.DOTALL)
MAX_STEPS = 6
SLOTS = 4
"""The conversation of the plain loop, that of the agent, and what the agent weighs, are all kept."""


def plain_react(model: LlamaCpp, task: Task) -> dict[str, Any]:
    """The plain loop; what it did, in the form that runs are judged in."""
    offered = task.offer(False)
    offered.reset()
    toolbox = Toolbox(offered.tools)
    described = "\n".join(f"{one.name}: {one.description} Arguments: {json.dumps(one.parameters)}" for one in toolbox)
    prompt = PROMPT.format(tools=described, names=", ".join(toolbox.names), question=task.question)
    written, steps, seconds, tokens, answer = "Thought:", [], 0.0, 0, None
    for _ in range(MAX_STEPS):
        request = Request(
            [{"role": "user", "content": prompt}], reply_start=written, stop=("\nObservation:",), max_tokens=300
        )
        began = time.perf_counter()
        *_, reply = model.stream(request)
        seconds += time.perf_counter() - began
        assert isinstance(reply, Reply)
        tokens += reply.usage.generated
        said, written = reply.text[len(written) :], reply.text
        step: dict[str, Any] = {"kind": "none", "strict": False, "calls": [], "observations": []}
        steps.append(step)
        called, final = CALL.search(said), FINAL.search(said)
        if final and not called:
            answer = final[1].strip()
            step["kind"] = "final"
            break
        observed = "Error: write Action and Action Input, or Final Answer."
        if called:
            try:
                call = Call("1", called[1], json.loads(called[2]))
            except ValueError:
                observed = "Error: the Action Input is not JSON."
            else:
                given = toolbox.run(call)
                observed = given.content
                step["kind"] = "action"
                step["calls"] = [{"name": call.name, "arguments": call.arguments}]
                step["observations"] = [{"content": observed, "is_error": given.is_error}]
        written += f"\nObservation: {observed}\nThought:"
    record = {
        "steps": steps,
        "answer": answer,
        "stop_reason": "max_steps" if answer is None else "answer",
        "end_state": dict(offered.state()),
        "tokens": tokens,
        "seconds": seconds,
    }
    return record | {"outcome": outcome(task, record)}


def summary(name: str, tasks: Iterable[Task], records: Iterable[dict[str, Any]]) -> str:
    """One line for the tasks that need a tool, and one for those that do not."""
    lines = []
    by_need = {True: [], False: []}  # type: dict[bool, list[dict[str, Any]]]
    for task, record in zip(tasks, records, strict=True):
        by_need[task.needs_call].append(record)
    for needs_call, kind in ((True, "with a tool"), (False, "without")):
        of_kind = by_need[needs_call]
        solved, seconds = sum(one["outcome"]["solved"] for one in of_kind), sum(one["seconds"] for one in of_kind)
        low, high = wilson(solved, len(of_kind))
        each = f"{seconds / solved:.1f}" if solved else "no"
        lines.append(
            f"{name:<12} {kind:<11} solved {solved} of {len(of_kind)} ({100 * low:.0f} to {100 * high:.0f} %), "
            f"{seconds:.0f} s, {each} s for each solved, {sum(one['tokens'] for one in of_kind)} tokens"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?", default="smollm2", help="a GGUF file, or smollm2")
    parser.add_argument("--split", default="test", choices=["dev", "test"])
    parser.add_argument("--limit", type=int)
    parser.add_argument("--arm", default="auto")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--isolate", action="store_true")
    given = parser.parse_args()
    tasks = sorted(load_tasks(["builtin"], given.split, given.limit).tasks, key=lambda task: task.kit)
    model = LlamaCpp(resolve_model(given.model), n_threads=given.threads, slots=SLOTS)
    arm = Arm(model.name, given.arm, "react", 0, model, Settings(max_steps=MAX_STEPS))
    plain, agent = [], []
    for task in tasks:
        if given.isolate:
            model.reset()
        plain.append(plain_react(model, task))
        if given.isolate:
            model.reset()
        agent.append(arm.run(task)[0])
        marks = ["solved" if one["outcome"]["solved"] else "-" for one in (plain[-1], agent[-1])]
        print(f"{task.id:<22} plain {marks[0]:<7} {plain[-1]['seconds']:6.1f} s   agent {marks[1]:<7} "
              f"{agent[-1]['seconds']:6.1f} s", flush=True)  # fmt: skip
    print(summary("plain loop", tasks, plain))
    print(summary("agent", tasks, agent))


if __name__ == "__main__":
    main()

"""Run folders made without a model: corpus outputs read by the real parser, with outcomes drawn by a seeded chance."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from react_text import parse
from react_text.messages import Turn

CORPUS = Path(__file__).parent.parent / "corpus" / "react.dev.jsonl"
CHANCES = {"text": 0.45, "text+grammar": 0.7, "structured": 0.3, "auto": 0.72}
CATEGORIES = ("one_call", "several_calls", "nested", "enum", "no_call")


@cache
def read_steps() -> dict[str, list[dict[str, Any]]]:
    """Steps as a run writes them, by how they were read: strict, repaired, failed."""
    steps: dict[str, list[dict[str, Any]]] = {"strict": [], "repaired": [], "failed": []}
    for line in CORPUS.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        turn = parse(case["output"], case["tools"])
        reading = "failed" if turn.kind == "none" else "strict" if turn.strict else "repaired"
        tools = [entry["function"]["name"] for entry in case["tools"]]
        steps[reading].append(step(case["output"], turn) | {"tools": tools})
    return steps


def step(text: str, turn: Turn, mode: str = "text") -> dict[str, Any]:
    """One reply and its reading."""
    return {
        "text": text,
        "kind": turn.kind,
        "thought": turn.thought,
        "final": turn.final,
        "calls": [{"name": call.name, "arguments": dict(call.arguments)} for call in turn.calls],
        "repairs": list(turn.repairs),
        "edits": [{"name": e.name, "before": e.before, "after": e.after, "span": e.span} for e in turn.edits],
        "fault": turn.fault.code if turn.fault else None,
        "strict": turn.strict,
        "mode": mode,
        "observations": [{"content": "14", "is_error": False}] if turn.calls else [],
        "usage": {"evaluated": 310, "reused": 280, "generated": 8 + len(text) // 4},
        "seconds": 0.4,
        "finish_reason": "stop",
    }


def record(model: str, arm: str, task: str, seed: int = 0, *, text: str | None = None, **over: Any) -> dict[str, Any]:
    """One record; its reply is `text` read by the parser, or drawn from the corpus by the record's own chance."""
    chance = random.Random(f"{model}|{arm}|{task}|{seed}")
    luck = CHANCES.get(arm, 0.5) + (0.12 if "1.5B" in model else 0.0)
    if text is None:
        drawn = chance.choices(("strict", "repaired", "failed"), (luck, 0.9 - luck * 0.8, 0.25 - luck * 0.2))[0]
        made = dict(chance.choice(read_steps()[drawn]))
        tools = made.pop("tools")
    else:
        made, tools = step(text, parse(text)), ["look_up"]
    made["mode"] = "structured" if arm == "structured" else "text"
    reading = "failed" if made["kind"] == "none" else "strict" if made["strict"] else "repaired"
    category = CATEGORIES[hash_of(task) % len(CATEGORIES)]
    needs_call = category != "no_call"
    readable = reading != "failed"
    solved = readable and chance.random() < luck
    made["seconds"] = round(chance.lognormvariate(0.2, 0.6), 3)
    generated = made["usage"]["generated"]
    return {
        "key": f"{model}|{arm}|react|{task}|{seed}",
        "model": model,
        "arm": arm,
        "dialect": "react",
        "task": task,
        "category": category,
        "seed": seed,
        "question": f"What about {task.replace('_', ' ')}, and how much of it is left in the harbour store?",
        "needs_call": needs_call,
        "tools": tools,
        "prompt_hash": "0" * 16,
        "steps": [made],
        "answer": made["final"] or ("There are 14." if solved else ""),
        "stop_reason": "answer" if readable else "stuck",
        "mode_changes": ["leaked calls"] if arm == "auto" and chance.random() < 0.2 else [],
        "outcome": {
            "strict": reading == "strict",
            "read": reading,
            "right_tool": solved or chance.random() < 0.6 if needs_call else None,
            "right_arguments": solved if needs_call else None,
            "solved": solved,
            "declined": None if needs_call else solved,
            "unreadable": not readable,
        },
        "tokens": generated,
        "prompt_tokens": 590,
        "seconds": made["seconds"],
        "tokens_after": generated // 9,
        **over,
    }


def hash_of(text: str) -> int:
    """A small number that depends on the text alone."""
    return sum(ord(letter) * (at + 1) for at, letter in enumerate(text))


def records(models: Sequence[str], arms: Sequence[str], tasks: int, seeds: int = 1) -> Iterator[dict[str, Any]]:
    """Records of every model, arm and task."""
    for number in range(tasks):
        for model in models:
            for arm in arms:
                for seed in range(seeds):
                    yield record(model, arm, f"task_{number:03}", seed)


def meta(
    models: Sequence[str], arms: Sequence[str], source: str = "builtin", split: str = "test", count: int = 0
) -> dict[str, Any]:
    """What such a run says about itself."""
    return {
        "format": 1,
        "created": "2026-11-30T12:00:00+00:00",
        "versions": {"react_text": "0.1.0", "python": "3.11.9", "llama_cpp_python": "0.3.36"},
        "machine": {"cpu": "x86_64", "cores": 2, "memory": "24 GiB"},
        "seed": 0,
        "tasks": {"source": source, "count": count, "digest": "ab" * 32, "split": split},
        "models": [
            {
                "name": name,
                "digest": f"{hash_of(name):064x}",
                "parameters": "135M",
                "family": "smollm2",
                "path_name": name,
            }
            for name in models
        ],
        "arms": list(arms),
        "settings": {"max_steps": 6, "max_tokens": 300, "temperature": 0.0},
        "command": f"react-text compare --model {models[0]} --tasks {source} --out RUN",
    }


def write_run(folder: Path, lines: Sequence[dict[str, Any]], about: dict[str, Any]) -> Path:
    """A run folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "meta.json").write_text(json.dumps(about), encoding="utf-8")
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    (folder / "records.jsonl").write_text(text, encoding="utf-8", errors="backslashreplace")
    return folder

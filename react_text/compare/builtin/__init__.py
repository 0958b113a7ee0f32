"""The built-in tasks: our own, with deterministic tools, in two splits on different subjects.

`dev` is for choosing dialects, examples and settings; `test` is what is reported. The tasks are data (dev.jsonl,
test.jsonl), the tools they use are in dev_kits.py and test_kits.py.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from react_text.compare.builtin import dev_kits, test_kits
from react_text.compare.builtin.kit import Kit, MakeKit
from react_text.compare.entries import expected_calls, spellings
from react_text.compare.tasks import Offered, Task

CATEGORIES = {
    "one_call": "one call answers the question",
    "two_dependent": "the second call needs what the first one gave",
    "two_independent": "two look-ups that do not need each other",
    "error_then_correct": "the call that suggests itself fails, and the error says what to do",
    "no_call": "general knowledge or a question about the conversation; no tool is needed",
    "state_change": "something must be different afterwards",
    "nested_enum": "arguments with objects, lists or a choice from a list",
    "irrelevance": "the tools at hand cannot answer it",
}
KITS: Mapping[str, MakeKit] = {**dev_kits.KITS, **test_kits.KITS}


def builtin_tasks() -> tuple[Task, ...]:
    """All built-in tasks of both splits."""
    return tuple(
        _task(json.loads(line), split)
        for split in ("dev", "test")
        for line in (Path(__file__).parent / f"{split}.jsonl").read_text(encoding="utf-8").splitlines()
        if line.strip()
    )


def _task(entry: dict[str, Any], split: str) -> Task:
    calls = expected_calls(entry.get("calls", ()))
    return Task(
        id=entry["id"],
        category=entry["category"],
        question=entry["question"],
        kit=entry["kit"],
        offer=partial(offer, entry["kit"]),
        needs_call=bool(calls),
        calls=calls,
        ordered=entry["category"] == "two_dependent",
        first=expected_calls(entry.get("first", ())),
        answer=spellings(entry.get("answer", ())),
        state=entry.get("state", {}),
        split=split,
    )


def offer(name: str, examples: bool) -> Offered:
    """The tools of a kit, with or without their worked examples; every thread has a state of its own."""
    kit = _kit_of_thread(name, threading.get_ident())
    return Offered(kit.offered(examples), kit.reset, kit.changes)


@cache
def _kit_of_thread(name: str, thread: int) -> Kit:
    return KITS[name]()

"""Which single outputs a report shows, and how each is laid out: pieces of text with their sections and repairs.

All unreadable outputs come first, then a sample; the sample depends on the records' keys alone, not on their order.
"""

from __future__ import annotations

import heapq
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from react_text.compare.tally import Cell

LONGEST = 6000
"""Characters of one text that are kept."""

MOST_STEPS = 12
"""Steps of one run that are kept."""

SHARES = {"failed": 0.5, "wrong": 0.25, "repaired": 0.125, "strict": 0.125}
"""The classes of outputs in the order of their interest, with the share each may take where all have plenty."""


def class_of(outcome: Mapping[str, Any]) -> str:
    """The class of an outcome: could not be read, read but not solved, solved after repair, solved to the letter."""
    if outcome.get("unreadable") or outcome["read"] == "failed":
        return "failed"
    if not outcome.get("solved"):
        return "wrong"
    return "repaired" if outcome["read"] == "repaired" else "strict"


@dataclass(slots=True)
class Sampler:
    """Keeps, for each class, the `limit` records with the smallest keys; keys are digests, so this is a fair sample."""

    limit: int
    seen: Counter[str] = field(default_factory=Counter)
    kept: dict[str, list[tuple[int, int, dict[str, Any]]]] = field(default_factory=lambda: {c: [] for c in SHARES})

    def offer(self, name: str, key: int, line: bytes, cell: Cell) -> None:
        """Consider one record of a class and a cell; its line is only decoded where it is kept."""
        seen = self.seen[name] = self.seen[name] + 1
        heap = self.kept[name]
        if len(heap) < self.limit:
            heapq.heappush(heap, (-key, seen, _clipped(json.loads(line), cell)))
        elif heap and -key > heap[0][0]:
            heapq.heapreplace(heap, (-key, seen, _clipped(json.loads(line), cell)))

    def chosen(self) -> tuple[list[dict[str, Any]], dict[str, tuple[int, int]]]:
        """The records to show, and for each class how many of how many they are."""
        pools = {name: [entry[2] for entry in sorted(heap, reverse=True)] for name, heap in self.kept.items()}
        counts = {name: min(len(pools[name]), int(self.limit * share)) for name, share in SHARES.items()}
        for name, pool in pools.items():
            counts[name] = min(len(pool), counts[name] + self.limit - sum(counts.values()))
        shown = [record for name, pool in pools.items() for record in pool[: counts[name]]]
        return shown, {name: (counts[name], self.seen[name]) for name in pools}


def _clipped(record: Mapping[str, Any], cell: Cell) -> dict[str, Any]:
    """A record without what is not shown, its long texts cut."""
    steps = [
        dict(step)
        | {
            "text": _cut(step.get("text")),
            "cut": max(0, len(step.get("text") or "") - LONGEST),
            "edits": [
                dict(edit) | {"before": _cut(edit.get("before"), 400), "after": _cut(edit.get("after"), 400)}
                for edit in (step.get("edits") or [])[:40]
            ],
            "observations": [
                dict(seen) | {"content": _cut(seen.get("content"), 1500)} for seen in step.get("observations") or []
            ],
        }
        for step in (record.get("steps") or [])[:MOST_STEPS]
    ]
    more = max(0, len(record.get("steps") or []) - MOST_STEPS)
    named = {"model": cell.model, "variant": cell.variant}
    return {**record, **named, "steps": steps, "more_steps": more, "answer": _cut(record.get("answer"), 1500)}


def _cut(text: Any, longest: int = LONGEST) -> str:
    return str(text or "")[:longest]


def laid_out(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record as the page shows it: short keys, and the text of each step in pieces."""
    outcome = record["outcome"]
    return {
        "model": record["model"],
        "arm": record["arm"],
        "dialect": record.get("dialect") or "",
        "variant": record.get("variant") or "",
        "task": str(record["task"]),
        "category": record.get("category") or "other",
        "seed": record.get("seed"),
        "question": _cut(record.get("question"), 3000),
        "tools": [str(name) for name in record.get("tools") or []],
        "class": class_of(outcome),
        "read": outcome["read"],
        "solved": bool(outcome.get("solved")),
        "right_tool": outcome.get("right_tool"),
        "right_arguments": outcome.get("right_arguments"),
        "declined": outcome.get("declined"),
        "unreadable": bool(outcome.get("unreadable")),
        "answer": record.get("answer") or "",
        "stop": record.get("stop_reason") or "",
        "modes": [str(change) for change in record.get("mode_changes") or []],
        "tokens": record.get("tokens") or 0,
        "tokens_after": record.get("tokens_after") or 0,
        "seconds": round(float(record.get("seconds") or 0.0), 2),
        "more_steps": record.get("more_steps", 0),
        "steps": [_step(step, record.get("tools") or []) for step in record["steps"]],
    }


def _step(step: Mapping[str, Any], tools: Sequence[str]) -> dict[str, Any]:
    text = step["text"]
    edits = step["edits"]
    spans = [edit.get("span") for edit in edits]
    return {
        "pieces": pieces(text, sections(text, tools), spans),
        "cut": step["cut"],
        "mode": step.get("mode") or "text",
        "strict": bool(step.get("strict")),
        "repairs": list(step.get("repairs") or []),
        "edits": [[edit["name"], edit["before"], edit["after"]] for edit in edits],
        "fault": step.get("fault"),
        "calls": step.get("calls") or [],
        "observations": [[seen["content"], bool(seen.get("is_error"))] for seen in step["observations"]],
        "finish": step.get("finish_reason") or "",
        "seconds": round(float(step.get("seconds") or 0.0), 2),
        "generated": (step.get("usage") or {}).get("generated"),
    }


def sections(text: str, tools: Sequence[str]) -> list[tuple[str, int, int, int]]:
    """The sections of a reply: kind, start of the label, end of the label, end."""
    from react_text.parsing.labels import SPELLINGS
    from react_text.parsing.reader import seen_sections
    from react_text.tools import Tool

    found: list[tuple[str, int, int, int]] = []
    end = 0
    for words, start, stop in seen_sections(text, [Tool(name) for name in tools if name]):
        spelling = SPELLINGS.get(" ".join(words.replace("_", " ").replace("-", " ").split()).casefold())
        kind = spelling.kind if spelling else "thought" if words == "reasoning" else "plain"
        blanks = len(text[end:start]) - len(text[end:start].lstrip())
        found.append((kind, end + blanks if words in text[end:start] else start, start, stop))
        end = stop
    if found and text[end:].strip():
        found.append(("ignored", end, end, len(text)))
    return found


def pieces(
    text: str, found: Iterable[tuple[str, int, int, int]], spans: Sequence[Any]
) -> list[tuple[str, str, list[int]]]:
    """The text cut wherever a section, a label or a repair begins or ends: text, kind, numbers of the repairs there.

    Joined, the pieces are the text. Kinds are a section's kind, with "-label" on its label, or "plain".
    """
    marks: list[tuple[int, int, int]] = []
    for number, span in enumerate(spans):
        if isinstance(span, (list, tuple)) and len(span) == 2 and 0 <= span[0] < span[1] <= len(text):
            marks.append((span[0], span[1], number))
    zones = []
    for kind, label_start, start, stop in found:
        zones += [(label_start, start, f"{kind}-label"), (start, stop, kind)]
    edges = {0, len(text)}
    for start, stop, _ in [*zones, *marks]:
        edges |= {start, stop}
    cuts = sorted(edge for edge in edges if 0 <= edge <= len(text))
    result = []
    for start, stop in pairwise(cuts):
        kind = next((kind for first, last, kind in zones if first <= start < last), "plain")
        result.append((text[start:stop], kind, [n for first, last, n in marks if first <= start < last]))
    return result

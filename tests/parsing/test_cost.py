"""No text costs more than its length, whichever way it comes in: pieces written over and over, at two sizes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from react_text import Tool, parse, parse_message
from react_text.parsing import StreamReader

TABLE = json.loads((Path(__file__).parent.parent / "corpus" / "runs.json").read_text(encoding="utf-8"))
RUNS = [("", piece) for kind in ("signs", "words", "openers") for piece in TABLE[kind]]
RUNS += [(head, piece) for head in TABLE["heads"] for piece in TABLE["after_heads"]]
RUNS += [("", one + other) for one, other in zip(TABLE["signs"], TABLE["signs"][7:], strict=False)]
TOOLS = (
    Tool("search", parameters={"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}),
    Tool("add", parameters={"type": "object", "properties": {"tags": {"type": "array", "items": {"type": "string"}}}}),
)


def _streamed(text: str) -> None:
    reader = StreamReader(TOOLS)
    for start in range(0, len(text), 50):
        reader.feed(text[start : start + 50])
    reader.finish()


FACES: dict[str, Callable[[str], object]] = {
    "parse": lambda text: parse(text, TOOLS),
    "stream": _streamed,
    "message": lambda text: parse_message({"role": "assistant", "content": text}, TOOLS),
    "arguments": lambda text: parse_message(
        {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "search", "arguments": text}}]}, TOOLS
    ),
}


def _seconds(read: Callable[[str], object], head: str, piece: str, size: int) -> float:
    text = head + piece * (size // len(piece))
    began = time.process_time()
    read(text)
    return time.process_time() - began


@pytest.mark.parametrize("face", FACES)
def test_ten_times_the_text_costs_about_ten_times_as_much(face: str) -> None:
    """Twice that, and a tenth of a second, are room for a busy machine; each text has three tries."""
    read = FACES[face]
    read("Thought: t\nAction: search\nAction Input: {}")
    for head, piece in RUNS:
        for _ in range(3):
            allowed = 20 * _seconds(read, head, piece, 10_000) + 0.1
            if _seconds(read, head, piece, 100_000) <= allowed:
                break
        else:
            pytest.fail(f"{head!r} and then {piece!r} over and over costs more than its length")

"""Coverage-guided fuzzing of `parse` and `StreamReader`, outside the suite: needs `pip install atheris`.

    python tests/fuzz/fuzz_parse.py -max_total_time=600 -max_len=4096 CORPUS_FOLDER

The folder may be empty; every line of the corpus is tried first. A crash, a hang, a turn that breaks a promise or a
stream that disagrees with the whole text stops the run and leaves the input in a file.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["react_text"]):
    from react_text import Tool, parse
    from react_text.parsing.stream import StreamReader

CORPUS = Path(__file__).parent.parent / "corpus" / "react.dev.jsonl"
TOOLS = (
    Tool("search", parameters={"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}),
    Tool("clock"),
    Tool(
        "order",
        parameters={
            "type": "object",
            "properties": {
                "sku": {"type": "string"},
                "count": {"type": "integer"},
                "tags": {"type": "array", "items": {"type": "string"}},
                "where": {"type": "object", "properties": {"op": {"type": "string", "enum": ["eq", "lt"]}}},
            },
            "required": ["sku", "count"],
        },
    ),
)


def check(text: str, size: int) -> None:
    """Every promise that holds for any text."""
    turn = parse(text, TOOLS)
    if turn.kind == "action":
        assert turn.calls
        assert turn.final is None
    elif turn.kind == "final":
        assert turn.final
        assert not turn.calls
    else:
        assert turn.fault is not None
        assert not turn.calls
    assert not (turn.strict and turn.repairs)
    reader = StreamReader(TOOLS)
    for start in range(0, len(text), size):
        reader.feed(text[start : start + size])
    assert reader.finish() == parse(reader.text, TOOLS)


def one_input(data: bytes) -> None:
    provider = atheris.FuzzedDataProvider(data)
    size = provider.ConsumeIntInRange(1, 64)
    check(provider.ConsumeUnicode(sys.maxsize), size)


if __name__ == "__main__":
    for line in CORPUS.read_text(encoding="utf-8").splitlines():
        check(json.loads(line)["output"], 7)
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()

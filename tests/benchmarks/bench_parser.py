"""What reading a turn costs, how that grows, and how other parsers fare on the same lines.

Run with `make bench`, or `pytest tests/benchmarks/bench_parser.py --override-ini addopts= -s`. Other parsers are
compared where they are installed: pip install langchain-classic llama-index-core json-repair
"""

from __future__ import annotations

import json
import re
import statistics
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from react_text import Tool, parse, parse_message
from react_text.parsing import StreamReader
from react_text.tools import as_tools

CORPUS = Path(__file__).parent.parent / "corpus" / "react.dev.jsonl"
CASES = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]
TYPICAL = (
    "Thought: The user wants to know the forecast for the harbour town before deciding about the boat, so I should ask "
    "the weather tool for the next three days and then compare the wind with what the small boat can take.\n"
    'Action: get_weather\nAction Input: {"city": "Makarska", "days": 3, "unit": "celsius"}'
)
WEATHER = Tool(
    "get_weather",
    parameters={
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer"},
            "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
        },
        "required": ["city"],
    },
)
WRITE = Tool(
    "write_file",
    parameters={
        "type": "object",
        "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
        "required": ["path", "content"],
    },
)
SEARCH = Tool(
    "search", parameters={"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
)
Read = Callable[[str, tuple[Tool, ...]], Any]
"""A parser: (text, tools) to ("action", [(name, arguments)]) or ("final", text) or None; it may raise."""


def _median(run: Callable[[], object], rounds: int = 15) -> float:
    """Seconds of one run."""
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def test_a_typical_strict_turn(benchmark: Any) -> None:
    """Target: 25 µs for 300 characters, validation included."""
    assert len(TYPICAL) == 300
    assert benchmark(parse, TYPICAL, (WEATHER,)).strict


def test_the_lines_of_the_corpus_that_need_a_repair(benchmark: Any) -> None:
    """Target: a median of 150 µs."""
    lines = [(case["output"], as_tools(case["tools"])) for case in CASES]
    repaired = [line for line in lines if not parse(*line).strict]

    def read_all() -> None:
        for text, tools in repaired:
            parse(text, tools)

    benchmark(read_all)
    medians = [_median(partial(parse, text, tools)) for text, tools in repaired]
    print(f"\n{len(repaired)} repaired lines: median {statistics.median(medians) * 1e6:.0f} µs a line")


@pytest.mark.parametrize("layout", ["strict", "raw newlines", "Python literal", "answer"])
def test_cost_from_1_kb_to_1_mb(layout: str) -> None:
    body = "A line of the report, with 'quotes' and {braces}. "
    sizes = [1_000, 10_000, 100_000, 1_000_000]
    seconds = []
    for size in sizes:
        content = body * (size // len(body))
        written = {
            "strict": json.dumps({"path": "a", "content": content}),
            "raw newlines": '{"path": "a", "content": "' + content.replace(". ", ".\n") + '"}',
            "Python literal": repr({"path": "a", "content": content}),
            "answer": "",
        }[layout]
        text = f"Thought: t\nAction: write_file\nAction Input: {written}" if written else f"Final Answer: {content}"
        assert parse(text, (WRITE,)).kind != "none"
        seconds.append(_median(partial(parse, text, (WRITE,)), rounds=7))
    slope = (seconds[-1] - seconds[1]) / (sizes[-1] - sizes[1])
    growth = ", ".join(f"{size // 1000} kB {time * 1e3:.3f} ms" for size, time in zip(sizes, seconds, strict=True))
    print(f"\n{layout:15} {growth}; slope {slope * 1e9:.2f} ns a character")


@pytest.mark.parametrize("face", ["parse", "stream", "message"])
def test_the_costliest_megabytes(face: str) -> None:
    """Target: less than a second for 1 MB of any piece written over and over."""
    read = {
        "parse": lambda text: parse(text, (SEARCH, WRITE)),
        "stream": _streamed,
        "message": lambda text: parse_message({"role": "assistant", "content": text}, (SEARCH, WRITE)),
    }[face]
    table = json.loads((CORPUS.parent / "runs.json").read_text(encoding="utf-8"))
    runs = [("", piece) for kind in ("signs", "words", "openers") for piece in table[kind]]
    runs += [(head, piece) for head in table["heads"] for piece in table["after_heads"]]
    seconds = {}
    for head, piece in runs:
        text = head + piece * (1_000_000 // len(piece))
        began = time.process_time()
        read(text)
        seconds[head, piece] = time.process_time() - began
    worst = sorted(seconds, key=seconds.__getitem__, reverse=True)[:10]
    over = sum(one > 1 for one in seconds.values())
    print(f"\n{face}: {len(runs)} texts of 1 MB, median {statistics.median(seconds.values()):.3f} s, {over} over 1 s")
    for head, piece in worst:
        print(f"{seconds[head, piece]:7.2f} s  {head!r} and then {piece!r}")


def _streamed(text: str) -> None:
    reader = StreamReader((SEARCH, WRITE))
    for start in range(0, len(text), 50):
        reader.feed(text[start : start + 50])
    reader.finish()


def _ours(text: str, tools: tuple[Tool, ...]) -> Any:
    turn = parse(text, tools)
    if turn.kind == "action":
        return "action", [(call.name, dict(call.arguments)) for call in turn.calls]
    return ("final", turn.final) if turn.kind == "final" else None


def _langchain() -> Read:
    from langchain_classic.agents.output_parsers import ReActSingleInputOutputParser

    parser = ReActSingleInputOutputParser()

    def read(text: str, tools: tuple[Tool, ...]) -> Any:
        step = parser.parse(text)
        if hasattr(step, "return_values"):
            return "final", step.return_values["output"].strip()
        return "action", [(step.tool, _from_text(step.tool_input, step.tool, tools))]

    return read


def _llama_index() -> Read:
    from llama_index.core.agent.react.output_parser import ReActOutputParser

    parser = ReActOutputParser()

    def read(text: str, tools: tuple[Tool, ...]) -> Any:
        step = parser.parse(text)
        if hasattr(step, "response"):
            return "final", step.response.strip()
        return "action", [(step.action, step.action_input)]

    return read


def _json_repair() -> Read:
    import json_repair

    def read(text: str, tools: tuple[Tool, ...]) -> Any:
        step = re.search(r"Action:[ \t]*(.+?)\s*\nAction Input:\s*(.*)", text, re.DOTALL)
        if step is None:
            raise ValueError("no step")
        value = json_repair.loads(step[2])
        return "action", [(step[1].strip(), value if isinstance(value, dict) else _from_text(step[2], step[1], tools))]

    return read


def _from_text(text: Any, name: str, tools: tuple[Tool, ...]) -> Any:
    """What a caller makes of a textual input: JSON where it is some, else the tool's only argument."""
    try:
        value = json.loads(text)
    except (TypeError, ValueError):
        value = text
    if isinstance(value, dict):
        return value
    required = [key for tool in tools if tool.name == name for key in tool.parameters.get("required", ())]
    return {required[0] if len(required) == 1 else "input": text}


def test_other_parsers_on_the_same_lines() -> None:
    parsers: dict[str, Read] = {"react-text": _ours}
    for name, build in (
        ("langchain-classic", _langchain),
        ("llama-index-core", _llama_index),
        ("json-repair", _json_repair),
    ):
        try:
            parsers[name] = build()
        except ImportError:
            print(f"\n{name} is not installed")
    print(f"\n{'':18} right  silently wrong  error  median µs  ratio")
    base = 0.0
    for name, read in parsers.items():
        verdicts: Counter[str] = Counter()
        medians = []
        for case in CASES:
            tools = as_tools(case["tools"])
            verdicts[_verdict(read, case, tools)] += 1
            medians.append(_median(partial(_quietly, read, case["output"], tools), rounds=5))
        median = statistics.median(medians)
        base = base or median
        print(
            f"{name:18} {verdicts['right']:5}  {verdicts['wrong']:14}  {verdicts['error']:5}  {median * 1e6:9.0f}  "
            f"{median / base:5.2f}"
        )


def _quietly(read: Read, text: str, tools: tuple[Tool, ...]) -> Any:
    try:
        return read(text, tools)
    except Exception:  # whatever another parser raises counts as its refusal
        return None


def _verdict(read: Read, case: dict[str, Any], tools: tuple[Tool, ...]) -> str:
    """Right, wrong (something else would run or be shown), or error (nothing where there was something)."""
    expect = case["expect"]
    wanted = {
        "action": ("action", [(call["name"], call["arguments"]) for call in expect["calls"]]),
        "final": ("final", expect["final"]),
        "none": None,
    }[expect["kind"]]
    found = _quietly(read, case["output"], tools)
    return "right" if found == wanted else "error" if found is None else "wrong"

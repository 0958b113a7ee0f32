"""Logs counted: strict, read after repair, not read."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from react_text.compare.logs import count_readings, lines_of
from react_text.explain import parse_lines

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "tide",
            "parameters": {"type": "object", "properties": {"harbor": {"type": "string"}}, "required": ["harbor"]},
        },
    }
]
OUTPUTS = [
    'Thought: I look.\nAction: tide\nAction Input: {"harbor": "Oban"}',
    "Thought: I look.\nAction: Tide\nAction Input: {'harbor': 'Oban'}",
    "Thought: I know.\nFinal Answer: 3.4",
    "It is 3.4.",
    "Thought: I should look",
]


def _lines() -> list[str]:
    return [*(json.dumps({"output": text, "tools": TOOLS}) for text in OUTPUTS), "{broken", '{"no": "output"}', ""]


def test_each_output_is_counted_once_and_lines_without_one_apart() -> None:
    counts = count_readings(parse_lines(_lines()))
    assert (counts.lines, counts.unusable) == (5, 2)
    assert (counts.strict, counts.repaired, counts.failed) == (2, 2, 1)
    assert (counts.calls, counts.strict_calls) == (2, 1)
    assert counts.repairs["single_quotes"] == 1
    assert dict(counts.faults) == {"no_action": 1}


def test_every_rate_is_said_with_its_n_and_its_interval() -> None:
    said = "\n".join(lines_of(count_readings(parse_lines(_lines()))))
    assert "strict format      2 of 5: 40.0 % (11.8 to 76.9)" in said
    assert "5 outputs, 2 lines without one" in said
    assert lines_of(count_readings([])) == ["no outputs"]
    one = parse_lines([json.dumps(OUTPUTS[0]), "{broken"])
    assert lines_of(count_readings(one))[0] == "1 output, 1 line without one"


def test_the_command_counts_a_log(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text("\n".join(_lines()), encoding="utf-8")
    command = [sys.executable, "-m", "react_text.cli", "parse", "--strict-vs-tolerant", str(log)]
    person = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "read after repair  2 of 5" in person.stdout
    machine = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True)
    assert json.loads(machine.stdout)["strict"] == {"k": 2, "n": 5, "low": 0.1176, "high": 0.7693}

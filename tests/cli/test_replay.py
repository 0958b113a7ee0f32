"""`react-text replay` on a terminal and for scripts, and the option that records what it reads."""

import json
from pathlib import Path

from click.testing import CliRunner

from react_text import Agent, Scripted, tool
from react_text.cli import main
from react_text.trace import TraceFile

DEMO = str(Path(__file__).parents[2] / "react_text" / "demo.py")


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def recorded(tmp_path, **options) -> str:
    path = tmp_path / "run.jsonl"
    with TraceFile(path, **options) as trace:
        trace.run(Agent(Scripted.plan([("add", {"a": 2, "b": 3})], "It is {0}.", sloppy=True), [add]), "What is 2 + 3?")
    return str(path)


def replay(*arguments: str):
    return CliRunner().invoke(main, ["replay", *arguments])


def test_a_recorded_run_is_shown_and_read_again(tmp_path):
    outcome = replay(recorded(tmp_path))
    assert outcome.exit_code == 0, outcome.output
    assert outcome.stdout.startswith("? What is 2 + 3?\n")
    for line in ("  ~ missing_closer: ", '  > add {"a": 2, "b": 3}', "  = 5", "It is 5.", "3 steps | "):
        assert line in outcome.stdout
    assert outcome.stdout.splitlines()[-1] == "3 turns read again, 0 differently"


def test_a_difference_is_shown_and_is_the_exit_status(tmp_path):
    path = recorded(tmp_path)
    with open(path) as file:
        text = file.read()
    with open(path, "w") as file:
        file.write(text.replace('"kind": "final"', '"kind": "none"', 1))
    outcome = replay(path, "--quiet")
    assert outcome.exit_code == 1
    assert "step 3 is read differently now:" in outcome.stdout
    assert 'kind: "none" before, "final" now' in outcome.stdout
    assert "What is" not in outcome.stdout


def test_json_prints_a_line_for_each_turn_and_nothing_else(tmp_path):
    outcome = replay(recorded(tmp_path), "--json")
    records = [json.loads(line) for line in outcome.stdout.splitlines()]
    assert [record["now"]["kind"] for record in records] == ["none", "action", "final"]
    assert all(record["same"] for record in records)


def test_a_trace_without_contents_is_one_sentence(tmp_path):
    outcome = replay(recorded(tmp_path, contents=False))
    assert outcome.exit_code == 2
    assert "without contents" in outcome.stderr
    assert "Traceback" not in outcome.output


def test_leaving_contents_out_of_no_trace_is_refused():
    outcome = CliRunner().invoke(main, ["run", "Hi?", "--model", "smollm2", "--trace-no-contents"])
    assert outcome.exit_code == 2
    assert "--trace FILE.jsonl" in outcome.stderr


def test_a_run_is_recorded_with_who_allowed_its_calls_and_replayed(tmp_path, monkeypatch):
    scripted = Scripted.plan([("stock_level", {"item": "lamp"})], "There are {0}.")
    monkeypatch.setattr("react_text.backends.llama_cpp.LlamaCpp", lambda path, **_: scripted)
    path = str(tmp_path / "run.jsonl")
    asked = ["run", "How many lamps are in stock?", "--model", "smollm2", "--tools", DEMO, "--trace", path]
    outcome = CliRunner().invoke(main, [*asked, "--approve", "stock_*=ask"], input="y\n")
    assert outcome.exit_code == 0, outcome.output
    assert 'Run stock_level {"item": "lamp"}? [y/n/q]' in outcome.stderr
    with open(path) as file:
        (audit,) = [line for line in map(json.loads, file) if line["event"] == "approval"]
    assert (audit["tool"], audit["allowed"], audit["by"]) == ("stock_level", True, "user")
    again = replay(path)
    assert again.exit_code == 0
    assert "There are 14." in again.stdout

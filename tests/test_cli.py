"""The command line as a person meets it: what is printed where, exit statuses, and what bad input gets."""

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from react_text.cli import main
from react_text.events import Finished, Result, StepStarted, TextDelta
from react_text.terminal import Trace

DEMO = str(Path(__file__).parent.parent / "react_text" / "demo.py")
TIDES = 'def tide(harbor: str) -> float:\n    """Height of the tide in metres."""\n    return {"Oban": 3.4}[harbor]\n'


def react_text(*arguments: str):
    return CliRunner().invoke(main, list(arguments))


def one_sentence(outcome) -> str:
    """The complaint of a wrong use: exit status 2, no traceback, nothing on stdout."""
    assert outcome.exit_code == 2, outcome.output
    assert "Traceback" not in outcome.output
    assert outcome.stdout == ""
    return outcome.stderr.rpartition("Error: ")[2].strip()


@pytest.fixture
def tools_file(tmp_path):
    def write(text: str, name: str = "tools.py") -> str:
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return write


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("def broken(:\n", ["line 1"]),
        ("import not_a_module_at_all\n", ["not_a_module_at_all"]),
        ("raise RuntimeError('half way')\n", ["half way"]),
        ("import sys\nsys.exit(3)\n", ["ends the program", "line 2"]),
        ("LIMIT = 3\n", ["no tools"]),
        ("def tide(harbor) -> float:\n    return 1.0\n", ["tide", "harbor", "type"]),
    ],
)
def test_a_tools_file_that_cannot_be_used_is_explained(tools_file, text, names):
    sentence = one_sentence(react_text("run", "Hi?", "--model", "smollm2", "--tools", tools_file(text)))
    assert all(name in sentence for name in names), sentence


def test_a_missing_tools_file_is_named():
    assert "nowhere.py" in one_sentence(react_text("run", "Hi?", "--model", "smollm2", "--tools", "nowhere.py"))


def test_a_folder_is_no_tools_file(tmp_path):
    assert "folder" in one_sentence(react_text("prompt", "--tools", str(tmp_path)))


@pytest.mark.parametrize("question", ["", "   ", "\n"])
def test_an_empty_question_is_refused(question):
    assert "empty" in one_sentence(react_text("run", question, "--model", "smollm2"))


def test_a_folder_is_no_model(tmp_path):
    assert str(tmp_path) in one_sentence(react_text("run", "Hi?", "--model", str(tmp_path)))


def test_a_missing_model_is_named():
    assert "none.gguf" in one_sentence(react_text("run", "Hi?", "--model", "none.gguf"))


def test_a_file_that_is_no_gguf_is_named(tools_file):
    path = tools_file("just text, no model", "model.gguf")
    assert "GGUF" in one_sentence(react_text("run", "Hi?", "--model", path))


def test_a_wrong_flag_is_answered_with_the_right_one():
    assert "--tools" in one_sentence(react_text("run", "Hi?", "--model", "smollm2", "--tool", "x.py"))


def test_an_unknown_dialect_lists_the_known_ones(tools_file):
    sentence = one_sentence(react_text("prompt", "--tools", tools_file(TIDES), "--dialect", "klingon"))
    assert "brief, react" in sentence


def test_the_prompt_is_printed_alone_on_stdout(tools_file):
    outcome = react_text("prompt", "How high is the tide in Oban?", "--tools", tools_file(TIDES))
    assert outcome.exit_code == 0
    assert outcome.stdout.startswith("[system]\n")
    assert "tide(harbor: string) - Height of the tide in metres." in outcome.stdout
    assert outcome.stdout.rstrip().endswith("[assistant]\nThought:")
    assert "--model" in outcome.stderr


def test_a_users_own_dialect_is_what_the_model_is_told(tools_file):
    packaged = (Path(__file__).parent.parent / "prompts" / "brief.md").read_text()
    own = tools_file(packaged.replace("Use the tools to answer.", "Arr, use these:"), "pirate.md")
    outcome = react_text("prompt", "--tools", tools_file(TIDES), "--dialect", own)
    assert outcome.exit_code == 0
    assert "Arr, use these:" in outcome.stdout


def test_the_grammar_is_printed_alone_on_stdout_and_what_it_leaves_open_on_stderr(tools_file):
    tools = tools_file("def tag(names: set[str]) -> str:\n    return 'done'\n")
    outcome = react_text("grammar", "--tools", tools)
    assert outcome.exit_code == 0
    assert outcome.stdout.startswith("root")
    assert "tag.names: uniqueItems" in outcome.stderr


def test_help_explains_every_option_of_run():
    text = react_text("run", "--help").output
    for flag in ("--model", "--tools", "--dialect", "--json", "--confirm", "--max-steps", "--seed", "--n-ctx"):
        assert flag in text


TIDE_TOOLS = """[{"type": "function", "function": {"name": "tide", "description": "Height of the tide",
"parameters": {"type": "object", "properties": {"harbor": {"type": "string"}}, "required": ["harbor"]}}}]"""


def test_parse_explains_one_output(tools_file):
    reply = tools_file("Action: tide\nAction Input: {'harbor': 'Oban',}\nObservation: 3 m\n", "reply.txt")
    outcome = react_text("parse", reply, "--tools", tools_file(TIDE_TOOLS, "tools.json"))
    assert outcome.exit_code == 0
    assert '> tide {"harbor": "Oban"}' in outcome.stdout
    for name in ("single_quotes", "trailing_comma", "fabricated_observation"):
        assert f"~ {name}: " in outcome.stdout
    assert "ignored" in outcome.stdout


def test_parse_says_what_the_model_would_be_told_and_exits_with_1(tools_file):
    outcome = CliRunner().invoke(
        main, ["parse", "--tools", tools_file(TIDE_TOOLS, "tools.json")], input="Action: tide\nAction Input: {}\n"
    )
    assert outcome.exit_code == 1
    assert "invalid_arguments" in outcome.stdout
    assert "harbor" in outcome.stdout.partition("told to the model:")[2]


def test_parse_reads_json_lines_in_bulk_and_reports_bad_ones_in_place(tools_file):
    lines = [
        json.dumps("Final Answer: 3 m"),
        json.dumps({"id": 7, "output": 'Action: tide\nAction Input: {"harbor": "Oban"}'}),
        json.dumps({"message": {"role": "assistant", "content": "Thought: hm"}}),
        "{broken",
        json.dumps({"nothing": 1}),
    ]
    tools = tools_file(TIDE_TOOLS, "tools.json")
    outcome = react_text("parse", tools_file("\n".join(lines), "log.jsonl"), "--tools", tools)
    records = [json.loads(line) for line in outcome.stdout.splitlines()]
    assert [record.get("kind") for record in records] == ["final", "action", "none", None, None]
    assert records[1]["id"] == 7
    assert records[1]["calls"][0]["arguments"] == {"harbor": "Oban"}
    assert all("error" in record for record in records[3:])
    assert outcome.stderr == "1 action, 2 error, 1 final, 1 none\n"
    assert outcome.exit_code == 0


def test_parse_of_bytes_that_are_no_text_does_not_break(tmp_path):
    (tmp_path / "reply.bin").write_bytes(bytes(range(256)) * 4)
    outcome = react_text("parse", str(tmp_path / "reply.bin"))
    assert outcome.exit_code in (0, 1)
    assert outcome.exception is None or isinstance(outcome.exception, SystemExit)


def test_half_a_surrogate_pair_is_printed_as_an_escape(tools_file):
    reply = tools_file('Action: tide\nAction Input: {"harbor": "\\ud800"}', "reply.txt")
    command = [sys.executable, "-m", "react_text.cli", "parse", reply, "--json"]
    out = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(out.stdout)["calls"][0]["arguments"] == {"harbor": "\ud800"}


def test_a_dialect_with_labels_that_are_not_read_is_refused(tools_file):
    packaged = (Path(__file__).parent.parent / "prompts" / "brief.md").read_text()
    own = tools_file(packaged.replace("input: Action Input", "input: Zutaten"), "own.md")
    sentence = one_sentence(react_text("prompt", "--tools", tools_file(TIDES), "--dialect", own))
    assert "'Zutaten'" in sentence
    assert "Action Input" in sentence


def test_a_flag_of_endpoints_without_an_endpoint_is_refused():
    assert "--base-url" in one_sentence(react_text("run", "Hi?", "--model", "smollm2", "--api", "ollama"))


def test_a_flag_of_models_in_process_with_an_endpoint_is_refused():
    endpoint = ["--base-url", "http://127.0.0.1:9/v1"]
    assert "--n-ctx" in one_sentence(react_text("run", "Hi?", "--model", "m", *endpoint, "--n-ctx", "512"))


def test_an_endpoint_that_is_not_there_says_how_to_start_one():
    outcome = react_text("run", "Hi?", "--model", "m", "--base-url", "http://127.0.0.1:9/v1")
    assert outcome.exit_code == 1
    assert "refused" in outcome.stdout
    assert outcome.stdout.splitlines()[-1].endswith("backend_error")


def test_an_ollama_that_is_not_there_says_how_to_start_it_on_any_port():
    outcome = react_text("run", "Hi?", "--model", "m", "--base-url", "http://127.0.0.1:9", "--api", "ollama")
    assert "start it with: ollama serve" in outcome.stdout


def test_a_pattern_that_fits_no_tool_is_answered_with_the_tools(tools_file):
    options = ["--model", "smollm2", "--tools", tools_file(TIDES), "--allow", "zzz*"]
    assert "--tools and --mcp" in one_sentence(react_text("run", "Hi?", *options))


@pytest.mark.model
def test_a_run_with_the_real_model_calls_the_tool_and_answers_from_its_result():
    outcome = react_text("run", "How many lamps are in stock?", "--model", "smollm2", "--tools", DEMO)
    assert outcome.exit_code == 0, outcome.output
    assert '> stock_level {"item": "lamp"}' in outcome.stdout
    answer = outcome.stdout.rpartition("= 14")[2]
    assert "14" in answer
    assert "tokens/s" in outcome.stdout.splitlines()[-1]
    assert outcome.stdout.splitlines()[-1].endswith("answer")


@pytest.mark.model
def test_json_prints_events_and_nothing_else_on_stdout():
    outcome = react_text("run", "How many desks are in stock?", "--model", "smollm2", "--tools", DEMO, "--json")
    events = [json.loads(line) for line in outcome.stdout.splitlines()]
    assert [event["event"] for event in events if event["event"] == "finished"] == ["finished"]
    assert events[-1]["result"]["stop_reason"] == "answer"
    assert any(event["event"] == "observed" and event["observation"]["content"] == "3" for event in events)
    assert outcome.exit_code == 0


@pytest.mark.model
def test_confirm_asks_before_the_call_and_q_ends_the_run():
    arguments = ["run", "How many lamps are in stock?", "--model", "smollm2", "--tools", DEMO, "--confirm"]
    outcome = CliRunner().invoke(main, arguments, input="q\n")
    assert outcome.exit_code == 1
    assert 'Run stock_level {"item": "lamp"}? [y/n/q]' in outcome.stderr
    assert "= 14" not in outcome.stdout
    assert outcome.stdout.splitlines()[-1].endswith("denied")


@pytest.mark.model
def test_the_prompt_with_a_model_is_what_its_template_makes(tools_file):
    outcome = react_text("prompt", "How high?", "--tools", tools_file(TIDES), "--model", "smollm2")
    assert outcome.stdout.startswith("<|im_start|>system\n")
    assert outcome.stdout.rstrip().endswith("<|im_start|>assistant\nThought:")
    assert "tokens of 4096" in outcome.stderr


@pytest.mark.model
@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_ctrl_c_ends_the_run_and_prints_what_there_is():
    command = [sys.executable, "-m", "react_text.cli", "run", "Tell a long story.", "--model", "smollm2", "--json"]
    command += ["--tools", DEMO, "--max-tokens", "2000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        seen = []
        for line in process.stdout:
            seen.append(json.loads(line))
            if seen[-1]["event"] == "text_delta":
                process.send_signal(signal.SIGINT)
                break
        seen += [json.loads(line) for line in process.stdout]
        assert process.wait(30) == 1
    assert seen[-1]["result"]["stop_reason"] == "cancelled"
    assert seen[-1]["result"]["usage"]["generated"] < 20


@pytest.mark.parametrize("streamed", ["It is 3817.", "Stopped after 3 steps."])
def test_what_a_run_ends_with_is_shown_once_whatever_was_streamed(streamed):
    console = Console(file=io.StringIO())
    trace = Trace(console, console)
    result = Result("Stopped after 3 steps.", "max_steps")
    for event in (StepStarted(4), TextDelta(4, "final", streamed), Finished(result)):
        trace.show(event)
    assert console.file.getvalue().count(result.answer) == 1

"""The command as a person meets it, against an endpoint of our own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from standin import StandIn, Wire, chat, events

from react_text.cli import main
from react_text.compare.records import read_meta, read_records

TOOLS = '''
def stock_level(item: str) -> int:
    """How many are in stock."""
    return {"lamp": 14, "desk": 3, "vase": 8}[item]
'''
ITEMS = {"lamp": 14, "desk": 3, "vase": 8}


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "own"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture
def endpoint() -> Iterator[StandIn]:
    with StandIn(chat(_answer)).running() as server:
        yield server


def _answer(wire: Wire) -> None:
    """A model that calls for lamps and desks, guesses at vases, and answers what it observed."""
    messages = wire.received.body["messages"]
    last = str(messages[-1]["content"])
    item = next((item for item in ITEMS if item in last), "")
    if "Observation" in last:
        text = f"Thought: I know.\nFinal Answer: There are {last.split()[-1]}."
    elif item == "vase":
        text = "Thought: I know.\nFinal Answer: There are 9."
    else:
        text = f'Thought: I look.\nAction: stock_level\nAction Input: {{"item": "{item}"}}'
    start = str(messages[-1]["content"]) if messages[-1]["role"] == "assistant" else ""
    wire.stream(events(text.removeprefix(start), prompt_tokens=50, completion_tokens=10))


@pytest.fixture
def tasks(tmp_path: Path) -> str:
    (tmp_path / "tools.py").write_text(TOOLS, encoding="utf-8")
    entries = [
        {
            "id": item,
            "question": f"How many {item}s are left?",
            "tools": "tools.py",
            "calls": [{"name": "stock_level", "arguments": {"item": item}}],
            "answer": [count],
        }
        for item, count in ITEMS.items()
    ]
    path = tmp_path / "mine.jsonl"
    path.write_text("\n".join(map(json.dumps, entries)), encoding="utf-8")
    return str(path)


def _compare(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["compare", *arguments])


def test_a_run_leaves_its_records_what_made_them_and_a_report(endpoint: StandIn, tasks: str, tmp_path: Path) -> None:
    out = tmp_path / "run"
    url = ["--model", "m", "--base-url", f"{endpoint.url}/v1"]
    done = _compare(*url, "--tasks", tasks, "--arms", "text,auto", "--seed", "7", "--out", str(out))
    assert done.exit_code == 0, done.output
    records = {(record["arm"], record["task"]): record for record in read_records(out)}
    assert len(records) == 6
    assert records["text", "lamp"]["outcome"]["solved"]
    assert records["text", "lamp"]["outcome"]["strict"]
    vase = records["text", "vase"]["outcome"]
    assert (vase["right_tool"], vase["solved"], vase["strict"]) == (False, False, True)
    meta = read_meta(out)
    assert (meta["seed"], meta["arms"], meta["tasks"]["count"]) == (7, ["text", "auto"], 3)
    assert meta["models"] == [
        {"name": "m", "digest": None, "parameters": None, "family": meta["models"][0]["family"], "path_name": "m"}
    ]
    assert meta["machine"]["cores"] > 0
    assert "python" in meta["versions"]
    assert (out / "report.html").exists()
    assert (out / "report.md").exists()
    assert "6 of 6" in done.stderr
    asked = len(endpoint.posted)
    again = _compare(*url, "--tasks", tasks, "--arms", "text,auto", "--seed", "7", "--out", str(out))
    assert again.exit_code == 0
    assert len(endpoint.posted) == asked


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--arms", "text,fancy"], "no arm 'fancy'; the arms are text, text+grammar, structured, auto"),
        (["--dialect", "none"], "No dialect 'none'"),
        (["--set", "step_limit=3"], "--set step_limit: there are "),
        (["--set", "tools_limit"], "'tools_limit' is not NAME=VALUE"),
        (["--tasks", "bultin"], "give builtin, bfcl:CATEGORY or a FILE.jsonl"),
        (["--model", "a/m.gguf"], "no model file"),
    ],
)
def test_a_wrong_use_is_one_sentence_and_makes_no_folder(tmp_path: Path, arguments: list[str], said: str) -> None:
    out = tmp_path / "run"
    given = arguments if "--model" in arguments else ["--model", "smollm2", *arguments]
    done = _compare(*given, "--out", str(out))
    assert done.exit_code == 2
    assert said in done.stderr.replace("\n", " ")
    assert "Traceback" not in done.output
    assert not out.exists()


def test_an_endpoint_that_is_not_there_is_one_sentence(tasks: str, tmp_path: Path) -> None:
    url = "http://127.0.0.1:9/v1"
    done = _compare("--model", "m", "--base-url", url, "--tasks", tasks, "--out", str(tmp_path / "run"))
    assert done.exit_code == 2
    assert "Traceback" not in done.output
    assert "127.0.0.1:9" in done.stderr


@pytest.mark.model
def test_smollm2_is_compared_in_process(tmp_path: Path) -> None:
    given: list[Any] = ["--model", "smollm2", "--split", "dev", "--limit", "1", "--arms", "text+grammar"]
    done = _compare(*given, "--max-steps", "1", "--max-tokens", "40", "--n-ctx", "2048", "--out", str(tmp_path / "run"))
    assert done.exit_code == 0, done.output
    (record,) = read_records(tmp_path / "run")
    (model,) = read_meta(tmp_path / "run")["models"]
    assert record["steps"]
    assert len(model["digest"]) == 64
    assert model["parameters"] > 130_000_000
    assert model["family"] == "llama"

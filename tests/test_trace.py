"""What a trace holds, what it never holds, and that it survives a crash."""

import asyncio
import json
import os
import stat
import sys
import threading

import pytest

from react_text import Agent, Scripted, tool
from react_text.approval import Approval
from react_text.errors import EndpointError, RecordError
from react_text.events import TextDelta, event_dict
from react_text.trace import UNKNOWN_TOOL, TraceFile


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def look_up(word: str) -> str:
    """Look a word up."""
    if word == "toolfault":
        raise ValueError("toolraised: nothing there")
    return f"toolresult for {word}"


def call(name: str, arguments: str) -> str:
    return f"Thought: modelthought\nAction: {name}\nAction Input: {arguments}"


ANSWER = "Thought: modelthought\nFinal Answer: modelanswer"
SCRIPT = [
    call("look_up", '{"word": "modelvalue"}'),
    call("modelmadetool", "{}"),
    call("look_up", '{"modelkey": "modelvalue"'),
    call("add", '{"a": "modelvalue", "b": 2}'),
    call("look_up", '{"word": "toolfault"}'),
    "Thought: modelthought",
    ANSWER,
]
WRITTEN = ["userquestion", "userwish", "modelthought", "modelvalue", "modelkey", "modelmadetool", "modelanswer"]
WRITTEN += ["toolresult", "toolraised", "toolfault"]


def lines(path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def traced(tmp_path, agent, question="userquestion", **options):
    path = tmp_path / "run.jsonl"
    with TraceFile(path, **options) as trace:
        result = trace.run(agent, question)
    return path, result


def wordy() -> Agent:
    return Agent(Scripted(SCRIPT), [add, look_up], instructions="userwish", max_steps=12)


def test_with_contents_all_that_was_said_is_in_the_file(tmp_path):
    path, result = traced(tmp_path, wordy())
    assert result.stop_reason == "answer"
    text = path.read_text()
    assert [word for word in WRITTEN if word not in text] == ["userwish"]


def test_without_contents_nothing_that_anybody_wrote_is_in_the_file(tmp_path):
    path, result = traced(tmp_path, wordy(), contents=False)
    assert result.stop_reason == "answer"
    text = path.read_text()
    assert [word for word in WRITTEN if word in text] == []
    turns = [line for line in lines(path) if line["event"] == "turn_read"]
    assert [turn["turn"]["kind"] for turn in turns] == ["action", "action", "none", "none", "action", "none", "final"]
    assert turns[0]["turn"]["tools"] == ["look_up"]
    assert turns[1]["turn"]["tools"] == [UNKNOWN_TOOL]
    assert turns[3]["turn"]["fault"] == "invalid_arguments"


def test_without_contents_the_reason_of_a_change_of_mode_is_left_out(tmp_path):
    refused = EndpointError("modelname does not support tools", reason="refused", status=400)
    agent = Agent(Scripted([refused, ANSWER], tools="yes"), [add])
    path, result = traced(tmp_path, agent, contents=False)
    assert result.mode_changes
    changed = [line for line in lines(path) if line["event"] == "mode_changed"]
    assert [(line["before"], line["after"]) for line in changed] == [("structured", "text")]
    assert "modelname" not in path.read_text()


def test_without_contents_a_broken_backend_says_nothing_of_its_error(tmp_path):
    agent = Agent(Scripted([EndpointError("servertext", reason="overloaded")]), [add])
    path, _ = traced(tmp_path, agent, contents=False)
    assert lines(path)[-1]["result"]["stop_reason"] == "backend_error"
    assert "servertext" not in path.read_text()


def test_each_line_has_a_time_and_each_turn_its_mode_repairs_and_tokens(tmp_path):
    path, _ = traced(tmp_path, Agent(Scripted.plan([("add", {"a": 2, "b": 3})], sloppy=True), [add]))
    found = lines(path)
    assert [line["time"] for line in found] == sorted(line["time"] for line in found)
    turn = next(line for line in found if line["event"] == "turn_read")
    assert turn["mode"] == "text"
    assert turn["text"].startswith("Thought: I need add")
    assert turn["turn"]["repairs"] == ["missing_closer"]
    assert turn["usage"]["evaluated"] > 0
    assert found[0]["time"] <= turn["first_text"] <= turn["time"]


def test_every_event_but_the_pieces_of_text_has_its_line(tmp_path):
    agent = Agent(Scripted.plan([("add", {"a": 2, "b": 3})], sloppy=True), [add])
    path = tmp_path / "run.jsonl"
    with TraceFile(path) as trace:
        seen = list(trace.stream(agent, "What is 2 + 3?"))
    kinds = [event_dict(event)["event"] for event in seen if not isinstance(event, TextDelta)]
    assert [line["event"] for line in lines(path)] == ["run_started", *kinds]


SECRETS = {
    "key": "sk-abcdefghijklmnop1234",
    "header": "Bearer abcdefghijklmnop",
    "assigned": "password=hunter2hunter2",
    "url": "https://me:hunter3hunter3@example.org/x",
}


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
def test_credentials_are_in_no_line_whoever_wrote_them(tmp_path, secret):
    @tool
    def fetch(place: str) -> str:
        """Fetch a page."""
        return f"seen with {secret}"

    script = [call("fetch", json.dumps({"place": secret})), f"Thought: it is {secret}\nFinal Answer: use {secret}"]
    path, result = traced(tmp_path, Agent(Scripted(script), [fetch]), f"Is {secret} right?")
    assert secret in result.steps[0].observations[0].content
    hidden = secret.rpartition(" ")[2].rpartition("=")[2].removeprefix("https://").partition("@")[0]
    assert hidden not in path.read_text()


def test_an_argument_called_password_is_not_in_the_file(tmp_path):
    @tool
    def log_in(user: str, password: str) -> str:
        """Log in."""
        return "done"

    script = [call("log_in", '{"user": "ada", "password": "lovelace"}'), ANSWER]
    audited = []
    agent = Agent(Scripted(script), [log_in], confirm=Approval(default="always", audit=audited.append))
    path, _ = traced(tmp_path, agent)
    assert "ada" in path.read_text()
    assert "lovelace" not in path.read_text() + json.dumps(audited)


def test_a_trace_is_appended_to_and_runs_are_told_apart(tmp_path):
    for _ in range(2):
        path, _ = traced(tmp_path, Agent(Scripted([ANSWER]), [add]))
    runs = [line["run"] for line in lines(path) if line["event"] == "run_started"]
    assert len(set(runs)) == 2


def test_runs_in_threads_do_not_mix_their_lines(tmp_path):
    path = tmp_path / "run.jsonl"
    with TraceFile(path) as trace:

        def work() -> None:
            trace.run(Agent(Scripted.plan([("add", {"a": 2, "b": 3})]), [add]), "What is 2 + 3?")

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    by_run: dict[str, list[str]] = {}
    for line in lines(path):
        by_run.setdefault(line["run"], []).append(line["event"])
    assert len(by_run) == 8
    assert len({tuple(events) for events in by_run.values()}) == 1


def test_the_async_twin_writes_the_same_lines(tmp_path):
    def agent() -> Agent:
        return Agent(Scripted.plan([("add", {"a": 2, "b": 3})]), [add])

    async def work(trace) -> None:
        async for _ in trace.astream(agent(), "What is 2 + 3?"):
            pass

    with TraceFile(tmp_path / "async.jsonl") as trace:
        asyncio.run(work(trace))
    path, _ = traced(tmp_path, agent(), "What is 2 + 3?")
    timeless = [
        [{key: value for key, value in line.items() if key not in ("time", "run", "first_text")} for line in lines(one)]
        for one in (path, tmp_path / "async.jsonl")
    ]
    assert timeless[0] == timeless[1]


def test_what_was_written_is_there_while_the_run_goes_on(tmp_path):
    path = tmp_path / "run.jsonl"
    with TraceFile(path) as trace:
        events = trace.stream(Agent(Scripted.plan([("add", {"a": 2, "b": 3})]), [add]), "What is 2 + 3?")
        for event in events:
            if not isinstance(event, TextDelta):
                assert lines(path)[-1]["event"] == event_dict(event)["event"]


def test_a_line_that_a_crash_cut_off_does_not_swallow_the_next_run(tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_text('{"time": "2026-01-01", "event": "step_st')
    traced(tmp_path, Agent(Scripted([ANSWER]), [add]))
    assert json.loads(path.read_text().splitlines()[1])["event"] == "run_started"


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
def test_a_new_trace_is_readable_by_its_owner_alone(tmp_path):
    path, _ = traced(tmp_path, Agent(Scripted([ANSWER]), [add]))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path):
    with pytest.raises(RecordError, match="No such file or directory"):
        TraceFile(tmp_path / "nowhere" / "run.jsonl")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device that is always full")
def test_a_full_disk_ends_the_trace_and_not_the_run(caplog):
    with TraceFile("/dev/full") as trace:
        result = trace.run(Agent(Scripted([ANSWER]), [add]), "What?")
    assert result.answer == "modelanswer"
    assert "No space left" in caplog.text


def test_text_that_no_encoding_holds_is_written_and_read_back(tmp_path):
    path, _ = traced(tmp_path, Agent(Scripted([call("look_up", '{"word": "\\ud800"}'), ANSWER]), [look_up]))
    observed = next(line for line in lines(path) if line["event"] == "observed")
    assert observed["call"]["arguments"] == {"word": "\ud800"}


def test_who_allowed_a_call_stands_in_the_trace_without_its_arguments_when_contents_are_off(tmp_path):
    for contents in (True, False):
        path = tmp_path / f"{contents}.jsonl"
        with TraceFile(path, contents=contents) as trace:
            confirm = Approval(default="ask", ask=lambda call: "yes", audit=trace.audit)
            script = [call("look_up", '{"word": "modelvalue"}'), ANSWER]
            trace.run(Agent(Scripted(script), [look_up], confirm=confirm), "What?")
        (audit,) = [line for line in lines(path) if line["event"] == "approval"]
        assert (audit["tool"], audit["allowed"], audit["by"]) == ("look_up", True, "user")
        assert ("arguments" in audit) is contents

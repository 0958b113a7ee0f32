"""A recorded run read again: the same today, and told apart where it is not."""

import json
from dataclasses import replace

import pytest

from react_text import Agent, Scripted, tool
from react_text.errors import RecordError
from react_text.events import Finished, event_dict
from react_text.replay import read_trace, reread
from react_text.trace import TraceFile


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def call(arguments: str) -> str:
    return f"Thought: I need it.\nAction: add\nAction Input: {arguments}"


ANSWER = "Thought: I know.\nFinal Answer: It is 5."
SCRIPTS = {
    "plain": ["Thought: I need it.\nAction: Add\nAction Input: {'a': '2', 'b': 3,}", ANSWER],
    "corrected": ["I should add them, so", call('{"a": 2, "b"'), call('{"a": "two", "b": 3}'), ANSWER],
    "answer asked for": [*[call('{"a": 2, "b": 3}')] * 3, "Thought: I know.\nFinal Answer: It is 5."],
    "a step where an answer was asked for": [*[call('{"a": 2, "b": 3}')] * 3, call('{"a": 9, "b": 9}')],
    "runaway": ["Thought: " + "again and " * 300, ANSWER],
}


def recorded(tmp_path, agent, question="What is 2 + 3?", **options):
    path = tmp_path / "run.jsonl"
    with TraceFile(path, **options) as trace:
        trace.run(agent, question)
    return path


def structured() -> Agent:
    function = {"name": "add", "arguments": '{"a": 2, "b": 3}'}
    message = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "x1", "type": "function", "function": function}],
    }
    return Agent(Scripted([message, {"role": "assistant", "content": "It is 5."}], tools="yes"), [add])


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_a_run_reads_the_same_as_when_it_was_recorded(tmp_path, script):
    (run,) = read_trace(recorded(tmp_path, Agent(Scripted(script), [add])))
    readings = list(reread(run))
    assert readings
    assert [reading.differences for reading in readings] == [()] * len(readings)


def test_an_answer_in_a_shape_reads_the_same(tmp_path):
    shape = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}
    start = "Thought: The observation answers the question.\nFinal Answer:"
    agent = Agent(Scripted([call('{"a": 2, "b": 3}'), ANSWER, f'{start} {{"sum": 5}}']), [add])
    path = tmp_path / "run.jsonl"
    with TraceFile(path) as trace:
        result = trace.run(agent, "What is 2 + 3?", output_type=shape)
    assert result.output == {"sum": 5}
    (run,) = read_trace(path)
    assert [reading.differences for reading in reread(run)] == [(), (), ()]


def test_a_structured_run_is_read_from_its_messages(tmp_path):
    (run,) = read_trace(recorded(tmp_path, structured()))
    readings = list(reread(run))
    assert [reading.now.kind for reading in readings] == ["action", "final"]
    assert all(reading.differences == () for reading in readings)


def test_a_cut_off_reply_stays_cut_off(tmp_path):
    (run,) = read_trace(recorded(tmp_path, Agent(Scripted([call('{"a": 2, "b": 3}')]), [add], max_tokens=10)))
    assert run.events[1].finish_reason == "length"
    assert next(reread(run)).differences == ()


def test_what_would_be_read_differently_is_named(tmp_path):
    path = recorded(tmp_path, Agent(Scripted(SCRIPTS["plain"]), [add]))
    path.write_text(path.read_text().replace('"arguments": {"a": 2, "b": 3}', '"arguments": {"a": 2, "b": 4}', 1))
    (run,) = read_trace(path)
    first, second = reread(run)
    assert len(first.differences) == 1
    assert first.differences[0].startswith("calls: ")
    assert '"b": 4' in first.differences[0].partition("before")[0]
    assert '"b": 3' in first.differences[0].partition("before")[2]
    assert second.differences == ()


def test_other_tools_can_stand_in(tmp_path):
    path = recorded(tmp_path, Agent(Scripted(SCRIPTS["plain"]), [add]))

    @tool
    def add_up(a: str, b: str) -> str:
        """Add two texts."""
        return a + b

    (run,) = read_trace(path)
    assert next(reread(run, [add_up])).differences


def test_the_event_lines_of_a_run_are_read_too(tmp_path):
    path = tmp_path / "events.jsonl"
    agent = Agent(Scripted(SCRIPTS["plain"]), [add])
    path.write_text("".join(json.dumps(event_dict(event)) + "\n" for event in agent.stream("What is 2 + 3?")))
    (run,) = read_trace(path)
    assert [reading.differences for reading in reread(run, [add])] == [(), ()]


def test_the_events_come_back_as_they_were(tmp_path):
    path = tmp_path / "run.jsonl"
    with TraceFile(path) as trace:
        seen = list(trace.stream(Agent(Scripted(SCRIPTS["plain"]), [add]), "What is 2 + 3?"))
    (run,) = read_trace(path)
    kept = [event for event in seen if type(event).__name__ != "TextDelta"]
    assert list(run.events[:-1]) == kept[:-1]
    before, now = kept[-1].result, run.events[-1].result
    assert (now.answer, now.stop_reason, now.usage) == (before.answer, before.stop_reason, before.usage)
    assert [replace(step, observations=()) for step in before.steps] == list(now.steps)


def test_runs_that_were_recorded_at_the_same_time_come_back_apart(tmp_path):
    path = tmp_path / "run.jsonl"
    with TraceFile(path) as trace:
        one = trace.stream(Agent(Scripted([ANSWER]), [add]), "first?")
        two = trace.stream(Agent(Scripted([ANSWER]), [add]), "second?")
        for _ in zip(one, two, strict=True):
            pass
    runs = read_trace(path)
    assert [run.header["question"] for run in runs] == ["first?", "second?"]
    assert all(isinstance(run.events[-1], Finished) for run in runs)


def test_a_trace_without_contents_says_that_it_cannot_be_read_again(tmp_path):
    path = recorded(tmp_path, Agent(Scripted([ANSWER]), [add]), contents=False)
    with pytest.raises(RecordError, match="without contents"):
        read_trace(path)


def test_a_trace_that_a_crash_cut_off_is_read_up_to_there(tmp_path):
    path = recorded(tmp_path, Agent(Scripted(SCRIPTS["plain"]), [add]))
    path.write_bytes(path.read_bytes()[:-40])
    (run,) = read_trace(path)
    assert not isinstance(run.events[-1], Finished)
    assert len(list(reread(run))) == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no run"),
        ("no json at all\n", "line 1"),
        ('{"event": "step_started", "step": 1}\n[1, 2]\n', "line 2"),
        ('{"event": "turn_read", "step": 1}\n', "line 1: the turn_read event has no usable text"),
        ('{"event": "something_else"}\n', "holds no run"),
    ],
)
def test_a_file_that_is_no_trace_is_explained(tmp_path, text, said):
    path = tmp_path / "run.jsonl"
    path.write_text(text)
    with pytest.raises(RecordError, match=said):
        read_trace(path)

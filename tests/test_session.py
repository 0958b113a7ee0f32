"""Conversations that outlive their program: what a model is shown again, and what is left after a crash."""

import json
import subprocess
import sys

import pytest

from react_text import Agent, Scripted, tool
from react_text.errors import RecordError
from react_text.events import Finished, Observed, StepStarted, TextDelta
from react_text.session import Session, read_session


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def call(a: int, b: int) -> str:
    return f'Thought: I need it.\nAction: add\nAction Input: {{"a": {a}, "b": {b}}}'


def final(answer: str) -> str:
    return f"Thought: I know.\nFinal Answer: {answer}"


def ask(session: Session, question: str, *replies: str, **options) -> tuple[Finished, Scripted]:
    model = Scripted(replies)
    *_, last = session.stream(Agent(model, [add], **options), question)
    return last, model


def said(model: Scripted) -> list[str]:
    """What the model was shown at first, from the first real question on."""
    contents = [str(message["content"]) for message in model.requests[0].messages]
    return contents[contents.index("What is 2 + 3?") :]


def test_the_next_question_comes_with_what_was_said_before(tmp_path):
    with Session(tmp_path / "talk.jsonl") as session:
        ask(session, "What is 2 + 3?", call(2, 3), final("5"))
        _, model = ask(session, "And doubled?", final("10"))
    assert said(model) == [
        "What is 2 + 3?",
        'Thought: I need it.\nAction: add\nAction Input: {"a": 2, "b": 3}',
        "Observation: 5",
        "Thought: The observation answers the question.\nFinal Answer: 5",
        "And doubled?",
    ]


def test_a_conversation_goes_on_in_another_program(tmp_path):
    path = tmp_path / "talk.jsonl"
    with Session(path) as session:
        ask(session, "What is 2 + 3?", call(2, 3), final("5"))
        before = session.history()
    with Session(path) as session:
        assert session.history() == before
        _, model = ask(session, "And doubled?", final("10"))
    assert len(said(model)) == 5
    assert [one.question for one in read_session(path)] == ["What is 2 + 3?", "And doubled?"]


def test_a_conversation_in_memory_leaves_no_file(tmp_path):
    session = Session()
    ask(session, "What is 2 + 3?", call(2, 3), final("5"))
    assert len(session.history()) == 4
    assert list(tmp_path.iterdir()) == []


def test_replies_that_could_not_be_used_are_not_part_of_the_conversation():
    session = Session()
    ask(session, "What is 2 + 3?", "Thought: hm", call(2, 3), call(2, 3), final("5"))
    assert [message["role"] for message in session.history()] == ["user", *["assistant", "tool"] * 2, "assistant"]


def test_structured_messages_are_kept_as_they_were_sent():
    function = {"name": "add", "arguments": '{"a": 2, "b": 3}'}
    sent = {"role": "assistant", "content": "", "reasoning_content": "easy"}
    sent["tool_calls"] = [{"id": "x1", "type": "function", "function": function}]
    session = Session()
    agent = Agent(Scripted([sent, {"role": "assistant", "content": "5"}], tools="yes"), [add])
    list(session.stream(agent, "What is 2 + 3?"))
    assert session.history()[1] == sent


@pytest.mark.parametrize(("replies", "kept"), [((), 0), ((call(2, 3),), 4)])
def test_a_turn_that_failed_is_kept_only_if_something_ran(replies, kept):
    session = Session()
    last, _ = ask(session, "What is 2 + 3?", *replies)
    assert last.result.stop_reason == "backend_error"
    assert len(session.history()) == kept


def test_the_oldest_questions_are_left_out_when_the_context_is_full():
    session = Session()
    model = Scripted([])
    model.context_length = 400
    for number in range(8):
        ask(session, f"Question {number}? {'word ' * 30}", final(f"{number}"))
    agent = Agent(model, [add])
    shown = session.shown(agent, "And now?")
    assert 0 < len(shown) < 8
    assert shown == session.exchanges[-len(shown) :]
    assert session.history(agent, "And now?")[0]["content"].startswith(f"Question {8 - len(shown)}?")


def test_forgetting_holds_in_the_file_too(tmp_path):
    path = tmp_path / "talk.jsonl"
    with Session(path) as session:
        ask(session, "What is 2 + 3?", final("5"))
        session.forget()
        ask(session, "And now?", final("nothing"))
    assert [one.question for one in read_session(path)] == ["And now?"]


def test_after_every_step_the_file_holds_all_that_happened(tmp_path):
    path = tmp_path / "talk.jsonl"
    counts = []
    with Session(path) as session:
        agent = Agent(Scripted([call(2, 3), call(3, 4), final("12")]), [add])
        for event in session.stream(agent, "What is 2 + 3?"):
            if isinstance(event, StepStarted):
                counts.append(len(read_session(path)[-1].messages))
    assert counts == [0, 2, 4]


KILLED = """
import os, sys
from react_text import Agent, Scripted, tool
from react_text.session import Session

@tool
def add(a: int, b: int) -> int:
    "Add two numbers."
    if a == 3 and "{where}" == "tool":
        os._exit(9)
    return a + b

def call(a, b):
    return 'Thought: I need it.\\nAction: add\\nAction Input: {{"a": %d, "b": %d}}' % (a, b)

def killed(messages):
    os._exit(9)

replies = [call(2, 3), call(3, 4), "Thought: I know.\\nFinal Answer: 12"]
if "{where}" == "model":
    replies[2] = killed
with Session(sys.argv[1]) as session:
    for event in session.stream(Agent(Scripted(replies), [add]), "What is 2 + 3?"):
        pass
"""


def crashed(tmp_path, where: str):
    path = tmp_path / "talk.jsonl"
    code = KILLED.format(where=where)
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode == 9
    return path


def test_a_program_killed_while_the_model_wrote_loses_no_step(tmp_path):
    with Session(crashed(tmp_path, "model")) as session:
        (exchange,) = session.exchanges
        assert [message.get("content") for message in exchange.messages if message["role"] == "tool"] == ["5", "7"]
        assert exchange.stop_reason is None
        model = Scripted([final("12")])
        *_, last = session.record(None, Agent(model, [add]).stream(None, exchange.begun()))
        assert last.result.answer == "12"
        assert model.requests[0].messages[-1]["content"] == "Observation: 7"
    (exchange,) = read_session(tmp_path / "talk.jsonl")
    assert (exchange.answer, len(exchange.messages)) == ("12", 4)


def test_a_call_that_was_running_when_the_program_was_killed_is_not_taken_for_undone(tmp_path):
    with Session(crashed(tmp_path, "tool")) as session:
        (exchange,) = session.exchanges
        assert [message["content"] for message in exchange.messages if message["role"] == "tool"] == [
            "5",
            "Error: the program ended while this call was running. It may have taken effect.",
        ]
        _, model = ask(session, "What now?", final("Let me see."))
    assert "It may have taken effect" in said(model)[4]


def test_a_consumer_that_goes_away_leaves_the_turn_open(tmp_path):
    path = tmp_path / "talk.jsonl"
    with Session(path) as session:
        for event in session.stream(Agent(Scripted([call(2, 3), final("5")]), [add]), "What is 2 + 3?"):
            if isinstance(event, TextDelta) and event.step == 2:
                break
        assert session.exchanges[-1].stop_reason is None
    (exchange,) = read_session(path)
    assert len(exchange.messages) == 2
    assert not exchange.answered


def test_a_line_that_was_cut_off_is_left_out_and_what_follows_is_read(tmp_path):
    path = tmp_path / "talk.jsonl"
    with Session(path) as session:
        ask(session, "What is 2 + 3?", call(2, 3), final("5"))
    path.write_bytes(path.read_bytes()[:-30])
    with Session(path) as session:
        assert not session.exchanges[-1].answered
        ask(session, "And now?", final("6"))
    assert [one.answer for one in read_session(path)] == ["", "6"]


@pytest.mark.parametrize(
    "text", ["what is this?\n", '{"event": "run_started"}\n', '{"event": "step", "messages": []}\n']
)
def test_a_file_that_is_no_session_is_explained_and_left_alone(tmp_path, text):
    path = tmp_path / "talk.jsonl"
    path.write_text(text)
    with pytest.raises(RecordError, match="line 1"):
        Session(path)
    assert path.read_text() == text


def test_a_call_asked_for_under_a_refusal_is_part_of_the_conversation(tmp_path):
    session = Session(tmp_path / "talk.jsonl")
    agent = Agent(Scripted([call(2, 3), final("I may not.")]), [add], confirm=lambda call: "no")
    events = list(session.stream(agent, "What is 2 + 3?"))
    session.close()
    (observed,) = [event for event in events if isinstance(event, Observed)]
    (exchange,) = read_session(tmp_path / "talk.jsonl")
    (refused,) = [one for one in exchange.history() if one["role"] == "tool"]
    assert refused["content"] == observed.observation.content
    assert json.dumps(refused)


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX locks")
def test_a_session_that_is_in_use_is_not_written_by_two(tmp_path):
    path = tmp_path / "talk.jsonl"
    with Session(path), pytest.raises(RecordError, match="in use by another program"):
        Session(path)
    Session(path).close()

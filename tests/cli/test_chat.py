"""The conversation as a person types it: through prompt_toolkit's own input, through a pipe, and once in a terminal."""

import io
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput
from rich.console import Console

from react_text import Agent, Scripted, Toolbox, tool
from react_text.cli import main
from react_text.cli.chat import Chat, typed_lines
from react_text.errors import EndpointError, MissingExtra
from react_text.session import Session, read_session
from react_text.terminal import Trace
from react_text.trace import TraceFile

DEMO = str(Path(__file__).parents[2] / "react_text" / "demo.py")
ENTER, NEW_LINE, CTRL_C, CTRL_D, UP = "\r", "\x1b\r", "\x03", "\x04", "\x1b[A"


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def call(a: int, b: int) -> str:
    return f'Thought: I need it.\nAction: add\nAction Input: {{"a": {a}, "b": {b}}}'


def final(answer: str) -> str:
    return f"Thought: I know.\nFinal Answer: {answer}"


class Talk:
    """One conversation with a scripted model, and what it showed."""

    def __init__(self, *replies, session: Session | None = None, recorded=None, tools: str = "unknown") -> None:
        self.model = Scripted(replies, tools=tools)
        self.session = session or Session()
        self.out = io.StringIO()
        console = Console(file=self.out, width=200)
        self.chat = Chat(
            lambda mode: Agent(self.model, [add], mode=mode),
            self.session,
            console,
            Trace(console, Console(file=io.StringIO())).show,
            recorded=recorded,
        )

    def say(self, *lines: str) -> str:
        """What is shown while these lines are taken."""
        before = len(self.out.getvalue())
        self.chat.talk(lines)
        return self.out.getvalue()[before:]

    def type(self, keys: str) -> str:
        with (
            create_pipe_input() as keyboard,
            create_app_session(input=keyboard, output=DummyOutput()),
        ):
            keyboard.send_text(keys)
            self.chat.talk(typed_lines(self.session))
            return self.out.getvalue()

    def asked(self, request: int) -> str:
        return self.model.requests[request].messages[-1]["content"]


def test_a_question_is_answered_and_the_next_one_knows_of_it():
    talk = Talk(call(2, 3), final("It is 5."), final("It is 10."))
    shown = talk.type("What is 2 + 3?" + ENTER + "And doubled?" + ENTER + CTRL_D)
    assert '> add {"a": 2, "b": 3}' in shown
    assert "It is 5." in shown
    assert "It is 10." in shown
    said = [message["content"] for message in talk.model.requests[2].messages]
    assert (said[-3], said[-1]) == ("Observation: 5", "And doubled?")
    assert said[-2].endswith("Final Answer: It is 5.")


def test_a_question_may_have_several_lines():
    talk = Talk(final("Yes."))
    talk.type("Is this" + NEW_LINE + "one question?" + ENTER + CTRL_D)
    assert talk.asked(0) == "Is this\none question?"


def test_a_paste_of_several_lines_is_one_question():
    talk = Talk(final("Yes."))
    talk.type("\x1b[200~first line\nsecond line\x1b[201~" + ENTER + CTRL_D)
    assert talk.asked(0) == "first line\nsecond line"


def test_the_questions_of_the_session_are_the_history():
    session = Session()
    Talk(final("5"), session=session).say("What is 2 + 3?")
    talk = Talk(final("5 again"), session=session)
    talk.type(UP + ENTER + CTRL_D)
    assert talk.asked(0) == "What is 2 + 3?"


def test_ctrl_c_at_the_prompt_clears_the_line_and_nothing_else():
    talk = Talk(final("Yes."))
    talk.type("half a quest" + CTRL_C + "A whole one?" + ENTER + CTRL_D)
    assert talk.asked(0) == "A whole one?"
    assert len(talk.model.requests) == 1


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_ctrl_c_stops_the_turn_and_keeps_the_conversation():
    def interrupted(messages) -> str:
        os.kill(os.getpid(), signal.SIGINT)
        return final("a very long story")

    talk = Talk(call(2, 3), final("It is 5."), interrupted, final("Still here."))
    shown = talk.say("What is 2 + 3?", "A story?", "Are you there?")
    assert "cancelled" in shown
    assert "long story" not in shown
    assert "Still here." in shown
    assert [one.stop_reason for one in talk.session.exchanges] == ["answer", "cancelled", "answer"]
    assert "A story?" not in [message["content"] for message in talk.model.requests[-1].messages]


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_a_second_ctrl_c_while_a_tool_hangs_ends_the_turn_and_not_the_program():
    @tool
    def hang() -> str:
        """Hang."""
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        raise AssertionError("not interrupted")

    talk = Talk("Thought: I wait.\nAction: hang\nAction Input: {}", final("Here."))
    talk.chat.build = lambda mode: Agent(talk.model, Toolbox([hang], timeout=None), mode=mode)
    talk.chat.agent = talk.chat.build("text")
    assert "Here." in talk.say("Wait?", "Are you there?")


def test_a_stopped_question_can_be_gone_on_with(tmp_path):
    path = tmp_path / "talk.jsonl"
    with Session(path) as session:
        events = session.stream(Agent(Scripted([call(2, 3), final("It is 5.")]), [add]), "What is 2 + 3?")
        for event in events:
            if type(event).__name__ == "Observed":
                break
        events.close()
    with Session(path) as session:
        talk = Talk(final("It is 5."), session=session)
        shown = talk.say("/continue", "/continue")
    assert "interrupted before there was an answer" in shown
    assert "It is 5." in shown
    assert "nothing to go on with" in shown
    (exchange,) = read_session(path)
    assert exchange.answer == "It is 5."


def test_tools_shows_what_the_model_is_told():
    assert "add(a: integer, b: integer) - Add two numbers." in Talk().say("/tools")


def test_why_shows_how_the_last_turn_was_read():
    talk = Talk("Thought: hm\nAction: Add\nAction Input: {'a': 2, 'b': 3}", final("5"))
    shown = talk.say("/why", "What is 2 + 3?", "/why")
    assert shown.startswith("Nothing was read yet")
    why = shown.rpartition("step 1, read as text:")[2]
    assert "Action: Add" in why
    assert "~ single_quotes: " in why
    assert '> add {"a": 2, "b": 3}' in why
    assert "step 2, read as text:" in why


def test_why_shows_the_message_of_a_structured_turn():
    function = {"name": "add", "arguments": '{"a": 2, "b": 3}'}
    sent = {"role": "assistant", "content": ""} | {
        "tool_calls": [{"id": "x", "type": "function", "function": function}]
    }
    talk = Talk(sent, {"role": "assistant", "content": "5"}, tools="yes")
    why = talk.say("What is 2 + 3?", "/why").rpartition("step 1, read as structured:")[2]
    assert json.dumps(sent) in why
    assert '> add {"a": 2, "b": 3}' in why


def test_mode_shows_and_changes_the_mode():
    talk = Talk({"role": "assistant", "content": "5"}, final("6"), tools="yes")
    shown = talk.say("/mode", "/mode text", "/mode klingon", "What is 2 + 3?")
    assert shown.splitlines()[:2] == ["mode structured (chosen by what the model can do)", "mode text"]
    assert "auto, text, structured" in shown.splitlines()[2]
    assert talk.model.requests[0].tools == ()


def test_a_model_that_was_moved_to_text_is_asked_in_text_from_then_on():
    refused = EndpointError("this model does not support tools", reason="refused", status=400)
    talk = Talk(refused, final("5"), final("10"), tools="yes")
    talk.model.learn = lambda fact, value, evidence: setattr(talk.model, "tools", value)
    shown = talk.say("What is 2 + 3?", "/mode", "And doubled?")
    assert shown.count("mode structured -> text") == 1
    assert "mode text (chosen by what the model can do)" in shown
    assert [bool(request.tools) for request in talk.model.requests] == [True, False, False]


def test_new_forgets_the_conversation():
    talk = Talk(final("5"), final("What do you mean?"))
    talk.say("What is 2 + 3?", "/new", "And doubled?")
    assert "What is 2 + 3?" not in [message["content"] for message in talk.model.requests[1].messages]


def test_an_unknown_command_is_no_question_and_a_path_is_one():
    talk = Talk(final("A file."))
    assert "no command /wat" in talk.say("/wat", "/help")
    assert "/continue" in talk.out.getvalue()
    talk.say("/etc/hosts is what?")
    assert talk.asked(0) == "/etc/hosts is what?"
    talk.say("/quit", "Not asked?")
    assert len(talk.model.requests) == 1


def test_a_full_context_is_said():
    talk = Talk(*[final(f"{number}") for number in range(9)])
    talk.model.context_length = 400
    talk.chat.agent = talk.chat.build("text")
    shown = talk.say(*[f"Question {number}? {'word ' * 30}" for number in range(9)])
    assert "no longer sees the oldest" in shown
    assert "backend_error" not in shown


def test_a_conversation_is_traced_with_a_run_for_each_turn(tmp_path):
    with TraceFile(tmp_path / "run.jsonl") as recorded:
        Talk(call(2, 3), final("5"), final("10"), recorded=recorded).say("What is 2 + 3?", "And doubled?")
    lines = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text().splitlines()]
    assert [line["question"] for line in lines if line["event"] == "run_started"] == ["What is 2 + 3?", "And doubled?"]


def test_without_prompt_toolkit_a_terminal_is_told_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "prompt_toolkit", None)
    with pytest.raises(MissingExtra, match=r"pip install 'react-text\[chat\]'"):
        typed_lines(Session())


@pytest.mark.model
def test_lines_of_a_pipe_are_questions_and_the_session_goes_on(tmp_path):
    arguments = ["chat", "--model", "smollm2", "--tools", DEMO, "--session", str(tmp_path / "talk.jsonl")]
    outcome = CliRunner().invoke(main, arguments, input="How many lamps are in stock?\n/mode\n")
    assert outcome.exit_code == 0, outcome.output
    assert '> stock_level {"item": "lamp"}' in outcome.stdout
    assert "mode text" in outcome.stdout
    again = CliRunner().invoke(main, arguments, input="")
    assert "The last one: How many lamps are in stock?" in again.stdout


PROMPT = r">[ \x08]"
_STYLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """A program in a pseudo-terminal."""

    def __init__(self, *command: str) -> None:
        import pty

        self.master, slave = pty.openpty()
        environment = os.environ | {"TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1", "NO_COLOR": "1"}
        self.process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment,
            start_new_session=True,
            preexec_fn=_own_the_terminal,
        )
        os.close(slave)
        self.seen = ""

    def wait_for(self, pattern: str, seconds: float = 200) -> str:
        ends = time.monotonic() + seconds
        while not (found := re.search(pattern, self.seen)):
            assert time.monotonic() < ends, f"{pattern!r} did not come: {self.seen[-2000:]!r}"
            self.read(1)
        before, self.seen = self.seen[: found.end()], self.seen[found.end() :]
        return before

    def read(self, seconds: float) -> None:
        if select.select([self.master], [], [], seconds)[0]:
            try:
                self.seen = _STYLE.sub("", self.seen + os.read(self.master, 65536).decode("utf-8", "replace"))
            except OSError:
                raise AssertionError(f"the program ended: {self.seen[-2000:]!r}") from None

    def send(self, keys: str) -> None:
        os.write(self.master, keys.encode())


def _own_the_terminal() -> None:
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


SCRIPTED = """
import sys, time
from rich.console import Console
from react_text import Agent, Scripted, tool
from react_text.approval import Approval
from react_text.cli.approval import Terminal
from react_text.cli.chat import Chat, typed_lines
from react_text.session import Session
from react_text.terminal import Trace

class Slow(Scripted):
    def stream(self, request):
        for item in super().stream(request):
            if "endless" in str(request.messages[-1]["content"]):
                time.sleep(0.05)
            yield item

@tool
def add(a: int, b: int) -> int:
    "Add two numbers."
    return a + b

call = 'Thought: I need it.\\nAction: add\\nAction Input: {"a": 2, "b": 3}'
endless = "Thought: I know.\\nFinal Answer: " + " ".join(f"word{number}" for number in range(5000))
model = Slow([call, "Thought: I know.\\nFinal Answer: It is 5.", endless])
console = Console()
with Session(sys.argv[1]) as session:
    agent = Agent(model, [add], confirm=Approval(ask=Terminal().ask), max_tokens=9000)
    Chat(lambda mode: agent, session, console, Trace(console, Console(stderr=True)).show).talk(typed_lines(session))
"""


@pytest.fixture
def terminal():
    opened = []

    def open_terminal(*command: str) -> Terminal:
        opened.append(Terminal(*command))
        return opened[-1]

    yield open_terminal
    for one in opened:
        one.process.kill()
        one.process.wait()
        os.close(one.master)


@pytest.mark.skipif(os.name == "nt", reason="pseudo-terminals")
def test_a_conversation_in_a_terminal(terminal, tmp_path):
    talk = terminal(sys.executable, "-c", SCRIPTED, str(tmp_path / "talk.jsonl"))
    talk.wait_for(PROMPT)
    talk.send("What is 2 + 3?\r")
    talk.wait_for(r'Run add \{"a": 2, "b": 3\}\? ')
    talk.send("y\n")
    talk.wait_for("It is 5.")
    talk.wait_for(PROMPT)
    talk.send("An endless story?\r")
    talk.wait_for("word3 ")
    talk.send(CTRL_C)
    talk.wait_for(r"\| cancelled")
    talk.wait_for(PROMPT)
    talk.send("/why\r")
    talk.wait_for("step 1, read as text:")
    talk.wait_for(PROMPT)
    talk.send(CTRL_D)
    assert talk.process.wait(60) == 0
    assert [one.stop_reason for one in read_session(tmp_path / "talk.jsonl")] == ["answer", "cancelled"]


@pytest.mark.model
@pytest.mark.skipif(os.name == "nt", reason="pseudo-terminals")
def test_a_conversation_in_a_terminal_with_the_real_model(terminal, tmp_path):
    command = ["-m", "react_text.cli", "chat", "--model", "smollm2", "--tools", DEMO]
    talk = terminal(sys.executable, *command, "--session", str(tmp_path / "talk.jsonl"))
    talk.wait_for(PROMPT)
    talk.send("How many lamps are in stock?\r")
    talk.wait_for(r"tokens/s \| mode text \| answer")
    talk.wait_for(PROMPT)
    talk.send(CTRL_D)
    assert talk.process.wait(60) == 0
    (exchange,) = read_session(tmp_path / "talk.jsonl")
    assert exchange.messages[1]["content"] == "14"
    assert "14" in exchange.answer

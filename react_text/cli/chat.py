"""`react-text chat`: a conversation in the terminal."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from react_text.cli.agent_options import agent_options, cancel_on_interrupt, sampling_of
from react_text.cli.approval import approval_of, approval_options
from react_text.cli.options import load_model, load_toolbox, model_options, server_options, tools_option
from react_text.cli.recording import open_spans, open_trace, trace_options

if TYPE_CHECKING:
    from rich.console import Console

    from react_text.agent import Agent
    from react_text.events import Event
    from react_text.session import Session
    from react_text.switch import Wanted
    from react_text.trace import TraceFile

_COMMAND = re.compile(r"/([a-z]+)(?:\s+(.*))?")


@click.command()
@model_options(required=True)
@tools_option(required=False)
@server_options
@agent_options
@approval_options
@trace_options
@click.option(
    "--session",
    "session_path",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.jsonl",
    help="Keep the conversation in a file, and go on with the one that is there.",
)
def chat(model: str, tools_path: Path | None, session_path: Path | None, **options: Any) -> None:
    """Talk with a model that has your tools.

    Enter sends, Alt-Enter begins a new line, Ctrl-C stops a reply and keeps the conversation, Ctrl-D ends. /help lists
    the commands. Without a terminal each line of stdin is a question, or the answer to one that --approve asks.
    """
    from rich.console import Console

    from react_text.agent import Agent
    from react_text.session import Session
    from react_text.terminal import Trace

    stdout = sys.stdout
    console, trace = Console(file=stdout), Trace(Console(file=stdout), Console(stderr=True))
    sampling, mode = sampling_of(options), options.pop("mode")
    with Session(session_path) as session:
        recorded, watched = open_trace(options), open_spans(options)
        confirm = approval_of(options, recorded.audit if recorded else None)
        lines = typed_lines(session) if sys.stdin.isatty() else piped_lines()
        toolbox = load_toolbox(tools_path, options)
        backend = load_model(model, options, trace)

        def build(mode: Wanted) -> Agent:
            return watched(Agent(backend, toolbox, mode=mode, sampling=sampling, confirm=confirm, **options))

        with redirect_stdout(sys.stderr):  # a tool may print
            Chat(build, session, console, trace.show, mode=mode, recorded=recorded).talk(lines)
        toolbox.close()
        backend.close()


class Chat:
    """One conversation: `build` makes the agent for a mode, `show` shows each event."""

    def __init__(
        self,
        build: Callable[[Wanted], Agent],
        session: Session,
        console: Console,
        show: Callable[[Event], None],
        *,
        mode: Wanted = "auto",
        recorded: TraceFile | None = None,
    ) -> None:
        self.build = build
        self.session = session
        self.console = console
        self.show = show
        self.recorded = recorded
        self.agent = build(mode)
        self.last: list[Event] = []
        """The events of the last turn."""

    def talk(self, lines: Iterable[str]) -> None:
        """Take lines until there are none, or one says /quit."""
        self._welcome()
        for line in lines:
            command = _COMMAND.fullmatch(line.strip())
            if command and command[1] == "quit":
                return
            if command:
                self._command(command[1], command[2] or "")
            elif line.strip():
                self._ask(line.strip())

    def _command(self, name: str, argument: str) -> None:
        action = _COMMANDS.get(name)
        if action is None:
            self._say(f"There is no command /{name}; /help lists them.")
        else:
            action[1](self, argument)

    def _ask(self, question: str | None) -> None:
        """One turn; None goes on with the last question. Ctrl-C ends it and what was said so far stays."""
        from react_text.events import Finished

        if question is None:
            *before, open_one = self.session.exchanges
            history = [message for one in before for message in one.history()] + open_one.begun()
        else:
            left_out = len(self.session.exchanges) - len(self.session.shown(self.agent, question))
            if left_out:
                self._say(f"(The model no longer sees the oldest {left_out} of the questions: its context is full.)")
            history = self.session.history(self.agent, question)
        stream = self.recorded.stream if self.recorded else lambda agent, *given: agent.stream(*given)
        self.last = []
        try:
            with cancel_on_interrupt(self.agent.cancel):
                for event in self.session.record(question, stream(self.agent, question, history)):
                    self.last.append(event)
                    self.show(event)
        except KeyboardInterrupt:
            self._say("Stopped.")
        last = self.last[-1] if self.last else None
        if isinstance(last, Finished) and last.result.mode_changes and self.agent.setup.switch.wanted == "auto":
            self.agent = self.build("auto")  # begins where the last turn has shown that it must

    def _welcome(self) -> None:
        exchanges = self.session.exchanges
        if exchanges:
            self._say(f"The conversation so far has {len(exchanges)} questions. The last one: {exchanges[-1].question}")
            if exchanges[-1].stop_reason is None:
                self._say("It was interrupted before there was an answer; /continue goes on with it.")

    def help(self, argument: str) -> None:
        for name, (meaning, _) in _COMMANDS.items():
            self._say(f"/{name:9} {meaning}")
        self._say("Enter sends, Alt-Enter begins a new line, Ctrl-C stops a reply, Ctrl-D ends.")

    def tools(self, argument: str) -> None:
        from react_text.protocol.signature import tool_lines

        self._say(tool_lines(tuple(self.agent.toolbox)) if len(self.agent.toolbox) else "There are no tools.")

    def mode(self, argument: str) -> None:
        from react_text.switch import Wanted

        wanted: Wanted | None = next((one for one in get_args(Wanted) if one == argument), None)
        if wanted is not None:
            self.agent = self.build(wanted)
        elif argument:
            self._say(f"There is no mode {argument}; use one of {', '.join(get_args(Wanted))}.")
            return
        switch = self.agent.setup.switch
        self._say(f"mode {switch.mode}" + (" (chosen by what the model can do)" if switch.wanted == "auto" else ""))

    def why(self, argument: str) -> None:
        from react_text.events import TurnRead
        from react_text.explain import Explanation
        from react_text.parsing.reader import seen_sections
        from react_text.terminal import print_explanation

        turns = [event for event in self.last if isinstance(event, TurnRead)]
        if not turns:
            self._say("Nothing was read yet; ask something first.")
        for event in turns:
            self._say(f"step {event.step}, read as {event.mode}:")
            sent = event.message if event.mode == "structured" else None
            self._say(json.dumps(sent, ensure_ascii=False) if sent else event.text)
            sections = () if sent else seen_sections(event.text, tuple(self.agent.toolbox))
            print_explanation(self.console, Explanation("" if sent else event.text, event.turn, sections))

    def go_on(self, argument: str) -> None:
        if not self.session.exchanges or self.session.exchanges[-1].answered:
            self._say("There is nothing to go on with: the last question has its answer.")
            return
        self._ask(None)

    def new(self, argument: str) -> None:
        self.session.forget()
        self._say("The conversation begins anew.")

    def _say(self, text: str) -> None:
        from react_text.terminal import plain

        self.console.print(plain(text), style="dim", markup=False, highlight=False, soft_wrap=True)


_COMMANDS: dict[str, tuple[str, Callable[[Chat, str], None]]] = {
    "help": ("these lines", Chat.help),
    "tools": ("the tools, as the model is told of them", Chat.tools),
    "mode": ("the mode, or with auto, text or structured another one", Chat.mode),
    "why": ("how the last turn was read", Chat.why),
    "continue": ("go on with a question that was stopped", Chat.go_on),
    "new": ("forget the conversation", Chat.new),
    "quit": ("end", Chat.help),
}


def piped_lines() -> Iterator[str]:
    """The lines of stdin."""
    while line := sys.stdin.readline():
        yield line


def typed_lines(session: Session) -> Iterator[str]:
    """What a person types, with the questions of the session as history. Raises MissingExtra."""
    from react_text.errors import MissingExtra

    try:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.history import InMemoryHistory
        from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
    except ImportError as error:
        raise MissingExtra("chat", "A conversation in a terminal") from error

    keys = KeyBindings()

    @keys.add("enter")
    def send(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def new_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    history = InMemoryHistory([one.question for one in session.exchanges])
    prompt: PromptSession[str] = PromptSession(
        history=history, key_bindings=keys, multiline=True, prompt_continuation=". "
    )
    return _prompted(lambda: prompt.prompt("> "))


def _prompted(ask: Callable[[], str]) -> Iterator[str]:
    while True:
        try:
            yield ask()
        except KeyboardInterrupt:  # at the prompt it only clears the line
            continue
        except EOFError:
            return

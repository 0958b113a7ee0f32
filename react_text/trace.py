"""A run as a person watches it in a terminal: thoughts, calls, observations, repairs, the answer, the figures."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from react_text.catalog import REPAIRS
from react_text.events import (
    Corrected,
    Event,
    Finished,
    Observed,
    PromptProgress,
    Result,
    Steered,
    StepStarted,
    TextDelta,
    TurnRead,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

LONG_PROMPT = 256
"""Prompt tokens from which on the evaluation shows its progress."""
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SHOWN_OF_OBSERVATION = 600


class Trace:
    """Shows events on a console as they come. Text from models and tools is printed without control characters."""

    def __init__(self, console: Console, progress: Console) -> None:
        self.console = console
        self.progress = progress
        self._status: Status | None = None
        self._open: str | None = None
        self._streamed_answer = False

    def show(self, event: Event) -> None:
        if not isinstance(event, PromptProgress):
            self.quiet()
        match event:
            case StepStarted():
                self._streamed_answer = False
            case PromptProgress(_, done, total):
                if total >= LONG_PROMPT:
                    self.status(f"reading the prompt: {done} of {total} tokens")
            case TextDelta(_, section, text):
                self._stream(section, text)
            case TurnRead():
                self._turn(event)
            case Observed(_, _, observation):
                style = "red" if observation.is_error else "cyan"
                text = observation.content
                if len(text) > _SHOWN_OF_OBSERVATION:
                    text = f"{text[:_SHOWN_OF_OBSERVATION]} ... ({len(text)} characters)"
                self._line(f"  = {text}", style)
            case Corrected(_, fault, rung):
                self._line(f"  ! {fault.code}: {fault.message} (correction {rung})", "yellow")
            case Steered(_, _, detail):
                self._line(f"  ! {detail}", "yellow")
            case Finished(result):
                self._finished(result)

    def status(self, text: str) -> None:
        """Show that long work is under way; only on a terminal, and gone with the next line."""
        if self._status is None:
            self._status = self.progress.status(text)
            self._status.start()
        self._status.update(text)

    def quiet(self) -> None:
        """Take the progress away."""
        if self._status is not None:
            self._status.stop()
            self._status = None

    def _stream(self, section: str, text: str) -> None:
        if section == "call":
            return
        text = plain(text)
        if self._open != section:
            self._end_line()
            text = text.lstrip()
            if not text:
                return
            self._open = section
        style = "dim" if section == "thought" else "bold green"
        self._streamed_answer |= section == "final"
        self.console.print(text, style=style, end="", markup=False, highlight=False, soft_wrap=True)

    def _turn(self, event: TurnRead) -> None:
        turn = event.turn
        if turn.thought and self._open is None and not self._streamed_answer:
            self._line(turn.thought, "dim")
        for edit in turn.edits:
            change = f" ({plain(edit.before)} -> {plain(edit.after)})" if edit.before or edit.after else ""
            self._line(f"  ~ {edit.name}: {REPAIRS.get(edit.name, '')}{change}", "magenta")
        for call in turn.calls:
            self._line(f"  > {call.name} {json.dumps(dict(call.arguments), ensure_ascii=False)}", "bold")

    def _finished(self, result: Result) -> None:
        if result.stop_reason != "answer":
            self._line(result.answer, "bold yellow")
        elif not self._streamed_answer:
            self._line(result.answer, "bold green")
        self._line(figures(result), "dim")

    def _line(self, text: str, style: str) -> None:
        self._end_line()
        self.console.print(plain(text), style=style, markup=False, highlight=False, soft_wrap=True)

    def _end_line(self) -> None:
        if self._open is not None:
            self.console.print()
            self._open = None


def figures(result: Result) -> str:
    """One line: steps, prompt tokens evaluated and reused, tokens generated, tokens per second, mode, stop reason."""
    usage = result.usage
    steps = len(result.steps)
    return " | ".join(
        [
            f"{steps} step{'' if steps == 1 else 's'}",
            f"prompt tokens: {usage.evaluated} evaluated, {usage.reused} reused",
            f"{usage.generated} generated, {usage.tokens_per_second:.1f} tokens/s",
            f"mode {result.mode}",
            result.stop_reason,
        ]
    )


def plain(text: str) -> str:
    """Text without escape sequences and control characters; line breaks and tabs stay."""
    return _CONTROL.sub("", text)

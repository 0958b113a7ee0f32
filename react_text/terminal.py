"""What a person sees in a terminal: a run as it happens, and one output with how it was read.

Text from models and tools is printed without control characters and never taken for markup.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from react_text.catalog import REPAIRS
from react_text.events import (
    Corrected,
    Event,
    Finished,
    ModeChanged,
    Observed,
    PromptProgress,
    Result,
    Steered,
    StepStarted,
    TextDelta,
    TurnRead,
)
from react_text.messages import Call, Repair

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

    from react_text.explain import Explanation
    from react_text.probe_report import ProbeReport

LONG_PROMPT = 256
"""Prompt tokens from which on the evaluation shows its progress."""
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SHOWN_OF_OBSERVATION = 600
_SHOWN_OF_EDIT = 80


class Trace:
    """Shows events on a console as they come."""

    def __init__(self, console: Console, progress: Console) -> None:
        self.console = console
        self.progress = progress
        self._status: Status | None = None
        self._open: str | None = None
        self._streamed_answer = False
        self._streamed = ""

    def show(self, event: Event) -> None:
        if not isinstance(event, PromptProgress):
            self.quiet()
        match event:
            case StepStarted():
                self._streamed_answer = False
                self._streamed = ""
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
            case Steered(_, reason, detail):
                if reason == "second_look":
                    self._line(f"  ! asked again: {detail}", "yellow")
                elif reason != "move":
                    self._line(f"  ! {detail}", "yellow")
            case ModeChanged(_, before, after, reason):
                self._line(f"  ! mode {before} -> {after}: {reason}", "yellow")
            case Finished(result):
                self._finished(result)

    def status(self, text: str) -> None:
        """Show that long work is under way; only on a terminal, and gone with the next line."""
        if self._status is None:
            self._status = self.progress.status(text)
            self._status.start()
        self._status.update(text)

    def loading(self, fraction: float) -> None:
        """Show how much of the model is loaded."""
        self.status(f"loading the model: {fraction:.0%}")

    def quiet(self) -> None:
        """Take the progress away."""
        if self._status is not None:
            self._status.stop()
            self._status = None

    def _stream(self, section: str, text: str) -> None:
        if section == "call":
            return
        text = plain(text)
        self._streamed += text
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
        # in process, structured calls come in the model's own format: that is no news
        usual = event.mode == "structured" and event.message is None
        for edit in turn.edits:
            if not (usual and edit.name == "native_format"):
                self._line(f"  ~ {_edit_text(edit)}", "magenta")
        for call in turn.calls:
            self._line(f"  > {_call_text(call)}", "bold")

    def _finished(self, result: Result) -> None:
        answer = plain(result.answer).strip()
        shown = self._streamed_answer or self._streamed.strip() == answer
        if result.stop_reason == "max_steps":  # a last answer that was refused was streamed too
            shown = shown and answer in self._streamed
        if result.stop_reason in ("answer", "max_steps") and shown:
            self._end_line()
        else:
            self._line(result.answer, "bold green" if result.stop_reason == "answer" else "bold yellow")
        self._line(figures(result), "dim")

    def _line(self, text: str, style: str) -> None:
        self._end_line()
        self.console.print(plain(text), style=style, markup=False, highlight=False, soft_wrap=True)

    def _end_line(self) -> None:
        if self._open is not None:
            self.console.print()
            self._open = None


def print_explanation(console: Console, explanation: Explanation) -> None:
    """One output as it was read: its sections, each repair with what it changed, and the turn or the fault."""

    def line(text: str, style: str = "") -> None:
        console.print(plain(text), style=style, markup=False, highlight=False, soft_wrap=True)

    turn = explanation.turn
    line(f"{turn.kind}{', strictly in the published format' if turn.strict else ''}", "bold")
    for label, start, end in explanation.sections:
        line(f"  {label or '(no label)'} [{start}:{end}] {_shown(explanation.text[start:end])}", "cyan")
    if explanation.ignored is not None:
        start, end = explanation.ignored
        line(f"  ignored [{start}:{end}] {_shown(explanation.text[start:end])}", "dim")
    for edit in turn.edits:
        line(f"  ~ {_edit_text(edit)}", "magenta")
    for call in turn.calls:
        line(f"  > {_call_text(call)}", "bold green")
    if turn.final is not None:
        line(f"  = {turn.final}", "bold green")
    if turn.fault is not None:
        line(f"  ! {turn.fault.code}: {explanation.fault_meaning or ''}", "yellow")
        line(f"    told to the model: {turn.fault.message}", "yellow")


def print_probe(console: Console, report: ProbeReport) -> None:
    """What a probe measured, a line for each case and mode."""
    from rich.table import Table

    table = Table("case", "mode", "how", "passed", "note", box=None, pad_edge=False)
    for row in report.rows:
        table.add_row(row.case, row.mode, row.how, row.passed, plain(row.note))
    console.print(table)
    console.print(plain(report.summary), markup=False, highlight=False, soft_wrap=True)
    if report.ended:
        console.print(plain(report.ended), style="yellow", markup=False, highlight=False, soft_wrap=True)


def _edit_text(edit: Repair) -> str:
    change = f" ({_shown(edit.before)} -> {_shown(edit.after)})" if edit.before or edit.after else ""
    return f"{edit.name}: {REPAIRS.get(edit.name, '')}{change}"


def _call_text(call: Call) -> str:
    return f"{call.name} {json.dumps(dict(call.arguments), ensure_ascii=False)}"


def _shown(text: str) -> str:
    """A piece of raw text on one line, the middle left out of a long one."""
    half = _SHOWN_OF_EDIT // 2
    return repr(text if len(text) <= _SHOWN_OF_EDIT else f"{text[:half]} ... {text[-half:]}")


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

"""What a person sees of a run under way."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console

from react_text.compare.progress import Progress


def _record(arm: str, read: str, *, needs_call: bool = True, right: bool = True) -> dict[str, Any]:
    outcome = {"read": read, "right_tool": right, "right_arguments": right, "solved": right}
    return {
        "model": "m",
        "arm": arm,
        "dialect": "react",
        "needs_call": needs_call,
        "outcome": outcome,
        "tokens": 40,
        "seconds": 2.0,
    }


def _shown(progress: Progress) -> str:
    console = Console(file=io.StringIO(), width=80)
    console.print(progress.table())
    written: Any = console.file
    return str(written.getvalue())


def test_every_arm_is_a_row_of_counts_each_with_its_n() -> None:
    progress = Progress(Console(file=io.StringIO()), 4)
    progress.add(_record("text", "strict"))
    progress.add(_record("text", "failed", right=False))
    progress.add(_record("auto", "repaired", needs_call=False))
    shown = _shown(progress)
    (text,) = [line for line in shown.splitlines() if "m text react" in line]
    assert text.split()[3:] == ["1/2", "0/2", "1/2", "1/2", "1/2", "1/2", "40", "2.0"]
    (auto,) = [line for line in shown.splitlines() if "m auto react" in line]
    assert auto.split()[3:] == ["0/1", "1/1", "0/1", "-", "-", "1/1", "40", "2.0"]
    assert "3 of 4" in shown
    assert "left" in shown


def test_records_of_an_earlier_start_are_counted_but_not_in_the_pace() -> None:
    progress = Progress(Console(file=io.StringIO()), 3, [_record("text", "strict")])
    assert progress.done == 1
    assert progress.seconds_left() is None
    assert "1 of 3" in _shown(progress)


def test_without_a_terminal_the_table_is_printed_once_at_the_end() -> None:
    console = Console(file=io.StringIO(), width=80, force_terminal=False)
    with Progress(console, 2) as progress:
        progress.add(_record("text", "strict"))
        progress.add(_record("text", "strict"))
    written: Any = console.file
    assert written.getvalue().count("2 of 2") == 1

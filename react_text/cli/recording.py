"""The options that write a run down."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from react_text.trace import TraceFile

F = TypeVar("F", bound=Callable[..., Any])


def trace_options(function: F) -> F:
    function = click.option(
        "--trace-no-contents", is_flag=True, help="Leave all text of users, models and tools out of the trace."
    )(function)
    return click.option(
        "--trace",
        "trace_path",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE.jsonl",
        help="Append every event to a file; react-text replay reads it.",
    )(function)


def open_trace(options: dict[str, Any]) -> TraceFile | None:
    """The trace that the options name."""
    path, bare = options.pop("trace_path"), options.pop("trace_no_contents")
    if path is None:
        if bare:
            raise click.UsageError("--trace-no-contents is for a trace; add --trace FILE.jsonl.")
        return None
    from react_text.trace import TraceFile

    return TraceFile(path, contents=not bare)

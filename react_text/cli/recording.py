"""The options that write a run down or send it to other programs; what they open ends with the command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from react_text.agent import Agent
    from react_text.trace import TraceFile

F = TypeVar("F", bound=Callable[..., Any])


def trace_options(function: F) -> F:
    function = click.option(
        "--trace-no-contents", is_flag=True, help="Leave all text of users, models and tools out of the trace."
    )(function)
    function = click.option(
        "--otel",
        is_flag=True,
        help="Send OpenTelemetry spans to the collector that OTEL_EXPORTER_OTLP_ENDPOINT names, without contents "
        "unless OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT is true.",
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

    return click.get_current_context().with_resource(TraceFile(path, contents=not bare))


def open_spans(options: dict[str, Any]) -> Callable[[Agent], Agent]:
    """What puts spans around an agent where the options want them."""
    if not options.pop("otel"):
        return lambda agent: agent
    from react_text.telemetry import otlp_provider, traced

    provider = otlp_provider()
    click.get_current_context().call_on_close(provider.shutdown)
    return lambda agent: traced(agent, provider=provider)

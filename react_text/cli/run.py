"""`react-text run`: one question, answered with a model and tools."""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import click

from react_text.cli.agent_options import agent_options, cancel_on_interrupt, sampling_of
from react_text.cli.approval import approval_of, approval_options
from react_text.cli.options import (
    load_model,
    load_toolbox,
    model_options,
    server_options,
    tools_option,
)
from react_text.cli.recording import open_spans, open_trace, trace_options


@click.command()
@click.argument("question")
@model_options(required=True)
@tools_option(required=False)
@server_options
@agent_options
@approval_options
@trace_options
@click.option("--json", "as_json", is_flag=True, help="Print the events as JSON lines, nothing else.")
def run(question: str, model: str, tools_path: Path | None, as_json: bool, **options: Any) -> None:
    """Answer QUESTION with a model and your tools, and show how."""
    if not question.strip():
        raise click.UsageError('The question is empty; ask something, for example: react-text run "What is 2+2?" ...')
    from rich.console import Console

    from react_text.agent import Agent
    from react_text.events import Finished, event_dict
    from react_text.terminal import Trace

    toolbox = load_toolbox(tools_path, options)
    stdout = sys.stdout
    trace = Trace(Console(file=stdout), Console(stderr=True))
    sampling = sampling_of(options)
    recorded, watched = open_trace(options), open_spans(options)
    confirm = approval_of(options, recorded.audit if recorded else None)
    backend = load_model(model, options, trace)
    agent = watched(Agent(backend, toolbox, sampling=sampling, confirm=confirm, **options))
    result = None
    with cancel_on_interrupt(agent.cancel), redirect_stdout(sys.stderr):  # a tool may print
        for event in recorded.stream(agent, question) if recorded else agent.stream(question):
            if as_json:
                click.echo(json.dumps(event_dict(event), ensure_ascii=False, default=str), file=stdout)
            else:
                trace.show(event)
            if isinstance(event, Finished):
                result = event.result
    toolbox.close()
    backend.close()
    sys.exit(0 if result is not None and result.stop_reason == "answer" else 1)

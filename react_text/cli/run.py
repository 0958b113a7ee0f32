"""`react-text run`: one question, answered with a model and tools."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import click

from react_text.cli.options import dialect_option, load_model, model_options, tools_option


@click.command()
@click.argument("question")
@model_options(required=True)
@tools_option(required=False)
@dialect_option
@click.option(
    "--mode",
    type=click.Choice(["auto", "text", "structured"]),
    default="auto",
    show_default=True,
    help="Structured calls, text, or what the endpoint is known to do; a chosen mode never changes.",
)
@click.option(
    "--grammar",
    type=click.Choice(["always", "ladder", "never"]),
    help="Constrain replies to the tools offered: always (default in process), after two unreadable replies, or never.",
)
@click.option("--instructions", default="", metavar="TEXT", help="Your own text for the system turn.")
@click.option("--max-steps", type=click.IntRange(min=1), default=8, show_default=True)
@click.option("--max-tokens", type=click.IntRange(min=1), default=400, show_default=True, help="Tokens per reply.")
@click.option("--token-budget", type=click.IntRange(min=1), help="Tokens per run, evaluated and generated.")
@click.option("--time-budget", type=click.FloatRange(min=0, min_open=True), help="Seconds per run.")
@click.option("--temperature", type=click.FloatRange(min=0), default=0.0, show_default=True)
@click.option("--top-p", type=click.FloatRange(0, 1), default=1.0, show_default=True)
@click.option("--min-p", type=click.FloatRange(0, 1), default=0.0, show_default=True)
@click.option("--seed", type=int, help="Fixes the draws at a temperature above 0.")
@click.option("--confirm", is_flag=True, help="Ask before each call: y runs it, n tells the model, q ends the run.")
@click.option("--json", "as_json", is_flag=True, help="Print the events as JSON lines, nothing else.")
def run(question: str, model: str, tools_path: Path | None, as_json: bool, confirm: bool, **options: Any) -> None:
    """Answer QUESTION with a model and your tools, and show how."""
    if not question.strip():
        raise click.UsageError('The question is empty; ask something, for example: react-text run "What is 2+2?" ...')
    from rich.console import Console

    from react_text.agent import Agent
    from react_text.backends.base import Sampling
    from react_text.events import Finished, event_dict
    from react_text.terminal import Trace
    from react_text.tools_file import load_tools

    tools = load_tools(tools_path) if tools_path else ()
    stdout = sys.stdout
    trace = Trace(Console(file=stdout), Console(stderr=True))
    sampling = Sampling(**{name: options.pop(name) for name in ("temperature", "top_p", "min_p", "seed")})
    backend = load_model(model, options, trace)
    agent = Agent(backend, tools, sampling=sampling, confirm=_confirm if confirm else None, **options)
    result = None
    with _cancel_on_interrupt(agent.cancel), redirect_stdout(sys.stderr):  # a tool may print
        for event in agent.stream(question):
            if as_json:
                click.echo(json.dumps(event_dict(event), ensure_ascii=False, default=str), file=stdout)
            else:
                trace.show(event)
            if isinstance(event, Finished):
                result = event.result
    backend.close()
    sys.exit(0 if result is not None and result.stop_reason == "answer" else 1)


def _confirm(call: Any) -> Any:
    click.echo(
        f"\nRun {call.name} {json.dumps(dict(call.arguments), ensure_ascii=False)}? [y/n/q] ", nl=False, err=True
    )
    answer = sys.stdin.readline()
    return {"y": "yes", "yes": "yes", "n": "no", "no": "no"}.get(answer.strip().lower(), "stop")


@contextmanager
def _cancel_on_interrupt(cancel: Callable[[], None]) -> Iterator[None]:
    """The first Ctrl-C ends the run within one token, the second one ends the program."""

    def interrupted(signum: int, frame: Any) -> None:
        cancel()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)

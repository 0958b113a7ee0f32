"""`react-text prompt`: what the model is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from react_text.cli.options import (
    dialect_option,
    load_model,
    load_toolbox,
    model_options,
    server_options,
    tools_limit_option,
    tools_option,
)


@click.command()
@click.argument("question", default="(your question)")
@tools_option(required=False)
@server_options
@tools_limit_option
@dialect_option
@model_options(required=False)
@click.option("--instructions", default="", metavar="TEXT", help="Your own text for the system turn.")
def prompt(
    question: str, tools_path: Path | None, model: str | None, dialect: str, instructions: str, **options: Any
) -> None:
    """Print exactly what the model is told, on stdout; its length in tokens goes to stderr.

    With --model the text is the one the model's own chat template makes; without, the turns are shown by role.
    """
    from react_text.agent import Agent
    from react_text.backends.scripted import Scripted

    toolbox = load_toolbox(tools_path, options, required=True)
    told = {"dialect": dialect, "instructions": instructions, "tools_limit": options.pop("tools_limit")}
    if model is None:
        agent = Agent(Scripted([]), toolbox, **told)
        turns = [f"[{turn['role']}]\n{turn['content']}" for turn in agent.prompt(question)]
        click.echo("\n\n".join([*turns, f"[assistant]\n{agent.setup.dialect.reply_start}"]))
        click.echo("The number of tokens depends on the model: add --model.", err=True)
        return
    if options["base_url"] is not None:
        raise click.UsageError("A server renders its prompts itself: leave out --base-url, or give a GGUF to --model.")
    backend = load_model(model, options, None)
    agent = Agent(backend, toolbox, **told)
    messages, start = agent.prompt(question), agent.setup.dialect.reply_start
    click.echo(backend.prompt_text(messages, start))
    click.echo(f"{backend.count_tokens(messages, start)} tokens of {backend.context_length}", err=True)

"""The command line, one module per command, each loaded when it is asked for.

Exit status: 0 done, 1 ran but did not reach its end, 2 wrong use.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import click

from react_text import __version__
from react_text.errors import ReactTextError

COMMANDS = ("run", "parse", "prompt", "grammar", "probe", "compare", "report", "chat", "replay", "serve")
"""The commands, in the order of the help. Each is a module of this package with a function of its own name."""


class _Group(click.Group):
    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"react_text.cli.{name}"), name)
        return command

    def invoke(self, context: click.Context) -> Any:
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")  # a model may write what no encoding holds
        try:
            return super().invoke(context)
        except ReactTextError as error:
            raise click.UsageError(str(error)) from None


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="react-text")
def main() -> None:
    """Tools for language models that have none."""

"""`react-text replay`: a recorded run, shown and read again."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from react_text.cli.options import tools_option

if TYPE_CHECKING:
    from rich.console import Console

    from react_text.replay import Reading


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@tools_option(required=False)
@click.option("--quiet", is_flag=True, help="Only what is read differently now.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON line for each turn, nothing else.")
def replay(file: Path, tools_path: Path | None, quiet: bool, as_json: bool) -> None:
    """Show the runs of a trace, and say what the parser of today reads differently.

    FILE is what --trace wrote, or the lines of run --json. No model is asked and no tool runs. Exit status 1 says that
    something is read differently.
    """
    from rich.console import Console

    from react_text.explain import turn_record
    from react_text.replay import read_trace, reread
    from react_text.terminal import Trace, plain
    from react_text.tools_file import load_tools

    tools = tuple(load_tools(tools_path)) if tools_path else None
    console = Console()
    different = 0
    for run in read_trace(file):
        readings = list(reread(run, tools))
        different += sum(1 for reading in readings if reading.differences)
        if as_json:
            for reading in readings:
                record = {"step": reading.step, "same": not reading.differences, "differences": reading.differences}
                record |= {"before": turn_record(reading.before), "now": turn_record(reading.now)}
                click.echo(json.dumps(record, ensure_ascii=False, default=str))
            continue
        if not quiet:
            trace = Trace(console, Console(stderr=True))
            if run.header.get("question"):
                console.print(plain(f"? {run.header['question']}"), markup=False, highlight=False, soft_wrap=True)
            for event in run.events:
                trace.show(event)
        _print(console, readings)
    sys.exit(1 if different else 0)


def _print(console: Console, readings: list[Reading]) -> None:
    from react_text.terminal import plain

    changed = [reading for reading in readings if reading.differences]
    for reading in changed:
        console.print(f"step {reading.step} is read differently now:", style="yellow", highlight=False)
        for sentence in reading.differences:
            console.print(plain(f"  {sentence}"), style="yellow", markup=False, highlight=False, soft_wrap=True)
    console.print(f"{len(readings)} turns read again, {len(changed)} differently", style="dim", highlight=False)

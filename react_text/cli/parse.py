"""`react-text parse`: one model output explained, or many read in bulk."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from react_text.cli.options import tools_option


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path), default="-")
@tools_option(required=False)
@click.option("--finish-reason", metavar="REASON", help="How the generation ended: 'length' for a reply that was cut.")
@click.option(
    "--jsonl", is_flag=True, help="JSON lines in, JSON lines out; the default for a FILE that ends in .jsonl."
)
@click.option(
    "--strict-vs-tolerant", "counted", is_flag=True, help="Count over JSON lines what was strict, mended and not read."
)
@click.option("--json", "as_json", is_flag=True, help="Print the reading of one output, or the counts, as JSON.")
def parse(
    file: Path, tools_path: Path | None, finish_reason: str | None, jsonl: bool, counted: bool, as_json: bool
) -> None:
    """Read one model output from FILE or stdin and explain how it was read; or many, as JSON lines.

    A JSON line is a string, or an object with "output", "text", "content" or a chat-completions "message", and its own
    "tools" where it has them.
    """
    from rich.console import Console

    from react_text.explain import explain, turn_record
    from react_text.terminal import print_explanation
    from react_text.tools_file import load_tools

    tools = tuple(load_tools(tools_path)) if tools_path else ()
    if counted:
        _count_many(file, tools, as_json)
        return
    if jsonl or file.suffix == ".jsonl":
        _parse_many(file, tools)
        return
    text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8", errors="replace")
    explanation = explain(text, tools, finish_reason=finish_reason)
    if as_json:
        click.echo(json.dumps(turn_record(explanation.turn), ensure_ascii=False))
    else:
        print_explanation(Console(), explanation)
    sys.exit(1 if explanation.turn.kind == "none" else 0)


def _parse_many(file: Path, tools: tuple[Any, ...]) -> None:
    """One line out for each line in, counts on stderr."""
    from collections import Counter

    from react_text.explain import parse_lines

    counts: Counter[str] = Counter()
    with _lines(file) as lines:
        for record in parse_lines(lines, tools):
            counts["error" if "error" in record else record["kind"]] += 1
            click.echo(json.dumps(record, ensure_ascii=False))
    click.echo(", ".join(f"{count} {name}" for name, count in sorted(counts.items())) or "no lines", err=True)


def _count_many(file: Path, tools: tuple[Any, ...], as_json: bool) -> None:
    """The counts of a log, strict against tolerant."""
    from react_text.compare.logs import count_readings, lines_of
    from react_text.explain import parse_lines

    with _lines(file) as lines:
        counts = count_readings(parse_lines(lines, tools))
    click.echo(json.dumps(counts.as_dict()) if as_json else "\n".join(lines_of(counts)))


def _lines(file: Path) -> Any:
    """The lines of a file, as a context manager; the progress bar counts its bytes."""
    from rich.console import Console
    from rich.progress import open as open_with_progress

    if str(file) == "-":
        return click.open_file("-", encoding="utf-8", errors="replace")
    console = Console(stderr=True)
    bar: dict[str, Any] = {"description": "reading", "transient": True, "console": console}
    bar["disable"] = not console.is_terminal
    return open_with_progress(file, "r", encoding="utf-8", errors="replace", **bar)

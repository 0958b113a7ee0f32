"""`react-text report`: the report of runs drawn again, runs joined, and models.md."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), help="Folder of the report; default: the run's own."
)
@click.option("--title", default="", help="Title of the page.")
@click.option(
    "--outputs", type=click.IntRange(min=0), default=500, show_default=True, help="Most single outputs in the page."
)
@click.option("--apart", is_flag=True, help="Compare the runs with each other, each under its folder's name.")
@click.option("--models-md", type=click.Path(dir_okay=False, path_type=Path), help="Write models.md to this file.")
def report(
    runs: tuple[Path, ...], out: Path | None, title: str, outputs: int, apart: bool, models_md: Path | None
) -> None:
    """Draw report.html and report.md of one or more RUN folders made by `react-text compare`.

    Several runs are joined, each record counted once, and those with other settings kept apart; they need --out, or
    only --models-md.
    """
    if len(runs) > 1 and out is None and models_md is None:
        raise click.UsageError("Several runs make one joined report: give its folder with --out.")
    from rich.console import Console
    from rich.progress import Progress

    from react_text.compare.report import write_report, write_text
    from react_text.compare.report_data import read_runs

    size = sum(path.stat().st_size for run in runs for path in [run / "records.jsonl"] if path.is_file())
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("reading", total=size)
        measured = read_runs(runs, outputs=outputs, apart=apart, tick=lambda count: progress.advance(task, count))
    folder = out or (runs[0] if len(runs) == 1 else None)
    written = write_report(measured, folder, title) if folder else []
    if models_md is not None:
        from react_text.compare.models_page import models_page

        written.append(write_text(models_md, models_page(measured)))
    for note in measured.notes:
        click.echo(note, err=True)
    for path in written:
        click.echo(str(path))

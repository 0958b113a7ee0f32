"""`react-text probe`: what a model can do, measured."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from react_text.cli.options import dialect_option, load_model, model_options


@click.command()
@model_options(required=True)
@dialect_option
@click.option("--mode", type=click.Choice(["text", "structured", "both"]), default="both", show_default=True)
@click.option("--samples", type=click.IntRange(min=1), default=1, show_default=True, help="Samples of each case.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the first sample; the others count up.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def probe(model: str, dialect: str, mode: str, samples: int, seed: int, as_json: bool, **options: Any) -> None:
    """Measure what a model can do with tools, in text and with structured calls, and remember it.

    Nothing is claimed beyond what was seen: each line says how many of how many samples succeeded.
    """
    from rich.console import Console

    from react_text.capability_store import CapabilityStore
    from react_text.probe import probe as run_probe
    from react_text.probe import remember, subject_of
    from react_text.terminal import Trace, print_probe

    trace = Trace(Console(), Console(stderr=True))
    fresh = options["fresh"]
    backend = load_model(model, options, trace)
    if fresh:
        CapabilityStore().forget(subject_of(backend))
    modes: Any = ("text", "structured") if mode == "both" else (mode,)
    report = run_probe(
        backend,
        modes=modes,
        samples=samples,
        seed=seed,
        dialect=dialect,
        on_case=lambda case: trace.status(f"measured {case.row.mode}: {case.row.case}"),
    )
    trace.quiet()
    remember(report, backend)
    backend.close()
    if as_json:
        click.echo(json.dumps(report.to_dict(), ensure_ascii=False))
    else:
        print_probe(Console(), report)
    sys.exit(1 if report.ended else 0)

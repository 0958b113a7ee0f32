"""`react-text compare`: models and ways of asking, measured on the same tasks."""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from react_text.cli.options import load_model

if TYPE_CHECKING:
    from react_text.backends.base import Backend
    from react_text.compare.records import RunFolder
    from react_text.compare.runner import Plan

_ARMS = ("text", "text+grammar", "structured", "auto")


def _names(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """The values of an option that may be repeated and may hold several, parted by commas."""
    return tuple(dict.fromkeys(part.strip() for value in values for part in value.split(",") if part.strip()))


def _agent_options(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> dict[str, Any]:
    """NAME=VALUE pairs, each value JSON where it is."""
    found: dict[str, Any] = {}
    for given in values:
        name, equals, value = given.partition("=")
        if not equals:
            raise click.BadParameter(f"{given!r} is not NAME=VALUE.")
        try:
            read = json.loads(value)
        except ValueError:
            read = value
        outer, dot, inner = name.strip().partition(".")
        if dot:
            found.setdefault(outer, {})[inner] = read
        else:
            found[outer] = read
    return found


@click.command()
@click.option(
    "--model",
    "models",
    multiple=True,
    required=True,
    callback=_names,
    metavar="PATH.gguf|smollm2|NAME",
    help="A model to compare; may be given several times. With --base-url the name of a served model.",
)
@click.option("--base-url", metavar="URL", help="The endpoint that serves the models; its key: OPENAI_API_KEY.")
@click.option(
    "--api", type=click.Choice(["chat", "completions", "ollama"]), default="chat", show_default=True, help="Its API."
)
@click.option(
    "--tasks",
    multiple=True,
    default=("builtin",),
    show_default=True,
    callback=_names,
    metavar="builtin|bfcl:CATEGORY|FILE.jsonl",
    help="What the models are asked; may be given several times.",
)
@click.option(
    "--split",
    type=click.Choice(["dev", "test", "all"]),
    default="test",
    show_default=True,
    help="dev to choose settings with, test to report.",
)
@click.option("--limit", type=click.IntRange(min=1), help="At most so many tasks of each source, drawn evenly.")
@click.option(
    "--arms",
    multiple=True,
    default=("text,text+grammar,structured",),
    show_default=True,
    callback=_names,
    help=f"The ways of asking: {', '.join(_ARMS)}.",
)
@click.option("--dialect", "dialects", multiple=True, default=("react",), show_default=True, callback=_names)
@click.option("--seed", type=int, default=0, show_default=True, help="The first seed.")
@click.option(
    "--seeds", type=click.IntRange(min=1), default=1, show_default=True, help="How many seeds, from --seed on."
)
@click.option("--temperature", type=click.FloatRange(min=0), default=0.0, show_default=True)
@click.option("--max-steps", type=click.IntRange(min=1), default=6, show_default=True, help="Model outputs per task.")
@click.option(
    "--first-call-steps",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Model outputs per task whose calls are read but not run (BFCL).",
)
@click.option("--max-tokens", type=click.IntRange(min=1), default=300, show_default=True, help="Tokens per output.")
@click.option(
    "--examples/--no-examples",
    default=True,
    show_default=True,
    help="The tools' own worked examples; without, some are made from their schemas.",
)
@click.option("--instructions", default="", metavar="TEXT", help="Your own text for the system turn.")
@click.option("--isolate", is_flag=True, help="Empty the model's cache before each task: slower, same in any order.")
@click.option(
    "--set",
    "agent",
    multiple=True,
    metavar="NAME=VALUE",
    callback=_agent_options,
    help="Another argument of the agent, as JSON or text, such as policies.choose=false; with --label.",
)
@click.option(
    "--label", default="", metavar="TEXT", help="Put to the names of the arms, to tell them in a joined report."
)
@click.option(
    "--concurrency", type=click.IntRange(min=1), default=4, show_default=True, help="Requests at once to an endpoint."
)
@click.option(
    "--engine",
    type=click.Choice(["here", "ray"]),
    default="here",
    show_default=True,
    help="Run on this machine, or spread models and tasks over a Ray cluster.",
)
@click.option("--ray-address", metavar="ADDRESS", help="The cluster, such as auto; without it one is started here.")
@click.option("--workers", type=click.IntRange(min=1), default=2, show_default=True, help="Ray workers for each model.")
@click.option("--n-ctx", type=click.IntRange(min=64), help="Context length in tokens (in process).")
@click.option("--threads", type=click.IntRange(min=1), help="Threads that generate tokens (in process).")
@click.option("--gpu-layers", type=int, help="Layers on the GPU, -1 for all (in process).")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), required=True, help="The run folder.")
def compare(out: Path, **options: Any) -> None:
    """Ask models the same TASKS in several ways and keep every answer, how it was read and whether it was right.

    A run is a folder; a run that was stopped goes on with the same command. The structured arm counts a call that
    arrives as JSON in the content as a structured answer, read by repair.
    """
    from rich.console import Console

    from react_text.compare.meta import describe, loaded
    from react_text.compare.progress import Progress
    from react_text.compare.records import RunFolder, read_records
    from react_text.compare.report import write_report
    from react_text.compare.report_data import read_runs
    from react_text.compare.runner import run

    plan, entries = _plan(options)
    # a report is for others: a model file is named, not the folder it lies in
    given = (Path(one).name if one.endswith(".gguf") else one for one in sys.argv[1:])
    command = shlex.join(["react-text", *given])
    console = Console(stderr=True)
    wanted = set(plan.keys())
    with RunFolder(out) as folder:
        folder.write_meta(describe(plan, entries, command))
        if folder.set_aside:
            console.print(
                f"{folder.set_aside} damaged lines were set aside; their tasks are run again.", style="yellow"
            )
        earlier = (record for record in read_records(out) if record["key"] in wanted)
        with Progress(console, len(wanted), earlier) as progress:

            def began(index: int, backend: Backend) -> None:
                entries[index] = loaded(entries[index], backend)
                folder.write_meta(describe(plan, entries, command))

            try:
                if options["engine"] == "ray":
                    _run_on_ray(plan, options, folder, began, progress.add)
                else:
                    run(plan, folder, began, progress.add)
            except KeyboardInterrupt:
                stopped = True
            else:
                stopped = False
    if stopped:
        console.print(f"Stopped after {progress.done} of {progress.total}; the same command goes on from there.")
        sys.exit(1)
    for path in write_report(read_runs([out]), out):
        click.echo(str(path))


def _plan(options: dict[str, Any]) -> tuple[Plan, list[dict[str, Any]]]:
    """What the options ask for, and an entry for each model."""
    from react_text.compare.arms import ARMS, Settings, agent_options
    from react_text.compare.meta import local_model, served_model
    from react_text.compare.runner import Model, Plan
    from react_text.compare.tasks import load_tasks
    from react_text.data import load_dialect
    from react_text.models import DEFAULT_MODEL, resolve_model

    if unknown := [arm for arm in options["arms"] if arm not in ARMS]:
        raise click.UsageError(f"There is no arm {unknown[0]!r}; the arms are {', '.join(ARMS)}.")
    if unknown := [name for name in options["agent"] if name not in agent_options()]:
        raise click.UsageError(f"--set {unknown[0]}: there are {', '.join(sorted(agent_options()))}.")
    for dialect in options["dialects"]:
        load_dialect(dialect)
    tasks = load_tasks(options["tasks"], options["split"], options["limit"])
    served = options["base_url"] is not None
    names = ("base_url", "api", "n_ctx", "threads", "gpu_layers")
    shared = {name: options[name] for name in names}
    models, entries = [], []
    for given in options["models"]:
        name = given if served or given == DEFAULT_MODEL else Path(given).stem
        load = partial(_load, given, shared)
        models.append(Model(name, load, options["concurrency"] if served else 1))
        entries.append(served_model(name) if served else local_model(name, resolve_model(given)))
    if len({model.name for model in models}) < len(models):
        raise click.UsageError("Two models have the same file name; rename one of the files.")
    settings = Settings(**{one.name: options[one.name] for one in fields(Settings)})
    seeds = range(options["seed"], options["seed"] + options["seeds"])
    plan = Plan(tasks, models, options["arms"], options["dialects"], tuple(seeds), settings)
    return plan, entries


def _run_on_ray(plan: Plan, options: dict[str, Any], folder: RunFolder, began: Any, added: Any) -> None:
    from react_text.compare.ray_engine import Cluster, Source, run_on_ray

    cpus, gpus = options["threads"] or 1, 1 if options["gpu_layers"] else 0
    cluster = Cluster(options["ray_address"], options["workers"], cpus, gpus)
    source = Source(options["tasks"], options["split"], options["limit"])
    run_on_ray(plan, source, cluster, folder, began, added)


def _load(model: str, shared: dict[str, Any]) -> Backend:
    backend: Backend = load_model(model, {**shared, "fresh": False}, None)
    return backend

"""The command line. Exit status: 0 done, 1 ran but did not reach its end, 2 wrong use."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any, TypeVar

import click

from react_text import __version__
from react_text.errors import ReactTextError

F = TypeVar("F", bound=Callable[..., Any])


class _Group(click.Group):
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


def _tools_option(required: bool) -> Callable[[F], F]:
    return click.option(
        "--tools",
        "tools_path",
        type=click.Path(path_type=Path),
        required=required,
        metavar="FILE.py|TOOLS.json",
        help="Typed Python functions, or chat-completions tool dicts.",
    )


def _dialect_option(function: F) -> F:
    return click.option(
        "--dialect", default="react", show_default=True, metavar="NAME|FILE", help="What the model is told, and how."
    )(function)


def _model_options(required: bool) -> Callable[[F], F]:
    options = [
        click.option(
            "--model",
            required=required,
            metavar="PATH.gguf|smollm2|NAME",
            help="A GGUF file, the embedded default model, or with --base-url the name of a served model.",
        ),
        click.option(
            "--base-url", metavar="URL", help="An endpoint, such as http://127.0.0.1:8080/v1; its key: OPENAI_API_KEY."
        ),
        click.option(
            "--api",
            type=click.Choice(["chat", "completions", "ollama"]),
            default="chat",
            show_default=True,
            help="What the endpoint speaks: chat completions, raw completions, or Ollama's own API.",
        ),
        click.option("--fresh", is_flag=True, help="Forget what was found out about the endpoint before."),
        click.option("--n-ctx", type=click.IntRange(min=64), help="Context length in tokens (in process)."),
        click.option("--threads", type=click.IntRange(min=1), help="Threads that generate tokens (in process)."),
        click.option("--gpu-layers", type=int, help="Layers on the GPU, -1 for all (in process)."),
    ]

    def add(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return add


@main.command()
@click.argument("question")
@_model_options(required=True)
@_tools_option(required=False)
@_dialect_option
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
    backend = _load(model, options, trace)
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


@main.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path), default="-")
@_tools_option(required=False)
@click.option("--finish-reason", metavar="REASON", help="How the generation ended: 'length' for a reply that was cut.")
@click.option(
    "--jsonl", is_flag=True, help="JSON lines in, JSON lines out; the default for a FILE that ends in .jsonl."
)
@click.option("--json", "as_json", is_flag=True, help="Print the reading of one output as JSON.")
def parse(file: Path, tools_path: Path | None, finish_reason: str | None, jsonl: bool, as_json: bool) -> None:
    """Read one model output from FILE or stdin and explain how it was read; or many, as JSON lines.

    A JSON line is a string, or an object with "output", "text", "content" or a chat-completions "message", and its own
    "tools" where it has them.
    """
    from rich.console import Console

    from react_text.explain import explain, turn_record
    from react_text.terminal import print_explanation
    from react_text.tools_file import load_tools

    tools = tuple(load_tools(tools_path)) if tools_path else ()
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
    """One line out for each line in, counts on stderr; the progress bar counts bytes of the file."""
    from collections import Counter

    from rich.console import Console
    from rich.progress import open as open_with_progress

    from react_text.explain import parse_lines

    counts: Counter[str] = Counter()
    if str(file) == "-":
        source: Any = click.open_file("-", encoding="utf-8", errors="replace")
    else:
        bar: dict[str, Any] = {"description": "reading", "transient": True, "console": Console(stderr=True)}
        source = open_with_progress(file, "r", encoding="utf-8", errors="replace", **bar)
    with source as lines:
        for record in parse_lines(lines, tools):
            counts["error" if "error" in record else record["kind"]] += 1
            click.echo(json.dumps(record, ensure_ascii=False))
    click.echo(", ".join(f"{count} {name}" for name, count in sorted(counts.items())) or "no lines", err=True)


@main.command()
@click.argument("question", default="(your question)")
@_tools_option(required=True)
@_dialect_option
@_model_options(required=False)
@click.option("--instructions", default="", metavar="TEXT", help="Your own text for the system turn.")
def prompt(question: str, tools_path: Path, model: str | None, dialect: str, instructions: str, **options: Any) -> None:
    """Print exactly what the model is told, on stdout; its length in tokens goes to stderr.

    With --model the text is the one the model's own chat template makes; without, the turns are shown by role.
    """
    from react_text.agent import Agent
    from react_text.backends.scripted import Scripted
    from react_text.tools_file import load_tools

    tools = load_tools(tools_path)
    if model is None:
        agent = Agent(Scripted([]), tools, dialect=dialect, instructions=instructions)
        turns = [f"[{turn['role']}]\n{turn['content']}" for turn in agent.prompt(question)]
        click.echo("\n\n".join([*turns, f"[assistant]\n{agent.setup.dialect.reply_start}"]))
        click.echo("The number of tokens depends on the model: add --model.", err=True)
        return
    if options["base_url"] is not None:
        raise click.UsageError("A server renders its prompts itself: leave out --base-url, or give a GGUF to --model.")
    backend = _load(model, options, None)
    agent = Agent(backend, tools, dialect=dialect, instructions=instructions)
    messages, start = agent.prompt(question), agent.setup.dialect.reply_start
    click.echo(backend.prompt_text(messages, start))
    click.echo(f"{backend.count_tokens(messages, start)} tokens of {backend.context_length}", err=True)


@main.command()
@_model_options(required=True)
@_dialect_option
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
    backend = _load(model, options, trace)
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


@main.command()
@_tools_option(required=True)
@_dialect_option
def grammar(tools_path: Path, dialect: str) -> None:
    """Print the GBNF grammar that replies are held to; what it could not express is listed on stderr."""
    from react_text.data import load_dialect, load_grammar_skeleton
    from react_text.protocol.grammar import text_grammar
    from react_text.tools_file import load_tools

    chosen = load_dialect(dialect)
    if chosen.grammar is None:
        raise click.UsageError(f"Dialect {chosen.name} names no grammar; add a line 'grammar: FILE.gbnf' to it.")
    made = text_grammar(load_grammar_skeleton(chosen.grammar), chosen, tuple(load_tools(tools_path)))
    click.echo(made.gbnf, nl=False)
    for looser in made.loosened:
        click.echo(f"looser than the schema, checked after parsing: {looser}", err=True)


def _load(model: str, options: dict[str, Any], trace: Any) -> Any:
    """The backend that the model options name; they are taken out of `options`."""
    base_url, api, fresh = options.pop("base_url"), options.pop("api"), options.pop("fresh")
    local = {"n_ctx": options.pop("n_ctx"), "n_threads": options.pop("threads")}
    local["n_gpu_layers"] = options.pop("gpu_layers")
    if base_url is None:
        if api != "chat":
            raise click.UsageError(f"--api {api} is for an endpoint; add --base-url.")
        from react_text.backends.llama_cpp import LlamaCpp
        from react_text.models import resolve_model

        given = {name: value for name, value in local.items() if value is not None}
        backend = LlamaCpp(resolve_model(model), on_load=trace and trace.loading, **given)
        if trace is not None:
            trace.quiet()
        return backend
    for flag, value in zip(("--n-ctx", "--threads", "--gpu-layers"), local.values(), strict=True):
        if value is not None:
            raise click.UsageError(f"{flag} is for a model in process; with --base-url the server decides it.")
    if api == "ollama":
        from react_text.backends.ollama import Ollama

        return Ollama(base_url, model=model, fresh=fresh)
    from react_text.backends.openai import OpenAICompatible

    return OpenAICompatible(base_url, model=model, api=api, fresh=fresh)


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


if __name__ == "__main__":
    main()

"""Options that several commands share, and the backend that they name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def tools_option(required: bool) -> Callable[[F], F]:
    return click.option(
        "--tools",
        "tools_path",
        type=click.Path(path_type=Path),
        required=required,
        metavar="FILE.py|TOOLS.json",
        help="Typed Python functions, or chat-completions tool dicts.",
    )


def dialect_option(function: F) -> F:
    return click.option(
        "--dialect", default="react", show_default=True, metavar="NAME|FILE", help="What the model is told, and how."
    )(function)


def model_options(required: bool) -> Callable[[F], F]:
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


def load_model(model: str, options: dict[str, Any], trace: Any) -> Any:
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

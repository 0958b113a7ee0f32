"""Options that several commands share, and the backend that they name."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from react_text.toolbox import Toolbox

F = TypeVar("F", bound=Callable[..., Any])


def tools_option(required: bool) -> Callable[[F], F]:
    return click.option(
        "--tools",
        "tools_path",
        type=click.Path(path_type=Path),
        required=required,
        metavar="FILE.py|MODULE|TOOLS.json|OPENAPI.yaml",
        help="Typed Python functions of a file or a module, chat-completions tool dicts, or an API's operations.",
    )


def server_options(function: F) -> F:
    """Tools from MCP servers and APIs, and which of all tools are offered; `load_toolbox` takes the values."""
    options = [
        click.option(
            "--mcp",
            multiple=True,
            metavar="'COMMAND ARGS'|URL",
            help="An MCP server whose tools are offered: a command, with NAME=VALUE in front for its environment, "
            "or a URL. May be given several times.",
        ),
        click.option(
            "--allow-host",
            multiple=True,
            metavar="HOST",
            help="A host that the operations of an OpenAPI file may call.",
        ),
        click.option(
            "--api-url", metavar="URL", help="Where the API of an OpenAPI file is, if not where the file says."
        ),
        click.option(
            "--header", multiple=True, metavar="'NAME: VALUE'", help="Sent to MCP servers with a URL, and to the API."
        ),
        click.option("--allow", multiple=True, metavar="PATTERN", help="Offer only these tools, such as 'list_*'."),
        click.option("--deny", multiple=True, metavar="PATTERN", help="Offer none of these tools, such as 'delete_*'."),
    ]
    for option in reversed(options):
        function = option(function)
    return function


def tools_limit_option(function: F) -> F:
    return click.option(
        "--tools-limit",
        default="auto",
        show_default=True,
        metavar="N|auto|all",
        callback=_tools_limit,
        help="How many tools the model is shown at most, the closest to the question by their words; auto: as many as "
        "a quarter of its context holds.",
    )(function)


def _tools_limit(context: click.Context, parameter: click.Parameter, value: str) -> str | int | None:
    if value == "auto":
        return value
    if value == "all":
        return None
    if value.isdecimal() and int(value) > 0:
        return int(value)
    raise click.BadParameter(f"{value!r} is neither a number above 0 nor auto nor all.")


def load_toolbox(tools_path: Path | None, options: dict[str, Any], *, required: bool = False) -> Toolbox:
    """The tools that --tools and the server options name; these are taken out of `options`. To be closed."""
    from react_text.adapters.choosing import chosen_names
    from react_text.adapters.mcp import open_servers, tools_of
    from react_text.toolbox import Toolbox
    from react_text.tools_file import load_tools

    servers, allow, deny = options.pop("mcp"), options.pop("allow"), options.pop("deny")
    headers = dict(_header(line) for line in options.pop("header"))
    hosts, api_url = options.pop("allow_host"), options.pop("api_url")
    if required and not servers and tools_path is None:
        raise click.UsageError("No tools are named: add --tools FILE, or --mcp with a server.")
    tools = list(load_tools(tools_path, hosts=hosts, base_url=api_url, headers=headers)) if tools_path else []
    logging.getLogger("mcp").addHandler(logging.NullHandler())  # else the SDK's tracebacks are printed
    opened = open_servers(servers, headers=headers)
    tools += tools_of(opened, taken=[tool.name for tool in tools])
    wanted = chosen_names([tool.name for tool in tools], allow or None, deny, "--tools and --mcp")
    return Toolbox([tool for tool in tools if tool.name in wanted], sources=opened)


def _header(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    if not colon or not name.strip():
        raise click.UsageError("--header takes 'NAME: VALUE', such as 'Authorization: Bearer ...'.")
    return name.strip(), value.strip()


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

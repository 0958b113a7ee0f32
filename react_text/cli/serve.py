"""`react-text serve`: chat completions over HTTP in front of any model."""

from __future__ import annotations

from typing import Any

import click

from react_text.cli.options import dialect_option, load_model, model_options


@click.command()
@model_options(required=True)
@dialect_option
@click.option("--mode", type=click.Choice(["auto", "text", "structured"]), default="auto", show_default=True)
@click.option("--grammar", type=click.Choice(["always", "ladder", "never"]), help="As for run.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Anything but loopback needs --api-key.")
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True)
@click.option("--api-key", envvar="REACT_TEXT_API_KEY", metavar="KEY", help="Wanted from clients; REACT_TEXT_API_KEY.")
@click.option("--concurrency", type=click.IntRange(min=1), help="Requests under way at once [1 in process, else 16].")
@click.option("--queue", type=click.IntRange(min=0), default=32, show_default=True, help="Requests that may wait.")
@click.option("--max-tokens", type=click.IntRange(min=1), default=1024, show_default=True, help="Tokens per reply.")
@click.option("--time-limit", type=click.FloatRange(min=0, min_open=True), default=300.0, show_default=True)
@click.option("--max-body", type=click.FloatRange(min=0, min_open=True), default=4.0, show_default=True, help="In MiB.")
@click.option("--log-contents", is_flag=True, help="Log messages and answers too, not only figures.")
def serve(
    model: str,
    dialect: str,
    mode: str,
    grammar: str | None,
    host: str,
    port: int,
    api_key: str | None,
    concurrency: int | None,
    queue: int,
    max_tokens: int,
    time_limit: float,
    max_body: float,
    log_contents: bool,
    **options: Any,
) -> None:
    """Serve /v1/chat/completions with tool_calls, /v1/models, /health and /metrics in front of a model.

    Ctrl-C or SIGTERM lets running requests finish. Each request is logged as a JSON line on stderr.
    """
    from rich.console import Console

    from react_text.chat import FallbackChat
    from react_text.proxy import Settings
    from react_text.proxy import serve as run_server
    from react_text.proxy.server import check_open
    from react_text.terminal import Trace

    check_open(host, api_key)
    trace = Trace(Console(), Console(stderr=True))
    backend = load_model(model, options, trace)
    in_process = hasattr(backend, "path")
    wanted: Any = mode
    use: Any = grammar
    chat = FallbackChat(backend, wanted, dialect=dialect, grammar=use, max_tokens=max_tokens, seconds=time_limit)
    settings = Settings(
        api_key=api_key or None,
        concurrency=concurrency or (1 if in_process else 16),
        queue=queue,
        max_body=int(max_body * 2**20),
        log_contents=log_contents,
    )
    run_server(
        chat,
        host=host,
        port=port,
        settings=settings,
        on_start=lambda address: click.echo(f"{chat.name} at {address} (Ctrl-C stops)", err=True),
    )

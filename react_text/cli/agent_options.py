"""The options that say how an agent works, for the commands that have one."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from react_text.cli.options import dialect_option, tools_limit_option

if TYPE_CHECKING:
    from react_text.backends.base import Sampling

F = TypeVar("F", bound=Callable[..., Any])


def agent_options(function: F) -> F:
    options = [
        dialect_option,
        tools_limit_option,
        click.option(
            "--mode",
            type=click.Choice(["auto", "text", "structured"]),
            default="auto",
            show_default=True,
            help="Structured calls, text, or what the endpoint is known to do; a chosen mode never changes.",
        ),
        click.option(
            "--grammar",
            type=click.Choice(["always", "ladder", "never"]),
            help="Constrain replies to the tools offered: always (default in process), after two unreadable replies, "
            "or never.",
        ),
        click.option("--instructions", default="", metavar="TEXT", help="Your own text for the system turn."),
        click.option("--max-steps", type=click.IntRange(min=1), default=8, show_default=True),
        click.option(
            "--max-tokens", type=click.IntRange(min=1), default=400, show_default=True, help="Tokens per reply."
        ),
        click.option("--token-budget", type=click.IntRange(min=1), help="Tokens per run, evaluated and generated."),
        click.option("--time-budget", type=click.FloatRange(min=0, min_open=True), help="Seconds per run."),
        click.option("--temperature", type=click.FloatRange(min=0), default=0.0, show_default=True),
        click.option("--top-p", type=click.FloatRange(0, 1), default=1.0, show_default=True),
        click.option("--min-p", type=click.FloatRange(0, 1), default=0.0, show_default=True),
        click.option("--seed", type=int, help="Fixes the draws at a temperature above 0."),
    ]
    for option in reversed(options):
        function = option(function)
    return function


def sampling_of(options: dict[str, Any]) -> Sampling:
    """The sampling that the options name; they are taken out of `options`."""
    from react_text.backends.base import Sampling

    return Sampling(**{name: options.pop(name) for name in ("temperature", "top_p", "min_p", "seed")})


@contextmanager
def cancel_on_interrupt(cancel: Callable[[], None]) -> Iterator[None]:
    """The first Ctrl-C ends the run within one token, the second one ends the program."""

    def interrupted(signum: int, frame: Any) -> None:
        cancel()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)

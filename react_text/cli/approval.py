"""The options that say who may run which call, and the question that a person is asked in the terminal."""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from react_text.approval import Answer, Approval, Audit
    from react_text.messages import Call

F = TypeVar("F", bound=Callable[..., Any])
_KEYS: dict[str, Answer] = {
    "y": "yes",
    "yes": "yes",
    "n": "no",
    "no": "no",
    "a": "always",
    "always": "always",
    "never": "never",
    "q": "stop",
    "quit": "stop",
}
_HINT = (
    "y: run it | a: run it, and this tool from now on | n: no | q: end the run | other words: no, and tell the model"
)


def approval_options(function: F) -> F:
    function = click.option(
        "--approve",
        "rules",
        multiple=True,
        metavar="TOOL=RULE",
        help="always, ask or never for a tool, or for a pattern such as 'delete_*'; may be given several times.",
    )(function)
    return click.option("--confirm", is_flag=True, help="Ask before each call of a tool that --approve does not name.")(
        function
    )


def approval_of(options: dict[str, Any], audit: Audit | None) -> Approval | None:
    """The approval that the options name, None where nobody is to be asked and nothing is to be recorded."""
    from react_text.approval import Approval

    confirm, given = options.pop("confirm"), options.pop("rules")
    rules: dict[str, Any] = {}
    for one in given:
        name, _, rule = one.partition("=")
        if rule not in ("always", "ask", "never") or not name:
            raise click.UsageError(f"--approve {one!r} is not understood; write TOOL=always, TOOL=ask or TOOL=never.")
        rules[name] = rule
    if not (confirm or rules or audit):
        return None
    return Approval(rules, default="ask" if confirm else "always", ask=Terminal().ask, audit=audit)


class Terminal:
    """Asks on stderr and reads from stdin; what the keys mean is said once."""

    def __init__(self) -> None:
        self.explained = False

    def ask(self, call: Call) -> Answer:
        from react_text.approval import Refusal

        if not self.explained:
            click.echo(f"\n{_HINT}", nl=False, err=True)
            self.explained = True
        arguments = _visible(json.dumps(dict(call.arguments), ensure_ascii=False, default=str))
        click.echo(f"\nRun {_visible(call.name)} {arguments}? [y/n/q] ", nl=False, err=True)
        with _interruptible():
            try:
                answer = sys.stdin.readline()
            except KeyboardInterrupt:
                return "stop"
        said = answer.strip()
        return _KEYS.get(said.lower(), Refusal(said)) if said else "stop" if not answer else "no"


def _visible(text: str) -> str:
    """The text with all that a terminal would not show as it is, such as a change of direction, as escapes."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C ends the waiting, whatever it does elsewhere."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)

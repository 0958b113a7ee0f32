"""What holds a reply to its form on the wire: GBNF, a regular expression or a JSON Schema, by what the endpoint takes.

Pure. The same text reply is held by the first two; a JSON Schema is about a reply that is a JSON value instead, which
is never begun.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from react_text.backends.base import Request
from react_text.capabilities import Capabilities
from react_text.errors import GrammarError
from react_text.protocol.grammar_forms import SERVER_FIELDS, VALUE, filled, regex_form

Form: TypeAlias = Literal["gbnf", "regex", "json-schema"]

PARAMETERS: dict[Form, dict[str, Any]] = {
    "gbnf": {"structured_outputs": {"grammar": VALUE}},
    "regex": {"structured_outputs": {"regex": VALUE}, "response_format": {"type": "regex", "value": VALUE}},
    "json-schema": {
        "structured_outputs": {"json": VALUE},
        "response_format": {"type": "json_schema", "json_schema": {"name": "reply", "schema": VALUE}},
    },
}
"""What a parameter holds where it is more than the constraint itself and the server's row in SERVER_FIELDS, if it has
one, does not say so."""

MOST_COUNTED = 16
"""Longest repetition that a regular expression counts. With those of the grammar one common engine took minutes to work
out the states of an expression, with this a quarter of a second."""
LONGEST_EXPRESSION = 20_000
"""Letters of the longest regular expression that is sent; one of 68 000 took that engine twenty seconds."""

_ROWS = {"llama.cpp": "llama-server", "lm-studio": "lmstudio"}
"""Names of servers in `capabilities`, by which SERVER_FIELDS knows them under another name."""


@dataclass(frozen=True, slots=True)
class Constraint:
    """`parameter` of the body with its value; `digest` stands for it in what is remembered of refusals."""

    form: Form
    parameter: str
    value: Any
    digest: str

    def fields(self, server: str) -> dict[str, Any]:
        """The fields of the body that carry it."""
        row = SERVER_FIELDS.get(_ROWS.get(server, server), {}).get(self.form, {})
        shape = row if self.parameter in row else PARAMETERS[self.form]
        return {self.parameter: filled(shape.get(self.parameter, VALUE), self.value)}


def constraint_of(request: Request, known: Capabilities, *, raw: bool = False) -> Constraint | None:
    """The first constraint of a request that the endpoint takes and has not refused, None where there is none.

    Never one beside tools. `raw` is for a raw completion, which is held by GBNF alone.
    """
    if request.tools:
        return None
    ways: tuple[tuple[Form, Any, str | None], ...] = (
        ("gbnf", request.grammar, known.grammar),
        ("regex", request.grammar, None if raw else known.regex),
        ("json-schema", request.reply_schema, None if raw else known.json_schema),
    )
    refused = known.get("refused_grammars") or ()
    for form, source, parameter in ways:
        digest = "" if source is None else _digest(form, source)
        if source is None or parameter is None or digest in refused:
            continue
        value = source
        if form != "json-schema" and request.reply_start and not raw and not _may_continue(request, known):
            value = begun_grammar(source, request.reply_start)
        if form == "regex":
            value = _as_regex(value)
        if value is not None:
            return Constraint(form, parameter, value, digest)
    return None


def continues(request: Request, known: Capabilities) -> bool:
    """Whether the server is asked to go on from the begun reply."""
    if not _may_continue(request, known):
        return False
    held = constraint_of(request, known)
    return held is None or held.form != "json-schema"


def with_refused(known: Capabilities, held: Constraint) -> list[str]:
    """The digests of all that the endpoint would not take, this one among them."""
    return sorted({*(known.get("refused_grammars") or ()), held.digest})


def _may_continue(request: Request, known: Capabilities) -> bool:
    last = request.messages[-1].get("role") if request.messages else None
    return bool(request.reply_start and known.prefill and not request.tools and last != "assistant")


@lru_cache(maxsize=64)
def begun_grammar(grammar: str, beginning: str) -> str:
    """`grammar` for a reply that the model has to begin itself: the same, after the text `beginning`."""
    name = "begun"
    while re.search(rf"(?<![\w-]){name}(?![\w-])", grammar):
        name += "-on"
    pieces = re.split(r'("(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]|#[^\n]*)', grammar)
    pieces[::2] = [re.sub(r"(?<![\w-])root(?![\w-])", name, piece) for piece in pieces[::2]]
    literal = "".join(_ESCAPED.get(letter, letter) for letter in beginning)
    return f'root ::= "{literal}" {name}\n' + "".join(pieces)


_ESCAPED = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


@lru_cache(maxsize=16)
def _as_regex(grammar: str) -> str | None:
    try:
        made = regex_form(grammar, most_counted=MOST_COUNTED)
    except GrammarError:
        return None
    return made if len(made) <= LONGEST_EXPRESSION else None


def _digest(form: Form, source: str | Mapping[str, Any]) -> str:
    text = source if isinstance(source, str) else json.dumps(source, sort_keys=True, default=str)
    return hashlib.sha256(("regex " if form == "regex" else "").encode() + text.encode()).hexdigest()[:16]

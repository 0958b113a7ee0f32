"""Tools and a dialect in, a GBNF grammar out: real tool names only, and after each exactly that tool's arguments. Pure.

The skeleton of the reply is a file in grammars/; the argument rules come from each tool's JSON Schema. What GBNF (or
this package) cannot say falls back to the nearest looser rule, and is named in `Grammar.loosened`; arguments are
validated after parsing in any case.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from react_text.protocol.dialect import Dialect
from react_text.protocol.expressions import Expression, choice, escaped, gbnf, repeat, sequence
from react_text.protocol.schema_rules import Grammar, Rules, Wanted
from react_text.tools import Tool

__all__ = ["MAX_CALLS", "Grammar", "Wanted", "arguments_grammar", "text_grammar", "value_grammar"]

MAX_CALLS = 8
"""Calls in one reply, where several are possible."""


def text_grammar(
    skeleton: str,
    dialect: Dialect,
    tools: Sequence[Tool],
    wanted: Wanted = "any",
    *,
    parallel: bool = False,
    answer_schema: Any = None,
) -> Grammar:
    """The grammar of one reply after `Dialect.reply_start`.

    `wanted` "call" leaves no room for an answer, "answer" none for a call; without tools only an answer is possible.
    One call, or with `parallel` up to MAX_CALLS. With `answer_schema`, a JSON Schema, the answer is a value that fits.
    """
    if not tools:
        wanted = "answer"
    rules = Rules()
    said: list[Expression] = []
    if wanted != "answer":
        calls: Expression = choice(_call(rules, tool, dialect) for tool in tools)
        if parallel:
            calls = rules.rule("one call", calls)
            calls = sequence(calls, repeat(sequence("\n", calls), 0, MAX_CALLS - 1))
        said.append(calls)
    answer = "text"
    if wanted != "call" and answer_schema is not None:
        said.append(rules.whole(answer_schema, "answer"))
        answer = gbnf(said[-1], inside=True)
    slots = {
        "%step%": {"any": "call | answer", "call": "call", "answer": "answer"}[wanted],
        "%calls%": gbnf(said[0]) if said else "",
        "%answer%": answer,
        "%final%": escaped(dialect.final),
        "%rules%": "\n".join(rules.lines(said)),
    }
    unused = {"any": (), "call": ("answer", "text"), "answer": ("call",)}[wanted]
    if answer != "text":
        unused = (*unused, "text")
    lines = [line for line in skeleton.splitlines() if line[:1] != "#" and line.split(" ")[0] not in unused]
    text = re.sub(r"%[a-z]+%", lambda match: slots.get(match[0], match[0]), "\n".join(lines))
    return Grammar(text.strip() + "\n", rules.loosened)


def arguments_grammar(tool: Tool, before: str = "", after: str = "") -> Grammar:
    """The grammar of a call that is begun up to its arguments: they alone, with fixed text before and after."""
    rules = Rules()
    whole = sequence(before, rules.arguments(tool), after)
    return Grammar("\n".join([f"root ::= {gbnf(whole)}", *rules.lines([whole])]) + "\n", rules.loosened)


def value_grammar(schema: Any, before: str = "") -> Grammar:
    """The grammar of one bare JSON value that fits a JSON Schema, with fixed text before it."""
    rules = Rules()
    value = sequence(before, rules.whole(schema, "value"))
    return Grammar("\n".join([f"root ::= {gbnf(value)}", *rules.lines([value])]) + "\n", rules.loosened)


def _call(rules: Rules, tool: Tool, dialect: Dialect) -> Expression:
    head = f"{dialect.action}: {tool.name}\n{dialect.input}: "
    return rules.rule(f"{tool.name} call", sequence(head, rules.arguments(tool)))

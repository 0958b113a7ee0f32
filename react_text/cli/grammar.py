"""`react-text grammar`: what replies are held to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from react_text.cli.options import dialect_option, load_toolbox, server_options, tools_option

if TYPE_CHECKING:
    from react_text.protocol.grammar import Grammar, Wanted
    from react_text.tools import Tool

_WANTED: dict[str, Wanted] = {"any": "any", "call": "call", "answer": "answer"}
_FORMS = ("gbnf", "json-schema", "structural-tag", "regex")


@click.command()
@tools_option(required=False)
@server_options
@dialect_option
@click.option(
    "--form",
    type=click.Choice(_FORMS),
    default="gbnf",
    show_default=True,
    help="What to write it as: servers differ in what they take.",
)
@click.option(
    "--native",
    metavar="FAMILY",
    help="Replies in a model's own call format, such as hermes, instead of the dialect; a structural tag needs one.",
)
@click.option(
    "--choice",
    default="any",
    show_default=True,
    metavar="any|call|answer|NAME",
    help="Calls and answers, calls only, answers only, or calls of the tool NAME only.",
)
@click.option("--parallel", is_flag=True, help="Leave room for several calls in one reply.")
def grammar(
    tools_path: Path | None,
    dialect: str,
    form: str,
    native: str | None,
    choice: str,
    parallel: bool,
    **options: Any,
) -> None:
    """Print the grammar that replies are held to; what it could not express is listed on stderr."""
    from react_text.errors import GrammarError
    from react_text.protocol.grammar_forms import json_schema_form, regex_form, structural_tag_form

    tools, wanted = _chosen(tuple(load_toolbox(tools_path, options, required=True)), choice)
    try:
        if form == "json-schema":
            click.echo(json.dumps(json_schema_form(tools, wanted), ensure_ascii=False, indent=2))
            return
        if form == "structural-tag":
            if native is None:
                raise click.UsageError("A structural tag is for a model's own call format: add --native FAMILY.")
            tag = structural_tag_form(native, tools, wanted, parallel=parallel)
            click.echo(json.dumps(tag, ensure_ascii=False, indent=2))
            return
        made = _grammar(dialect, native, tools, wanted, parallel)
        click.echo(regex_form(made.gbnf) if form == "regex" else made.gbnf.rstrip("\n"))
    except GrammarError as error:
        raise click.UsageError(str(error)) from None
    for looser in made.loosened:
        click.echo(f"looser than the schema, checked after parsing: {looser}", err=True)


def _chosen(tools: tuple[Tool, ...], choice: str) -> tuple[tuple[Tool, ...], Wanted]:
    """The tools that may be called, and whether a call or an answer is wanted."""
    if wanted := _WANTED.get(choice):
        return tools, wanted
    named = tuple(tool for tool in tools if tool.name == choice)
    if not named:
        known = ", ".join(tool.name for tool in tools)
        raise click.UsageError(
            f"--choice {choice} is neither any, call nor answer, nor a tool; the tools are: {known}."
        )
    return named, "call"


def _grammar(dialect: str, native: str | None, tools: tuple[Tool, ...], wanted: Wanted, parallel: bool) -> Grammar:
    from react_text.data import load_dialect, load_grammar_skeleton
    from react_text.protocol.grammar import text_grammar
    from react_text.protocol.native_grammar import native_grammar

    if native is not None:
        return native_grammar(native, tools, wanted, parallel=parallel)
    chosen = load_dialect(dialect)
    if chosen.grammar is None:
        raise click.UsageError(f"Dialect {chosen.name} names no grammar; add a line 'grammar: FILE.gbnf' to it.")
    return text_grammar(load_grammar_skeleton(chosen.grammar), chosen, tools, wanted, parallel=parallel)

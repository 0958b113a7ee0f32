"""`react-text grammar`: what replies are held to."""

from __future__ import annotations

from pathlib import Path

import click

from react_text.cli.options import dialect_option, tools_option


@click.command()
@tools_option(required=True)
@dialect_option
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

"""Where the data files of the package are: prompts/ and grammars/, in a wheel or in a checkout."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from react_text.errors import DialectError
from react_text.parsing import parse
from react_text.protocol.dialect import Dialect, read_dialect
from react_text.protocol.render import final_text, step_text
from react_text.tools import Tool

_HERE = Path(__file__).resolve().parent


def folder(name: str) -> Path:
    """The folder `prompts` or `grammars`: inside the installed package, else beside it in a checkout."""
    inside = _HERE / name
    return inside if inside.is_dir() else _HERE.parent / name


def dialect_names() -> list[str]:
    """The dialects that come with the package."""
    return sorted(path.stem for path in folder("prompts").glob("*.md"))


@cache
def load_dialect(name_or_path: str) -> Dialect:
    """A dialect by name, or from a user's file. Raises DialectError with the fix."""
    if name_or_path in dialect_names():
        return read_dialect((folder("prompts") / f"{name_or_path}.md").read_text(encoding="utf-8"), name_or_path)
    path = Path(name_or_path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise DialectError(
            f"No dialect {name_or_path!r}: it is neither a readable text file nor one of {', '.join(dialect_names())}."
        ) from None
    dialect = read_dialect(text, path.name)
    _check_readable(dialect)
    return dialect


def _check_readable(dialect: Dialect) -> None:
    """Raise DialectError unless what the dialect teaches a model is what the parser reads."""
    tool = Tool("look_up", "", {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]})
    step = parse(step_text(dialect, [("look_up", '{"word": "sea"}')], "I look."), [tool])
    answer = parse(final_text(dialect, "It is blue.", "I know."), [tool])
    calls = [(call.name, dict(call.arguments)) for call in step.calls]
    if calls != [("look_up", {"word": "sea"})] or step.thought != "I look.":
        labels = f"{dialect.thought!r}, {dialect.action!r} and {dialect.input!r}"
        wanted = "Thought, Action and Action Input, or a usual synonym or translation of each"
    elif answer.final != "It is blue." or answer.thought != "I know.":
        labels, wanted = repr(dialect.final), "Final Answer, or a usual synonym or translation of it"
    else:
        return
    raise DialectError(f"Dialect {dialect.name}: replies with the labels {labels} are not read; use {wanted}.")


@cache
def load_grammar_skeleton(name: str) -> str:
    """The GBNF skeleton with this file name in grammars/. Raises DialectError when there is none."""
    try:
        return (folder("grammars") / name).read_text(encoding="utf-8")
    except OSError:
        known = ", ".join(sorted(path.name for path in folder("grammars").glob("*.gbnf")))
        raise DialectError(f"No grammar skeleton {name!r} in grammars/; there are: {known}.") from None

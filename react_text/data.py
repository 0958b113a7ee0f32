"""Where the data files of the package are: prompts/ and grammars/, in a wheel or in a checkout."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from react_text.errors import DialectError
from react_text.protocol.dialect import Dialect, read_dialect

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
    return read_dialect(text, path.name)


@cache
def load_grammar_skeleton(name: str) -> str:
    """The GBNF skeleton with this file name in grammars/. Raises DialectError when there is none."""
    try:
        return (folder("grammars") / name).read_text(encoding="utf-8")
    except OSError:
        known = ", ".join(sorted(path.name for path in folder("grammars").glob("*.gbnf")))
        raise DialectError(f"No grammar skeleton {name!r} in grammars/; there are: {known}.") from None

"""Which tools of a source are taken, and what they are called: allow and deny patterns, names a model can be given."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from react_text.errors import ToolSourceError
from react_text.schema import nearest

_LONGEST_NAME = 64


def chosen_names(names: Sequence[str], allow: Iterable[str] | None, deny: Iterable[str], source: str) -> list[str]:
    """The names that a pattern of `allow` fits (all of them where it is None) and none of `deny`.

    A pattern is a name or has the wildcards of a shell. Raises ToolSourceError where a pattern fits no name.
    """
    deny = _patterns(deny)
    wanted = None if allow is None else _patterns(allow)
    for pattern in (*(wanted or ()), *deny):
        if not any(fnmatchcase(name, pattern) for name in names):
            near = nearest(pattern, names)
            hint = f"; did you mean {near}?" if near else f". They are: {', '.join(names) or 'none'}."
            raise ToolSourceError(f'None of the tools of {source} fits "{pattern}"{hint}')
    return [name for name in names if (wanted is None or _fits(name, wanted)) and not _fits(name, deny)]


def tool_name(name: str) -> str:
    """The name with what no tool's name may hold replaced by _, at most 64 characters long."""
    return re.sub(r"[^\w.-]+", "_", name)[:_LONGEST_NAME] or "tool"


def _patterns(given: Iterable[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _fits(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)

"""Regular expressions that are compiled when one is first used, so that importing this room costs little.

Each is linear in the text by construction: no two repeats that can take the same characters stand side by side
unless one of them is bounded by a small number. A test walks the room with runs of everything.
"""

from __future__ import annotations

import re
from typing import Any, cast

_METHODS = ("search", "match", "fullmatch", "finditer", "split", "sub")


class _Pattern:
    """What `re.compile` gives, from the first use on: its methods then stand on this object, as fast as its own."""

    def __init__(self, source: str, flags: int) -> None:
        self.pattern, self.flags = source, flags

    def __getattr__(self, name: str) -> Any:
        if name not in _METHODS:
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self.flags)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def pattern(source: str, flags: int = 0) -> re.Pattern[str]:
    """The pattern of `source`, compiled when it is first asked to match."""
    return cast("re.Pattern[str]", _Pattern(source, flags))

"""Tasks as they are written in JSON: what a right call and a right answer look like there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from react_text.compare.tasks import ExpectedCall


def expected_calls(entries: Iterable[Mapping[str, Any]]) -> tuple[ExpectedCall, ...]:
    """Right calls: `{"name", "arguments"}`, where a list holds the allowed values and anything else is the only one."""
    return tuple(
        ExpectedCall(
            entry["name"],
            {
                name: tuple(value) if isinstance(value, list) else (value,)
                for name, value in entry.get("arguments", {}).items()
            },
        )
        for entry in entries
    )


def spellings(entries: Iterable[Any]) -> tuple[tuple[str, ...], ...]:
    """The values that an answer must hold: each a text or number, or a list of the spellings that will do."""
    return tuple(tuple(str(one) for one in entry) if isinstance(entry, list) else (str(entry),) for entry in entries)

"""The parts of a record that are counted, decoded from a line without building the rest.

A report reads millions of lines; what a model wrote is skipped over and decoded only for the few outputs shown.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any, Literal

from react_text.errors import MissingExtra

Decode = Callable[[bytes], Any]


@cache
def decoder() -> Decode:
    """A function from a line to its record, with attributes for the counted parts; None where it holds none.

    Raises MissingExtra without msgspec.
    """
    try:
        import msgspec
    except ImportError:
        raise MissingExtra("compare", "A report") from None

    step = msgspec.defstruct(
        "Step",
        [
            ("repairs", list[str], msgspec.field(default_factory=list)),
            ("fault", str | None, None),
            ("strict", bool, False),
            ("mode", str | None, None),
            ("steered", list[str], msgspec.field(default_factory=list)),
        ],
        gc=False,
    )
    outcome = msgspec.defstruct(
        "Outcome",
        [
            ("read", Literal["strict", "repaired", "failed"]),
            *((name, bool | None, None) for name in ("right_tool", "right_arguments", "solved", "declined")),
            ("unreadable", bool | None, None),
        ],
        gc=False,
    )
    record = msgspec.defstruct(
        "Record",
        [
            ("model", str),
            ("arm", str),
            ("task", str),
            ("outcome", outcome),
            ("dialect", str | None, None),
            ("category", str | None, None),
            ("seed", int | None, None),
            ("needs_call", bool | None, None),
            ("stop_reason", str | None, None),
            ("mode_changes", list[Any] | None, None),
            ("tokens", float | None, None),
            ("tokens_after", float | None, None),
            ("prompt_tokens", float | None, None),
            ("seconds", float | None, None),
            ("steps", list[step], msgspec.field(default_factory=list)),  # type: ignore[valid-type]
        ],
        gc=False,
    )
    fast = msgspec.json.Decoder(record).decode

    def decode(line: bytes) -> Any:
        try:
            return fast(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass
        try:
            return msgspec.convert(json.loads(line), record, strict=False)
        except (ValueError, RecursionError):
            return None

    return decode

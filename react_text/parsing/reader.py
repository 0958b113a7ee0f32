"""`parse`: one model output, read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from react_text.messages import Fault, Turn
from react_text.tools import Tool, as_tools


def parse(
    text: str,
    tools: Iterable[Tool | Mapping[str, Any]] = (),
    *,
    finish_reason: str | None = None,
    loose_names: bool = False,
) -> Turn:
    """Read one model output."""
    as_tools(tools)
    return Turn("none", fault=Fault("empty", "The reply holds no text."))

"""Percentages: what a number argument takes for "5%" of a text. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from react_text.protocol.figures import percentages
from react_text.protocol.grounding import argument_schemas
from react_text.schema import first_problem
from react_text.tools import Tool

_AS_FRACTION = re.compile(r"decimal|fraction", re.IGNORECASE)
_AS_WRITTEN = re.compile(r"percent|%", re.IGNORECASE)


def as_fractions(tool: Tool, arguments: Mapping[str, Any], text: str) -> dict[str, float]:
    """The arguments that hold the 5 of "5%" and take 0.05 for it, with that value.

    These are numbers with a fraction whose name and description speak of no percent, or say that it is written as a
    decimal, and for which the value is allowed.
    """
    written = percentages(text)
    found = {}
    for name, schema in argument_schemas(tool).items():
        value = arguments.get(name)
        if schema.get("type") != "number" or isinstance(value, bool) or not isinstance(value, int | float):
            continue
        described = f"{name} {schema.get('description', '')}"
        if value not in written or (_AS_WRITTEN.search(described) and not _AS_FRACTION.search(described)):
            continue
        if first_problem({**arguments, name: written[value]}, tool.parameters) is None:
            found[name] = written[value]
    return found

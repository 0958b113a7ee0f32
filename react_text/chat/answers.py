"""What an answer is held to besides the protocol: stop strings, and JSON where it was asked for. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from react_text.schema import first_problem


def cut_at(text: str, stops: Sequence[str]) -> str:
    """The text before the first of the stop strings."""
    ends = [at for stop in stops if (at := text.find(stop)) >= 0]
    return text[: min(ends)] if ends else text


def bare_json(text: str) -> str:
    """The text without blanks and a code fence around it."""
    text = text.strip()
    if text.startswith("```") and text.endswith("```") and "\n" in text:
        text = text.partition("\n")[2].removesuffix("```").strip()
    return text


def json_problem(text: str, schema: Any) -> str | None:
    """What is wrong with an answer that must be JSON and fit `schema`, as a sentence for the model, or None."""
    if schema is None:
        return None
    try:
        value = json.loads(bare_json(text))
    except (ValueError, RecursionError):
        return "The answer must be one JSON object and nothing else: no words before or after it."
    if not isinstance(value, dict):
        return "The answer must be a JSON object."
    return first_problem(value, schema) if schema else None

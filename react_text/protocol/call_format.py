"""Calls as a model's own format writes them, and which format a chat template uses. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from react_text.protocol.expressions import json_text
from react_text.protocol.native_grammar import FORMATS, format_of


def call_text(family: str, name: str, arguments: Mapping[str, Any]) -> str:
    """One call in the format of `family`, a key of `native_grammar.FORMATS`, marks included."""
    before, after = format_of(family).whole(name)
    return f"{before}{json_text(dict(arguments))}{after}"


def call_format(rendered: str, name: str, arguments: Mapping[str, Any]) -> str | None:
    """The family of `native_grammar.FORMATS` in which `rendered` holds the call of `name`, None where none fits.

    White space does not count. Formats with marks of their own are tried before those that are bare JSON, and among
    these a call that ends as the format does before one that only begins so: some templates write an id at its end.
    """
    text = _squeezed(rendered)
    marked = [family for family, form in FORMATS.items() if form.mark]
    bare = [family for family in FORMATS if family not in marked]
    written = json_text(dict(arguments))
    for families in (marked, bare):
        for whole in (True, False):
            for family in families:
                before, after = format_of(family).whole(name)
                if _squeezed(before + written + (after if whole else "")) in text:
                    return family
    return None


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)

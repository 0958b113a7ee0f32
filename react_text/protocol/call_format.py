"""Calls as a model's own format writes them, and which format and reasoning a chat template uses. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from react_text.protocol.native_grammar import FORMATS, Reasoning, format_of


def call_text(family: str, name: str, arguments: Mapping[str, Any]) -> str:
    """One call in the format of `family`, a key of `native_grammar.FORMATS`, marks included."""
    before, after = format_of(family).whole(name)
    return f"{before}{format_of(family).written(arguments)}{after}"


def call_format(rendered: str, name: str, arguments: Mapping[str, Any]) -> str | None:
    """The family of `native_grammar.FORMATS` in which `rendered` holds the call of `name`, None where none fits.

    White space does not count. Formats with marks of their own are tried before those that are bare JSON, and among
    these a call that ends as the format does before one that only begins so: some templates write an id at its end.
    """
    text = _squeezed(rendered)
    marked = [family for family, form in FORMATS.items() if form.mark]
    bare = [family for family in FORMATS if family not in marked]
    for families in (marked, bare):
        for whole in (True, False):
            for family in families:
                form = format_of(family)
                before, after = form.whole(name)
                written = form.written(arguments)
                if _squeezed(before + written + (after if whole else "")) in text:
                    return family
                if form.also and _squeezed(form.also.replace("%name%", name).replace("%arguments%", written)) in text:
                    return family
    return None


def reasoning_in(family: str, prompt: str, template: str) -> Reasoning | None:
    """What a chat template makes of reasoning, by its source and a prompt it rendered up to where a reply begins.

    None where it knows of none, or where the prompt already holds an empty block: the model is to answer at once.
    """
    opens, closes = format_of(family).thinks
    if prompt.rstrip().endswith(opens.rstrip()):
        return "begun"
    if re.search(rf"{re.escape(opens)}\s*{re.escape(closes)}\s*\Z", prompt):
        return None
    return "shown" if opens in template or closes in template else None


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)

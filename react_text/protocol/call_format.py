"""Calls as a model's own format writes them, and which format a chat template uses. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from react_text.protocol.native_grammar import FORMATS


def call_text(family: str, name: str, arguments: Mapping[str, Any]) -> str:
    """One call in the format of `family`, a key of `native_grammar.FORMATS`, marks included."""
    form = FORMATS[family]
    call = f"{form.opens}{form.call}{form.closes}" if form.mark else form.bare
    filled = {"%name%": name, "%arguments%": json.dumps(dict(arguments), ensure_ascii=False), "%number%": "0"}
    return re.sub("|".join(filled), lambda match: filled[match[0]], call)


def call_parts(family: str, name: str) -> tuple[str, str]:
    """What stands before and after the arguments of a call in the format of `family`."""
    form = FORMATS[family]
    call = f"{form.opens}{form.call}{form.closes}" if form.mark else form.bare
    before, after = call.replace("%name%", name).replace("%number%", "0").split("%arguments%")
    return before, after


def call_format(rendered: str, name: str, arguments: Mapping[str, Any]) -> str | None:
    """The family of `native_grammar.FORMATS` in which `rendered` holds the call of `name`, None where none fits.

    White space does not count. Formats with marks of their own are tried before those that are bare JSON.
    """
    text = _squeezed(rendered)
    for family in sorted(FORMATS, key=lambda one: not FORMATS[one].mark):
        if _squeezed(call_text(family, name, arguments)) in text:
            return family
    return None


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)

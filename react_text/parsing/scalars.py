"""Numbers and literals as models spell them. Knows nothing of strings, brackets or tools."""

from __future__ import annotations

from dataclasses import dataclass

from react_text.parsing.patterns import pattern


class WrittenFloat(float):
    """A float that remembers its spelling, where that is not the shortest one."""

    written: str


class WrittenInt(int):
    """An integer that remembers its spelling, where JSON has no such number."""

    written: str


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number, boolean or null; `repair` names what its spelling took, "" for valid JSON."""

    value: bool | int | float | None
    repair: str = ""


NUMBER = pattern(r"-?(?:0|[1-9]\d{0,299})(\.\d{1,300})?([eE][+-]?\d{1,3})?")
"""A JSON number of a size that can be read."""

_GROUPED = pattern(r"[+-]?[1-9]\d{0,2}(?:_\d{3})+")
GROUPED_OR_NOT = pattern(r"\s*[+-]?\d{1,3}(?:\.\d{3})+\s*")
"""A number in whose spelling a point may part thousands or decimals."""
_HEX = pattern(r"0[xX][0-9a-fA-F]{1,16}")
_HALF = pattern(r"[+-]?(?:(?:0|[1-9]\d{0,299})\.|\.\d{1,300}|(?:0|[1-9]\d{0,299})(?:\.\d{1,300})?)")
_JSON_LITERALS = {"true": True, "false": False, "null": None}
_LITERALS = {**_JSON_LITERALS, "none": None}


def read_float(text: str) -> float:
    """The float that `text` spells; a WrittenFloat where `repr` would spell it otherwise."""
    value = float(text)
    if repr(value) == text:
        return value
    written = WrittenFloat(value)
    written.written = text
    return written


def read_scalar(text: str) -> Scalar | None:
    """The number or literal that `text` spells, or None when it is neither."""
    if len(text) > 700:
        return None
    number = NUMBER.fullmatch(text)
    if number is not None:
        return Scalar(read_float(text) if number.group(1) or number.group(2) else int(text))
    if text in _JSON_LITERALS:
        return Scalar(_JSON_LITERALS[text])
    if text.lower() in _LITERALS and text in (text.lower(), text.capitalize(), text.upper()):
        return Scalar(_LITERALS[text.lower()], "python_literal")
    if _GROUPED.fullmatch(text):
        return Scalar(_written(int(text.replace("_", "")), text), "number_form")
    if _HEX.fullmatch(text):
        return Scalar(_written(int(text, 16), text), "number_form")
    if _HALF.fullmatch(text):
        return Scalar(read_float(text) if "." in text else _written(int(text), text), "number_form")
    return None


def _written(value: int, text: str) -> WrittenInt:
    number = WrittenInt(value)
    number.written = text
    return number

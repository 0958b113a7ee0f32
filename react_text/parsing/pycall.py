"""A call written as Python: `name(key="text", other=3)`. Read as text, never evaluated."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from react_text.parsing.patterns import pattern
from react_text.parsing.values import read_value

HEAD = pattern(r"(?P<name>[A-Za-z_][\w.-]{0,127})\s*\(")
KEYWORD = pattern(r"\s*(?P<key>[A-Za-z_][\w-]{0,127})\s*=(?!=)\s*")
QUOTE = pattern(r"(?P<prefix>[rRbBuU]{0,2})(?P<quote>\"\"\"|'''|\"|'|“|‘)")
WORD = pattern(r"[^\s,()\[\]{}\"'=]+")
NUMBER = pattern(r"[+-]?(?:0|[1-9][\d_]*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
CLOSING_QUOTE = {"“": "”", "‘": "’"}
LITERALS = {"True": True, "False": False, "None": None, "true": True, "false": False, "null": None}
ESCAPE = pattern(r"\\(?:(?P<line>\r?\n)|x(?P<hex>[0-9a-fA-F]{2})|u(?P<u>[0-9a-fA-F]{4})|(?P<char>[\\'\"nrtabfv0]))")
ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}


@dataclass(frozen=True, slots=True)
class PythonCall:
    """A call as written. `cut` says that the text ended inside a value; `readable` is False for an expression."""

    name: str
    end: int
    keywords: dict[str, Any] = field(default_factory=dict)
    positional: tuple[Any, ...] = ()
    cut: bool = False
    readable: bool = True
    closed: bool = True


@dataclass(frozen=True, slots=True)
class _Value:
    value: Any
    end: int
    cut: bool = False
    readable: bool = True


def read_python_call(text: str, start: int) -> PythonCall | None:
    """The call whose name begins at `start`, or None when no name and parenthesis stand there."""
    head = HEAD.match(text, start)
    if head is None:
        return None
    name = head["name"].removesuffix(".call")
    keywords: dict[str, Any] = {}
    positional: list[Any] = []
    at = head.end()
    while True:
        at = _blanks(text, at)
        if at >= len(text):
            return PythonCall(name, at, keywords, tuple(positional), cut=text[at - 1 : at] == ",", closed=False)
        if text[at] == ")":
            return PythonCall(name, at + 1, keywords, tuple(positional))
        keyword = KEYWORD.match(text, at)
        read = _value(text, keyword.end() if keyword else at)
        if read.cut or not read.readable:
            return PythonCall(name, read.end, keywords, tuple(positional), cut=read.cut, readable=False)
        if keyword is None:
            positional.append(read.value)
        elif keyword["key"] in keywords:
            return PythonCall(name, read.end, keywords, tuple(positional), readable=False)
        else:
            keywords[keyword["key"]] = read.value
        at = _blanks(text, read.end)
        if text[at : at + 1] == ",":
            at += 1
        elif text[at : at + 1] not in (")", ""):
            return PythonCall(name, at, keywords, tuple(positional), readable=False)


def _blanks(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _value(text: str, at: int) -> _Value:
    if at >= len(text):
        return _Value(None, at, cut=True)
    quote = QUOTE.match(text, at)
    if quote is not None:
        return _string(text, quote.end(), quote["quote"], raw="r" in quote["prefix"].lower())
    if text[at] in "{[":
        read = read_value(text, at)
        return _Value(read.value, read.end, cut=not (read.complete and read.closed), readable=read.readable)
    word = WORD.match(text, at)
    if word is None:
        return _Value(None, at, readable=False)
    written = word[0]
    if word.end() == len(text):
        return _Value(None, word.end(), cut=True)
    if written in LITERALS:
        return _Value(LITERALS[written], word.end())
    if NUMBER.fullmatch(written):
        return _Value(json.loads(written.replace("_", "").lstrip("+")), word.end())
    # digits that are no Python number, such as 00417 or 12:30, can only be meant as text
    if written[0].isdigit():
        return _Value(written, word.end())
    return _Value(None, word.end(), readable=False)


def _string(text: str, start: int, quote: str, *, raw: bool) -> _Value:
    """The string after its opening quote. A quote inside that neither comma nor bracket follows belongs to the text."""
    closing = CLOSING_QUOTE.get(quote, quote)
    at = start
    while True:
        end = text.find(closing, at)
        if end < 0:
            return _Value(None, len(text), cut=True)
        backslashes = 0
        while text[end - 1 - backslashes : end - backslashes] == "\\" and end - 1 - backslashes >= start:
            backslashes += 1
        after = _blanks(text, end + len(closing))
        if backslashes % 2 == 0:
            if after >= len(text) or text[after] in ",)]}":
                written = text[start:end]
                return _Value(written if raw else _unescape(written), end + len(closing))
            if text[after] in "\"'+%" or text[after] == ".":
                return _Value(None, end, readable=False)
        at = end + len(closing)


def _unescape(written: str) -> str:
    if "\\" not in written:
        return written

    def replace(match: re.Match[str]) -> str:
        if match["line"]:
            return ""
        code = match["hex"] or match["u"]
        return chr(int(code, 16)) if code else ESCAPED.get(match["char"], match["char"])

    return ESCAPE.sub(replace, written)

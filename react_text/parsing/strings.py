"""Quoted strings as models write them: where one ends, and what its characters mean.

A quote that is not escaped ends a string only where the text after it goes on as a value should. Knows nothing of
tools, labels or turns beyond the shape of a line that opens a section.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from react_text.parsing.patterns import pattern

Place: TypeAlias = Literal["key", "member", "item"]

CLOSERS = {'"': '"', "'": "'", "`": "`", "“": '”“"', "„": '“”"', "‘": "’‘'", "«": "»", "「": "」", "＂": "＂"}
"""What may end a string that the key opened."""

MOST_INNER_QUOTES = 2000
"""Quotes within one string that are still told from its end; a string with more is ambiguous."""

SMART = frozenset("“„‘«「＂")
SEPARATORS = ",;，、"

END_MARK = pattern(
    r"```|<\||<｜|</(?:tool|function|action|param|arg|s>)|<(?:end_of_turn|start_of|tool_)|Obs[a-z]{0,8}\s*\Z"
)
"""What never stands within a value, outside its strings: a fence, a chat token, a tag, a piece of the stop word."""

_OPENER_OF = {"}": "{", "]": "[", ")": "("}
_SEVERAL = pattern(r"[\"']\s*[,:;][\s,:;]*[\"']")
_BLANKS = pattern(r"\s*")
_KEY_AHEAD = pattern(
    r"""\s*(?:"[^"\n]{0,80}"|'[^'\n]{0,80}'|[“„][^”"\n]{0,80}[”"]|[^\W\d][\w$.\-]{0,63})\s*(?:=>|[:=：])"""
)
_ITEM_AHEAD = pattern(r"""\s*(?:["'“„`\d{\[\-(]|(?:true|false|null|none)\b)""", re.IGNORECASE)
_CLOSER_RUN = pattern(r"[\s,}\])]*")
_COMMENT = pattern(r"\s*(?:/\*.{0,400}?\*/|(?://|#)[^\n]{0,400}\n)\s*(?=[,}\]\"'])", re.DOTALL)
_LABEL_LINE = pattern(
    r"\n[ \t]{0,8}[#>*_]{0,3}[ \t]?(?:observation|thought|action|final answer)\b[^\n:]{0,16}[:：]", re.IGNORECASE
)
_RUN = r"(?<!\\)((?:\\\\)*)"
_ODD = pattern(_RUN + r"\\(?=[^\"\\/bfnrtu']|u(?![0-9a-fA-F]{4})|\Z)")
_ODD_OR_CONTROL = pattern(_RUN + r"\\(?=[^\"\\/nrtu']|u(?![0-9a-fA-F]{4})|\Z)")
_APOSTROPHE = pattern(_RUN + r"\\'")
_BARE_QUOTE = pattern(_RUN + '"')
_JOINED = pattern(r"([\"'])\s{0,20}\+\s{0,20}(?:[\"'][^\"'\n]{0,400}[\"']|[\w.()]{1,80})\s{0,20}[,+}\])]")
"""A string that an expression joins to another value."""
_DRIVE_OR_SHARE = pattern(r"[A-Za-z]:\\|\\\\\w")
_STOPS = {opener: pattern("[" + re.escape(closers) + "]") for opener, closers in CLOSERS.items()}


@dataclass(frozen=True, slots=True)
class StringRead:
    """A string: its characters, the offset after it, the names of the repairs, and whether it was closed."""

    value: str
    end: int
    repairs: tuple[str, ...] = ()
    closed: bool = True
    ambiguous: bool = False


def read_string(text: str, start: int, end: int, place: Place, openers: str, *, raw: bool = False) -> StringRead:
    """The string whose opening quote stands at `start`; `openers` are the brackets open around it, outermost first.

    `raw` keeps backslashes as they are.
    """
    quote = text[start]
    if quote in "\"'" and text.startswith(quote * 3, start):
        return _triple(text, start, end)
    inner: list[int] = []
    position = start + 1
    stops = _STOPS[quote]
    while True:
        found = stops.search(text, position, end)
        if found is None:
            return StringRead(decode(text[start + 1 : end], quote)[0], end, closed=False)
        at = found.start()
        position = at + 1
        if text[at - 1] == "\\" and _is_escaped(text, at, start):
            continue
        if closes(text, at, end, place, openers, bool(inner)):
            break
        if not inner and _JOINED.match(text, at, end):
            return StringRead("", position, ambiguous=True)
        inner.append(at)
        if len(inner) > MOST_INNER_QUOTES:
            return StringRead("", position, ambiguous=True)
    body = text[start + 1 : at]
    value, repairs = (body, ()) if raw else decode(body, quote)
    broken = "\n" in body
    if broken:
        repairs = ("raw_newline", *repairs)
    if inner:
        repairs = ("inner_quotes", *repairs)
    if quote in SMART or (text[at] in "”“’‘" and quote != text[at]):
        repairs = ("smart_quotes", *repairs)
    elif quote != '"':
        repairs = ("single_quotes", *repairs)
    ambiguous = bool(inner) and (
        (broken and _LABEL_LINE.search(body) is not None) or _reads_as_several(text, inner, start, at)
    )
    return StringRead(value, position, repairs, ambiguous=ambiguous)


def _is_escaped(text: str, at: int, start: int) -> bool:
    """Whether an odd number of backslashes stands before an offset."""
    first = at - 1
    while first > start and text[first] == "\\":
        first -= 1
    return (at - 1 - first) % 2 == 1


def _triple(text: str, start: int, end: int) -> StringRead:
    mark = text[start] * 3
    stop = text.find(mark, start + 3, end)
    if stop < 0:
        return StringRead(text[start + 3 : end], end, closed=False)
    value, repairs = decode(text[start + 3 : stop], text[start])
    return StringRead(value, stop + 3, ("triple_quotes", *repairs))


def closes(text: str, at: int, end: int, place: Place, openers: str, after_inner: bool) -> bool:
    """Whether the quote at `at` ends its string, judged by what follows.

    `after_inner` says that an earlier quote of this string was taken as text; then weaker signs do not count.
    """
    ahead = _skip(text, at + 1, end)
    if ahead >= end:
        return not after_inner and not text[at - 1].isspace()
    char = text[ahead]
    if place == "key":
        return char in ":=："
    if char in SEPARATORS:
        return _after_separator(text, ahead + 1, end, place, openers, after_inner)
    if char in "}])":
        return _OPENER_OF[char] in openers and _after_closers(text, ahead, end, openers, after_inner)
    if END_MARK.match(text, ahead):
        return not after_inner
    if place == "member":
        return ahead > at + 1 and _KEY_AHEAD.match(text, ahead, end) is not None
    return ahead > at + 1 and char in "\"'“{["


def _skip(text: str, position: int, end: int) -> int:
    blank = _BLANKS.match(text, position, end)
    position = blank.end() if blank else position
    if position < end and text[position] in "/#":
        comment = _COMMENT.match(text, position, end)
        return comment.end() if comment else position
    return position


def _after_separator(text: str, position: int, end: int, place: Place, openers: str, after_inner: bool) -> bool:
    ahead = _skip(text, position, end)
    if ahead >= end:
        return not after_inner
    if text[ahead] in "}])":
        return _OPENER_OF[text[ahead]] in openers and _after_closers(text, ahead, end, openers, after_inner)
    if place == "item" and _ITEM_AHEAD.match(text, ahead, end):
        return True
    return place == "member" and _KEY_AHEAD.match(text, ahead, end) is not None


def _after_closers(text: str, position: int, end: int, openers: str, after_inner: bool) -> bool:
    run = _CLOSER_RUN.match(text, position, end)
    stop = run.end() if run else position
    closed = sum(text.count(closer, position, stop) for closer in "}])")
    if closed < len(openers):
        return True
    if stop < end and text[stop] in "\"'”":
        return False
    if after_inner:
        line_end = text.find("\n", stop, min(end, stop + 300))
        rest = text[stop : line_end if line_end >= 0 else min(end, stop + 300)]
        return not re.search(r"[\"'][\s,;]*[}\])]", rest)
    return True


def _reads_as_several(text: str, inner: list[int], start: int, stop: int) -> bool:
    """Whether the inner quotes look like the ends of several strings, or one lacks its partner."""
    first = inner[0]
    before = text[first - 1] if first - 1 > start else ""
    after = text[first + 1] if first + 1 < stop else ""
    follows_word = before != "" and not before.isspace() and before not in "([{=:,>\"'"
    ends_here = after == "" or after.isspace() or after in ",:;}]"
    if not follows_word and not ends_here:
        return text[start] == '"' and len(inner) % 2 == 1
    if not follows_word or after in (",", ":", ";"):
        return True
    return _SEVERAL.search(text, start + 1, stop) is not None


def decode(raw: str, quote: str = '"') -> tuple[str, tuple[str, ...]]:
    """The characters that the body of a string stands for, and the names of the repairs it took.

    Backslashes that begin no JSON escape are literal, and in a path that holds one all are.
    """
    if "\\" not in raw:
        return raw, ()
    try:
        value = json.loads(f'"{raw}"', strict=False)
    except ValueError:
        pass
    else:
        return str(value), ()
    odd = _ODD.search(raw) is not None
    if odd and _DRIVE_OR_SHARE.search(raw) and "\\\\" not in raw.lstrip("\\"):
        return raw.replace(f"\\{quote}", quote), ("invalid_escape",)
    mended = _APOSTROPHE.sub(r"\1'", (_ODD_OR_CONTROL if odd else _ODD).sub(r"\1\\\\", raw))
    if '"' in mended:
        mended = _BARE_QUOTE.sub(r'\1\\"', mended)
    try:
        value = str(json.loads(f'"{mended}"', strict=False))
    except ValueError:
        value = raw
    return value, ("invalid_escape",) if odd or "\\'" in raw else ()

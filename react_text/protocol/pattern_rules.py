r"""A regular expression as a grammar expression over JSON text, for the plain subset of patterns. Pure.

Literals, classes, groups, alternatives, repetitions and anchors at the ends are understood. `\d`, `\w` and `\s` mean
ASCII, and so do their opposites and every class left open, so that no letter is allowed that the pattern forbids.
Anything else (look-around, back-references, word boundaries, flags) is no part of the subset.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from react_text.protocol.expressions import EMPTY, Expression, Letters, choice, escaped, optional, repeat, sequence

MAX_REPEAT = 100
"""Times for an open repetition such as `+`, beyond its least number."""
_LONGEST_PATTERN = 400
_MOST_LETTERS = 2000
_AROUND = 40
"""Letters before and after a pattern that is not anchored."""

_Ranges = tuple[tuple[int, int], ...]
_WORD: _Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
_SHORT: dict[str, _Ranges] = {"d": ((0x30, 0x39),), "w": _WORD, "s": ((0x09, 0x0D), (0x20, 0x20))}
_ANY: _Ranges = ((0x20, 0x7E),)
_NAMED = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "a": "\a", "0": "\0"}
_JSON_NAMES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\f": "\\f", "\b": "\\b"}
_COUNT = re.compile(r"\{(\d{1,4})(?:(,)(\d{0,4}))?\}")
_GROUP = re.compile(r"\?(?::|P?<[A-Za-z_]\w*>)")


class _Beyond(Exception):
    """The pattern is not in the subset."""


@dataclass(frozen=True, slots=True)
class Matched:
    """What a pattern allows, and the fewest and most letters of it; an open repetition counts as it is bounded."""

    expression: Expression
    least: int
    most: int


def pattern_expression(pattern: str) -> Matched | None:
    """What a regular expression finds, as the inside of a JSON string; None for one beyond the subset."""
    if len(pattern) > _LONGEST_PATTERN:
        return None
    try:
        return _Reader(pattern).whole()
    except _Beyond:
        return None


_NONE = Matched(EMPTY, 0, 0)


def _row(parts: list[Matched]) -> Matched:
    most = sum(part.most for part in parts)
    if most > _MOST_LETTERS:
        raise _Beyond
    return Matched(sequence(*(part.expression for part in parts)), sum(part.least for part in parts), most)


class _Reader:
    """Reads one pattern from left to right."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._depth = 0

    def _peek(self) -> str:
        return self._pattern[self._at : self._at + 1]

    def _take(self) -> str:
        letter = self._peek()
        if not letter:
            raise _Beyond
        self._at += 1
        return letter

    def whole(self) -> Matched:
        """The alternatives at the top, each with room for other text where it is not anchored."""
        around = Matched(repeat(_letters(_ANY), 0, _AROUND), 0, _AROUND)
        found: list[Matched] = []
        while True:
            starts = self._peek() == "^"
            self._at += starts
            body = self._branch()
            ends = self._peek() == "$"
            self._at += ends
            found.append(_row([_NONE if starts else around, body, _NONE if ends else around]))
            if not self._peek():
                return _one_of(found)
            if self._take() != "|":
                raise _Beyond

    def _alternatives(self) -> Matched:
        self._depth += 1
        if self._depth > 20:
            raise _Beyond
        found = [self._branch()]
        while self._peek() == "|":
            self._at += 1
            found.append(self._branch())
        self._depth -= 1
        return _one_of(found)

    def _branch(self) -> Matched:
        parts: list[Matched] = []
        while self._peek() not in ("", "|", ")", "$"):
            parts.append(self._repeated(self._atom()))
        return _row(parts)

    def _atom(self) -> Matched:
        letter = self._take()
        if letter == "(":
            if self._peek() == "?":
                opening = _GROUP.match(self._pattern, self._at)
                if not opening:
                    raise _Beyond
                self._at = opening.end()
            inner = self._alternatives()
            if self._take() != ")":
                raise _Beyond
            return inner
        if letter == "[":
            return Matched(_letters(self._class()), 1, 1)
        if letter == ".":
            return Matched(_letters(_ANY), 1, 1)
        if letter in "^*+?{}":
            raise _Beyond
        if letter == "\\":
            ranges = self._escape()
            return Matched(_letters(ranges), 1, 1)
        return Matched(_letters(((ord(letter), ord(letter)),)), 1, 1)

    def _repeated(self, part: Matched) -> Matched:
        letter = self._peek()
        if letter in ("*", "+", "?") and letter:
            self._at += 1
            least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[letter]
        elif letter == "{":
            counted = _COUNT.match(self._pattern, self._at)
            if not counted:
                raise _Beyond
            self._at = counted.end()
            least = int(counted[1])
            most = (int(counted[3]) if counted[3] else None) if counted[2] else least
        else:
            return part
        if self._peek() == "?":
            self._at += 1
        if self._peek() in ("*", "+", "{") and self._peek():
            raise _Beyond
        if part.least == 0 and (most is None or most > 1):
            raise _Beyond
        top = least + MAX_REPEAT // max(1, part.most) + 1 if most is None else most
        if top < least or part.most * top > _MOST_LETTERS:
            raise _Beyond
        return Matched(repeat(part.expression, least, top), part.least * least, part.most * top)

    def _escape(self) -> _Ranges:
        """What an escape stands for, its backslash already read."""
        letter = self._take()
        if letter.lower() in _SHORT:
            ranges = _SHORT[letter.lower()]
            return ranges if letter.islower() else _without(ranges)
        if letter in _NAMED:
            point = ord(_NAMED[letter])
        elif letter in "xu":
            length = 2 if letter == "x" else 4
            digits = self._pattern[self._at : self._at + length]
            if not re.fullmatch("[0-9a-fA-F]+", digits) or len(digits) < length:
                raise _Beyond
            self._at += length
            point = int(digits, 16)
        elif letter.isalnum():
            raise _Beyond
        else:
            point = ord(letter)
        return ((point, point),)

    def _class(self) -> _Ranges:
        negated = self._peek() == "^"
        self._at += negated
        found: list[tuple[int, int]] = []
        first = True
        while first or self._peek() != "]":
            first = False
            low = self._member()
            if self._peek() == "-" and self._pattern[self._at + 1 : self._at + 2] not in ("]", ""):
                self._at += 1
                high = self._member()
                if len(low) != 1 or len(high) != 1 or low[0][0] != low[0][1] or high[0][0] < low[0][0]:
                    raise _Beyond
                low = ((low[0][0], high[0][1]),)
            found += low
        self._at += 1
        return _without(tuple(found)) if negated else tuple(found)

    def _member(self) -> _Ranges:
        letter = self._take()
        if letter == "\\":
            return self._escape()
        if letter == "[" or (letter == self._peek() and letter in "&|~-"):
            raise _Beyond  # set operations in some engines
        return ((ord(letter), ord(letter)),)


def _one_of(found: list[Matched]) -> Matched:
    least, most = min(one.least for one in found), max(one.most for one in found)
    texts = [one.expression for one in found]
    if EMPTY in texts:
        return Matched(optional(choice(text for text in texts if text != EMPTY)), least, most)
    return Matched(choice(texts), least, most)


def _without(ranges: _Ranges) -> _Ranges:
    """The printable ASCII letters that are in none of the ranges."""
    free = [point for point in range(0x20, 0x7F) if not any(low <= point <= high for low, high in ranges)]
    return tuple((point, point) for point in free)


def _letters(ranges: _Ranges) -> Expression:
    """One letter out of the ranges, as it stands in JSON text."""
    points = sorted({(low, high) for low, high in ranges})
    plain: list[tuple[int, int]] = []
    named: list[str] = []
    for low, high in points:
        if any(0xD800 <= end <= 0xDFFF for end in (low, high)):
            raise _Beyond
        start = low
        for point in sorted({*range(low, min(high, 0x1F) + 1), *(p for p in (0x22, 0x5C) if low <= p <= high)}):
            if start < point:
                plain.append((start, point - 1))
            named.append(_JSON_NAMES.get(chr(point), f"\\u{point:04x}"))
            start = point + 1
        if start <= high:
            plain.append((start, high))
    merged: list[tuple[int, int]] = []
    for low, high in sorted(plain):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    if not merged and not named:
        raise _Beyond
    if not named and len(merged) == 1 and merged[0][0] == merged[0][1]:
        return sequence(chr(merged[0][0]))
    inside = "".join(_point(low) if low == high else f"{_point(low)}-{_point(high)}" for low, high in merged)
    return choice([*([Letters(f"[{inside}]")] if inside else []), *named])


def _point(point: int) -> str:
    """A letter inside a GBNF class."""
    letter = chr(point)
    return f"\\x{point:02X}" if letter in "^-[]\\" else escaped(letter)

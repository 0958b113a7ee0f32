"""A tolerant reader of one value: JSON, and what models write instead of JSON. Knows nothing of tools or turns.

One pass with an explicit stack; nothing is evaluated and nothing is tried twice.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from react_text.messages import Repair
from react_text.parsing.json_text import MAX_DEPTH, ValueRead, read_valid
from react_text.parsing.patterns import pattern
from react_text.parsing.scalars import read_scalar
from react_text.parsing.strings import CLOSERS, END_MARK, SEPARATORS, Place, closes, read_string

MOST_VALUES = 10_000
"""Keys and values of a text that is no valid JSON which are still read; a larger one is unreadable."""

SNIPPET = 60
"""Characters of a repair's before and after that are kept."""


def read_value(text: str, start: int = 0, end: int | None = None) -> ValueRead:
    """The value at `start`, leading blanks skipped, read no further than `end`."""
    end = len(text) if end is None else end
    blanks = _BLANKS.match(text, start, end)
    start = blanks.end() if blanks else start
    if start >= end:
        return ValueRead(None, start, readable=False)
    read = read_valid(text, start) if end == len(text) else None
    return read or _Reader(text, start, end).read()


_BLANKS = pattern(r"\s*")
_TRIVIA = pattern(r"\s+|(?://|#)[^\n]*|/\*.*?\*/", re.DOTALL)
_KEY = pattern(r"(?:[^\W\d]|\\_)[\w$.\\ \-]{0,63}?(?=[\"']?\s*(?:=>|[:=：]))|\d{1,9}(?=\s*[:：])")
_CUT_KEY = pattern(r"[\w$.\- ]*\Z")
_COLON = pattern(r"=>|[:=：]")
_BARE = pattern(r"[^,;，{}\[\]()\"`\n\r<“”]+")
_COMMENT = pattern(r"\s(?://|#|/\*)")
_COMMA_OR_BLANK = SEPARATORS + " \t"
_MEMBER_AHEAD = pattern(r",\s*[\"']?[^\W\d]\w{0,63}[\"']?\s*:\s*[\"'\d\[{tfn-]")
_NOT_ONE_WORD = pattern(r"[:=：](?!//)|\\|(?<!\w)'|'(?!\w)")
_AFTER_COMMA = pattern(
    r"""\s*(?:(?:"[^"\n]{0,80}"|'[^'\n]{0,80}'|[^\W\d][\w$.\- ]{0,63}?)\s*(?:=>|[:=：])|[}\])]|\Z)"""
)
_PREFIXED = pattern(r"[rRuUbB](?=[\"'])")
_LABEL = pattern(
    r"[#>*_ \t]{0,6}(?:Observation|Thought|Action(?: Input)?|Final Answer|Question|Human|User)\W{0,4}[:：]"
)
_CLOSER_OF = {"{": "}", "[": "]", "(": ")"}


@dataclass(slots=True)
class _Frame:
    opener: str
    items: list[Any] = field(default_factory=list)
    members: dict[str, Any] = field(default_factory=dict)
    key: str | None = None
    doubled: int = 0
    separated: bool = True
    commas: int = 0


class _Reader:
    __slots__ = (
        "ambiguous",
        "closed",
        "complete",
        "end",
        "line_start",
        "openers",
        "position",
        "repairs",
        "root",
        "stack",
        "start",
        "text",
        "words_end",
    )

    def __init__(self, text: str, start: int, end: int) -> None:
        self.text, self.start, self.position, self.end = text, start, start, end
        self.stack: list[_Frame] = []
        self.openers = ""
        self.repairs: dict[str, Repair] = {}
        self.root: Any = None
        self.complete = self.closed = True
        self.ambiguous = False
        self.line_start = False
        self.words_end = -1

    def read(self) -> ValueRead:
        readable = self._value("item")
        steps = 0
        while readable and self.stack:
            steps += 1
            if steps > 2 * MOST_VALUES:
                readable = False
                break
            self._skip()
            if self.position >= self.end or self._at_stop():
                readable = self._supply_closers()
                break
            readable = self._in_object() if self.stack[-1].opener == "{" else self._in_list()
        if not readable:
            return ValueRead(None, self.position, readable=False, complete=self.complete, ambiguous=self.ambiguous)
        return ValueRead(self.root, self.position, tuple(self.repairs.values()), self.complete, self.closed)

    def _note(self, name: str, start: int, stop: int, after: str = "") -> None:
        if name not in self.repairs:
            self.repairs[name] = Repair(name, self.text[start:stop][:SNIPPET], after[:SNIPPET], (start, stop))

    def _skip(self) -> None:
        self.line_start = False
        while self.position < self.end:
            trivia = _TRIVIA.match(self.text, self.position, self.end)
            if trivia is None:
                return
            if trivia.group()[0] in "/#":
                if not trivia.group().startswith("/*") and swallows(self.text, trivia.start(), trivia.end()):
                    return
                self._note("comment", trivia.start(), trivia.end())
            elif "\n" in trivia.group():
                self.line_start = True
            self.position = trivia.end()

    def _at_stop(self) -> bool:
        """Whether the text goes on with something that no value holds: a fence, a tag, the next label."""
        frame = self.stack[-1]
        if frame.separated or frame.key is not None:
            return False
        return END_MARK.match(self.text, self.position) is not None or (
            self.line_start and _LABEL.match(self.text, self.position, self.end) is not None
        )

    def _supply_closers(self) -> bool:
        frame = self.stack[-1]
        if frame.key is not None or (frame.separated and self.position >= self.end):
            self.complete = False
        if self.words_end == self.position:
            self.complete = False
        self.closed = False
        self._note(
            "missing_closer", self.position, self.position, "".join(_CLOSER_OF[f.opener] for f in self.stack[::-1])
        )
        while self.stack:
            self.stack[-1].key = None
            if not self._pop():
                return False
        return True

    def _pop(self) -> bool:
        frame = self.stack.pop()
        self.openers = self.openers[:-1]
        if frame.opener == "{":
            return self._add(frame.members)
        if frame.opener == "(" and len(frame.items) == 1 and not frame.commas:
            return self._add(frame.items[0])
        return self._add(frame.items)

    def _add(self, value: Any) -> bool:
        if not self.stack:
            self.root = value
            return True
        frame = self.stack[-1]
        frame.separated = False
        if frame.opener != "{":
            frame.items.append(value)
            return True
        assert frame.key is not None
        if frame.key in frame.members and frame.members[frame.key] != value:
            self.ambiguous = True
            return False
        frame.members[frame.key] = value
        frame.key = None
        return True

    def _close(self) -> bool:
        frame = self.stack[-1]
        self.position += 1
        for _ in range(frame.doubled):
            self._skip()
            if self.position < self.end and self.text[self.position] == "}":
                self.position += 1
        return self._pop()

    def _closer(self, char: str) -> bool:
        """A closing bracket: of this value, of one around it, or of none."""
        frame = self.stack[-1]
        if frame.key is not None:
            return False
        if _CLOSER_OF[frame.opener] == char:
            if frame.separated and (frame.members or frame.items) and frame.opener != "(":
                self._note("trailing_comma", self.position - 1, self.position + 1, char)
            return self._close()
        if any(_CLOSER_OF[outer.opener] == char for outer in self.stack):
            self._note("missing_closer", self.position, self.position + 1, _CLOSER_OF[frame.opener] + char)
            return self._pop()
        self._note("wrong_closer", self.position, self.position + 1, _CLOSER_OF[frame.opener])
        return self._close()

    def _separator(self, char: str) -> bool:
        frame = self.stack[-1]
        if frame.separated:
            self._note("extra_comma", self.position, self.position + 1)
        elif char != ",":
            self._note("separator", self.position, self.position + 1, ",")
        frame.separated = True
        frame.commas += 1
        self.position += 1
        return True

    def _in_object(self) -> bool:
        frame = self.stack[-1]
        char = self.text[self.position]
        if char in "}])":
            return self._closer(char)
        if frame.key is not None:
            return self._value("member")
        if char in SEPARATORS:
            return self._separator(char)
        if char == "{" and not frame.members and self.text[self.position - 1] == "{" and frame.doubled < 2:
            self._note("doubled_braces", self.position - 1, self.position + 1, "{")
            frame.doubled += 1
            self.position += 1
            return True
        if not frame.separated:
            self._note("missing_comma", self.position, self.position + 1, "," + char)
        return self._key(frame)

    def _key(self, frame: _Frame) -> bool:
        start = self.position
        if self.text[start] in CLOSERS:
            key = read_string(self.text, start, self.end, "key", self.openers)
            if not key.closed:
                return self.text.find(self.text[start], start + 1, self.end) < 0 and self._cut()
            if key.ambiguous or "inner_quotes" in key.repairs:
                return False
            self.position, name = key.end, key.value
            for repair in key.repairs:
                self._note(repair, start, key.end, f'"{name}"')
        else:
            bare = _KEY.match(self.text, start, self.end)
            if bare is None:
                return _CUT_KEY.match(self.text, start, self.end) is not None and self._cut()
            self.position, name = bare.end(), bare.group()
            if self.text[self.position : self.position + 1] in ('"', "'"):
                self.position += 1
            self._note("unquoted_key", start, bare.end(), f'"{name}"')
        self._skip()
        if self.position >= self.end:
            return self._cut()
        colon = _COLON.match(self.text, self.position, self.end)
        if colon is None:
            return False
        if colon.group() != ":":
            self._note("separator", self.position, colon.end(), ":")
        self.position = colon.end()
        frame.key = name
        return True

    def _cut(self) -> bool:
        self.complete = False
        self.position = self.end
        return True

    def _in_list(self) -> bool:
        frame = self.stack[-1]
        char = self.text[self.position]
        if char in "}])":
            return self._closer(char)
        if char in SEPARATORS:
            return self._separator(char)
        if not frame.separated:
            if not (char in "{[(" or char in CLOSERS or char.isdigit()):
                return False
            self._note("missing_comma", self.position, self.position + 1, "," + char)
        return self._value("item")

    def _value(self, place: Place) -> bool:
        char = self.text[self.position]
        if char in _CLOSER_OF:
            if len(self.stack) >= MAX_DEPTH:
                return False
            if char == "(":
                self._note("python_literal", self.position, self.position + 1, "[")
            self.stack.append(_Frame(char))
            self.openers += char
            self.position += 1
            return True
        if char in CLOSERS:
            return self._string(place)
        if _PREFIXED.match(self.text, self.position, self.end):
            return self._prefixed(place)
        return self._bare(place)

    def _string(self, place: Place) -> bool:
        start = self.position
        read = read_string(self.text, start, self.end, place, self.openers)
        self.position = read.end
        if read.ambiguous:
            return False
        if not read.closed:
            self.complete = self.closed = False
        for name in read.repairs:
            if name not in self.repairs:
                self._note(name, start, read.end, json.dumps(read.value[:SNIPPET], ensure_ascii=False))
        return self._add(read.value)

    def _prefixed(self, place: Place) -> bool:
        """A Python string with a prefix; the body of `r"..."` is literal."""
        start = self.position
        raw = self.text[start] in "rR"
        self._note("python_literal", start, start + 2)
        self.position += 1
        read = read_string(self.text, self.position, self.end, place, self.openers, raw=raw)
        if read.ambiguous:
            return False
        self.position = read.end
        if not read.closed:
            self.complete = self.closed = False
        return self._add(read.value)

    def _is_comment(self, at: int) -> bool:
        """Whether the sign that ends at `at` begins a comment beside words without quotes, and not a part of them."""
        if self.text[at - 1] == "*":
            close = self.text.find("*/", at, min(self.end, at + 400))
            return close < 0 or any(char.isalpha() for char in self.text[at:close])
        line_end = self.text.find("\n", at, self.end)
        return not swallows(self.text, at, line_end if line_end >= 0 else self.end)

    def _bare(self, place: Place) -> bool:
        """A number, a literal, or words without quotes."""
        start = piece = self.position
        while True:
            words = _BARE.match(self.text, piece, self.end)
            if words is None:
                return False
            self.position = words.end()
            comment = _COMMENT.search(self.text, piece, self.position)
            if comment is not None and self._is_comment(comment.end()):
                self.position = comment.start()
                while self.position > piece - 1 and self.text[self.position - 1] in _COMMA_OR_BLANK:
                    self.position -= 1
                break
            if self.position >= self.end or place != "member" or self.text[self.position] not in SEPARATORS:
                break
            after = self.position + 1
            if (piece == start and read_scalar(self.text[start : self.position].strip())) or _AFTER_COMMA.match(
                self.text, after, self.end
            ):
                break
            piece = after
        written = self.text[start : self.position].rstrip()
        scalar = read_scalar(written)
        stop = self.text[self.position] if self.position < self.end else ""
        if scalar is None and stop == '"' and closes(self.text, self.position, self.end, place, self.openers, False):
            self._note("unquoted_string", start, self.position + 1, f'"{written[:SNIPPET]}"')
            self.position += 1
            return bool(written) and not _NOT_ONE_WORD.search(written) and self._add(written)
        if stop and stop in '{[("`“”' and (scalar is None or stop not in '"“'):
            return False
        if scalar is None and (not written or _NOT_ONE_WORD.search(written) or _are_scalars(written)):
            return False
        if self.position >= self.end and self.text[self.end - 1] == written[-1] and self.stack:
            self.complete = self.closed = False
        if scalar is None:
            self._note("unquoted_string", start, self.position, json.dumps(written[:SNIPPET], ensure_ascii=False))
            self.words_end = self.position
            return self._add(written)
        if scalar.repair:
            self._note(scalar.repair, start, self.position, json.dumps(scalar.value))
        return self._add(scalar.value)


def swallows(text: str, start: int, stop: int) -> bool:
    """Whether a comment to the end of its line would take a closing bracket or a further member with it."""
    stop = min(stop, start + 2000)
    if any(text.count(closer, start, stop) > text.count(opener, start, stop) for opener, closer in ("{}", "[]")):
        return True
    return _MEMBER_AHEAD.search(text, start, stop) is not None


def _are_scalars(written: str) -> bool:
    """Whether words without quotes are numbers and literals whose commas are missing."""
    words = written[:400].split()
    return len(words) > 1 and all(read_scalar(word) is not None for word in words)

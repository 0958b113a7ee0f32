"""What stands around a whole text: code fences and quotes. Taking them off changes nothing inside.

Knows nothing of tools or labels.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from react_text.parsing.patterns import pattern
from react_text.parsing.strings import CLOSERS, decode


@dataclass(frozen=True, slots=True)
class Unwrapped:
    """The text inside a wrapper, and what came after the wrapper. `closed` is False when its end never came."""

    text: str
    rest: str = ""
    closed: bool = True


_FENCE = pattern(r"(`{2,}|~{3,})")
_BLOCK_END = {"`": pattern(r"(`{2,})[ \t\r]*$", re.MULTILINE), "~": pattern(r"(~{3,})[ \t\r]*$", re.MULTILINE)}
_LANGUAGE_LINE = pattern(r"[ \t]*[\w+#.-]{0,20}[ \t]*\r?\n")
_LANGUAGE_WORD = pattern(
    r"(?:json5?|python3?|py|sql|bash|sh|shell|text|txt|plaintext|javascript|js|xml|yaml)\b[ \t]*", re.I
)


def fence_end(text: str, start: int) -> int:
    """The offset after the fence that opens at `start`, or -1 where it is never closed."""
    mark = _FENCE.match(text, start)
    if mark is None:
        return -1
    sign, size = mark.group()[0], len(mark.group())
    if _LANGUAGE_LINE.match(text, mark.end()) is None:
        stop = text.find(mark.group(), mark.end())
        return stop + size if stop >= 0 else -1
    close = _BLOCK_END[sign].search(text, mark.end())
    while close is not None and len(close[1]) < size:
        close = _BLOCK_END[sign].search(text, close.end())
    return close.end(1) if close else -1


def fence_body(text: str, start: int) -> int:
    """The offset of the first character inside the fence that opens at `start`, its language tag skipped."""
    mark = _FENCE.match(text, start)
    if mark is None:
        return start
    language = _LANGUAGE_LINE.match(text, mark.end()) or _LANGUAGE_WORD.match(text, mark.end())
    return language.end() if language else mark.end()


def unfenced(text: str) -> Unwrapped | None:
    """The inside of a text that begins with a code fence, or that one pair of backticks surrounds."""
    if _FENCE.match(text) is None:
        bare = text.rstrip(".,;")
        if len(bare) > 2 and bare[0] == "`" == bare[-1] and "`" not in bare[1:-1]:
            return Unwrapped(bare[1:-1])
        return None
    body = fence_body(text, 0)
    stop = fence_end(text, 0)
    if stop < 0:
        return Unwrapped(text[body:], closed=False)
    inner = text[body:stop].rstrip("`~")
    return Unwrapped(inner.strip("\r\n").rstrip(), text[stop:])


def unquoted(text: str) -> Unwrapped | None:
    """The inside of a text that one pair of quotes surrounds, or None where quotes are part of the text.

    A pair around the first line counts too when other lines follow. An opening quote whose partner never comes gives
    `closed` False.
    """
    closers = CLOSERS.get(text[:1])
    if closers is None or text[0] == "`":
        return None
    mark = text[0] * 3
    if len(text) > 6 and text.startswith(mark) and text.endswith(mark):
        return Unwrapped(text[3:-3].strip("\r\n").rstrip())
    if text.startswith(mark) and text.find(mark, 3) < 0:
        return Unwrapped(text[3:], closed=False)
    head, _, rest = text.partition("\n")
    for whole, after in ((text, ""), (head.rstrip(), rest)):
        plain = whole.rstrip(".,;") if whole[-1:] in ".,;" else whole
        if len(plain) > 1 and plain[-1] in closers:
            inner = _inside(plain)
            return None if inner is None else Unwrapped(inner, after)
    count = sum(text.count(mark) for mark in set(closers) | {text[0]})
    return Unwrapped(text[1:], closed=False) if count % 2 or (text[0] not in "\"'" and count == 1) else None


def _inside(quoted: str) -> str | None:
    quote, body = quoted[0], quoted[1:-1]
    if quote == '"':
        try:
            return str(json.loads(quoted))
        except ValueError:
            pass
    inner = re.search(rf"(?<!\\){re.escape(quote)}", body) if quote in "\"'" else None
    if inner is not None:
        before, after = body[inner.start() - 1 : inner.start()], body[inner.end() : inner.end() + 1]
        if before and not (before.isspace() or before in "([{=:,>") and not after.isalnum():
            return None
    return decode(body, quote)[0]

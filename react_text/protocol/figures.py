"""The numbers that a text speaks of, in figures or in English words, with units, signs and multiples. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

_FIGURE = re.compile(r"(?<![\w.-])-?\d[\d,]*(?:\.\d+)?")
_THOUSANDS = re.compile(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_GROUP = 3
MOST_DIGITS = 300
"""Characters of a number: what is longer is none that JSON can hold."""
_GOES_ON = re.compile(r"[^\W\d_]{4,}|[^\W\d_]*\d|_|-\d+-")
"""What follows a figure that is part of something else: a code or a date, not a unit, an ordinal or a range."""
_RANGE_END = re.compile(r"(?<=\d-)\d+(?:\.\d+)?(?![\w-])")
_WORD = re.compile(r"[^\W\d_]+")
_CARDINALS = (
    *("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen"),
    *("fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"),
)
_ORDINALS = ("second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_TENS = ("thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_WORDS = {
    **{word: number for number, word in enumerate(_CARDINALS, 2)},
    **{word: number for number, word in enumerate(_ORDINALS, 2)},
    **{word: 10 * number for number, word in enumerate(_TENS, 3)},
}
"""Without "one" and "first", which mostly stand for something else than a number."""
_MULTIPLES = {
    "dozen": 12,
    "hundred": 100,
    "thousand": 1_000,
    "million": 1_000_000,
    "billion": 1_000_000_000,
    "trillion": 1_000_000_000_000,
}
_IMPLIED: dict[str, tuple[float | int, ...]] = {
    "one": (1,),
    "single": (1,),
    "once": (1,),
    "twice": (2,),
    "double": (2,),
    "both": (2,),
    "couple": (2,),
    "pair": (2,),
    "half": (0.5,),
    "day": (1, 24),
    "daily": (365,),
    "week": (7,),
    "weekly": (52, 7),
    "month": (30, 31, 12),
    "monthly": (12, 30),
    "quarterly": (4, 3),
    "year": (365, 12),
    "yearly": (1,),
    "annual": (1,),
    "annually": (1,),
    "hour": (60, 3600),
    "minute": (60,),
}
"""Numbers that a word may stand for where one is asked for; what it mostly stands for is something else."""
_AFTER = re.compile(rf"\s?(?:(%|percent\b|per cent\b)|({'|'.join(_MULTIPLES)})s?\b)", re.IGNORECASE)


def figures(text: str) -> list[float | int]:
    """The numbers of a text in all ways to read them: "5%" is 5 and 0.05, "two dozen" 24 and 2."""
    return list(dict.fromkeys(chain.from_iterable(mentioned_figures(text))))


def implied_figures(text: str) -> frozenset[float | int]:
    """Numbers that the words of a text may imply, though it speaks of none: 12 of "monthly", 1 of "one way"."""
    words = {word.casefold() for word in _WORD.findall(text)}
    return frozenset(chain.from_iterable(_IMPLIED.get(one, ()) for word in words for one in {word, word.rstrip("s")}))


def percentages(text: str) -> dict[float | int, float]:
    """The numbers that a text gives as percentages, each with the fraction that it is: 5 and 0.05 of "5%"."""
    found = {}
    for match in _FIGURE.finditer(text):
        written = match[0].rstrip(",")
        after = _AFTER.match(text, match.start() + len(written))
        if after and after[1] and len(written) <= MOST_DIGITS:
            number = _number(written.replace(",", ""))
            found[number] = round(number / 100, 12)
    return found


def mentioned_figures(text: str) -> list[tuple[float | int, ...]]:
    """Every number of a text, in order, each with the ways to read it, the likeliest first."""
    found = sorted([*_in_figures(text), *_in_words(text)])
    return [ways for _, ways in found]


def _in_figures(text: str) -> Iterator[tuple[int, tuple[float | int, ...]]]:
    for match in _FIGURE.finditer(text):
        written = match[0].rstrip(",")
        end = match.start() + len(written)
        if _GOES_ON.match(text, end) or len(written) > MOST_DIGITS:
            continue
        parts = written.split(",")
        if len(parts) > 1 and not _THOUSANDS.fullmatch(written):
            yield from ((match.start() + at, (_number(part),)) for at, part in enumerate(filter(None, parts)))
            continue
        whole = _number(written.replace(",", ""))
        yield match.start(), _ways(whole, text, end)
        if len(parts) > 1 and len(parts[0]) == _GROUP:  # "200,300" may be a list
            yield from ((match.start() + at, (_number(part),)) for at, part in enumerate(parts))
        elif after := _RANGE_END.match(text, end + 1):
            yield after.start(), (_number(after[0]),)


def _in_words(text: str) -> Iterator[tuple[int, tuple[float | int, ...]]]:
    for match in _WORD.finditer(text):
        if (number := _WORDS.get(match[0].casefold())) is not None:
            yield match.start(), _ways(number, text, match.end())


def _ways(number: float | int, text: str, end: int) -> tuple[float | int, ...]:
    after = _AFTER.match(text, end)
    if after is None:
        return (number,)
    if after[1]:
        return number, round(number / 100, 12)
    product = round(number * _MULTIPLES[after[2].casefold()], 6)
    return int(product) if product == int(product) else product, number


def _number(written: str) -> float | int:
    return float(written) if "." in written else int(written)

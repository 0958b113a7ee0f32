"""JSON strings as grammar expressions: any text within bounds, and the formats that JSON Schema names. Pure.

Expressions here are for what stands between the quotation marks, unless they say otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from react_text.protocol.expressions import DIGIT, Expression, Letters, Rule, choice, optional, repeat, sequence

MAX_STRING = 1000
"""Letters in a string whose schema names no limit. A repetition in llama.cpp may not exceed 2000."""
LONGEST_STRING = 2000

_HEX = Letters("[0-9a-fA-F]")
_PLAIN = Letters(r'[^"\\\x00-\x1f]')
_HIGH = sequence(Letters("[dD]"), Letters("[89abAB]"), _HEX, _HEX)
_LOW = sequence(Letters("[dD]"), Letters("[c-fC-F]"), _HEX, _HEX)
_POINT = choice(
    [
        sequence(Letters("[0-9a-cA-CefEF]"), repeat(_HEX, 3, 3)),
        sequence(Letters("[dD]"), Letters("[0-7]"), _HEX, _HEX),
        sequence(_HIGH, "\\u", _LOW),
    ]
)
LETTER: Expression = choice([_PLAIN, sequence("\\", choice([Letters(r'["\\/bfnrt]'), sequence("u", _POINT)]))])
"""One letter of a string, as JSON writes it; a letter outside the basic plane is a pair of escapes."""
KEY: Expression = repeat(_PLAIN, 1, 40)
"""The name of a member that no schema declares."""


def text(letter: Expression, low: int, high: int | None) -> Expression:
    """A whole JSON string, quotation marks included, of `low` to `high` letters."""
    most = max(low, MAX_STRING) if high is None else high
    return sequence('"', repeat(letter, min(low, LONGEST_STRING), min(most, LONGEST_STRING)), '"')


def _number(least: int, most: int) -> Expression:
    return repeat(DIGIT, least, most)


_TWO = sequence(DIGIT, DIGIT)
_SIXTY = sequence(Letters("[0-5]"), DIGIT)
_HOUR = choice([sequence(Letters("[01]"), DIGIT), sequence("2", Letters("[0-3]"))])
_MONTH_AND_DAY = choice(
    [
        sequence(
            "02-", choice([sequence("0", Letters("[1-9]")), sequence("1", DIGIT), sequence("2", Letters("[0-8]"))])
        ),
        sequence(
            choice([sequence("0", Letters("[13-9]")), sequence("1", Letters("[0-2]"))]),
            "-",
            choice([sequence("0", Letters("[1-9]")), sequence(Letters("[12]"), DIGIT), "30"]),
        ),
        sequence(choice([sequence("0", Letters("[13578]")), "10", "12"]), "-31"),
    ]
)
_LEAP_YEAR = choice(
    [
        sequence(
            choice(["19", sequence("2", DIGIT)]),
            choice(
                [
                    sequence(Letters("[02468]"), Letters("[48]")),
                    sequence(Letters("[13579]"), Letters("[26]")),
                    sequence(Letters("[2468]"), "0"),
                ]
            ),
        ),
        sequence("2", Letters("[048]"), "00"),
    ]
)
_DATE = choice(
    [
        sequence(choice([sequence("19", _TWO), sequence("2", repeat(DIGIT, 3, 3))]), "-", _MONTH_AND_DAY),
        sequence(_LEAP_YEAR, "-02-29"),
    ]
)
_ZONE = choice(["Z", sequence(Letters("[+-]"), _HOUR, ":", _SIXTY)])
_TIME = sequence(_HOUR, ":", _SIXTY, ":", _SIXTY, optional(sequence(".", _number(1, 6))))
_OCTET = choice(
    [
        DIGIT,
        sequence(Letters("[1-9]"), DIGIT),
        sequence("1", _TWO),
        sequence("2", Letters("[0-4]"), DIGIT),
        sequence("25", Letters("[0-5]")),
    ]
)
_LABEL = sequence(Letters("[a-zA-Z0-9]"), repeat(Letters("[a-zA-Z0-9-]"), 0, 30))
_HOST = sequence(_LABEL, repeat(sequence(".", _LABEL), 0, 6))
_URI = sequence(
    Letters("[a-zA-Z]"),
    repeat(Letters("[a-zA-Z0-9+.-]"), 1, 15),
    ":",
    repeat(Letters(r"[a-zA-Z0-9._~:/?#@!$&'()*+,;=%\x2D\[\]]"), 1, 300),
)
_WORD = repeat(Letters("[a-zA-Z0-9_%+-]"), 1, 24)


def _groups(*lengths: int) -> Expression:
    parts: list[Expression | str] = []
    for length in lengths:
        parts += ["-", repeat(_HEX, length, length)]
    return sequence(*parts[1:])


def _duration(*units: str) -> Expression:
    """At least one of the units, each a number and its letter, in this order."""
    steps = [sequence(_number(1, 6), unit) for unit in units]
    return choice(sequence(step, *(optional(later) for later in steps[at + 1 :])) for at, step in enumerate(steps))


_CLOCK = sequence("T", _duration("H", "M", "S"))
FORMATS: Mapping[str, Expression] = MappingProxyType(
    {
        "date": _DATE,
        "time": sequence(_TIME, optional(_ZONE)),
        "date-time": sequence(_DATE, "T", _TIME, optional(_ZONE)),
        "duration": sequence(
            "P", choice([sequence(_duration("Y", "M", "D"), optional(_CLOCK)), _CLOCK, sequence(_number(1, 6), "W")])
        ),
        "email": sequence(_WORD, repeat(sequence(".", _WORD), 0, 2), "@", _LABEL, repeat(sequence(".", _LABEL), 1, 3)),
        "hostname": _HOST,
        "ipv4": sequence(_OCTET, *(sequence(".", _OCTET) for _ in range(3))),
        "uri": _URI,
        "uuid": _groups(8, 4, 4, 4, 12),
    }
)
"""Formats that a grammar can say. Each leaves out rare spellings that the format also allows."""


def format_rule(name: str) -> Rule:
    """The rule that holds a format of FORMATS."""
    return Rule(f"{name}-text")

"""Numbers between bounds, as grammar expressions over their decimal digits. Pure.

Numbers are written as JSON writes them, without leading zeros. The longest have MAX_DIGITS digits in front of the
point and MAX_FRACTION behind it, so that none runs on for ever.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from react_text.protocol.expressions import (
    DIGIT,
    EMPTY,
    NOTHING,
    Choice,
    Expression,
    Letters,
    choice,
    optional,
    repeat,
    sequence,
)

MAX_DIGITS = 19
MAX_FRACTION = 21
_LARGEST = 10**MAX_DIGITS
_NONZERO = Letters("[1-9]")
_SMALL = sequence(
    Letters("[eE]"), "-", choice([sequence(optional(sequence("0")), Letters("[5-9]")), sequence(_NONZERO, DIGIT)])
)
_LARGEST_SMALL = Decimal("0.0001")
_GREAT = sequence(Letters("[eE]"), optional(Letters("[+]")), _NONZERO, optional(DIGIT))

NATURAL: Expression = choice(["0", sequence(_NONZERO, repeat(DIGIT, 0, MAX_DIGITS - 1))])
INTEGER: Expression = sequence(optional(sequence("-")), NATURAL)
NUMBER: Expression = sequence(
    INTEGER,
    optional(sequence(".", repeat(DIGIT, 1, MAX_FRACTION))),
    optional(sequence(Letters("[eE]"), optional(Letters("[-+]")), repeat(DIGIT, 1, 2))),
)
"""A number without bounds."""


def integers(low: int | None, high: int | None) -> Expression:
    """Every integer from `low` to `high`, both included; None is without bound."""
    if low is not None and high is not None and low > high:
        return NOTHING
    positive = NOTHING if high is not None and high < 0 else _natural(max(low or 0, 0), high)
    if low is not None and low >= 0:
        return positive
    most = -low if low is not None else None
    least = 1 if high is None or high >= 0 else -high
    return choice([positive, sequence("-", _natural(least, most))])


def _natural(low: int, high: int | None) -> Expression:
    """Every integer from `low` to `high`, neither negative; as many digits as `low` has are always possible."""
    if high is not None and high < _LARGEST:
        return _between(low, high)
    digits = max(MAX_DIGITS, len(str(low)))
    length = len(str(max(low, 1)))
    same = _between(low, 10**length - 1)
    if length >= digits:
        return same if high is None else _between(low, min(high, 10**length - 1))
    if low <= 1:
        longer = sequence(_NONZERO, repeat(DIGIT, 0, digits - 1))
        return choice(["0", longer]) if low == 0 else longer
    return choice([same, sequence(_NONZERO, repeat(DIGIT, length, digits - 1))])


def _between(low: int, high: int) -> Expression:
    """Every integer from `low` to `high`, neither negative."""
    options: list[Expression] = []
    while low <= high:
        length = len(str(low))
        top = min(high, 10**length - 1)
        options.append(_same_length(str(low), str(top)))
        low = top + 1
    return choice(options)


def _same_length(low: str, high: str) -> Expression:
    """Every text of digits from `low` to `high`, which are equally long."""
    if not low:
        return EMPTY
    if set(low[1:]) <= {"0"} and set(high[1:]) <= {"9"}:
        return sequence(_digits(low[0], high[0]), repeat(DIGIT, len(low) - 1, len(low) - 1))
    if low[0] == high[0]:
        return sequence(low[0], _same_length(low[1:], high[1:]))
    options = [sequence(low[0], _same_length(low[1:], "9" * len(low[1:])))]
    if int(high[0]) - int(low[0]) > 1:
        middle = _digits(str(int(low[0]) + 1), str(int(high[0]) - 1))
        options.append(sequence(middle, repeat(DIGIT, len(low) - 1, len(low) - 1)))
    options.append(sequence(high[0], _same_length("0" * len(high[1:]), high[1:])))
    return choice(options)


def _digits(low: str, high: str) -> Expression:
    return sequence(low) if low == high else DIGIT if low + high == "09" else Letters(f"[{low}-{high}]")


def numbers(low: Decimal | None, high: Decimal | None, *, above: bool = False, below: bool = False) -> Expression:
    """Every decimal number from `low` to `high`; `above` leaves out `low` itself, `below` leaves out `high`.

    Exponents are possible for what is so small or large that it is usually written with one, where the bounds allow it.
    """
    if low is not None and high is not None and (low > high or (low == high and (above or below))):
        return NOTHING
    positive: Expression = NOTHING
    under_zero = high is not None and (high < 0 or (high == 0 and below))
    if not under_zero:
        bounded = low is not None and low >= 0
        positive = _magnitudes(low if bounded else None, high, above=bounded and above, below=below)
    if low is not None and low >= 0:
        return positive
    least, most = (-high if high is not None and under_zero else None), (None if low is None else -low)
    negative = _magnitudes(least, most, above=least is not None and below, below=above)
    return choice([positive, sequence("-", negative)])


def _magnitudes(low: Decimal | None, high: Decimal | None, *, above: bool, below: bool) -> Expression:
    """Every number from `low` to `high`, neither negative; None is 0 and no bound."""
    low = Decimal(0) if low is None else low
    if high is not None and high >= _LARGEST:
        high, below = None, False
    options: list[Expression] = []
    first = int(low.to_integral_value(ROUND_FLOOR))
    last = None if high is None else int(high.to_integral_value(ROUND_FLOOR))
    start, stop = _fraction(low), "" if high is None else _fraction(high)
    if first == last:
        return sequence(str(first), _point(_tail(start, stop, above=above, below=below)))
    whole = first + 1 if start or above else first
    if whole > first:
        options.append(sequence(str(first), _point(_tail(start, None, above=above, below=False))))
    if last is None or whole < last:
        inner = _natural(whole, None if last is None else last - 1)
        options.append(sequence(inner, optional(sequence(".", repeat(DIGIT, 1, MAX_FRACTION)))))
    if last is not None:
        options.append(sequence(str(last), _point(_tail(None, stop, above=False, below=below))))
    mantissa = sequence(_NONZERO, optional(sequence(".", repeat(DIGIT, 1, MAX_FRACTION))))
    if low == 0 and (high is None or high >= _LARGEST_SMALL):
        options.append(sequence(mantissa, _SMALL))
    if high is None and low < 10:
        options.append(sequence(mantissa, _GREAT))
    return choice(options)


def _fraction(number: Decimal) -> str:
    """The digits behind the point, without the zeros that end them."""
    part = number - number.to_integral_value(ROUND_FLOOR)
    return f"{part:f}".partition(".")[2].rstrip("0")


def _point(tail: Expression) -> Expression:
    """A point and digits; nothing, where the digits may be left out altogether."""
    if tail == NOTHING:
        return NOTHING
    options = tail.options if isinstance(tail, Choice) else (tail,)
    written = [option for option in options if option != EMPTY]
    pointed = sequence(".", choice(written)) if written else NOTHING
    return choice([pointed, EMPTY]) if EMPTY in options else pointed


def _tail(low: str | None, high: str | None, *, above: bool, below: bool, left: int = MAX_FRACTION) -> Expression:
    """Digits behind a point from `low` to `high`, read as fractions; None is no bound. Choices hold EMPTY outright."""
    if low is not None and not low and not above:
        low = None
    if low is None and high is None:
        return choice([EMPTY, repeat(DIGIT, 1, left)]) if left else EMPTY
    if not low and high is None:
        half = left // 2
        return sequence(repeat(sequence("0"), 0, half), _NONZERO, repeat(DIGIT, 0, half)) if left else NOTHING
    options: list[Expression] = []
    if not low and not above and not (below and not high):
        options.append(EMPTY)
    if high is not None and not high and low is None:
        return choice([*options, "0"]) if options and left == MAX_FRACTION else choice(options)
    if left == 0:
        return choice(options)
    bottom = int(low[0]) if low else 0
    top = 9 if high is None else int(high[0]) if high else 0
    for digit in sorted({bottom, top}) if bottom <= top else ():
        inner = _tail(
            None if low is None or digit > bottom else low[1:],
            None if high is None or digit < top else high[1:],
            above=above and digit == bottom,
            below=below and digit == top,
            left=left - 1,
        )
        options.append(sequence(str(digit), inner))
    if top - bottom > 1:
        options.append(sequence(_digits(str(bottom + 1), str(top - 1)), repeat(DIGIT, 0, left - 1)))
    return choice(options)


def whole_bound(bound: Decimal, *, up: bool, strict: bool) -> int:
    """The first integer at or past a bound, beyond it where it is `strict`; `up` for a lower bound."""
    nearest = int(bound.to_integral_value(ROUND_CEILING if up else ROUND_FLOOR))
    return nearest + (1 if up else -1) if strict and nearest == bound else nearest

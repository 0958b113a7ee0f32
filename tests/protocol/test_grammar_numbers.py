"""Number ranges by digits, held against arithmetic."""

from __future__ import annotations

import re
from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from react_text.protocol.expressions import Choice, Expression, Letters, Repeat, Sequence, Text
from react_text.protocol.number_rules import integers, numbers
from react_text.protocol.pattern_rules import pattern_expression

BOUND = st.one_of(st.none(), st.integers(-20, 20), st.integers(-30000, 30000))
DECIMAL = st.one_of(
    st.none(),
    st.builds(lambda digits, places: Decimal(digits).scaleb(-places), st.integers(-3000, 3000), st.integers(0, 3)),
)


def regex(expression: Expression) -> str:
    match expression:
        case Text(value):
            return re.escape(value)
        case Letters(source):
            return source
        case Sequence(parts):
            return "".join(map(regex, parts))
        case Choice(options):
            return f"(?:{'|'.join(map(regex, options))})" if options else "(?!)"
        case Repeat(part, least, most):
            return f"(?:{regex(part)}){{{least},{'' if most is None else most}}}"
    raise TypeError(expression)


@given(BOUND, BOUND, st.lists(st.integers(-60000, 60000), max_size=20))
@settings(deadline=None)
def test_an_integer_is_possible_exactly_within_its_bounds(low, high, values):
    allowed = re.compile(regex(integers(low, high)))
    near = [edge + step for edge in (low, high, 0) if edge is not None for step in (-1, 0, 1)]
    for value in [*values, *near]:
        within = (low is None or value >= low) and (high is None or value <= high)
        assert bool(allowed.fullmatch(str(value))) is within, value
    assert not allowed.fullmatch("007")
    assert not allowed.fullmatch("")


@given(DECIMAL, DECIMAL, st.booleans(), st.booleans(), st.lists(DECIMAL, max_size=10))
@settings(deadline=None, max_examples=300)
def test_a_number_is_possible_exactly_within_its_bounds(low, high, above, below, values):
    allowed = re.compile(regex(numbers(low, high, above=above, below=below)))
    edges = [edge + Decimal(step) for edge in (low, high) if edge is not None for step in ("-0.0001", "0", "0.0001")]
    for value in [*values, *edges]:
        if value is None:
            continue
        within = (low is None or (value > low if above else value >= low)) and (
            high is None or (value < high if below else value <= high)
        )
        spellings = {f"{value:f}"} if value else {"0"}
        if value == value.to_integral_value():
            spellings |= {str(int(value)), f"{int(value)}.0"}
        elif value:
            spellings = {f"{value.normalize():f}"}
        for text in spellings if value else {"0", "0.0"}:
            if "." not in text or text.endswith(".0") or text.rstrip("0") == text:
                assert bool(allowed.fullmatch(text)) is within, text


@given(st.sampled_from(["1e-07", "2.5e-10", "9.9E-99", "1e+20", "3e22", "1.5e+16"]), DECIMAL, DECIMAL)
@settings(deadline=None)
def test_what_is_written_with_an_exponent_stays_within_the_bounds(text, low, high):
    if re.fullmatch(regex(numbers(low, high)), text):
        assert low is None or Decimal(text) >= low
        assert high is None or Decimal(text) <= high


def test_a_zero_with_a_sign_is_no_number_below_zero():
    below = re.compile(regex(numbers(Decimal(-1), Decimal(0), above=True, below=True)))
    assert not any(below.fullmatch(text) for text in ("0", "0.0", "-0", "-0.0", "-0.000", "-1"))
    assert all(below.fullmatch(text) for text in ("-0.5", "-0.001"))
    assert re.fullmatch(regex(numbers(Decimal(-1), Decimal(0))), "-0")


def test_a_pattern_beyond_the_subset_is_said_to_be():
    for pattern in (
        "(?=a)",
        r"\bx",
        "(a)\\1",
        "(?i)a",
        "a{9999}",
        "(a*)*",
        "[[:alpha:]]",
        "x" * 500,
        "(",
        "a**",
        "[z-a]",
    ):
        assert pattern_expression(pattern) is None, pattern


def test_a_pattern_within_the_subset_is_known_with_its_length():
    for pattern, least, most in [("^ab$", 2, 2), (r"^\d{2,4}$", 2, 4), ("^(?:a|bcd)?$", 0, 3), ("^a+$", 1, 102)]:
        found = pattern_expression(pattern)
        assert found is not None
        assert (found.least, found.most) == (least, most)

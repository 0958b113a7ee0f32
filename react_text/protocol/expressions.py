"""Grammar expressions as values: built, simplified, and written as GBNF. Pure.

Knows nothing of schemas, tools or dialects.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Text:
    """Exactly this text."""

    value: str


@dataclass(frozen=True, slots=True)
class Letters:
    """One letter of a class; `source` is the class as GBNF writes it, brackets included."""

    source: str


@dataclass(frozen=True, slots=True)
class Rule:
    """What the rule of this name says."""

    name: str


@dataclass(frozen=True, slots=True)
class Sequence:
    """One part after another."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several; without any it matches nothing, not even the empty text."""

    options: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A part `least` to `most` times, without limit where `most` is None."""

    part: Expression
    least: int
    most: int | None


Expression: TypeAlias = Text | Letters | Rule | Sequence | Choice | Repeat
EMPTY = Text("")
NOTHING = Choice(())
DIGIT = Letters("[0-9]")


def sequence(*parts: Expression | str) -> Expression:
    """The parts in a row; a plain string stands for itself. Neighbouring texts become one."""
    joined: list[Expression] = []
    for part in parts:
        one = Text(part) if isinstance(part, str) else part
        if one == NOTHING:
            return NOTHING
        for inner in one.parts if isinstance(one, Sequence) else (one,):
            last = joined[-1] if joined else None
            if isinstance(inner, Text) and isinstance(last, Text):
                joined[-1] = Text(last.value + inner.value)
            elif inner != EMPTY:
                joined.append(inner)
    return EMPTY if not joined else joined[0] if len(joined) == 1 else Sequence(tuple(joined))


def choice(options: Iterable[Expression | str]) -> Expression:
    """One of the options, each named once."""
    found: dict[Expression, None] = {}
    for option in options:
        one = Text(option) if isinstance(option, str) else option
        found |= dict.fromkeys(one.options if isinstance(one, Choice) else (one,))
    return next(iter(found)) if len(found) == 1 else Choice(tuple(found))


def repeat(part: Expression, least: int, most: int | None) -> Expression:
    """The part `least` to `most` times."""
    if most is not None and most < least:
        return NOTHING
    if part == NOTHING:
        return NOTHING if least else EMPTY
    if part == EMPTY or most == 0:
        return EMPTY
    return part if (least, most) == (1, 1) else Repeat(part, least, most)


def optional(part: Expression) -> Expression:
    """The part or nothing in its place."""
    return repeat(part, 0, 1)


def separated(item: Expression, least: int, most: int, between: str = ", ") -> Expression:
    """`least` to `most` items with a text between them."""
    if most < least or (item == NOTHING and least):
        return NOTHING
    if most == 0 or item == NOTHING:
        return EMPTY
    several = sequence(item, repeat(sequence(between, item), max(0, least - 1), most - 1))
    return several if least else optional(several)


def gbnf(expression: Expression, *, inside: bool = False) -> str:
    """The expression as GBNF; `inside` is true where it stands among others and a choice needs parentheses."""
    match expression:
        case Text(value):
            return quoted(value)
        case Letters(source):
            return source
        case Rule(name):
            return name
        case Sequence(parts):
            return " ".join(gbnf(part, inside=True) for part in parts)
        case Choice(options):
            text = " | ".join(gbnf(option) for option in options)
            return f"({text})" if inside else text
        case Repeat(part, least, most):
            text = gbnf(part, inside=True)
            if isinstance(part, Sequence | Repeat):
                text = f"({text})"
            return text + _times(least, most)


def _times(least: int, most: int | None) -> str:
    simple = {(0, 1): "?", (0, None): "*", (1, None): "+"}
    if (least, most) in simple:
        return simple[least, most]
    return f"{{{least}}}" if least == most else f"{{{least},{'' if most is None else most}}}"


def quoted(text: str) -> str:
    """A GBNF string literal."""
    return f'"{escaped(text)}"'


def escaped(text: str) -> str:
    """`text` as it stands inside a GBNF string literal."""
    text = text.replace("\\", "\\\\").replace('"', '\\"')
    return "".join(one if one.isprintable() else _code(ord(one)) for one in text.replace("\n", "\\n"))


def _code(point: int) -> str:
    return f"\\u{point:04X}" if point <= 0xFFFF else f"\\U{point:08X}"


def json_text(value: Any) -> str:
    """A value as strict JSON on one line, the way replies hold it. Raises ValueError for what JSON cannot hold."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def used(expression: Expression) -> Iterator[str]:
    """The names of the rules that an expression refers to."""
    match expression:
        case Rule(name):
            yield name
        case Sequence(parts) | Choice(parts):
            for part in parts:
                yield from used(part)
        case Repeat(part):
            yield from used(part)


def needed(start: Iterable[str], rules: Mapping[str, Expression]) -> list[str]:
    """The rules that `start` refers to, directly or through others, in the order in which they were made."""
    found: set[str] = set()
    waiting = list(start)
    while waiting:
        name = waiting.pop()
        if name in rules and name not in found:
            found.add(name)
            waiting.extend(used(rules[name]))
    return [name for name in rules if name in found]

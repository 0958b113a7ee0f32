"""Rules for free text that avoids given strings: a finite automaton, one grammar rule a state. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from react_text.protocol.expressions import EMPTY, Expression, Letters, Rule, choice, escaped, repeat, sequence

_SPACE = " \t\r\n"
_IN_CLASS = {"\t": "\\t", "\n": "\\n", "\r": "\\r", "\\": "\\\\", "]": "\\]", "[": "\\[", "^": "\\x5E", "-": "\\x2D"}
_STRING_ENDS = '"\\\\\\x00-\\x1f'
_DEEPEST_NAME = 30
_LONGEST_NAME = 40


def one_of(letters: Iterable[str]) -> Letters:
    """One of the letters."""
    return Letters(f"[{_inside(letters)}]")


def none_of(letters: Iterable[str], also: str = "\\x00") -> Letters:
    """Any letter but these; `also` is written into the class as it is."""
    return Letters(f"[^{also}{_inside(letters)}]")


def _inside(letters: Iterable[str]) -> str:
    return "".join(_IN_CLASS.get(letter, escaped(letter)) for letter in sorted(set(letters)))


def key_other_than(names: Iterable[str]) -> Expression:
    """The name of a member, as it stands between quotation marks, that is none of these; it needs no escapes."""
    plain = [name for name in names if name and '"' not in name and "\\" not in name and min(name) >= " "]
    return _other_than(plain, 0)


def _other_than(names: Sequence[str], depth: int) -> Expression:
    rest = repeat(none_of("", _STRING_ENDS), 0, _LONGEST_NAME - 1)
    firsts = sorted({name[0] for name in names if name})
    options: list[Expression] = [sequence(none_of(firsts, _STRING_ENDS), rest)]
    if depth < _DEEPEST_NAME:
        options += [
            sequence(first, _other_than([name[1:] for name in names if name[:1] == first], depth + 1))
            for first in firsts
        ]
    if depth and "" not in names:
        options.append(EMPTY)
    return choice(options)


def text_without(
    rule: str, anywhere: Sequence[str], at_start: Sequence[str] = (), ending: Expression = EMPTY
) -> dict[str, Expression]:
    """Rules for any text that is not blank, holds none of the given strings and does not end within one.

    `anywhere` strings may not occur at all, `at_start` strings may not open the text; a space in either stands for any
    run of white space, none included. The first rule is named `rule`; `ending` follows the text. An engine follows one
    way at a time.
    """
    patterns = [(one, False) for one in anywhere] + [(one, True) for one in at_start]
    letters = {letter for one, _ in patterns for letter in one if letter != " "} | set(_SPACE)
    start = _closed(frozenset({(index, 0) for index in range(len(patterns))} | {_BLANK}), patterns)
    states = {start: rule}
    waiting = [start]
    rules: dict[str, Expression] = {}
    while waiting:
        state = waiting.pop()
        steps: dict[_State, list[str]] = {}
        for letter in [*sorted(letters), ""]:
            following = _step(state, letter, patterns)
            if not any(at == len(patterns[index][0]) for index, at in following if index >= 0):
                steps.setdefault(following, []).append(letter)
        ways: list[Expression] = []
        for following, taken in steps.items():
            if following not in states:
                states[following] = f"{rule}-{len(states)}"
                waiting.append(following)
            letter_class = none_of(letters - set(taken)) if "" in taken else one_of(taken)
            ways.append(sequence(letter_class, Rule(states[following])))
        if _BLANK not in state and not any(at and not patterns[index][1] for index, at in state):
            ways.append(ending)
        rules[states[state]] = choice(ways)
    return rules


_State = frozenset[tuple[int, int]]
"""Places reached in the patterns, as (pattern, letters read)."""
_BLANK = (-1, 0)
"""The place of a text that is still blank."""


def _closed(state: _State, patterns: Sequence[tuple[str, bool]]) -> _State:
    """A state with the places that skipping optional white space reaches."""
    found = set(state)
    waiting = list(state)
    while waiting:
        index, at = waiting.pop()
        if index >= 0 and patterns[index][0][at : at + 1] == " " and (index, at + 1) not in found:
            found.add((index, at + 1))
            waiting.append((index, at + 1))
    return frozenset(found)


def _step(state: _State, letter: str, patterns: Sequence[tuple[str, bool]]) -> _State:
    """Where one letter leads; the empty letter stands for every letter that no pattern holds."""
    blank = letter != "" and letter in _SPACE
    found = {(index, 0) for index, (_, anchored) in enumerate(patterns) if not anchored}
    for index, at in state:
        if index < 0:
            found |= {_BLANK} if blank else set()
        elif patterns[index][0][at] == " " and blank:
            found.add((index, at))
        elif letter and patterns[index][0][at] == letter:
            found.add((index, at + 1))
    return _closed(frozenset(found), patterns)

"""Checks a GBNF grammar before an engine sees it. Pure: no engine, no tokens.

Engines differ in how they take a bad grammar: some end the process, some print to the terminal, some loop for ever.
This reads the language of llama.cpp's grammars/README.md without its token rules (`<[id]>`), which would let control
tokens into a reply.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from react_text.errors import GrammarError

DEEPEST_NESTING = 64
MOST_REPEATS = 2000
"""llama.cpp's own limit of a repetition; nested repetitions multiply."""
MOST_EMPTY_REPEATS = 64
"""Repetitions of something that may be empty: an engine follows every way to share the text out among them."""
MOST_LEFT_PATHS = 100_000
"""Ways into a grammar from its left edge that an engine may have to walk."""

_TOKEN = re.compile(
    r"""(?P<space>[ \t]+) | (?P<comment>\#[^\r\n]*) | (?P<newline>\r\n?|\n)
      | (?P<literal>"(?:[^"\\]|\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[^xuU\r\n]))*")
      | (?P<class>\[\^?(?:[^\]\\]|\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[^xuU\r\n]))*\])
      | (?P<is>::=) | (?P<name>[A-Za-z0-9-]+) | (?P<repeat>[*+?]|\{[ \t]*\d+[ \t]*(?:,[ \t]*\d*[ \t]*)?\})
      | (?P<open>\() | (?P<close>\)) | (?P<or>\|) | (?P<any>\.)""",
    re.VERBOSE,
)
_ESCAPE = re.compile(r"\\([^xuU])")
_ESCAPES = 'rnt\\"[]'


@lru_cache(maxsize=64)
def check_grammar(text: str) -> None:
    """Raise GrammarError, naming the line or the rule, unless `text` is a grammar that is safe to compile.

    A grammar that has passed is known again: every reply of a run is asked for under the same one.
    """
    if not text.strip():
        raise GrammarError("The grammar is empty; it needs a rule named root.")
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise GrammarError("The grammar holds a character that no grammar can match (NUL or half a surrogate pair).")
    rules = _Reader(text).rules()
    if "root" not in rules:
        raise GrammarError("The grammar has no rule named root.")
    for name, rule in rules.items():
        for used in rule.names():
            if used not in rules:
                raise GrammarError(f"The rule {name!r} uses {used!r}, which is not defined.")
    empty = _may_be_empty(rules)
    _check_repeats(rules, empty)
    _check_left_edges(rules, empty)
    _check_right_edges(rules, empty)


@dataclass
class _Item:
    """One element of a sequence: a terminal (no `name`, no `choice`), a rule's name, or a group.

    It comes at most `times` times, of which `empty_times` were put on what was already optional.
    """

    name: str | None = None
    choice: _Choice | None = None
    times: int = 1
    empty_times: int = 1
    optional: bool = False
    many: bool = False
    empty: bool = False


@dataclass
class _Choice:
    """Alternatives, each a sequence of items."""

    alternatives: list[list[_Item]] = field(default_factory=list)

    def names(self) -> Iterator[str]:
        for item in (item for sequence in self.alternatives for item in sequence):
            if item.name is not None:
                yield item.name
            if item.choice is not None:
                yield from item.choice.names()


class _Reader:
    """Reads the rules of one text. A line break ends a rule, except inside parentheses and around `|`."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(self._scan())
        self._at = 0

    def _scan(self) -> Iterator[tuple[str, str, int]]:
        at = 0
        while at < len(self._text):
            match = _TOKEN.match(self._text, at)
            if not match:
                raise self._error("cannot read", at)
            kind = match.lastgroup or ""
            if kind in ("literal", "class"):
                wrong = next((e for e in _ESCAPE.finditer(match.group()) if e.group(1) not in _ESCAPES), None)
                if wrong:
                    raise self._error(f"has an unknown escape {wrong.group()!r}", at + wrong.start())
            if kind not in ("space", "comment"):
                yield kind, match.group(), at
            at = match.end()
        yield "end", "", at

    def _error(self, what: str, at: int) -> GrammarError:
        line = self._text.count("\n", 0, at) + 1
        near = self._text[at : at + 20].split("\n")[0]
        return GrammarError(f"The grammar {what}, line {line}" + (f", at {near!r}." if near else "."))

    def _peek(self) -> tuple[str, str, int]:
        return self._tokens[self._at]

    def _skip_newlines(self) -> None:
        while self._peek()[0] == "newline":
            self._at += 1

    def rules(self) -> dict[str, _Choice]:
        found: dict[str, _Choice] = {}
        self._skip_newlines()
        while self._peek()[0] != "end":
            kind, name, at = self._peek()
            if kind != "name" or self._tokens[self._at + 1][0] != "is":
                raise self._error("needs `name ::=` here", at)
            if name in found:
                raise self._error(f"defines {name!r} twice", at)
            self._at += 2
            self._skip_newlines()
            found[name], _ = self._choice(0)
            if self._peek()[0] not in ("newline", "end"):
                raise self._error("cannot read", self._peek()[2])
            self._skip_newlines()
        return found

    def _choice(self, depth: int) -> tuple[_Choice, int]:
        """Alternatives, and how many times their largest repetition repeats."""
        if depth > DEEPEST_NESTING:
            raise self._error(f"nests parentheses deeper than {DEEPEST_NESTING}", self._peek()[2])
        choice = _Choice()
        largest = 1
        while True:
            sequence, repeats = self._sequence(depth)
            choice.alternatives.append(sequence)
            largest = max(largest, repeats)
            if self._peek()[0] != "or":
                return choice, largest
            self._at += 1
            self._skip_newlines()

    def _sequence(self, depth: int) -> tuple[list[_Item], int]:
        items: list[_Item] = []
        largest = repeats = 1
        while True:
            if depth:
                self._skip_newlines()
            kind, text, at = self._peek()
            if kind in ("literal", "class", "any", "name"):
                if kind == "name" and self._tokens[self._at + 1][0] == "is":
                    raise self._error("needs a line break before this rule", at)
                repeats = 1
                items.append(_Item(name=text if kind == "name" else None, empty=text in ('""', "[]", "[^]")))
            elif kind == "open":
                self._at += 1
                group, repeats = self._choice(depth + 1)
                if self._peek()[0] != "close":
                    raise self._error("lacks a closing parenthesis", self._peek()[2])
                items.append(_Item(choice=group))
            elif kind == "repeat":
                if not items or items[-1].empty:
                    raise self._error("has nothing to repeat", at)
                least, most = _bounds(text)
                repeats *= max(1, most or least)
                if least > MOST_REPEATS or repeats > MOST_REPEATS:
                    raise self._error(f"repeats something more than {MOST_REPEATS} times", at)
                if most is not None and most < least:
                    raise self._error("has a repetition whose bounds are the wrong way round", at)
                items[-1].times *= max(1, most or least)
                items[-1].empty_times *= max(1, most or least) if items[-1].optional else 1
                items[-1].optional |= least == 0
                items[-1].many |= most is None
            else:
                return items, largest
            largest = max(largest, repeats)
            self._at += 1


def _bounds(text: str) -> tuple[int, int | None]:
    """Least and most times of a repetition; None is without limit."""
    simple: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
    if text in simple:
        return simple[text]
    least, comma, most = text.strip("{} \t\r\n").partition(",")
    if not comma:
        return int(least), int(least)
    return int(least), int(most) if most.strip() else None


def _check_repeats(rules: dict[str, _Choice], empty: set[str]) -> None:
    for name, rule in rules.items():
        if _empty_repeats(rule, empty) > MOST_EMPTY_REPEATS:
            raise GrammarError(
                f"The rule {name!r} repeats something that may be empty more than {MOST_EMPTY_REPEATS} times."
            )


def _check_left_edges(rules: dict[str, _Choice], empty: set[str]) -> None:
    """Refuse left recursion, seen also through rules that may match nothing, and left edges that explode."""
    edges: dict[str, list[str]] = {name: list(_left_names(rule, empty)) for name, rule in rules.items()}
    paths: dict[str, int] = {}
    for start in rules:
        stack: list[tuple[str, Iterator[str]]] = [(start, iter(edges[start]))] if start not in paths else []
        open_names = {start}
        while stack:
            name, following = stack[-1]
            deeper = next((one for one in following if one not in paths), None)
            if deeper is None:
                paths[name] = 1 + sum(paths[one] for one in edges[name])
                if paths[name] > MOST_LEFT_PATHS:
                    raise GrammarError(f"The rule {name!r} can begin in too many ways; simplify the grammar.")
                open_names.discard(name)
                stack.pop()
            elif deeper in open_names:
                raise GrammarError(f"The rule {deeper!r} is left-recursive: it may begin with itself.")
            else:
                open_names.add(deeper)
                stack.append((deeper, iter(edges[deeper])))


def _check_right_edges(rules: dict[str, _Choice], empty: set[str]) -> None:
    """Refuse rules that may end in themselves several times over, as in `r ::= "a" r* | "b"`.

    What follows can then belong to the inner or to the outer one, and the readings an engine keeps double with every
    letter.
    """
    endings = {name: [_right_names(sequence, empty) for sequence in rule.alternatives] for name, rule in rules.items()}
    within = {name: _reachable(name, endings) for name in rules}
    for name, sequences in endings.items():
        for sequence in sequences:
            if sum(times for ending, times in sequence if ending == name or name in within[ending]) > 1:
                raise GrammarError(
                    f"The rule {name!r} may end in itself several times; close it with a mark of its own."
                )


def _right_names(sequence: list[_Item], empty: set[str]) -> list[tuple[str, int]]:
    """Rules that a sequence may end in, each with how many times over; without limit counts as twice."""
    found: list[tuple[str, int]] = []
    for item in reversed(sequence):
        times = 2 if item.many else item.times
        if item.name is not None:
            found.append((item.name, times))
        if item.choice is not None:
            inside = [_right_names(inner, empty) for inner in item.choice.alternatives]
            found += [(name, times * inner) for endings in inside for name, inner in endings]
        if not _item_empty(item, empty):
            break
    return found


def _reachable(start: str, endings: dict[str, list[list[tuple[str, int]]]]) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        for sequence in endings[waiting.pop()]:
            for name, _ in sequence:
                if name not in found:
                    found.add(name)
                    waiting.append(name)
    return found


def _may_be_empty(rules: dict[str, _Choice]) -> set[str]:
    empty: set[str] = set()
    while True:
        more = {name for name, rule in rules.items() if name not in empty and _choice_empty(rule, empty)}
        if not more:
            return empty
        empty |= more


def _choice_empty(choice: _Choice, empty: set[str]) -> bool:
    return any(all(_item_empty(item, empty) for item in sequence) for sequence in choice.alternatives)


def _item_empty(item: _Item, empty: set[str]) -> bool:
    if item.optional or item.empty or item.name in empty:
        return True
    return item.choice is not None and _choice_empty(item.choice, empty)


def _left_names(choice: _Choice, empty: set[str]) -> Iterator[str]:
    """Rules that a choice may begin with, once for every way."""
    for sequence in choice.alternatives:
        for item in sequence:
            if item.name is not None:
                yield item.name
            if item.choice is not None:
                yield from _left_names(item.choice, empty)
            if not _item_empty(item, empty):
                break


def _empty_repeats(choice: _Choice, empty: set[str]) -> int:
    """How many times the choice repeats something that may be empty, groups within groups multiplied."""
    most = 1
    for item in (item for sequence in choice.alternatives for item in sequence):
        inside = _empty_repeats(item.choice, empty) if item.choice is not None else 1
        body = item.name in empty or (item.choice is not None and _choice_empty(item.choice, empty))
        most = max(most, inside * (item.times if body else item.empty_times))
    return most

"""Grammars walked and checked: random sentences out of a GBNF text, and llama.cpp's own verdict on a sentence."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

TOKEN = re.compile(
    r'\s*(?:"((?:[^"\\]|\\.)*)"|\[(\^?)((?:[^\]\\]|\\.)*)\]|([A-Za-z0-9-]+)|([*+?|()])|\{(\d+)(,?)(\d*)\})', re.DOTALL
)
ESCAPE = re.compile(r"\\(?:x(..)|u(....)|U(.{8})|(.))", re.DOTALL)
POOL = [ord(letter) for letter in "aZk09 _-+.:,;'`|/#*<>{}()[]\"\\\n\t\0é中😀\u2028\x7f\x85\xa0"]
LONG, DEEP = 600, 120


def plain(text: str) -> str:
    def letter(match: re.Match[str]) -> str:
        code = match[1] or match[2] or match[3]
        return chr(int(code, 16)) if code else {"n": "\n", "r": "\r", "t": "\t"}.get(match[4], match[4])

    return ESCAPE.sub(letter, text)


def ranges(text: str) -> list[tuple[int, int]]:
    """The ranges of a character class, an escaped dash being no range."""
    letters = [(plain(one), one == "-") for one in re.findall(r"\\(?:x..|u....|U.{8}|.)|.", text, re.DOTALL)]
    found, at = [], 0
    while at < len(letters):
        last = at + 2 if at + 2 < len(letters) and letters[at + 1][1] else at
        found.append((ord(letters[at][0]), ord(letters[last][0])))
        at = last + 1
    return found


class Walk:
    """The rules of one GBNF text, and random sentences of them."""

    def __init__(self, text: str) -> None:
        self.rules: dict[str, Any] = {}
        for line in text.splitlines():
            if "::=" in line:
                name, _, body = line.partition("::=")
                self.tokens, self.at = list(TOKEN.finditer(body)), 0
                assert sum(len(token[0]) for token in self.tokens) == len(body.rstrip()), body
                self.rules[name.strip()] = self.choice()
        self.shortest: dict[str, float] = {}
        while True:
            more = {name: self.length(rule) for name, rule in self.rules.items()}
            if more == self.shortest:
                break
            self.shortest = more

    def choice(self) -> Any:
        options = [self.sequence()]
        while self.at < len(self.tokens) and self.tokens[self.at][5] == "|":
            self.at += 1
            options.append(self.sequence())
        return ("choice", options)

    def sequence(self) -> Any:
        items: list[Any] = []
        while self.at < len(self.tokens):
            literal, negated, letters, name, mark, least, comma, most = self.tokens[self.at].groups()
            if mark in ("|", ")"):
                break
            self.at += 1
            if literal is not None:
                items.append(("text", plain(literal)))
            elif letters is not None:
                items.append(("letter", bool(negated), ranges(letters)))
            elif name is not None:
                items.append(("rule", name))
            elif mark == "(":
                items.append(self.choice())
                self.at += 1
            else:
                simple = {"?": (0, 1), "*": (0, 9), "+": (1, 9)}
                low, high = simple.get(mark, (int(least or 0), int(most or 9) if comma else int(least or 0)))
                items.append(("repeat", items.pop(), low, high))
        return ("sequence", items)

    def length(self, node: Any) -> float:
        match node:
            case ("text", text):
                return len(text)
            case ("letter", *_):
                return 1
            case ("rule", name):
                return self.shortest.get(name, float("inf"))
            case ("choice", options):
                return min(map(self.length, options))
            case ("sequence", items):
                return sum(map(self.length, items))
            case ("repeat", part, low, _):
                return low * self.length(part) if low else 0

    def sentence(self, seed: int) -> str:
        self.draw, self.written = random.Random(seed), list[str]()
        self.size = 0
        self.write(("rule", "root"), 0)
        return "".join(self.written)

    def write(self, node: Any, depth: int) -> None:
        hurry = self.size > LONG or depth > DEEP
        match node:
            case ("text", text):
                self.written.append(text)
                self.size += len(text)
            case ("letter", negated, spans):
                self.written.append(chr(self.letter(negated, spans)))
                self.size += 1
            case ("rule", name):
                self.write(self.rules[name], depth + 1)
            case ("choice", options):
                self.write(min(options, key=self.length) if hurry else self.draw.choice(options), depth)
            case ("sequence", items):
                for item in items:
                    self.write(item, depth)
            case ("repeat", part, low, high):
                times = low if hurry else min(high, low + self.draw.choice([0, 0, 1, 2, 5, high - low]))
                for _ in range(times if times < 40 else min(times, low + 40)):
                    self.write(part, depth + 1)

    def letter(self, negated: bool, spans: list[tuple[int, int]]) -> int:
        if negated:
            return self.draw.choice([one for one in POOL if not any(low <= one <= high for low, high in spans)])
        low, high = self.draw.choice(spans)
        return self.draw.choice([low, high, self.draw.randint(low, high)])


@pytest.fixture(scope="session")
def sentence() -> Callable[[str, int], str]:
    """A random sentence of a GBNF text, by a seed; short ways are taken once it gets long."""
    walks = cache(Walk)
    return lambda grammar, seed: walks(grammar).sentence(seed)


@pytest.fixture(scope="session")
def accepts(smollm2: Any) -> Callable[[str, str], bool]:
    """Whether llama.cpp's own engine takes a text, byte by byte, as a whole sentence of a grammar."""
    import numpy as np

    from react_text.backends.llama.grammar import TokenGrammar

    engine = smollm2._engine
    pieces = ((token, engine.vocabulary.piece(token)) for token in range(engine.vocabulary.size))
    tokens = {piece[0]: token for token, piece in pieces if len(piece) == 1}
    ends = np.fromiter(engine.vocabulary.end_ids, np.int32)

    def accepts(grammar: str, text: str) -> bool:
        walk = TokenGrammar(engine, grammar)
        try:
            for byte in text.encode():
                if byte not in tokens:
                    raise LookupError(f"the model has no token for byte {byte}")
                if not walk.allowed(np.array([tokens[byte]], np.int32))[0]:
                    return False
                walk.accept(tokens[byte])
            return bool(walk.allowed(ends).any())
        finally:
            walk.close()

    return accepts

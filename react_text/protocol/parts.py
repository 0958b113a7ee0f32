"""The parts of a question, and those that nothing found so far speaks of. Pure.

Parts end where sentences do, at commas and at the English "and". After a word of two or three
letters a point ends nothing, as that may be a title.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from itertools import chain

_BETWEEN = re.compile(
    r"(?:[?;!]|,(?=\s)|(?<!\b[A-Z][a-z])(?<!\b[A-Z][a-z]{2})\.(?=\s)|\s&(?=\s)|\s(?:and|plus)(?=\s))+\s*", re.IGNORECASE
)
_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_STEM = 4
"""Letters by which a word is known again: "mats" is like "mat"."""
_SHORT = 2
"""Letters of a word, such as "go", that is nothing to ask for."""
_LETTERS = re.compile(r"[^\W\d_]+")
_NAME_STEM = 5
"""Letters by which a word of a name is known again: "details" in "with detailed notes"."""
_LISTED = (
    "a also an and any are as at be been both by can could did do does either else for from get give had has have he "
    "her him his how i if in into is it its just kind last let list look me much my need next of on one or other our "
    "out please say says she should show so some sort tell than that the their them then there these they this those "
    "to too up us want was we were what what's when where whether which who who's whom whose why will with would you "
    "your many more most need now no not none nor never only already yet still here"
)
_DENYING = re.compile(r"\b(?:no|not|without|never|none|neither|nor|except|excluding|exclude|skip|omit)\b|n't\b", re.I)
_ASKING = {"tell", "give", "show", "list", "find", "look", "say", "what", "which", "who", "how", "when", "where"}
SAY_NOTHING = frozenset(_LISTED.split())
"""Words that ask, join or point, and name nothing."""


def unanswered_parts(question: str, values: Iterable[str], results: str, known: Collection[str]) -> list[str]:
    """What the parts of a question ask for that hold no value of a call so far, of `values`.

    A part's own words are those that no other part has. What it asks for is its first run of own words that neither
    `results` nor the tools have: `known` are words that say nothing new, in small letters. A word of two letters asks
    for nothing. Empty where no part holds a value, as then nothing shows what an answer would look like.
    """
    parts = [_WORD.findall(part) for part in _BETWEEN.split(question)]
    stems = ({stem(word) for word in part} for part in parts)
    used = {stem(word) for value in values for word in _WORD.findall(value)}
    seen = {stem(word) for word in _WORD.findall(results)}
    passed_over = SAY_NOTHING.union(known)
    shared = {stem for stem, parts_with in Counter(chain.from_iterable(stems)).items() if parts_with > 1}
    found: list[str] = []
    answered = False
    for part in parts:
        own = [word for word in part if stem(word) not in shared]
        if any(stem(word) in used for word in own):
            answered = True
            continue
        new = {word for word in own if word.casefold() not in passed_over and stem(word) not in seen}
        run = _first_run(part, new)
        if len(run) > _SHORT:
            found.append(run)
    return found if answered else []


def speaks_of(text: str, name: str, shortest: int = 1) -> bool:
    """Whether a text holds every word of a name such as `inStock` or `in_stock`, with any ending.

    A short form counts as the word that it begins, "stats" as "statistics". Words of fewer than `shortest` letters do
    not count.
    """
    words = [word for word in words_in(name) if len(word) >= shortest]
    held = {word[:_NAME_STEM] for word in _LETTERS.findall(text.casefold())}
    return bool(words) and all(_begins_one(word, held) for word in words)


def words_in(text: str) -> list[str]:
    """The words of a text in small letters, those of a name such as `inStock` or `in_stock` too."""
    return [word.casefold() for word in _LETTERS.findall(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text))]


def denies(text: str) -> bool:
    """Whether a text says what is not wanted, in English: who names something may then mean its absence."""
    return _DENYING.search(text.replace("’", "'")) is not None


def _begins_one(word: str, stems: Collection[str]) -> bool:
    short = word.removesuffix("s")
    return word[:_NAME_STEM] in stems or (len(short) == _STEM and any(one.startswith(short) for one in stems))


def asks_to_be_told(question: str) -> bool:
    """Whether a request is a question, or begins with a word such as "tell" or "find": it asks for no change."""
    first = _WORD.search(question)
    return question.rstrip().endswith("?") or (first is not None and first[0].casefold() in _ASKING)


def parts_of(question: str) -> list[str]:
    """The parts of a question, without what is between them."""
    return [part for part in _BETWEEN.split(question) if part]


def part_with(question: str, values: Iterable[str]) -> str:
    """The first part of a question that holds a word of one of the values; the whole question where none does."""
    wanted = {stem(word) for value in values for word in _WORD.findall(value)}
    parts = _BETWEEN.split(question)
    return next((part for part in parts if wanted & {stem(word) for word in _WORD.findall(part)}), question)


def _first_run(part: list[str], new: Collection[str]) -> str:
    run: list[str] = []
    for word in part:
        if word in new:
            run.append(word)
        elif run:
            break
    return " ".join(run)


def stem(word: str) -> str:
    """What a word is known again by, whatever it ends with."""
    return word.casefold()[:_STEM] if len(word) > _STEM else word.casefold().rstrip("s")

"""What of a question is still unanswered. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from react_text.messages import Call
from react_text.protocol.examples import scalars
from react_text.protocol.grounding import MOST_VALUES, mentions, names, numbers, with_titles
from react_text.protocol.parts import unanswered_parts
from react_text.steering.known import Known

_SHORT_WORD = 2
"""Letters of a word that says too little to be looked for in a name."""


def left_out(known: Known, done: Collection[str]) -> list[str]:
    """What the question names that no call has used and no result holds."""
    used = " ".join(text for call, seen in known.made for text in (*scalars(call.arguments), seen.content))
    words = {word.casefold() for word in used.split() if len(word) > _SHORT_WORD}
    named = dict.fromkeys([*names(known.question), *map(str, numbers(known.question))])
    spoken_of = known.spoken_of()
    left = [
        one
        for one in list(named)[:MOST_VALUES]
        if one not in done and one.casefold() not in spoken_of and not _covered(one, used, words)
    ]
    return [one for one in with_titles(known.question, left) if one not in done and not _covered(one, used, words)]


def unasked(known: Known, done: Collection[str]) -> list[str]:
    """What parts of the question ask for that hold no value of any call."""
    values = [text for call, _ in known.made for text in scalars(call.arguments)]
    results = " ".join(seen.content for _, seen in known.made)
    parts = unanswered_parts(known.question, values, results, known.spoken_of())
    return [one for one in parts if one not in done]


def clause(known: Known, left: Sequence[str]) -> str:
    """The part of the question that what is left stands in: from the end of the last value used before it on."""
    at = min((found for one in left if (found := known.question.find(one)) >= 0), default=0)
    used = [text for call, _ in known.made for text in known.texts_of(call)]
    ends = [known.question.find(text) + len(text) for text in used if 0 <= known.question.find(text) < at]
    return known.question[max(ends, default=0) :]


def written_like(left: Sequence[str], call: Call) -> bool:
    """Whether each text is written like a value of the call: as many words, with letters and digits alike."""
    used = {_written(text) for text in scalars(call.arguments)}
    return all(_written(text) in used for text in left)


def _covered(name: str, used: str, words: Collection[str]) -> bool:
    """Whether a name stands in what was used, or one of the `words` that were used in the name."""
    return mentions(used, name) or any(mentions(name, word) for word in words)


def _written(text: str) -> str:
    return re.sub(r"\d+", "9", re.sub(r"[^\W\d_]+", "a", text.strip()))

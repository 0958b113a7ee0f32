"""Whether an answer tells what was found, and how it is begun where it does not. Pure."""

from __future__ import annotations

from react_text.protocol.examples import scalars
from react_text.protocol.parts import part_with
from react_text.protocol.results import asked_of, tells
from react_text.steering.known import Known
from react_text.steering.policies import Move

WHY = "the answer left out what was found"
LONGEST_TOLD = 300
"""Characters of results that an answer is begun with."""


def answer_with_results(known: Known, answer: str) -> Move | None:
    """An answer that leaves out what was found is begun once more with it; None where it holds everything."""
    results = known.results()
    whole = len(results) == 1
    parts = [known.question if whole else part_with(known.question, scalars(call.arguments)) for call, _ in results]
    found = [(call, asked_of(seen.content, part)) for (call, seen), part in zip(results, parts, strict=True)]
    if sum(len(text) for _, text in found) > LONGEST_TOLD:
        return None
    needed = [text for _, text in found] if whole else [seen.content for _, seen in results]
    said = [" ".join([known.question, *needed[:at], *needed[at + 1 :]]) for at in range(len(needed))]
    if all(map(tells, [answer] * len(needed), needed, said)):
        return None
    if whole and tells(answer, results[0][1].content, known.question):
        return Move("said", why=WHY, said=f"{answer.rstrip(' .')} ({found[0][1]}).")
    if len(found) == 1:
        return Move("answer", why=WHY, said=f"The answer is {found[0][1]}")
    return Move("answer", why=WHY, said="; ".join(f"{known.told(call)}: {text}" for call, text in found) + ".")

"""What is counted of the records of one model, arm, dialect and variant, and how such counts are joined.

Counts only: no files, no rates, no words.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, NamedTuple

READINGS = ("strict", "repaired", "failed")
"""How the first reply of a run was read: to the letter, after repair, or not at all."""

NO_CALL, CALLED = 1, 2
"""Of a task that needs no call: none was made, or one was. 0 stands for a task that needs one."""

Result = tuple[str, str, Any, Any, Any, Any, Any, Any, str, bool]
"""Of a record: reading, category, right tool, right arguments, solved, declined, unreadable, needs a call, stop reason,
and whether the mode changed."""


class Cell(NamedTuple):
    """What is compared: a model asked in one way. `variant` tells runs with other settings apart, "" where none are."""

    model: str
    arm: str
    dialect: str = ""
    variant: str = ""


@dataclass
class Gathering:
    """Records as they come in: how often each result and each kind of reply was seen.

    The arrays have one entry for each record: `pairs` is a digest of source, task and seed, by which arms are compared.
    `suite` is the task set as it is shown, `source` where its tasks come from, whatever the split. `ablated` is an arm
    that is `auto` with other steering policies.
    """

    cell: Cell
    suite: str
    source: str = ""
    ablated: bool = False
    results: Counter[Result] = field(default_factory=Counter)
    replies: Counter[tuple[tuple[str, ...], str | None, bool, str]] = field(default_factory=Counter)
    ladder: Counter[tuple[int, str]] = field(default_factory=Counter)
    seeds: set[int] = field(default_factory=set)
    tokens_after: int = 0
    prompt_tokens: int = 0
    pairs: array[int] = field(default_factory=lambda: array("Q"))
    solved: array[int] = field(default_factory=lambda: array("B"))
    needless: array[int] = field(default_factory=lambda: array("B"))
    tokens: array[int] = field(default_factory=lambda: array("I"))
    seconds: array[float] = field(default_factory=lambda: array("f"))

    def __post_init__(self) -> None:
        self._salt = digest("|".join(self.cell))

    def key(self, record: Any) -> int:
        """64 bits that stand for cell, source, task and seed."""
        return digest(f"{self.source}|{record.task}|{record.seed}") ^ self._salt

    def add(self, record: Any, key: int) -> None:
        """Count one record (see `record_shape`) with its key."""
        outcome = record.outcome
        self.results[
            outcome.read,
            record.category or "other",
            outcome.right_tool,
            outcome.right_arguments,
            outcome.solved,
            outcome.declined,
            outcome.unreadable,
            record.needs_call,
            record.stop_reason or "unknown",
            bool(record.mode_changes),
        ] += 1
        for step in record.steps:
            self.replies[tuple(step.repairs), step.fault, step.strict, step.mode or "text"] += 1
        if any(step.fault for step in record.steps):
            self.ladder.update(climbed(record.steps, record.stop_reason))
        self.seeds.add(record.seed or 0)
        self.pairs.append(key ^ self._salt)
        self.solved.append(outcome.solved is True)
        called = not outcome.declined and not outcome.unreadable
        self.needless.append(0 if record.needs_call is not False else CALLED if called else NO_CALL)
        self.tokens.append(int(_finite(record.tokens)))
        self.seconds.append(_finite(record.seconds))
        self.tokens_after += int(_finite(record.tokens_after))
        self.prompt_tokens += int(_finite(record.prompt_tokens))

    def tally(self) -> Tally:
        """What was counted, by what a report asks for."""
        tally = Tally(
            self.cell,
            self.suite,
            frozenset(self.seeds),
            self.tokens_after,
            self.prompt_tokens,
            self.pairs,
            self.solved,
            self.needless,
            self.tokens,
            self.seconds,
            ladder=self.ladder,
            ablated=self.ablated,
        )
        for (read, category, tool, arguments, solved, *rest), count in self.results.items():
            declined, unreadable, needs_call, stop, changed = rest
            tally.read[read] += count
            for measure, value in (("right_tool", tool), ("right_arguments", arguments)):
                tally.known[measure] += count if value is not None else 0
                tally.yes[measure] += count if value else 0
            if tool is not None:
                tally.called_for[category] += count
                tally.right_tool[category] += count if tool else 0
                tally.right_arguments[category] += count if arguments else 0
            tally.tried[category] += count
            tally.done[category] += count if solved else 0
            if needs_call is False:
                tally.idle["unreadable" if unreadable else "declined" if declined else "called"] += count
            tally.stops[stop] += count
            tally.changed_mode += count if changed else 0
        for (repairs, fault, strict, mode), count in self.replies.items():
            tally.replies += count
            tally.strict_replies += count if strict else 0
            for repair in set(repairs):
                tally.repairs[repair] += count
            if fault:
                tally.faults[fault] += count
            tally.modes[mode] += count
        return tally


@dataclass
class Tally:
    """Counts over records. `known` are those that a measure applies to, `yes` those for which it is true.

    `repairs`, `faults` and `modes` count replies (a repair once for each reply that took it); `tried` and `done` count
    records and solved records by category, `called_for`, `right_tool` and `right_arguments` first calls by category;
    `idle` says what was made of tasks that need no call. `ladder` counts what `climbed` gives.
    """

    cell: Cell
    suite: str
    seeds: frozenset[int]
    tokens_after: int
    prompt_tokens: int
    pairs: array[int]
    solved: array[int]
    needless: array[int]
    tokens: array[int]
    seconds: array[float]
    ablated: bool = False
    replies: int = 0
    strict_replies: int = 0
    changed_mode: int = 0
    read: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)
    yes: Counter[str] = field(default_factory=Counter)
    repairs: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    modes: Counter[str] = field(default_factory=Counter)
    stops: Counter[str] = field(default_factory=Counter)
    idle: Counter[str] = field(default_factory=Counter)
    tried: Counter[str] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)
    called_for: Counter[str] = field(default_factory=Counter)
    right_tool: Counter[str] = field(default_factory=Counter)
    right_arguments: Counter[str] = field(default_factory=Counter)
    ladder: Counter[tuple[int, str]] = field(default_factory=Counter)

    @property
    def model(self) -> str:
        """The model's name."""
        return self.cell.model

    @property
    def arm(self) -> str:
        """The arm's name."""
        return self.cell.arm

    @property
    def n(self) -> int:
        """The number of records."""
        return len(self.pairs)


def _finite(value: float | None) -> float:
    """An amount, 0.0 where it is missing or no amount at all."""
    return value if value and 0 < value < 2**32 else 0.0


def climbed(steps: Sequence[Any], stop_reason: str | None) -> list[tuple[int, str]]:
    """For each reply that could not be used its rung, and what came of it.

    The rung counts such replies in a row, from 1: the model was then corrected for the first time, the second, and so
    on. "usable": the reply after that could be used; "again": it could not; "given up": the run ended as stuck;
    "limit": it ended on other grounds. A second look that failed is left out, as the first reply then stands.
    """
    found: list[tuple[int, str]] = []
    rung = 1
    for at, step in enumerate(steps):
        if not step.fault:
            rung = 1
        elif at == 0 or "second_look" not in steps[at - 1].steered:
            if at + 1 == len(steps):
                came = "given up" if stop_reason == "stuck" else "limit"
            elif "answer_now" in step.steered:
                came = "limit"
            else:
                came = "again" if steps[at + 1].fault else "usable"
            found.append((rung, came))
            rung += 1
    return found


def digest(text: str) -> int:
    """64 bits that stand for a text."""
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "big")


def joined(parts: Iterable[Gathering], suite: str) -> Gathering:
    """One gathering over several of the same cell."""
    found = list(parts)
    total = Gathering(found[0].cell, suite, ablated=found[0].ablated)
    for part in found:
        total.results.update(part.results)
        total.replies.update(part.replies)
        total.ladder.update(part.ladder)
        total.seeds |= part.seeds
        total.tokens_after += part.tokens_after
        total.prompt_tokens += part.prompt_tokens
        for name in ("pairs", "solved", "needless", "tokens", "seconds"):
            getattr(total, name).extend(getattr(part, name))
    return total

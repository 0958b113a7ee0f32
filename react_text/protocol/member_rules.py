"""The members of one object as expressions: in order, optional ones skippable, counted where it matters. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from react_text.protocol.expressions import NOTHING, Expression, choice, repeat, separated, sequence

MAX_KEYS = 8
"""Members of an object that no schema declares."""


@dataclass
class Members:
    """What may follow in an object, by the next declared member and how many members were written.

    `members` are (name, expression, required), `others` a member that is not declared, where there may be any. Each
    object has `least` to `most` members. `shared` makes a rule of what several ways lead to, named after a member.
    `between` stands between two members and `closes` after the last.
    """

    members: list[tuple[str, Expression, bool]]
    others: Expression | None
    least: int
    most: int | None
    shared: Callable[[str, Expression], Expression]
    between: str = ", "
    closes: str = "}"
    done: dict[tuple[int, int], Expression] = field(default_factory=dict)

    def rest(self, index: int, count: int) -> Expression:
        """The object from member `index` on, its closing brace included; counts past what matters are the same."""
        count = min(count, max(1, self.least, 0 if self.most is None else self.most + 1))
        if (index, count) not in self.done:
            self.done[index, count] = self._rest(index, count)
        return self.done[index, count]

    def _rest(self, index: int, count: int) -> Expression:
        if self.most is not None and count > self.most:
            return NOTHING
        if index == len(self.members):
            return self._end(count)
        name, member, required = self.members[index]
        taken = sequence(self.between if count else "", member, self.rest(index + 1, count + 1))
        if required:
            return taken
        body = choice([taken, self.rest(index + 1, count)])
        return self.shared(name, body) if index and body != NOTHING else body

    def _end(self, count: int) -> Expression:
        least = max(0, self.least - count)
        if self.others is None:
            return NOTHING if least else sequence(self.closes)
        most = max(MAX_KEYS, least) if self.most is None else self.most - count
        if count:
            return sequence(repeat(sequence(self.between, self.others), least, most), self.closes)
        return sequence(separated(self.others, least, most, self.between), self.closes)

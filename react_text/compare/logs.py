"""Logs that people have, counted: how many outputs meet the strict format, and what the tolerant reading adds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from react_text.catalog import FAULTS, REPAIRS
from react_text.compare.stats import wilson


@dataclass
class LogCounts:
    """Counts over the readings of a log. `unusable` are lines that hold no output; they are in no rate."""

    lines: int = 0
    unusable: int = 0
    strict: int = 0
    repaired: int = 0
    failed: int = 0
    calls: int = 0
    strict_calls: int = 0
    repairs: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)

    @property
    def read(self) -> int:
        """Outputs that were read, in the strict format or after repair."""
        return self.strict + self.repaired

    def as_dict(self) -> dict[str, Any]:
        """The counts as plain JSON values; each rate with its n and its Wilson 95 % interval."""
        rates = {name: _rate(getattr(self, name), self.lines) for name in ("strict", "repaired", "failed", "read")}
        return {
            "outputs": self.lines,
            "unusable_lines": self.unusable,
            **rates,
            "calls": self.calls,
            "calls_in_strict_format": self.strict_calls,
            "repairs": dict(self.repairs.most_common()),
            "faults": dict(self.faults.most_common()),
        }


def count_readings(records: Iterable[Mapping[str, Any]]) -> LogCounts:
    """Count readings as `explain.parse_lines` gives them. A repair is counted once for each output that needed it."""
    counts = LogCounts()
    for record in records:
        if "error" in record:
            counts.unusable += 1
            continue
        counts.lines += 1
        counts.repairs.update(set(record["repairs"]))
        if record["kind"] == "none":
            counts.failed += 1
            counts.faults[(record["fault"] or {"code": "no_action"})["code"]] += 1
            continue
        strict = record["strict"] or not record["repairs"]  # a message as a server should send it needs no labels
        if strict:
            counts.strict += 1
        else:
            counts.repaired += 1
        if record["kind"] == "action":
            counts.calls += 1
            counts.strict_calls += strict
    return counts


def lines_of(counts: LogCounts) -> list[str]:
    """The counts as lines for a person."""
    if not counts.lines:
        return ["no outputs"]
    unusable = f", {_number(counts.unusable, 'line')} without one" if counts.unusable else ""
    lines = [
        _number(counts.lines, "output") + unusable,
        _line("strict format", counts.strict, counts.lines),
        _line("read after repair", counts.repaired, counts.lines),
        _line("not read", counts.failed, counts.lines),
        f"{_number(counts.calls, 'call')}, {counts.strict_calls} of them in the strict format",
    ]
    for title, found, meanings in (("repairs", counts.repairs, REPAIRS), ("faults", counts.faults, FAULTS)):
        if found:
            lines.append(f"{title}:")
            lines += [f"  {count:>7}  {name:<22} {meanings.get(name, '')}" for name, count in found.most_common()]
    return lines


def _rate(k: int, n: int) -> dict[str, Any]:
    low, high = wilson(k, n)
    return {"k": k, "n": n, "low": round(low, 4), "high": round(high, 4)}


def _number(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"


def _line(title: str, k: int, n: int) -> str:
    low, high = wilson(k, n)
    return f"{title:<18} {k} of {n}: {100 * k / n:.1f} % ({100 * low:.1f} to {100 * high:.1f})"

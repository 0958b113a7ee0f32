"""What a person sees while a comparison runs: a table of the arms, with rates and the time left."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live
    from rich.table import Table

RECENT = 20
"""Records over which the time left is reckoned."""


class Progress:
    """Follows a run. On a terminal the table is redrawn as records come; elsewhere it is printed once, at the end."""

    def __init__(self, console: Console, total: int, earlier: Iterable[Mapping[str, Any]] = ()) -> None:
        self.console = console
        self.total = total
        self.rows: dict[tuple[str, str, str], dict[str, float]] = {}
        self.done = 0
        self._times: list[float] = []
        self._live: Live | None = None
        for record in earlier:
            self._count(record)

    def __enter__(self) -> Progress:
        from rich.live import Live

        self._times = [time.monotonic()]
        if self.console.is_terminal:
            self._live = Live(self.table(), console=self.console, refresh_per_second=4)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.update(self.table(), refresh=True)
            self._live.stop()
        else:
            self.console.print(self.table())

    def add(self, record: Mapping[str, Any]) -> None:
        """A record was written."""
        self._count(record)
        self._times = [*self._times[-RECENT:], time.monotonic()]
        if self._live is not None:
            self._live.update(self.table())

    def seconds_left(self) -> float | None:
        """Seconds until the end at the pace of the latest records, None before there is one."""
        if len(self._times) < 2:
            return None
        pace = (self._times[-1] - self._times[0]) / (len(self._times) - 1)
        return pace * (self.total - self.done)

    def table(self) -> Table:
        from rich.box import SIMPLE
        from rich.table import Table

        left = self.seconds_left()
        title = f"{self.done} of {self.total}" + (f", {_spoken(left)} left" if left and self.done < self.total else "")
        table = Table(title=title, title_justify="left", box=SIMPLE, pad_edge=False, padding=(0, 1, 0, 0))
        table.add_column("", overflow="fold", min_width=16)
        for name in ("strict", "mended", "failed", "tool ok", "call ok", "solved", "tok", "s"):
            table.add_column(name, justify="right", no_wrap=True)
        for names, row in self.rows.items():
            count, calls = row["n"], row["needs_call"]
            shares = [_share(row[name], count) for name in ("strict", "repaired", "failed")]
            rights = [_share(row[name], calls) for name in ("right_tool", "right_arguments")]
            means = [f"{row['tokens'] / count:.0f}", f"{row['seconds'] / count:.1f}"]
            table.add_row(" ".join(names), *shares, *rights, _share(row["solved"], count), *means)
        return table

    def _count(self, record: Mapping[str, Any]) -> None:
        names = ("n", "needs_call", "strict", "repaired", "failed", "right_tool", "right_arguments", "solved")
        row = self.rows.setdefault(
            (record["model"], record["arm"], record["dialect"]), dict.fromkeys((*names, "tokens", "seconds"), 0.0)
        )
        outcome = record["outcome"]
        row["n"] += 1
        row[outcome["read"]] += 1
        row["needs_call"] += record["needs_call"]
        for name in ("right_tool", "right_arguments", "solved"):
            row[name] += bool(outcome[name])
        row["tokens"] += record["tokens"]
        row["seconds"] += record["seconds"]
        self.done += 1


def _share(part: float, of: float) -> str:
    return f"{part:.0f}/{of:.0f}" if of else "-"


def _spoken(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s" if minutes else f"{rest} s"

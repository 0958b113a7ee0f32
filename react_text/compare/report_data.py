"""Run folders read into counts: every record once, as a stream, in memory that does not grow with the outputs.

Reads files and counts; what the counts mean is in `findings`, how they look in `report_page` and `report_markdown`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from react_text.compare.outputs import Sampler
from react_text.compare.record_shape import decoder
from react_text.compare.tally import Gathering, Tally, joined
from react_text.errors import RunFolderError

Ticker = Callable[[int], None]
"""Told how many bytes were read since it was last called."""

ARM_ORDER = ("text", "text+grammar", "structured", "auto")


@dataclass(frozen=True)
class View:
    """The tallies of one task set, or of all together, in the order they are shown."""

    name: str
    tallies: tuple[Tally, ...]

    @property
    def models(self) -> list[str]:
        """The models' names, in order."""
        return list(dict.fromkeys(tally.model for tally in self.tallies))

    def of(self, model: str) -> list[Tally]:
        """The tallies of one model."""
        return [tally for tally in self.tallies if tally.model == model]


@dataclass
class Measured:
    """All that was read: what each run says about itself, the tallies, outputs to show, and what a reader must know.

    `views` begins with all task sets together, followed by each where there are several.
    """

    metas: list[dict[str, Any]] = field(default_factory=list)
    views: list[View] = field(default_factory=list)
    outputs: list[dict[str, Any]] = field(default_factory=list)
    shown: dict[str, tuple[int, int]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def all(self) -> View:
        """All task sets together."""
        return self.views[0]

    @property
    def suites(self) -> list[View]:
        """Each task set on its own."""
        return self.views[1:] or self.views


def read_runs(folders: Sequence[Path], *, outputs: int = 500, tick: Ticker | None = None) -> Measured:
    """Count the records of one or more run folders; a record that several hold is counted once.

    `outputs` is the most single outputs to keep. Raises RunFolderError where a folder holds no records.
    """
    measured = Measured()
    sampler = Sampler(outputs)
    gathered: dict[tuple[str, str, str, str], Gathering] = {}
    seen: set[int] = set()
    for folder in folders:
        meta = read_meta(folder, measured.notes)
        measured.metas.append(meta)
        suite, source = suite_name(meta), source_name(meta)
        twice = 0
        for record, line in _records(folder, measured.notes, tick):
            cell = (record.model, record.arm, record.dialect or "", suite)
            gathering = gathered.get(cell)
            if gathering is None:
                gathering = gathered[cell] = Gathering(*cell, source)
            key = gathering.key(record)
            if key in seen:
                twice += 1
                continue
            seen.add(key)
            gathering.add(record, key)
            sampler.offer(_class_of(record.outcome), key, line)
        if twice:
            measured.notes.append(
                f"{_count(twice, 'record')} of {folder.name} {_were(twice)} already counted and left out."
            )
    if not gathered:
        raise RunFolderError(f"No records in {', '.join(str(folder) for folder in folders)}: nothing to report yet.")
    measured.notes += _disagreements(measured.metas)
    measured.views = _views(gathered)
    measured.outputs, measured.shown = sampler.chosen()
    return measured


def read_meta(folder: Path, notes: list[str]) -> dict[str, Any]:
    """What a run says about itself; {} with a note where that cannot be read."""
    if not folder.is_dir():
        raise RunFolderError(f"{folder} is no run folder: give the folder that `react-text compare --out` has written.")
    try:
        meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
        if isinstance(meta, dict):
            return meta | {"folder": folder.name}
    except (OSError, ValueError):
        pass
    notes.append(f"{folder.name} has no readable meta.json: its tasks, settings and machine are unknown.")
    return {"folder": folder.name}


def suite_name(meta: Mapping[str, Any]) -> str:
    """The name of a run's task set, with its split where it has one."""
    source, split = source_name(meta), (meta.get("tasks") or {}).get("split")
    return f"{source} ({split})" if split in ("dev", "test") else source


def source_name(meta: Mapping[str, Any]) -> str:
    """Where a run's tasks come from, without the folders of a path."""
    source = str((meta.get("tasks") or {}).get("source") or meta.get("folder") or "tasks")
    return source if ":" in source and "/" not in source else Path(source).name or source


def _records(folder: Path, notes: list[str], tick: Ticker | None) -> Iterator[tuple[Any, bytes]]:
    """The records of a folder with their lines; lines that hold none are set aside with a note."""
    path = folder / "records.jsonl"
    decode = decoder()
    damaged: list[int] = []
    number, last = 0, b""
    try:
        file = path.open("rb")
    except OSError as error:
        raise RunFolderError(f"{path} cannot be read ({error.strerror}): is {folder} a run folder?") from None
    with file:
        unread = 0
        for line in file:
            number += 1
            unread += len(line)
            if tick and unread > 4_000_000:
                tick(unread)
                unread = 0
            record = decode(line)
            if record is not None:
                yield record, line
            elif line.strip():
                damaged.append(number)
                last = line
        if tick:
            tick(unread)
    if damaged and damaged[-1] == number and not last.endswith(b"\n"):
        damaged.pop()
        notes.append(f"The last line of {folder.name}/records.jsonl is cut off and was set aside.")
    if damaged:
        where = ", ".join(str(line) for line in damaged[:5]) + (" and others" if len(damaged) > 5 else "")
        notes.append(
            f"{_count(len(damaged), 'line')} of {folder.name}/records.jsonl {_were(len(damaged))} set aside as no "
            f"readable record ({'line' if len(damaged) == 1 else 'lines'} {where})."
        )


def _class_of(outcome: Any) -> str:
    """`outputs.class_of` for a decoded outcome."""
    if outcome.unreadable or outcome.read == "failed":
        return "failed"
    return str(outcome.read) if outcome.solved else "wrong"


def _views(gathered: Mapping[tuple[str, str, str, str], Gathering]) -> list[View]:
    models = list(dict.fromkeys(model for model, *_ in gathered))
    arms = [*ARM_ORDER, *sorted({arm for _, arm, *_ in gathered} - set(ARM_ORDER))]
    suites = list(dict.fromkeys(suite for *_, suite in gathered))

    def view(name: str, parts: Iterable[Gathering]) -> View:
        ordered = sorted(parts, key=lambda part: (models.index(part.model), arms.index(part.arm), part.dialect))
        return View(name, tuple(part.tally() for part in ordered))

    each = [view(suite, (part for part in gathered.values() if part.suite == suite)) for suite in suites]
    if len(each) == 1:
        return each
    cells: dict[tuple[str, str, str], list[Gathering]] = {}
    for (model, arm, dialect, _), part in gathered.items():
        cells.setdefault((model, arm, dialect), []).append(part)
    name = "all task sets"
    return [view(name, (joined(parts, name) for parts in cells.values())), *each]


def _disagreements(metas: Sequence[Mapping[str, Any]]) -> list[str]:
    """What joined runs differ in and should not."""
    notes = []
    digests: dict[tuple[str, str], set[str]] = {}
    for meta in metas:
        for model in meta.get("models") or []:
            digests.setdefault(("The model", str(model.get("name"))), set()).add(str(model.get("digest")))
        tasks = meta.get("tasks") or {}
        if tasks.get("digest"):
            digests.setdefault(("The task set", suite_name(meta)), set()).add(str(tasks["digest"]))
    for (what, name), found in digests.items():
        if len(found) > 1:
            notes.append(f"{what} {name} is not the same in all runs: its digests are {', '.join(sorted(found))}.")
    settings = {json.dumps(meta.get("settings"), sort_keys=True) for meta in metas if meta.get("settings")}
    if len(settings) > 1:
        notes.append("The joined runs were made with different settings; each is listed at the end.")
    return notes


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def _were(n: int) -> str:
    return "was" if n == 1 else "were"

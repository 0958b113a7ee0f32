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
from react_text.compare.run_facts import setting_word
from react_text.compare.tally import Cell, Gathering, Tally, joined
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


def read_runs(
    folders: Sequence[Path], *, outputs: int = 500, apart: bool = False, tick: Ticker | None = None
) -> Measured:
    """Count the records of one or more run folders; a record that several hold is counted once.

    Runs with other settings stay apart as variants; with `apart` every run does, under its folder's name. `outputs` is
    the most single outputs to keep. Raises RunFolderError where a folder holds no records.
    """
    measured = Measured()
    measured.metas = [read_meta(folder, measured.notes) for folder in folders]
    sampler = Sampler(outputs)
    gathered: dict[tuple[Cell, str], Gathering] = {}
    seen: set[int] = set()
    variants = _folder_names(folders) if apart else variants_of(measured.metas)
    renamed = _renamed(measured.metas)
    for folder, meta, variant, names in zip(folders, measured.metas, variants, renamed, strict=True):
        meta["variant"] = variant
        meta["models"] = [m | {"name": names.get(m.get("name"), m.get("name"))} for m in meta.get("models") or []]
        suite, source = suite_name(meta), source_name(meta)
        twice = held = 0
        for record, line in _records(folder, measured.notes, tick):
            held += 1
            cell = Cell(names.get(record.model, record.model), record.arm, record.dialect or "", variant)
            gathering = gathered.get((cell, suite))
            if gathering is None:
                gathering = gathered[cell, suite] = Gathering(cell, suite, source)
            key = gathering.key(record)
            if key in seen:
                twice += 1
                continue
            seen.add(key)
            gathering.add(record, key)
            sampler.offer(_class_of(record.outcome), key, line, cell)
        if held < (planned := _planned(meta)):
            measured.notes.append(
                f"{folder.name} is not finished: it holds {held:,} of {planned:,} records. Its command goes on with it."
            )
        if twice:
            measured.notes.append(
                f"{_count(twice, 'record')} of {folder.name} {_were(twice)} already counted and left out."
            )
    if not gathered:
        raise RunFolderError(f"No records in {', '.join(str(folder) for folder in folders)}: nothing to report yet.")
    measured.notes += _disagreements(measured.metas)
    measured.views = _views(gathered.values())
    measured.outputs, measured.shown = sampler.chosen()
    return measured


def variants_of(metas: Sequence[Mapping[str, Any]]) -> list[str]:
    """For each run the settings in which the runs differ, in words; "" where they do not."""
    settings = [meta.get("settings") or {} for meta in metas]
    names = list(dict.fromkeys(name for one in settings for name in one))
    differing = [name for name in names if any(one.get(name) != settings[0].get(name) for one in settings)]
    return [", ".join(f"{name} {setting_word(one[name])}" for name in differing if name in one) for one in settings]


def _folder_names(folders: Sequence[Path]) -> list[str]:
    """The folders' names, with the folders above where two are the same."""
    names = [folder.resolve().name for folder in folders]
    return [name if names.count(name) == 1 else str(folder) for name, folder in zip(names, folders, strict=True)]


def _renamed(metas: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """For each run other names for its models whose files differ from run to run under one name."""
    files: dict[str, set[str]] = {}
    for meta in metas:
        for model in meta.get("models") or []:
            files.setdefault(str(model.get("name")), set()).add(str(model.get("digest") or ""))
    return [
        {
            str(model["name"]): f"{model['name']} ({str(model['digest'])[:8]})"
            for model in meta.get("models") or []
            if model.get("digest") and len(files[str(model.get("name"))] - {""}) > 1
        }
        for meta in metas
    ]


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


def _planned(meta: Mapping[str, Any]) -> int:
    """How many records the whole run has, 0 where its meta.json does not say."""
    count = (meta.get("tasks") or {}).get("count") or 0
    for axis in ("models", "arms", "dialects", "seeds"):
        count *= len(meta.get(axis) or [None])
    return int(count)


def suite_name(meta: Mapping[str, Any]) -> str:
    """The name of a run's task set, with its split where it has one."""
    source, split = source_name(meta), (meta.get("tasks") or {}).get("split")
    return f"{source} ({split})" if split in ("dev", "test") else source


def source_name(meta: Mapping[str, Any]) -> str:
    """Where a run's tasks come from, without the folders of their paths."""
    source = str((meta.get("tasks") or {}).get("source") or meta.get("folder") or "tasks")
    return ",".join(Path(part).name or part for part in source.split(","))


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


def _views(gathered: Iterable[Gathering]) -> list[View]:
    parts = list(gathered)
    models = list(dict.fromkeys(part.cell.model for part in parts))
    arms = [*ARM_ORDER, *sorted({part.cell.arm for part in parts} - set(ARM_ORDER))]

    def view(name: str, parts: Iterable[Gathering]) -> View:
        def place(part: Gathering) -> tuple[int, int, Cell]:
            return models.index(part.cell.model), arms.index(part.cell.arm), part.cell

        return View(name, tuple(part.tally() for part in sorted(parts, key=place)))

    suites = list(dict.fromkeys(part.suite for part in parts))
    each = [view(suite, (part for part in parts if part.suite == suite)) for suite in suites]
    if len(each) == 1:
        return each
    cells: dict[Cell, list[Gathering]] = {}
    for part in parts:
        cells.setdefault(part.cell, []).append(part)
    name = "all task sets"
    return [view(name, (joined(same, name) for same in cells.values())), *each]


def _disagreements(metas: Sequence[Mapping[str, Any]]) -> list[str]:
    """The task sets that are not the same in all runs, though they have one name."""
    digests: dict[str, set[str]] = {}
    for meta in metas:
        if digest := (meta.get("tasks") or {}).get("digest"):
            digests.setdefault(suite_name(meta), set()).add(str(digest)[:16])
    return [
        f"The task set {name} is not the same in all runs: sha256 {', '.join(sorted(found))}."
        for name, found in digests.items()
        if len(found) > 1
    ]


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def _were(n: int) -> str:
    return "was" if n == 1 else "were"

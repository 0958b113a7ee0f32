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
from react_text.compare.run_facts import ablation_name, setting_word
from react_text.compare.tally import Cell, Gathering, Tally, joined
from react_text.errors import RunFolderError

Ticker = Callable[[int], None]
"""Told how many bytes were read since it was last called."""

IDLE_SETTINGS = {"builtin": ("first_call_steps",), "bfcl": ("max_steps",)}
"""Settings that change nothing for tasks from these sources, by the word before the colon."""

TOGETHER = "all task sets"
"""The name of the view of all task sets; those for development are not in it where there are others."""

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

    @property
    def for_development(self) -> bool:
        """Whether this is a task set that settings are chosen with."""
        return self.name.endswith("(dev)")


@dataclass
class Measured:
    """All that was read: what each run says about itself, the tallies, outputs to show, and what a reader must know.

    `views` begins with all task sets together, followed by each where there are several. Arms that are `auto` with
    other steering policies are not in them but in `ablated`, one view for each task set, beside `auto` itself.
    """

    metas: list[dict[str, Any]] = field(default_factory=list)
    views: list[View] = field(default_factory=list)
    ablated: list[View] = field(default_factory=list)
    outputs: list[dict[str, Any]] = field(default_factory=list)
    shown: dict[str, tuple[int, int]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def all(self) -> View:
        """All task sets together, without those for development where there are others."""
        return self.views[0]

    @property
    def suites(self) -> list[View]:
        """Each task set on its own."""
        return self.views[1:] if self.views[0].name == TOGETHER else self.views

    @property
    def settled(self) -> list[View]:
        """The task sets that results are reported on: those not for development, or all where there are no others."""
        return [view for view in self.suites if not view.for_development] or self.suites

    @property
    def whole(self) -> View:
        """The tallies of every task set, one after another."""
        return View("", tuple(tally for view in self.suites for tally in view.tallies))


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
        ablation = None if apart else ablation_name(meta.get("settings") or {})
        twice = held = 0
        for record, line in _records(folder, measured.notes, tick):
            held += 1
            arm = f"auto {ablation}" if ablation and record.arm == "auto" else record.arm
            cell = Cell(names.get(record.model, record.model), arm, record.dialect or "", variant)
            gathering = gathered.get((cell, suite))
            if gathering is None:
                gathering = gathered[cell, suite] = Gathering(
                    cell, suite, source, bool(ablation and arm == f"auto {ablation}")
                )
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
    parts = [part for part in gathered.values() if part.pairs]
    measured.views = _views(_main(parts))
    measured.ablated = _ablated(parts)
    measured.notes += _unmatched(measured.ablated)
    measured.outputs, measured.shown = sampler.chosen()
    return measured


def variants_of(metas: Sequence[Mapping[str, Any]]) -> list[str]:
    """For each run the settings in which the runs differ, in words; "" where they do not."""
    settings = [telling_settings(meta) for meta in metas]
    names = list(dict.fromkeys(name for one in settings for name in one))
    differing = [name for name in names if len({str(one[name]) for one in settings if name in one}) > 1]
    return [", ".join(f"{name} {setting_word(one[name])}" for name in differing if name in one) for one in settings]


def telling_settings(meta: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a run that can make its figures differ, other than by what the names of its arms say."""
    settings = dict(meta.get("settings") or {})
    if ablation_name(settings) is not None:
        settings["agent"] = {}
    sources = {part.partition(":")[0] for part in source_name(meta).split(",")}
    idle = IDLE_SETTINGS.get(sources.pop(), ()) if len(sources) == 1 else ()
    return {name: value for name, value in settings.items() if name not in ("label", *idle)}


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


def _main(parts: Sequence[Gathering]) -> list[Gathering]:
    """The parts without the ablated arms of models that have others."""
    others = {part.cell.model for part in parts if not part.ablated}
    return [part for part in parts if not part.ablated or part.cell.model not in others]


def _ablated(parts: Sequence[Gathering]) -> list[View]:
    """Of each task set with ablated arms these, beside the other arms of the same models."""
    aside = {id(part) for part in parts} - {id(part) for part in _main(parts)}
    found = []
    for suite in dict.fromkeys(part.suite for part in parts if id(part) in aside):
        models = {part.cell.model for part in parts if id(part) in aside and part.suite == suite}
        own = [part for part in parts if part.suite == suite and part.cell.model in models]
        found.append(View(suite, tuple(part.tally() for part in own if part.ablated or part.cell.arm == "auto")))
    return found


def _views(parts: Sequence[Gathering]) -> list[View]:
    models = list(dict.fromkeys(part.cell.model for part in parts))
    arms = [*ARM_ORDER, *sorted({part.cell.arm for part in parts} - set(ARM_ORDER))]

    def view(name: str, parts: Iterable[Gathering]) -> View:
        def place(part: Gathering) -> tuple[int, int, Cell]:
            return models.index(part.cell.model), arms.index(part.cell.arm), part.cell

        return View(name, tuple(part.tally() for part in sorted(parts, key=place)))

    suites = list(dict.fromkeys(part.suite for part in parts))
    each = [view(suite, (part for part in parts if part.suite == suite)) for suite in suites]
    development = [one for one in each if one.for_development]
    others = [one for one in each if not one.for_development]
    if len(others or development) == 1:
        return [*others, *development]
    kept = {one.name for one in others or development}
    cells: dict[Cell, list[Gathering]] = {}
    for part in (part for part in parts if part.suite in kept):
        cells.setdefault(part.cell, []).append(part)
    together = view(TOGETHER, (joined(same, TOGETHER) for same in cells.values()))
    return [together, *others, *development]


def _disagreements(metas: Sequence[Mapping[str, Any]]) -> list[str]:
    """The task sets that are not the same in all runs, though they have one name."""
    found: dict[str, dict[str, int]] = {}
    for meta in metas:
        tasks = meta.get("tasks") or {}
        if tasks.get("digest"):
            found.setdefault(suite_name(meta), {})[str(tasks["digest"])[:16]] = tasks.get("count") or 0
    notes = []
    for name, counts in found.items():
        if len(counts) == 1:
            continue
        sizes = sorted(counts.values(), reverse=True)
        if len(set(sizes)) == len(sizes):
            what = f"{' and '.join(f'{size:,}' for size in sizes)} tasks. Arms are compared on those that both ran"
        else:
            what = f"sha256 {', '.join(sorted(counts))}"
        notes.append(f"The task set {name} is not the same in all runs: {what}.")
    return notes


def _unmatched(views: Iterable[View]) -> list[str]:
    """The ablated arms for which there is no `auto` to hold them against."""
    return [
        f"{tally.arm} of {tally.model} ran on {view.name} without auto of the same dialect and settings: left out."
        for view in views
        for tally in view.tallies
        if tally.ablated and tally.cell._replace(arm="auto") not in [one.cell for one in view.tallies]
    ]


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def _were(n: int) -> str:
    return "was" if n == 1 else "were"

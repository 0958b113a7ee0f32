"""A run as a folder: `meta.json` says what was run, `records.jsonl` holds one line for each task that was.

Lines are only ever added, each brought to the disk before the next, so that a run killed at any moment goes on where
it stopped. Knows files; knows nothing of what a record says but its `key`.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from react_text.errors import RunFolderError

FORMAT = 1
RECORDS = "records.jsonl"
META = "meta.json"
SET_ASIDE = "records.damaged.jsonl"
MUST_AGREE = {
    ("format",): "format",
    ("tasks", "digest"): "tasks",
    ("settings",): "settings",
}
"""What a run that is gone on with must share with its folder. Models, arms, dialects and seeds may be added."""


class RunFolder:
    """The folder of one run, open for adding records; a context manager. One process at a time.

    `done` are the keys of the records it holds, `set_aside` the number of damaged lines that were moved to
    `records.damaged.jsonl` on opening. Raises RunFolderError.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.done: set[str] = set()
        self.set_aside = 0
        self._file: BinaryIO | None = None

    def __enter__(self) -> RunFolder:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._file = (self.path / RECORDS).open("a+b")
        except OSError as error:
            raise RunFolderError(f"{self.path} cannot be written ({error.strerror}); choose another --out.") from None
        try:
            _lock(self._file, self.path)
            self._read()
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, record: Mapping[str, Any]) -> None:
        """Bring one record to the disk; a record whose key is there already is not written again."""
        assert self._file is not None, "the folder is not open"
        if record["key"] in self.done:
            return
        line = json.dumps(record, ensure_ascii=False, default=str).encode("utf-8", "backslashreplace") + b"\n"
        end = self._file.seek(0, os.SEEK_END)
        try:
            self._file.write(line)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            self._take_back(end)
            raise RunFolderError(self._refused(error)) from None
        self.done.add(record["key"])

    def write_meta(self, meta: Mapping[str, Any]) -> dict[str, Any]:
        """Write meta.json, joined with what the folder says already; raises RunFolderError where it is another run."""
        known = read_meta(self.path) if (self.path / META).exists() else None
        joined = dict(meta) if known is None else _joined(known, meta, self.path)
        text = json.dumps(joined, indent=1, ensure_ascii=False) + "\n"
        new = self.path / f"{META}.new"
        try:
            new.write_text(text, encoding="utf-8")
            os.replace(new, self.path / META)
        except OSError as error:
            raise RunFolderError(self._refused(error)) from None
        return joined

    def _read(self) -> None:
        """Learn the keys; what is no whole record is moved to another file."""
        assert self._file is not None
        self._file.seek(0)
        good_end = 0
        damaged: list[bytes] = []
        for line in self._file:
            key = _key(line)
            if key is not None and line.endswith(b"\n"):
                self.done.add(key)
                if not damaged:
                    good_end += len(line)
            elif line.strip():
                damaged.append(line)
            elif not damaged:
                good_end += len(line)
        if not damaged:
            return
        self.set_aside = len(damaged)
        try:
            with (self.path / SET_ASIDE).open("ab") as aside:
                aside.write(b"".join(line.rstrip(b"\n") + b"\n" for line in damaged))
            self._file.seek(good_end)
            rest = [line for line in self._file if line.endswith(b"\n") and _key(line) is not None]
            self._file.truncate(good_end)
            self._file.write(b"".join(rest))
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise RunFolderError(self._refused(error)) from None

    def _take_back(self, end: int) -> None:
        """Leave no half of a line behind: close without what is still buffered, and cut the file."""
        path = self.path / RECORDS
        assert self._file is not None
        with contextlib.suppress(OSError):
            self._file.close()
        with contextlib.suppress(OSError):
            os.truncate(path, end)
        self._file = None

    def _refused(self, error: OSError) -> str:
        kept = f"{len(self.done)} records are kept in {self.path}"
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return f"The disk is full: {kept}; free some room and run the same command to go on."
        return f"{self.path} cannot be written ({error.strerror}); {kept}; run the same command to go on."


def read_meta(path: Path) -> dict[str, Any]:
    """What `meta.json` says. Raises RunFolderError."""
    try:
        read = json.loads((path / META).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RunFolderError(f"{path} is no run folder: it holds no {META}.") from None
    except (OSError, ValueError):
        raise RunFolderError(f"{path / META} cannot be read; restore it, or choose another --out.") from None
    if not isinstance(read, dict) or read.get("format") != FORMAT:
        raise RunFolderError(f"{path / META} is not of format {FORMAT}; use the version of react-text that wrote it.")
    return read


def read_records(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a run folder, one by one, in constant memory; lines that are no whole record are left out."""
    try:
        with (path / RECORDS).open("rb") as lines:
            for line in lines:
                if _key(line) is not None:
                    yield json.loads(line)
    except FileNotFoundError:
        raise RunFolderError(f"{path} is no run folder: it holds no {RECORDS}.") from None


def _key(line: bytes) -> str | None:
    try:
        read = json.loads(line)
    except (ValueError, RecursionError):
        return None
    key = read.get("key") if isinstance(read, dict) else None
    return key if isinstance(key, str) else None


def _joined(known: Mapping[str, Any], meta: Mapping[str, Any], path: Path) -> dict[str, Any]:
    for where, name in MUST_AGREE.items():
        before, now = _at(known, where), _at(meta, where)
        if before != now:
            raise RunFolderError(f"{path} holds a run with other {name}; choose another --out, or the same {name}.")
    models = {model["name"]: model for model in known["models"]}
    for model in meta["models"]:
        before = models.get(model["name"], {})
        if before and before["digest"] != model["digest"]:
            raise RunFolderError(f"{path} holds a run of another {model['name']}; choose another --out.")
        models[model["name"]] = {key: value if value is not None else before.get(key) for key, value in model.items()}
    lists = {name: list(dict.fromkeys([*known[name], *meta[name]])) for name in ("arms", "dialects", "seeds")}
    commands = list(dict.fromkeys([*(known.get("commands") or [known["command"]]), meta["command"]]))
    return {**known, **lists, "models": list(models.values()), "command": meta["command"], "commands": commands}


def _at(meta: Mapping[str, Any], where: tuple[str, ...]) -> Any:
    found: Any = meta
    for name in where:
        found = found.get(name)
    return found


def _lock(file: BinaryIO, path: Path) -> None:
    """Keep a second process from the same folder, where the system has file locks."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise RunFolderError(f"Another process is writing {path}; wait for it, or choose another --out.") from None
    except OSError:
        return

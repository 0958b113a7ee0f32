"""Files of JSON lines that only grow: opened to append, and read even after a crash.

It knows nothing of what the lines mean.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from react_text.errors import RecordError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


def append_to(path: Path, *, alone: bool = False) -> TextIO:
    """A file to append to, readable by its owner alone where it is new; a last line that was cut off is ended first.

    `alone` keeps other programs that ask for the same out until it is closed, where the system can. Raises RecordError.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        if alone and fcntl is not None:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                raise RecordError(
                    f"{path} is in use by another program; end that first, or take another file."
                ) from None
        with open(descriptor, "rb", closefd=False) as read:
            read.seek(0, os.SEEK_END)
            read.seek(max(0, read.tell() - 1))
            torn = read.read(1) not in (b"", b"\n")
        file = os.fdopen(descriptor, "a", encoding="utf-8", errors="backslashreplace", newline="\n")
        if torn:
            file.write("\n")
        return file
    except OSError as error:
        raise RecordError(f"{path} cannot be written: {error.strerror}.") from None


def line(record: object) -> str:
    """A value as one line; what JSON does not have becomes text."""
    return json.dumps(record, ensure_ascii=False, default=str) + "\n"


def records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file that have an "event", with their line numbers from 1.

    A line that was cut off in a crash is left out: the last one, or one that a later run ended and went on behind.
    Raises RecordError where anything else is no such object.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise RecordError(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise RecordError(f"{path} is not a file of JSON lines: it is not UTF-8 text.") from None
    for number, raw in enumerate(text.split("\n"), 1):
        if not raw.strip():
            continue
        try:
            record = json.loads(raw)
        except (ValueError, RecursionError):
            if raw.startswith('{"'):
                continue
            raise RecordError(f"{path} is not a file of JSON lines: see line {number}.") from None
        if not isinstance(record, dict) or not isinstance(record.get("event"), str):
            raise RecordError(f'{path}, line {number}: an object with an "event" is wanted.')
        yield number, record

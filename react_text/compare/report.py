"""A report of one or more runs: read, counted, and written as `report.html` and `report.md`."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from react_text.compare.report_data import Measured
from react_text.compare.report_markdown import markdown
from react_text.compare.report_page import page
from react_text.errors import RunFolderError


def write_report(measured: Measured, folder: Path, title: str = "") -> list[Path]:
    """Write both forms into a folder, which is made where it is missing, and give their paths."""
    return [
        write_text(folder / "report.html", page(measured, title)),
        write_text(folder / "report.md", markdown(measured)),
    ]


def write_text(path: Path, text: str) -> Path:
    """Write a file whole or not at all. Raises RunFolderError."""
    new = path.with_name(f"{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        new.write_text(text, encoding="utf-8", errors="backslashreplace")
        os.replace(new, path)
    except OSError as error:
        with suppress(OSError):
            new.unlink(missing_ok=True)
        raise RunFolderError(f"{path} cannot be written ({error.strerror}); choose another place.") from None
    return path

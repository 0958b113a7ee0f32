"""What was found out about endpoints, remembered between runs in the user's cache folder.

Each finding is a file of its own, replaced as a whole: two processes that learn different things at once lose
nothing, and of two that learn the same the later holds. Nothing here is ever fatal: what cannot be read is set aside,
what cannot be written is forgotten.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from react_text.capabilities import FACTS, Capabilities, Finding

KEPT_SECONDS = 7 * 24 * 3600.0
"""How long a finding holds for a model without a digest: the server behind an address changes without a word."""
KEPT_WITH_DIGEST_SECONDS = 90 * 24 * 3600.0

_log = logging.getLogger("react_text.capabilities")


@dataclass(frozen=True, slots=True)
class Subject:
    """What a finding is about: an endpoint's address without credentials, a model, and its digest where known."""

    endpoint: str
    model: str
    digest: str = ""

    @property
    def folder(self) -> str:
        """A folder name that a person can recognise and that no two subjects share."""
        words = re.sub(r"[^A-Za-z0-9.]+", "-", f"{self.endpoint.partition('://')[2]}-{self.model}").strip("-")
        unique = hashlib.sha256("\0".join((self.endpoint, self.model, self.digest)).encode()).hexdigest()[:16]
        return f"{words[:60]}-{unique}"


class CapabilityStore:
    """Findings on disk. `folder` None is the user's cache folder."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    @property
    def folder(self) -> Path:
        if self._folder is None:
            from platformdirs import user_cache_path

            self._folder = user_cache_path("react-text", appauthor=False) / "capabilities"
        return self._folder

    def read(self, subject: Subject) -> Capabilities:
        """All that is remembered and not too old."""
        kept = KEPT_WITH_DIGEST_SECONDS if subject.digest else KEPT_SECONDS
        found = {fact: one for fact, one in self._findings(self.folder / subject.folder) if one.age <= kept}
        return Capabilities(MappingProxyType(found))

    def write(self, subject: Subject, findings: Mapping[str, Finding]) -> None:
        """Remember findings, each in place of what was known of the same fact."""
        folder = self.folder / subject.folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not (folder / "subject.json").exists():
                _replace(folder / "subject.json", asdict(subject))
            for fact, one in findings.items():
                if fact in FACTS:
                    _replace(folder / f"{fact}.json", asdict(one))
        except (OSError, TypeError, ValueError) as error:
            _log.warning("What was found out about %s is not remembered: %s", subject.model, type(error).__name__)

    def forget(self, subject: Subject) -> None:
        """Forget everything about an endpoint and model, whatever its digest was."""
        for folder in self._folders():
            about = _read(folder / "subject.json")
            if about and (about.get("endpoint"), about.get("model")) == (subject.endpoint, subject.model):
                shutil.rmtree(folder, ignore_errors=True)

    def _folders(self) -> Iterator[Path]:
        with contextlib.suppress(OSError):
            yield from [path for path in self.folder.iterdir() if path.is_dir()]

    def _findings(self, folder: Path) -> Iterator[tuple[str, Finding]]:
        for fact in FACTS:
            value = _read(folder / f"{fact}.json")
            if value is not None:
                yield fact, Finding(value["value"], value["evidence"], value["source"], value["date"])


def _read(path: Path) -> dict[str, Any] | None:
    """The object in a file; a damaged file is set aside under another name, for a person to look at."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    try:
        value = json.loads(data)
        if isinstance(value, dict) and (path.stem == "subject" or _is_finding(value)):
            return value
    except (ValueError, RecursionError):
        pass
    with contextlib.suppress(OSError):
        os.replace(path, path.with_suffix(".damaged"))
        _log.warning("A damaged file was set aside: %s", path.with_suffix(".damaged").name)
    return None


def _is_finding(value: Mapping[str, Any]) -> bool:
    return "value" in value and all(isinstance(value.get(name), str) for name in ("evidence", "source", "date"))


def _replace(path: Path, value: Mapping[str, Any]) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(value, file, ensure_ascii=False, indent=1)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise

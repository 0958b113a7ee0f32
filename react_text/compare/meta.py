"""What a run folder says of a run: versions, machine, models, tasks and the command that makes it again."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any

from react_text.backends.base import Backend
from react_text.compare.arms import arm_name
from react_text.compare.records import FORMAT
from react_text.compare.runner import Plan

PACKAGES = {
    "react_text": "react-text",
    "llama_cpp_python": "llama-cpp-python",
    "numpy": "numpy",
    "scipy": "scipy",
    "bfcl_eval": "bfcl-eval",
}
"""The packages whose versions a run names, by the key they have there."""


def describe(plan: Plan, models: Sequence[Mapping[str, Any]], command: str) -> dict[str, Any]:
    """The content of meta.json."""
    return {
        "format": FORMAT,
        "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "versions": versions(),
        "machine": machine(),
        "seed": plan.seeds[0],
        "seeds": list(plan.seeds),
        "dialects": list(plan.dialects),
        "tasks": {
            "source": plan.tasks.source,
            "count": len(plan.tasks.tasks),
            "digest": plan.tasks.digest,
            "split": plan.tasks.split,
        },
        "models": [dict(model) for model in models],
        "arms": [arm_name(arm, plan.settings) for arm in plan.arms],
        "settings": asdict(plan.settings),
        "command": command,
    }


def versions() -> dict[str, str]:
    """Python and the packages that a result may depend on, as far as they are installed."""
    found = {"python": platform.python_version()}
    for key, distribution in PACKAGES.items():
        try:
            found[key] = metadata.version(distribution)
        except metadata.PackageNotFoundError:
            continue
    return found


def machine() -> dict[str, Any]:
    """The processor, how many cores may be used, and the memory in GiB."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"cpu": _processor(), "cores": cores, "memory": _memory()}


def local_model(name: str, path: Path) -> dict[str, Any]:
    """What is known of a GGUF before it is loaded: the digest of the file; the rest is added by `loaded`."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 22):
            digest.update(block)
    return {
        "name": name,
        "digest": digest.hexdigest(),
        "parameters": None,
        "family": None,
        "path_name": path.name,
    }


def served_model(name: str) -> dict[str, Any]:
    """A model behind an endpoint, of which there is no file to look at."""
    return {"name": name, "digest": None, "parameters": None, "family": None, "path_name": name}


def loaded(model: Mapping[str, Any], backend: Backend) -> dict[str, Any]:
    """The entry of a model, with what its backend says of it."""
    family = getattr(backend, "architecture", None) or getattr(backend, "server", None) or None
    count = getattr(backend, "parameter_count", None)
    return {**model, "parameters": count, "family": str(family) if family else None}


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


def _memory() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (ValueError, OSError, AttributeError):
        return None

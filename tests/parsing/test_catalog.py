"""The table of repairs and faults is the public list: it holds what the parser names, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import react_text
from react_text.catalog import FAULTS, REPAIRS

SOURCE = Path(react_text.__file__).parent


def quoted_words(folder: Path) -> set[str]:
    text = "\n".join(path.read_text(encoding="utf-8") for path in folder.rglob("*.py") if path.name != "catalog.py")
    return set(re.findall(r"[\"']([a-z_]+)[\"']", text))


def named(pattern: str) -> set[str]:
    text = "\n".join(path.read_text(encoding="utf-8") for path in (SOURCE / "parsing").glob("*.py"))
    return set(re.findall(pattern, text))


def test_every_repair_and_fault_that_the_parser_names_is_in_the_table() -> None:
    assert named(r"(?:Repair|_note)\(\s*[\"']([a-z_]+)[\"']") <= set(REPAIRS)
    assert named(r"\b(?:Fault|fault)\(\s*[\"']([a-z_]+)[\"']") <= set(FAULTS)
    assert named(r"fault=[\"']([a-z_]+)[\"']") <= set(FAULTS)


def test_every_name_in_the_table_is_used() -> None:
    used = quoted_words(SOURCE)
    assert set(REPAIRS) <= used
    assert set(FAULTS) <= used


def test_every_name_has_one_sentence() -> None:
    for sentence in [*REPAIRS.values(), *FAULTS.values()]:
        assert sentence[0].isupper()
        assert sentence.endswith(".")

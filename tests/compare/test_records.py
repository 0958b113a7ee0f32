"""Run folders: nothing lost, nothing twice, whatever happens to the process, the disk or the file."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from react_text.compare.records import RunFolder, read_meta, read_records
from react_text.errors import RunFolderError

META: dict[str, Any] = {
    "format": 1,
    "tasks": {"digest": "t"},
    "settings": {"max_steps": 6},
    "models": [{"name": "m", "digest": "d", "parameters": None}],
    "arms": ["text"],
    "dialects": ["react"],
    "seeds": [0],
    "command": "first",
}


def _add(path: Path, *keys: str) -> None:
    with RunFolder(path) as folder:
        for key in keys:
            folder.add({"key": key, "text": "Ergebnis: größer\nals zuvor"})


def _keys(path: Path) -> list[str]:
    return [record["key"] for record in read_records(path)]


def test_records_are_kept_and_none_is_repeated(tmp_path: Path) -> None:
    _add(tmp_path, "a", "b", "a")
    _add(tmp_path, "b", "c")
    assert _keys(tmp_path) == ["a", "b", "c"]
    assert next(read_records(tmp_path))["text"] == "Ergebnis: größer\nals zuvor"


@pytest.mark.parametrize("cut", [1, 5, 30])
def test_a_cut_last_line_is_set_aside_and_its_task_can_run_again(tmp_path: Path, cut: int) -> None:
    _add(tmp_path, "a", "b")
    records = tmp_path / "records.jsonl"
    os.truncate(records, records.stat().st_size - cut)
    with RunFolder(tmp_path) as folder:
        assert (folder.done, folder.set_aside) == ({"a"}, 1)
        folder.add({"key": "b"})
    assert _keys(tmp_path) == ["a", "b"]
    assert (tmp_path / "records.damaged.jsonl").read_bytes().startswith(b'{"key": "b"')


@pytest.mark.parametrize("damage", [b"\x00" * 40, b'{"key": 7}', b"[]", b'{"no": "key"}', b"\xff\xfe", b"[" * 5000])
def test_a_damaged_line_in_the_middle_loses_no_other(tmp_path: Path, damage: bytes) -> None:
    _add(tmp_path, "a", "b", "c")
    lines = (tmp_path / "records.jsonl").read_bytes().splitlines()
    (tmp_path / "records.jsonl").write_bytes(b"\n".join([lines[0], damage, lines[2]]) + b"\n")
    _add(tmp_path, "b")
    assert _keys(tmp_path) == ["a", "c", "b"]


def test_a_full_disk_is_one_sentence_and_leaves_whole_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with RunFolder(tmp_path) as folder:
        folder.add({"key": "a"})
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", full)
            with pytest.raises(RunFolderError, match=r"^The disk is full: 1 records are kept in .* to go on\.$"):
                folder.add({"key": "b"})
    _add(tmp_path, "b")
    assert _keys(tmp_path) == ["a", "b"]


LIMITED = """
import resource, signal, sys
from pathlib import Path
from react_text.compare.records import RunFolder
from react_text.errors import RunFolderError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with RunFolder(Path(sys.argv[1])) as folder:
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))
    try:
        for number in range(100):
            folder.add({"key": str(number), "text": "x" * 60})
    except RunFolderError as error:
        print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no file size limits there")
def test_a_write_that_the_system_breaks_off_leaves_no_half_line(tmp_path: Path) -> None:
    outcome = subprocess.run([sys.executable, "-c", LIMITED, str(tmp_path)], capture_output=True, text=True, check=True)
    assert "cannot be written" in outcome.stdout
    kept = (tmp_path / "records.jsonl").read_bytes()
    assert kept.endswith(b"\n")
    count = len(_keys(tmp_path))
    assert f"{count} records are kept" in outcome.stdout
    with RunFolder(tmp_path) as folder:
        assert (len(folder.done), folder.set_aside) == (count, 0)


WRITING = """
import sys
from pathlib import Path
from react_text.compare.records import RunFolder
with RunFolder(Path(sys.argv[1])) as folder:
    number = len(folder.done)
    print(number, flush=True)
    while True:
        folder.add({"key": str(number), "text": "y" * 4000})
        print(number, flush=True)
        number += 1
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL there")
def test_a_killed_process_has_kept_every_record_it_had_finished(tmp_path: Path) -> None:
    finished = 0
    for _ in range(3):
        process = subprocess.Popen([sys.executable, "-c", WRITING, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        for _ in range(12):
            finished = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        process.communicate()
        with RunFolder(tmp_path) as folder:
            assert {str(number) for number in range(finished + 1)} <= folder.done
        keys = _keys(tmp_path)
        assert len(keys) == len(set(keys))


def test_two_processes_do_not_write_one_folder(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    with RunFolder(tmp_path):
        attempt = [sys.executable, "-c", WRITING, str(tmp_path)]
        outcome = subprocess.run(attempt, capture_output=True, text=True, check=False)
    assert "Another process is writing" in outcome.stderr


@pytest.mark.parametrize(
    ("change", "name"),
    [({"tasks": {"digest": "u"}}, "tasks"), ({"settings": {"max_steps": 3}}, "settings")],
)
def test_a_folder_of_another_run_is_refused(tmp_path: Path, change: dict[str, Any], name: str) -> None:
    with RunFolder(tmp_path) as folder:
        folder.write_meta(META)
        with pytest.raises(RunFolderError, match=f"holds a run with other {name}; choose another --out"):
            folder.write_meta(META | change)
    assert read_meta(tmp_path) == META


def test_a_model_of_the_same_name_with_other_content_is_refused(tmp_path: Path) -> None:
    with RunFolder(tmp_path) as folder:
        folder.write_meta(META)
        with pytest.raises(RunFolderError, match="another m"):
            folder.write_meta(META | {"models": [{"name": "m", "digest": "e", "parameters": None}]})


def test_arms_and_models_can_be_added_to_a_run(tmp_path: Path) -> None:
    more = META | {
        "arms": ["structured"],
        "models": [{"name": "m", "digest": "d", "parameters": 135}, {"name": "n", "digest": "f", "parameters": 1}],
        "command": "second",
    }
    with RunFolder(tmp_path) as folder:
        folder.write_meta(META)
        joined = folder.write_meta(more)
    assert joined["arms"] == ["text", "structured"]
    assert joined["commands"] == ["first", "second"]
    assert [model["parameters"] for model in joined["models"]] == [135, 1]
    assert read_meta(tmp_path) == joined


def test_a_command_that_goes_on_with_a_run_is_kept_once(tmp_path: Path) -> None:
    with RunFolder(tmp_path) as folder:
        for command in ("first", "first", "second", "first"):
            joined = folder.write_meta(META | {"command": command, "seeds": [0, len(command)]})
    assert joined["commands"] == ["first", "second"]
    assert joined["seeds"] == [0, 5, 6]


def test_a_folder_that_is_no_run_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="is no run folder"):
        next(read_records(tmp_path))
    with pytest.raises(RunFolderError, match="is no run folder"):
        read_meta(tmp_path)
    (tmp_path / "meta.json").write_text("{", encoding="utf-8")
    with pytest.raises(RunFolderError, match="cannot be read"):
        read_meta(tmp_path)


def test_a_file_in_the_place_of_the_folder_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("", encoding="utf-8")
    with pytest.raises(RunFolderError, match="choose another --out"), RunFolder(tmp_path / "run"):
        pass


def test_text_that_no_encoding_holds_is_kept_readable(tmp_path: Path) -> None:
    with RunFolder(tmp_path) as folder:
        folder.add({"key": "a", "text": "half a pair \ud83d"})
    assert json.loads((tmp_path / "records.jsonl").read_bytes())["key"] == "a"

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from react_text.backends.llama.gguf import check_gguf, load_failure
from react_text.errors import ModelFileError

GOOD = struct.pack("<4sIQQ", b"GGUF", 3, 1, 1)


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        (b"", "not a GGUF file"),
        (b"PK\x03\x04 a zip archive, renamed", "not a GGUF file"),
        (b"<!DOCTYPE html>", "not a GGUF file"),
        (GOOD[:10], "cut short"),
        (struct.pack("<4sIQQ", b"GGUF", 1, 1, 1), "version 1"),
        (struct.pack(">4sIQQ", b"GGUF", 3, 1, 1), "version"),
    ],
)
def test_a_file_that_is_no_usable_gguf_is_named_in_one_sentence(tmp_path: Path, content: bytes, wanted: str) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=wanted) as caught:
        check_gguf(path)
    assert str(path) in str(caught.value)
    assert str(caught.value).count("\n") == 0


def test_a_missing_file_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"no model file .* check the path"):
        check_gguf(tmp_path / "none.gguf")


def test_a_directory_names_a_model_inside_it(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="is a directory; give the path"):
        check_gguf(tmp_path)
    (tmp_path / "tiny.gguf").write_bytes(GOOD)
    with pytest.raises(ModelFileError, match=r"for example tiny\.gguf"):
        check_gguf(tmp_path)


def test_a_good_beginning_passes(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(GOOD)
    check_gguf(path)


def test_an_unknown_reason_still_gives_a_next_step() -> None:
    assert "download it again" in str(load_failure(Path("m.gguf"), ["something new"]))

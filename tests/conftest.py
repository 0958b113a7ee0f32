"""Fixtures shared by the whole suite."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from react_text.backends.llama_cpp import LlamaCpp
from react_text.models import resolve_model


@pytest.fixture(scope="session")
def smollm2() -> Iterator[LlamaCpp]:
    """The real SmolLM2-135M-Instruct in this process. Shared: a test that counts cached tokens calls `reset` first."""
    with LlamaCpp(resolve_model("smollm2"), n_ctx=2048) as model:
        yield model

"""Endpoints for the tests of the HTTP backends: stand-ins, recorded answers, and real servers on loopback."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import real
from standin import StandIn, Wire, chat, recorded, transcript

from react_text.capability_store import CapabilityStore


@pytest.fixture
def store(tmp_path: Path) -> CapabilityStore:
    """A store of findings that is not the user's."""
    return CapabilityStore(tmp_path / "capabilities")


@pytest.fixture(autouse=True)
def no_endpoint_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "OLLAMA_HOST", "OLLAMA_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def standin() -> Iterator[Callable[[Callable[[Wire], None]], StandIn]]:
    """Starts stand-ins, which end with the test."""
    with contextlib.ExitStack() as running:
        yield lambda answer: running.enter_context(StandIn(answer).running())


@pytest.fixture
def replayed(standin: Callable[[Callable[[Wire], None]], StandIn]) -> Callable[[str], StandIn]:
    """An endpoint that gives the answer of a recorded exchange to every POST."""
    return lambda name: standin(chat(recorded(transcript(name))))


@pytest.fixture(scope="session")
def llama_server() -> Iterator[dict[str, str]]:
    with real.llama_server("plain", "tools", "nojinja") as urls:
        yield urls


@pytest.fixture(scope="session")
def llama_cpp_server() -> Iterator[str]:
    with real.llama_cpp_server() as url:
        yield url

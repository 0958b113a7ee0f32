"""The real server in a process of its own, with the real SmolLM2 behind it."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def served() -> Iterator[str]:
    """The address of `react-text serve --model smollm2`; it must end well when it is told to stop."""
    command = [sys.executable, "-m", "react_text.cli", "serve", "--model", "smollm2", "--port", "0", "--n-ctx", "2048"]
    with subprocess.Popen([*command, "--max-tokens", "80"], stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        for line in server.stderr:
            if " at http" in line:
                break
        yield line.partition(" at ")[2].partition(" ")[0]
        server.send_signal(signal.SIGTERM)
        server.stderr.read()
    assert server.returncode == 0

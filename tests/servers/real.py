"""Real servers on loopback with SmolLM2, started once for all tests that ask for one."""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from react_text.models import resolve_model

HERE = Path(__file__).parent


def _environment() -> dict[str, str]:
    # without this, OpenMP threads that wait burn the processor the server needs
    return {**os.environ, "OMP_WAIT_POLICY": "passive"}


def _needs(module: str) -> None:
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")


@contextmanager
def llama_server(*peers: str) -> Iterator[dict[str, str]]:
    """llama.cpp's own server, from the xllamacpp wheel: URLs by the names of serve_llama_server.py."""
    _needs("xllamacpp")
    command = [sys.executable, str(HERE / "serve_llama_server.py"), str(resolve_model("smollm2")), *peers]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=_environment()
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        urls: dict[str, str] = {}
        for line in process.stdout:
            words = line.split()
            if len(words) == 2 and words[0] in peers:
                urls[words[0]] = words[1]
            if len(urls) == len(peers):
                break
        assert len(urls) == len(peers), "the server ended before it answered"
        yield urls
    finally:
        process.stdin.close()
        process.terminate()
        process.wait(timeout=20)
        process.stdout.close()


@contextmanager
def llama_cpp_server(n_ctx: int = 2048) -> Iterator[str]:
    """llama-cpp-python's own server."""
    for module in ("llama_cpp", "fastapi", "uvicorn", "sse_starlette", "starlette_context", "pydantic_settings"):
        _needs(module)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, str(HERE / "serve_llama_cpp_server.py"), str(resolve_model("smollm2")), str(port)]
    command += ["--model_alias", "smol", "--n_ctx", str(n_ctx), "--n_threads", "2", "--verbose", "False"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=_environment())
    url = f"http://127.0.0.1:{port}"
    try:
        until = time.monotonic() + 60
        while not _answers(f"{url}/v1/models"):
            assert process.poll() is None, "the server ended before it answered"
            assert time.monotonic() < until, "the server did not answer in time"
            time.sleep(0.05)
        yield url
    finally:
        process.terminate()
        process.wait(timeout=20)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as response:
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False

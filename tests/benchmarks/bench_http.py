"""What the client costs per step beside the server: render, request, read the stream, parse, run the tool, loop.

A server in another process answers at once with a stream of a usual length; the same bytes fetched with bare httpx, in
turns with it, are the measure to compare with. Times are this process's own on the processor, since a busy machine
makes others meaningless. Run with `make bench`, or
`pytest tests/benchmarks/bench_http.py --override-ini addopts= -s`.
"""

from __future__ import annotations

import json
import multiprocessing
import socket
import statistics
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import httpx
import pytest

from react_text import Agent
from react_text.backends.openai import OpenAICompatible
from react_text.capability_store import CapabilityStore

ROUNDS = 150
MOST_SECONDS = 0.003
"""What a step may cost, httpx included. The least of all rounds is held to it: the others measure the machine too."""
QUESTION = "How high is the tide at the north quay?"
CALL = 'I have to look that up.\nAction: look_up\nAction Input: {"name": "tide table of the north quay"}'
ANSWER = "I now know the answer.\nFinal Answer: It is three metres and twenty centimetres high."


def _stream(text: str) -> bytes:
    pieces = [text[at : at + 4] for at in range(0, len(text), 4)]
    chunks = [{"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]} for piece in pieces]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: {len(body)}\r\n\r\n"
    return (head + body).encode()


def _serve(listener: socket.socket) -> None:
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=_answer, args=(connection,), daemon=True).start()


def _answer(connection: socket.socket) -> None:
    call, answer = _stream(CALL), _stream(ANSWER)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    held = b""
    while data := connection.recv(1 << 20):
        held += data
        head, found, body = held.partition(b"\r\n\r\n")
        length = next(
            (int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0
        )
        if found and len(body) >= length:
            held = b""
            messages = json.loads(body)["messages"][-2:] if body else []
            connection.sendall(answer if any("Observation: " in one["content"] for one in messages) else call)
    connection.close()


def look_up(name: str) -> str:
    """Look a document up by its name."""
    return f"{name}: 3.2 m"


def _times(*runs: Callable[[], object]) -> list[list[float]]:
    """Seconds on the processor of each of some runs, taken in turns so that a busy machine slows all alike."""
    times: list[list[float]] = [[] for _ in runs]
    for round_number in range(ROUNDS + 10):
        for run, taken in zip(runs, times, strict=True):
            began = time.process_time()
            run()
            if round_number >= 10:
                taken.append(time.process_time() - began)
    return times


@pytest.mark.parametrize("grammar", ["never", "always"])
def test_overhead_per_step(tmp_path: Path, grammar: Literal["never", "always"]) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    server = multiprocessing.get_context("fork").Process(target=_serve, args=(listener,), daemon=True)
    server.start()
    try:
        known = {"server": "llama.cpp", "tools": "no", "prefill": "as_is", "grammar": "grammar", "context_length": 8192}
        store = CapabilityStore(tmp_path)
        with (
            OpenAICompatible(url, model="m", known=known, store=store, timeout=5.0) as backend,
            httpx.Client() as client,
        ):
            agent = Agent(backend, [look_up], grammar=grammar)
            result = agent.run(QUESTION)
            assert result.stop_reason == "answer"
            assert len(result.steps) == 2
            body = {"model": "m", "messages": agent.prompt(QUESTION)}

            def bare() -> None:
                with client.stream("POST", f"{url}/chat/completions", json=body) as response:
                    for _ in response.iter_bytes():
                        pass

            steps, fetched = _times(lambda: agent.run(QUESTION), bare)
    finally:
        server.terminate()
        server.join()
        listener.close()
    step, bare_step = statistics.median(steps) / 2, statistics.median(fetched)
    deltas = (len(CALL) + len(ANSWER)) / 8
    print(
        f"\nper step of {deltas:.0f} deltas, grammar {grammar}: median {step * 1e3:.2f} ms, least "
        f"{min(steps) / 2 * 1e3:.2f} ms; bare httpx {bare_step * 1e3:.2f} and {min(fetched) * 1e3:.2f} ms; "
        f"{step / bare_step:.1f} times"
    )
    assert min(steps) / 2 < MOST_SECONDS

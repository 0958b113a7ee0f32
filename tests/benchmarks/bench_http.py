"""What the client costs per step beside the server: render, request, read the stream, parse, run the tool, loop.

A server in another process answers at once with a recorded-length stream; the same bytes fetched with bare httpx are
the measure to compare with. Times are this process's own on the processor, since a busy machine makes others
meaningless. Run with `make bench`, or
`pytest tests/benchmarks/bench_http.py --override-ini addopts= -s`.
"""

from __future__ import annotations

import json
import multiprocessing
import socket
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import httpx

from react_text import Agent
from react_text.backends.openai import OpenAICompatible
from react_text.capability_store import CapabilityStore

ROUNDS = 100
MOST_SECONDS = 0.003
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
    call, answer = _stream(CALL), _stream(ANSWER)
    while True:
        connection, _ = listener.accept()
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
                connection.sendall(answer if b"Observation: " in body[-400:] else call)
        connection.close()


def look_up(name: str) -> str:
    """Look a document up by its name."""
    return f"{name}: 3.2 m"


def _median(run: Callable[[], object]) -> float:
    for _ in range(10):
        run()
    times = []
    for _ in range(ROUNDS):
        began = time.process_time()
        run()
        times.append(time.process_time() - began)
    return statistics.median(times)


def test_overhead_per_step(tmp_path: Path) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    server = multiprocessing.get_context("fork").Process(target=_serve, args=(listener,), daemon=True)
    server.start()
    try:
        known = {"server": "llama.cpp", "tools": "no", "prefill": "as_is"}
        store = CapabilityStore(tmp_path)
        with OpenAICompatible(url, model="m", known=known, store=store, timeout=5.0) as backend:
            agent = Agent(backend, [look_up])
            result = agent.run("How high is the tide at the north quay?")
            assert result.stop_reason == "answer"
            assert len(result.steps) == 2
            step = _median(lambda: agent.run("How high is the tide at the north quay?")) / 2
            body = {"model": "m", "messages": agent.prompt("How high is the tide at the north quay?")}

        with httpx.Client() as client:

            def bare() -> None:
                with client.stream("POST", f"{url}/chat/completions", json=body) as response:
                    for _ in response.iter_bytes():
                        pass

            fetched = _median(bare)
    finally:
        server.terminate()
        server.join()
        listener.close()
    tokens = (len(CALL) + len(ANSWER)) / 8
    print(f"\nper step of {tokens:.0f} deltas: {step * 1e3:.2f} ms, bare httpx {fetched * 1e3:.2f} ms")
    assert step - fetched < MOST_SECONDS

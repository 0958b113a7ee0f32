"""What the faces for chat completions cost beside the model's own time, and what a server holds on to.

The model is scripted and answers at once. One request through `FallbackChat`, through the transport and through the
server is measured in turns with the same replies generated and read by nobody but the loop. Times are processor time,
since a busy machine makes others meaningless. Run with `make bench`, or
`pytest tests/benchmarks/bench_chat.py --override-ini addopts= -s`.
"""

from __future__ import annotations

import asyncio
import gc
import json
import statistics
import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from react_text import FallbackChat, Scripted
from react_text.backends.base import Request
from react_text.parsing import parse
from react_text.proxy import Settings, make_app
from react_text.transport import client

ROUNDS = 200
MANY = 10_000
TRANSPORT_SECONDS = 0.002
SERVER_SECONDS = 0.005
"""What a request may cost at most, beside the model's own time. The least of all rounds is held to it."""
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "stock_level",
            "description": "Pieces of an item in stock.",
            "parameters": {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]},
        },
    }
]
REPLY = 'Thought: I look for lamps in stock.\nAction: stock_level\nAction Input: {"item": "lamp"}'
BODY: dict[str, Any] = {"messages": [{"role": "user", "content": "How many lamps are there?"}], "tools": TOOLS}


def endless() -> Scripted:
    class Endless(Scripted):
        """Keeps no list of its requests, which would grow."""

        def stream(self, request: Request) -> Iterator[Any]:
            self.requests.clear()
            return super().stream(request)

    return Endless(REPLY for _ in iter(int, 1))


def times(*works: Callable[[], object], rounds: int = ROUNDS) -> list[list[float]]:
    """Processor seconds of each work, measured in turns."""
    found: list[list[float]] = [[] for _ in works]
    for work in works:
        for _ in range(5):
            work()
    for _ in range(rounds):
        for work, own in zip(works, found, strict=True):
            began = time.process_time()
            work()
            own.append(time.process_time() - began)
    return found


def model_alone(model: Scripted) -> Callable[[], object]:
    request = Request([{"role": "user", "content": "How many lamps are there?"}], reply_start="Thought:")

    def work() -> None:
        parse(list(model.stream(request))[-1].text, TOOLS)

    return work


@pytest.mark.parametrize("stream", [False, True])
def test_the_transport_costs_less_than_two_milliseconds(stream: bool) -> None:
    web = client(endless())
    body = json.dumps({**BODY, "stream": stream})
    alone, through = times(model_alone(endless()), lambda: web.post("/chat/completions", content=body).read())
    print(f"\ntransport, stream={stream}: {told(alone, through)}")
    assert min(through) - min(alone) < TRANSPORT_SECONDS


@pytest.mark.parametrize("stream", [False, True])
def test_the_server_costs_less_than_five_milliseconds(stream: bool) -> None:
    """The app alone: without sockets, both sides of a connection would count."""
    app = make_app(FallbackChat(endless()), Settings(concurrency=1))
    body = json.dumps({**BODY, "stream": stream})
    loop = asyncio.new_event_loop()
    web = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://server")
    post = "/v1/chat/completions"
    alone, through = times(model_alone(endless()), lambda: loop.run_until_complete(web.post(post, content=body)))
    loop.run_until_complete(web.aclose())
    loop.close()
    print(f"\nserver, stream={stream}: {told(alone, through)}")
    assert min(through) - min(alone) < SERVER_SECONDS


def test_memory_stays_flat_over_ten_thousand_requests() -> None:
    """Every request brings a conversation of its own; the memories are full after the first half."""
    web = client(endless())

    def some(first: int, last: int) -> None:
        for number in range(first, last):
            body = {**BODY, "messages": [{"role": "user", "content": f"Question {number}, how many lamps?"}]}
            assert web.post("/chat/completions", json=body).status_code == 200

    some(0, MANY // 2)
    gc.collect()
    tracemalloc.start()
    some(MANY // 2, MANY // 2 + 200)
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    some(MANY // 2 + 200, MANY)
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    print(f"\nmemory over {MANY // 2 - 200} requests: {before / 2**20:.2f} MiB before, {after / 2**20:.2f} MiB after")
    assert after - before < 8 * 2**20


def told(alone: list[float], through: list[float]) -> str:
    """The least and the median of both, in milliseconds."""
    figures = [1000 * one for one in (min(alone), statistics.median(alone), min(through), statistics.median(through))]
    return "model alone {:.2f} ms least, {:.2f} ms median; a request {:.2f} ms least, {:.2f} ms median".format(*figures)

"""A small HTTP server of our own that answers as it is told: a stand-in for endpoints that cannot run here, a fault
proxy in front of one that can, and a player of recorded answers.

Not a copy of any server: each test says what comes over the wire.
"""

from __future__ import annotations

import http.client
import json
import select
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Received:
    """A request as it came in. `connection` numbers the connections in the order they were opened."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any
    raw: bytes
    connection: int


class Wire:
    """The way back to the client, for one request."""

    def __init__(self, handler: Any, standin: StandIn, received: Received) -> None:
        self._handler = handler
        self._standin = standin
        self.received = received

    def json(self, status: int, value: Any, **headers: str) -> None:
        self.body(status, json.dumps(value).encode(), "application/json", **headers)

    def body(self, status: int, data: bytes, kind: str, **headers: str) -> None:
        self._start(status, kind, {"Content-Length": str(len(data)), **headers})
        self._handler.wfile.write(data)

    def stream(self, chunks: Iterable[bytes | str], kind: str = "text/event-stream", *, cut: bool = False) -> None:
        """Chunks as they are; `cut` closes the connection without the end of the body."""
        self._start(200, kind, {"Transfer-Encoding": "chunked"})
        for chunk in chunks:
            data = chunk.encode() if isinstance(chunk, str) else chunk
            if data:
                self._handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        if cut:
            self.drop()
        else:
            self._handler.wfile.write(b"0\r\n\r\n")

    def drop(self) -> None:
        """Close the connection at once."""
        self._handler.close_connection = True
        self._handler.connection.shutdown(socket.SHUT_RDWR)

    def until_client_leaves(self) -> None:
        """Say nothing until the client closes the connection, which is noted."""
        select.select([self._handler.connection], [], [], 30)
        self._standin.left.set()
        self._handler.close_connection = True

    def forward(self, url: str) -> Iterator[bytes]:
        """The chunks of another server's answer to the same request."""
        parts = urlsplit(url)
        upstream = http.client.HTTPConnection(parts.hostname or "", parts.port or 80, timeout=300)
        try:
            headers = {"Content-Type": "application/json"}
            upstream.request(self.received.method, self.received.path, self.received.raw or None, headers)
            response = upstream.getresponse()
            self.upstream_status = response.status
            while chunk := response.read1(65536):
                yield chunk
        finally:
            upstream.close()

    def _start(self, status: int, kind: str, headers: Mapping[str, str]) -> None:
        self._handler.send_response_only(status)
        self._handler.send_header("Content-Type", kind)
        for name, value in headers.items():
            self._handler.send_header(name.replace("_", "-"), value)
        self._handler.end_headers()


class StandIn:
    """Answers each request with `answer(wire)`. Counts connections and keeps what was received."""

    def __init__(self, answer: Callable[[Wire], None]) -> None:
        self.answer = answer
        self.received: list[Received] = []
        self.connections = 0
        self.open_now = 0
        self.most_open = 0
        self.answering_now = 0
        self.most_at_once = 0
        self.left = threading.Event()
        """Set once a client closed its connection during `until_client_leaves` or while being written to."""
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _handler_for(self))
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def posted(self) -> list[Received]:
        return [one for one in self.received if one.method == "POST"]

    @contextmanager
    def running(self) -> Iterator[StandIn]:
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is what some tests are about."""


def _handler_for(standin: StandIn) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def setup(self) -> None:
            super().setup()
            with standin._lock:
                standin.connections += 1
                standin.open_now += 1
                standin.most_open = max(standin.most_open, standin.open_now)
                self.number = standin.connections

        def finish(self) -> None:
            with standin._lock:
                standin.open_now -= 1
            try:
                super().finish()
            except OSError:
                standin.left.set()

        def serve(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = json.loads(raw) if raw else None
            received = Received(self.command, self.path, headers, body, raw, self.number)
            with standin._lock:
                standin.received.append(received)
                standin.answering_now += 1
                standin.most_at_once = max(standin.most_at_once, standin.answering_now)
            try:
                standin.answer(Wire(self, standin, received))
            except (BrokenPipeError, ConnectionResetError):
                standin.left.set()
                self.close_connection = True
            finally:
                with standin._lock:
                    standin.answering_now -= 1

        do_GET = do_POST = serve

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


def events(*texts: str, finish: str | None = "stop", done: bool = True, **usage: int) -> list[str]:
    """The event stream of a chat completion with these pieces of content."""
    chunks: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": {"role": "assistant"}, "finish_reason": None}]}]
    chunks += [{"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]} for text in texts]
    if finish:
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    if usage:
        chunks.append({"choices": [], "usage": usage})
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    return [*lines, "data: [DONE]\n\n"] if done else lines


def not_found(wire: Wire) -> None:
    wire.json(404, {"error": {"message": "Not Found"}})


def chat(answer: Callable[[Wire], None], models: Any = None) -> Callable[[Wire], None]:
    """An endpoint of an unknown kind: GETs show nothing but a list of models, POSTs are answered by `answer`."""

    def reply(wire: Wire) -> None:
        if wire.received.method == "POST":
            answer(wire)
        elif wire.received.path == "/v1/models":
            wire.json(200, models or {"object": "list", "data": [{"id": "m", "object": "model"}]})
        else:
            not_found(wire)

    return reply


def recorded(exchange: Mapping[str, Any]) -> Callable[[Wire], None]:
    """Plays the answer of a recorded exchange."""
    response = exchange["response"]

    def reply(wire: Wire) -> None:
        kind = response["headers"].get("content-type", "application/json")
        if "sse_lines" in response:
            wire.stream([line for _, line in response["sse_lines"]], kind)
        elif "json" in response:
            wire.json(response["status"], response["json"])
        else:
            wire.body(response["status"], response.get("text", "").encode(), kind)

    return reply


def transcript(name: str) -> dict[str, Any]:
    """A recorded exchange, by its name in transcripts/INDEX.tsv."""
    path = Path(__file__).parent / "transcripts" / f"{name}.json"
    exchange: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return exchange

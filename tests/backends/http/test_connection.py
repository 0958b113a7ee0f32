from __future__ import annotations

import asyncio
import logging
import pickle
import socket
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standin import StandIn, Wire, chat, events, not_found

from react_text import Agent
from react_text.backends.base import Delta, Reply, Request
from react_text.backends.http import connection
from react_text.backends.http.address import ApiKey, read_address
from react_text.backends.http.bodies import LineSplitter
from react_text.backends.http.failures import retry_after
from react_text.backends.openai import OpenAICompatible
from react_text.capability_store import CapabilityStore
from react_text.errors import BackendError, EndpointError

Start = Callable[[Callable[[Wire], None]], StandIn]
HELLO = Request([{"role": "user", "content": "Hello"}], max_tokens=50)
KEY = "sk-very-secret-0123456789"


def client(url: str, store: CapabilityStore, **options: Any) -> OpenAICompatible:
    return OpenAICompatible(f"{url}/v1", model="m", store=store, **{"backoff": 0.001, "timeout": 5.0, **options})


def reply(backend: OpenAICompatible, request: Request = HELLO) -> Reply:
    *_, last = backend.stream(request)
    assert isinstance(last, Reply)
    return last


def script(*answers: Callable[[Wire], None]) -> Callable[[Wire], None]:
    """Each POST gets the next answer, the last one again and again."""
    waiting = list(answers)
    return chat(lambda wire: (waiting.pop(0) if len(waiting) > 1 else waiting[0])(wire))


def fine(wire: Wire) -> None:
    wire.stream(events("All ", "is ", "well."))


def status(code: int, **headers: str) -> Callable[[Wire], None]:
    return lambda wire: wire.json(code, {"error": {"message": "not now"}}, **headers)


@pytest.mark.parametrize(
    ("given_url", "base", "root"),
    [
        ("http://localhost:8080/v1", "http://localhost:8080/v1", "http://localhost:8080"),
        ("http://localhost:8080/v1/", "http://localhost:8080/v1", "http://localhost:8080"),
        ("localhost:8080", "http://localhost:8080", "http://localhost:8080"),
        ("127.0.0.1:1234/v1", "http://127.0.0.1:1234/v1", "http://127.0.0.1:1234"),
        ("api.example.com/v1", "https://api.example.com/v1", "https://api.example.com"),
        ("http://h/v1/chat/completions", "http://h/v1", "http://h"),
        ("http://h/v1/v1", "http://h/v1/v1", "http://h"),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1", "http://[::1]:8080"),
        ("https://u:p@h/openai/v1", "https://h/openai/v1", "https://h/openai"),
    ],
)
def test_an_address_is_read_as_a_person_would_mean_it(given_url: str, base: str, root: str) -> None:
    address = read_address(given_url)
    assert (address.base, address.root) == (base, root)


@pytest.mark.parametrize("wrong", ["ftp://h/v1", "http://", "http://h:port/v1"])
def test_what_is_no_address_is_an_error_with_an_example(wrong: str) -> None:
    with pytest.raises(BackendError, match=r"Give one like http://127\.0\.0\.1:8080/v1"):
        read_address(wrong)


def test_a_query_in_an_address_is_refused_before_it_gets_into_a_log() -> None:
    with pytest.raises(BackendError, match="holds a query") as caught:
        read_address(f"https://h/v1?key={KEY}")
    assert KEY not in str(caught.value)


def test_no_endpoint_at_all_says_how_to_give_one() -> None:
    with pytest.raises(BackendError, match="OPENAI_BASE_URL"):
        OpenAICompatible(model="m")


def test_address_and_key_come_from_the_environment(
    standin: Start, store: CapabilityStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = standin(script(fine))
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", f" {KEY}\n")
    with OpenAICompatible(model="m", store=store) as backend:
        assert reply(backend).text == "All is well."
    assert server.posted[0].headers["authorization"] == f"Bearer {KEY}"


def test_a_key_shows_itself_nowhere(standin: Start, store: CapabilityStore, caplog: pytest.LogCaptureFixture) -> None:
    echoes = {"error": {"message": f"Incorrect API key provided: {KEY} (another-secret).", "param": KEY}}
    server = standin(script(status(500), lambda wire: wire.json(401, echoes)))
    caplog.set_level(logging.DEBUG)
    url = server.url.replace("://", "://user:hidden@")
    backend = client(url, store, api_key=KEY, headers={"X-Team": "Basic another-secret"})
    with backend, pytest.raises(EndpointError) as caught:
        reply(backend)
    error = caught.value
    shown = [repr(backend), repr(backend._endpoint.connection), repr(backend.address), str(error), repr(error.__dict__)]
    shown += traceback.format_exception(error)
    shown += [record.getMessage() for record in caplog.records]
    shown += [path.read_text() for path in store.folder.rglob("*.json")]
    assert error.reason == "key"
    assert "trying again" in caplog.text
    assert server.posted[0].headers["authorization"].endswith(KEY)
    assert not [text for text in shown if KEY in text or "hidden" in text or "another-secret" in text]


def test_a_key_is_not_pickled_and_one_that_no_header_carries_is_refused_unseen() -> None:
    with pytest.raises(TypeError):
        pickle.dumps(ApiKey(KEY))
    with pytest.raises(BackendError) as caught:
        ApiKey(KEY + "\nX-Evil: 1")
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("code", [408, 409, 429, 500, 502, 503, 504])
def test_a_passing_failure_is_tried_again(standin: Start, store: CapabilityStore, code: int) -> None:
    server = standin(script(status(code), fine))
    with client(server.url, store) as backend:
        assert reply(backend).text == "All is well."
    assert len(server.posted) == 2


@pytest.mark.parametrize("code", [400, 401, 403, 404, 422, 501])
def test_a_refusal_is_not_tried_again(standin: Start, store: CapabilityStore, code: int) -> None:
    server = standin(script(status(code)))
    with client(server.url, store) as backend, pytest.raises(EndpointError, match="not now") as caught:
        reply(backend)
    assert caught.value.status == code
    assert not caught.value.retryable
    assert len(server.posted) == 1


def test_a_failure_that_stays_is_an_error_after_the_retries(standin: Start, store: CapabilityStore) -> None:
    server = standin(script(status(503)))
    with client(server.url, store, retries=3) as backend, pytest.raises(EndpointError, match="answered 503") as caught:
        reply(backend)
    assert caught.value.retryable
    assert len(server.posted) == 4


def test_a_connection_dropped_before_the_answer_is_tried_again(standin: Start, store: CapabilityStore) -> None:
    server = standin(script(lambda wire: wire.drop(), fine))
    with client(server.url, store) as backend:
        assert reply(backend).text == "All is well."


@pytest.mark.parametrize("header", [{"Retry_After": "0.05"}, {"Retry_After_Ms": "50"}])
def test_retry_after_is_what_is_waited(
    standin: Start, store: CapabilityStore, header: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    monkeypatch.setattr("tenacity.nap.time.sleep", waited.append)
    server = standin(script(status(429, **header), fine))
    with client(server.url, store, backoff=30.0) as backend:
        assert reply(backend).text == "All is well."
    assert waited == [pytest.approx(0.05)]


def test_retry_after_may_be_a_date() -> None:
    assert retry_after({"Retry-After": formatdate(0, usegmt=True)}) == 0.0
    assert retry_after({"Retry-After": "soon"}) is None


def test_an_endpoint_that_asks_to_wait_too_long_is_an_error_at_once(standin: Start, store: CapabilityStore) -> None:
    server = standin(script(status(429, Retry_After="3600")))
    with client(server.url, store) as backend, pytest.raises(EndpointError, match="wait 3600 seconds"):
        reply(backend)
    assert len(server.posted) == 1


def test_a_server_that_is_loading_its_model_is_waited_for(standin: Start, store: CapabilityStore) -> None:
    def loading(wire: Wire) -> None:
        wire.json(503, {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}})

    server = standin(script(*[loading] * 6, fine))
    with client(server.url, store, retries=1) as backend:
        assert reply(backend).text == "All is well."


def test_a_server_that_is_loading_is_not_asked_too_early_what_it_can_do(standin: Start, store: CapabilityStore) -> None:
    waiting = [503, 503]

    def llama(wire: Wire) -> None:
        if waiting:
            wire.json(waiting.pop(), {"error": {"message": "Loading model", "type": "unavailable_error"}})
        elif wire.received.path == "/v1/models":
            wire.json(200, {"data": [{"id": "m", "owned_by": "llamacpp"}]})
        elif wire.received.path == "/props":
            wire.json(200, {"default_generation_settings": {"n_ctx": 2048}})
        else:
            not_found(wire)

    with client(standin(llama).url, store) as backend:
        assert backend.context_length == 2048


def test_one_client_serves_many_threads(standin: Start, store: CapabilityStore) -> None:
    def echo(wire: Wire) -> None:
        wire.stream(events(wire.received.body["messages"][-1]["content"]))

    server = standin(chat(echo))

    def ask(number: int) -> bool:
        return reply(backend, Request([{"role": "user", "content": f"q{number}"}])).text == f"q{number}"

    with client(server.url, store, max_connections=4) as backend, ThreadPoolExecutor(16) as pool:
        assert all(pool.map(ask, range(64)))
    assert server.most_at_once <= 4
    assert server.connections < 32, "64 requests shared connections"
    assert len([one for one in server.received if one.path == "/v1/models"]) == 1


def test_nobody_there_says_who_is_expected_and_how_to_start_it(store: CapabilityStore) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        # bound and not listening: connections are refused, and nobody else takes the port meanwhile
        with client(f"http://127.0.0.1:{port}", store) as backend:
            assert backend.context_length is None
            with pytest.raises(EndpointError, match=rf"connection refused.*llama-server -m .* --port {port}") as caught:
                reply(backend)
            assert caught.value.reason == "unreachable"

            async def ask() -> None:
                async for _ in backend.astream(HELLO):
                    pass

            with pytest.raises(EndpointError, match="connection refused"):
                asyncio.run(ask())


@pytest.mark.parametrize(
    ("port", "server"), [(8080, "llama-server"), (11434, "Ollama"), (1234, "LM Studio"), (8000, "vLLM")]
)
def test_the_port_tells_which_server_is_expected(port: int, server: str) -> None:
    failures = connection.Connection(read_address(f"http://127.0.0.1:{port}/v1"), ApiKey(None)).failures
    assert failures.how_to_start().startswith(server)


@pytest.mark.parametrize(
    ("path", "says"), [("", r"has no /v1 at its end; try .*/v1\."), ("/v1/v1", r"holds /v1 twice; use \S+\d/v1\.")]
)
def test_a_404_from_a_wrong_base_url_says_what_is_wrong_with_it(
    standin: Start, store: CapabilityStore, path: str, says: str
) -> None:
    server = standin(not_found)
    with (
        OpenAICompatible(server.url + path, model="m", store=store) as backend,
        pytest.raises(EndpointError, match=says),
    ):
        reply(backend)


def test_a_redirect_is_not_followed_and_says_so(standin: Start, store: CapabilityStore) -> None:
    server = standin(script(lambda wire: wire.body(307, b"", "text/plain", Location="http://elsewhere.invalid/")))
    with client(server.url, store) as backend, pytest.raises(EndpointError, match="redirects"):
        reply(backend)


def test_a_silent_server_is_given_up_after_the_timeout(standin: Start, store: CapabilityStore) -> None:
    server = standin(script(lambda wire: wire.until_client_leaves()))
    with client(server.url, store, timeout=0.2) as backend, pytest.raises(EndpointError, match=r"silent for 0\.2 s"):
        reply(backend)
    assert server.left.wait(5)
    assert len(server.posted) == 1


def test_a_server_that_never_answers_is_waited_for_once_in_the_life_of_a_backend(
    standin: Start, store: CapabilityStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "LONGEST_SILENCE", 0.2)
    server = standin(lambda wire: wire.until_client_leaves())

    def tool() -> str:
        """A tool."""
        return ""

    with client(server.url, store, timeout=30.0) as backend:
        for _ in range(2):
            Agent(backend, [tool])
        assert [one.path for one in server.received] == ["/v1/models"]

        async def ask() -> None:
            assert (await backend.acapabilities()).server == "unknown"

        asyncio.run(ask())
    assert len(server.received) == 1


def test_a_page_that_hangs_ends_the_questions_and_what_was_found_out_before_counts(
    standin: Start, store: CapabilityStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "LONGEST_SILENCE", 0.2)

    def answer(wire: Wire) -> None:
        if wire.received.path == "/v1/models":
            wire.json(200, {"data": [{"id": "m", "owned_by": "sglang", "max_model_len": 4096}]})
        else:
            wire.until_client_leaves()

    server = standin(answer)
    with client(server.url, store) as backend:
        assert (backend.capabilities.server, backend.context_length) == ("sglang", 4096)
    assert [one.path for one in server.received] == ["/v1/models", "/model_info"]


def test_a_server_that_is_not_there_yet_is_asked_again_at_the_next_use(store: CapabilityStore) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        backend = client(f"http://127.0.0.1:{port}", store)
        assert backend.context_length is None
        taken.listen()
        threading.Thread(target=_props, args=(taken,), daemon=True).start()
        with backend:
            assert backend.context_length == 512


def _props(listener: socket.socket) -> None:
    """Answers everything with a list of one model of vLLM's."""
    body = b'{"data": [{"id": "m", "owned_by": "vllm", "max_model_len": 512}]}'
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    accepted, _ = listener.accept()
    with accepted:
        while accepted.recv(65536):
            accepted.sendall(head + body)


def test_signs_of_life_alone_do_not_keep_a_request_alive(standin: Start, store: CapabilityStore) -> None:
    def comments(wire: Wire) -> None:
        wire.stream(": still here\n\n" for _ in iter(int, 1))

    server = standin(script(comments))
    with client(server.url, store, timeout=0.2) as backend, pytest.raises(EndpointError, match="signs of life"):
        reply(backend)
    assert server.left.wait(5)


def test_a_line_without_end_is_given_up(standin: Start, store: CapabilityStore) -> None:
    def endless(wire: Wire) -> None:
        wire.stream(b"x" * 2**20 for _ in iter(int, 1))

    server = standin(script(endless))
    with client(server.url, store) as backend, pytest.raises(EndpointError, match="line without an end"):
        reply(backend)
    assert server.left.wait(5)


def test_a_stream_that_ignores_the_token_limit_is_cut(standin: Start, store: CapabilityStore) -> None:
    def endless(wire: Wire) -> None:
        (piece,) = events("word ", finish=None, done=False)[1:]
        wire.stream(piece for _ in iter(int, 1))

    server = standin(script(endless))
    with client(server.url, store) as backend:
        got = reply(backend)
    assert got.finish_reason == "length"
    assert 50 < got.usage.generated < 250
    assert server.left.wait(5)


def test_a_stream_that_goes_on_without_a_word_is_given_up(standin: Start, store: CapabilityStore) -> None:
    def endless(wire: Wire) -> None:
        wire.stream('data: {"choices": [{"index": 0, "delta": {}}]}\n\n' for _ in iter(int, 1))

    server = standin(script(endless))
    with client(server.url, store) as backend, pytest.raises(EndpointError, match="does not end"):
        reply(backend)


def test_closing_a_stream_closes_its_connection(standin: Start, store: CapabilityStore) -> None:
    def slow(wire: Wire) -> None:
        wire._start(200, "text/event-stream", {"Connection": "close"})
        wire._handler.wfile.write("".join(events("one ", finish=None, done=False)).encode())
        wire.until_client_leaves()

    server = standin(script(slow))
    with client(server.url, store) as backend:
        items = backend.stream(HELLO)
        assert next(items) == Delta("one ", 1)
        items.close()  # type: ignore[attr-defined]
        assert server.left.wait(5)


def test_cancelling_a_task_closes_its_connection(standin: Start, store: CapabilityStore) -> None:
    def slow(wire: Wire) -> None:
        wire._start(200, "text/event-stream", {"Connection": "close"})
        wire._handler.wfile.write("".join(events("one ", finish=None, done=False)).encode())
        wire.until_client_leaves()

    server = standin(script(slow))
    backend = client(server.url, store)

    async def cancelled() -> None:
        started = asyncio.Event()

        async def read() -> None:
            async for _ in backend.astream(HELLO):
                started.set()

        task = asyncio.create_task(read())
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(server.left.wait, 5)

    asyncio.run(cancelled())


def test_one_connection_serves_request_after_request(standin: Start, store: CapabilityStore) -> None:
    server = standin(script(fine))
    with client(server.url, store) as backend:
        for _ in range(5):
            reply(backend)
    assert server.connections == 1
    assert len(server.posted) == 5


def test_an_answer_that_is_complete_is_not_waited_on_for_its_connection_to_end(
    standin: Start, store: CapabilityStore
) -> None:
    def lingering(wire: Wire) -> None:
        wire._start(200, "text/event-stream", {"Connection": "close"})
        wire._handler.wfile.write("".join(events("All ", "is ", "well.")).encode())
        wire.until_client_leaves()

    server = standin(script(lingering))
    with client(server.url, store, timeout=20.0) as backend:
        assert reply(backend).text == "All is well."
        assert server.left.wait(5)

    async def ask() -> None:
        async with client(server.url, store, timeout=20.0) as another:
            *_, last = [item async for item in another.astream(HELLO)]
            assert isinstance(last, Reply)
            assert last.text == "All is well."

    began = time.monotonic()
    asyncio.run(ask())
    assert time.monotonic() - began < 10


def test_connections_are_bounded_reused_and_never_mixed_up_among_64_tasks(
    standin: Start, store: CapabilityStore
) -> None:
    def echo(wire: Wire) -> None:
        asked = wire.received.body["messages"][-1]["content"]
        wire.stream(events(*(f"{asked}:{count} " for count in range(20))))

    server = standin(chat(echo))

    async def ask(backend: OpenAICompatible, number: int) -> None:
        for turn in range(3):
            question = f"q{number}.{turn}"
            request = Request([{"role": "user", "content": question}], max_tokens=50)
            async for item in backend.astream(request):
                last = item
            assert isinstance(last, Reply)
            assert last.text == "".join(f"{question}:{count} " for count in range(20))

    async def all_of_them() -> None:
        async with client(server.url, store, max_connections=8) as backend:
            await asyncio.gather(*(ask(backend, number) for number in range(64)))

    asyncio.run(all_of_them())
    assert len(server.posted) == 192
    assert server.most_open <= 8
    assert server.connections <= 8
    gets = [one.path for one in server.received if one.method == "GET"]
    assert len(gets) == len(set(gets)), "64 tasks detected the server once"


def test_one_backend_serves_event_loops_one_after_the_other(standin: Start, store: CapabilityStore) -> None:
    server = standin(script(fine))
    backend = client(server.url, store)

    async def ask() -> str:
        async for item in backend.astream(HELLO):
            last = item
        assert isinstance(last, Reply)
        return last.text

    assert [asyncio.run(ask()) for _ in range(3)] == ["All is well."] * 3
    backend.close()


def test_half_a_surrogate_pair_in_a_conversation_is_sent_as_a_replacement_character(
    standin: Start, store: CapabilityStore
) -> None:
    server = standin(script(fine))
    with client(server.url, store) as backend:
        reply(backend, Request([{"role": "user", "content": "half \ud83d, whole \ud83d\ude00 \u00e9"}]))
    assert server.posted[0].body["messages"][0]["content"] == "half \ufffd, whole \U0001f600 \u00e9"


def test_what_json_or_a_header_cannot_hold_is_an_error_with_the_next_step(
    standin: Start, store: CapabilityStore
) -> None:
    server = standin(script(fine))
    with (
        client(server.url, store, body={"x": object()}) as backend,
        pytest.raises(BackendError, match="Check what body="),
    ):
        reply(backend)
    with pytest.raises(BackendError, match="header 'X-Team'") as caught:
        client(server.url, store, headers={"X-Team": f"{KEY}\u00e9"})
    assert KEY not in str(caught.value)
    assert server.posted == []


@given(st.lists(st.text(alphabet="ab\u00e9\u6f22:\r ", max_size=8), max_size=8), st.integers(1, 7))
def test_lines_come_out_as_they_went_in_however_they_are_cut(lines: list[str], size: int) -> None:
    data = "\n".join(lines).encode()
    splitter = LineSplitter(60.0)
    got = [line for at in range(0, len(data), size) for line in splitter.feed(data[at : at + size])]
    got += splitter.rest()
    expected = [line.rstrip("\r") for line in data.decode().split("\n")]
    assert got == (expected if expected[-1] or data[-1:] not in (b"\n", b"") else expected[:-1])

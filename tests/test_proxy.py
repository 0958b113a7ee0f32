"""The server: the API over HTTP, keys, limits, the queue, hanging up, metrics, logs, shutdown."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import openai
import pytest
import uvicorn
from conversation import QUESTION, TOOLS, final, step

from react_text import FallbackChat, Scripted
from react_text.backends.base import Delta
from react_text.backends.openai import OpenAICompatible
from react_text.capability_store import CapabilityStore
from react_text.errors import ChatError
from react_text.proxy import Settings, make_app, serve
from react_text.proxy.address import is_loopback
from react_text.proxy.gate import Gate
from react_text.proxy.server import check_open

PATH = "/v1/chat/completions"
PLAIN = {"messages": [{"role": "user", "content": "Hi"}]}


@contextmanager
def running(model, settings: Settings | None = None, **options) -> Iterator[str]:
    """A real server on a free port of loopback; gives its address."""
    chat = model if isinstance(model, FallbackChat) else FallbackChat(model, **options)
    config = uvicorn.Config(make_app(chat, settings), port=0, log_config=None, access_log=False, lifespan="on")
    server = uvicorn.Server(config)
    started = threading.Event()

    async def run():
        asyncio.get_running_loop().create_task(told())
        await server.serve()

    async def told():
        while not server.started:
            await asyncio.sleep(0)
        started.set()

    thread = threading.Thread(target=lambda: asyncio.run(run()), daemon=True)
    thread.start()
    assert started.wait(60)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(60)


class Echo(Scripted):
    """Answers every request with the last thing that was said to it."""

    def __init__(self):
        def echo(messages):
            while True:
                yield lambda said: said[-1]["content"]

        super().__init__(echo(None))


class Held(Scripted):
    """Says one word, then waits to be let go on; counts the streams that were closed."""

    def __init__(self):
        super().__init__([])
        self.began, self.go, self.closed = asyncio.Event(), asyncio.Event(), 0

    async def astream(self, request):
        try:
            request.until("Well")
            yield Delta("Well", 1)
            self.began.set()
            await self.go.wait()
            async for item in Scripted(["Well then"]).astream(request):
                yield item
        finally:
            self.closed += 1


def in_memory(app) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://server", timeout=60)


def metric(text, metric_name, /, **labels):
    for line in text.splitlines():
        found = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line)
        if (
            found
            and found[1] == metric_name
            and all(f'{key}="{value}"' in (found[2] or "") for key, value in labels.items())
        ):
            return float(found[3])
    return 0.0


def test_the_official_client_runs_a_task_over_http():
    model = Scripted.plan([("stock_level", {"item": "lamp"})], "There are {0}.")
    with running(model) as url, openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as chat:
        messages = [QUESTION]
        with chat.chat.completions.stream(model="any", messages=messages, tools=TOOLS) as events:
            said = events.get_final_completion().choices[0].message
        messages += [said, {"role": "tool", "tool_call_id": said.tool_calls[0].id, "content": "14"}]
        answer = chat.chat.completions.create(model="any", messages=messages, tools=TOOLS)
        assert answer.choices[0].message.content == "There are 14."
        assert [one.id for one in chat.models.list()] == ["scripted"]


@pytest.mark.parametrize("stream", [False, True])
def test_an_endpoint_without_tools_is_given_them(stream, tmp_path):
    """Two servers in a row: the one behind is only ever asked for text."""
    inner = Scripted([step("stock_level", {"item": "lamp"})])
    with running(inner) as behind:
        endpoint = OpenAICompatible(f"{behind}/v1", model="any", api_key="", store=CapabilityStore(tmp_path / "known"))
        with running(endpoint, mode="text") as front, httpx.Client(base_url=front, timeout=60) as web:
            body = {"messages": [QUESTION], "tools": TOOLS, "stream": stream}
            text = web.post(PATH, json=body).text
    assert "tool_calls" in text
    assert "stock_level" in text
    assert "lamp" in text
    assert inner.requests[0].tools == ()


def test_a_hundred_clients_at_once_are_each_answered_with_their_own_or_told_to_come_back():
    async def run(url):
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(base_url=url, timeout=120, limits=limits) as web:

            async def one(number):
                body = {"messages": [{"role": "user", "content": f"number {number}"}]}
                return number, await web.post(PATH, json=body)

            answers = await asyncio.gather(*(one(number) for number in range(100)))
            return answers, (await web.get("/metrics")).text

    with running(Echo(), Settings(concurrency=1, queue=5)) as url:
        answers, metrics = asyncio.run(run(url))
    served = [(number, got.json()) for number, got in answers if got.status_code == 200]
    refused = [got for _, got in answers if got.status_code == 429]
    assert len(served) + len(refused) == 100
    assert len(served) >= 6
    assert all(got["choices"][0]["message"]["content"] == f"number {number}" for number, got in served)
    assert all(int(got.headers["retry-after"]) >= 1 for got in refused)
    assert metric(metrics, "react_text_requests_total", status="200", path=PATH) == len(served)
    assert metric(metrics, "react_text_requests_total", status="429") == len(refused)
    assert metric(metrics, "react_text_running") == metric(metrics, "react_text_waiting") == 0


def test_a_full_queue_refuses_and_a_place_is_free_again_after_an_answer():
    async def run():
        model = Held()
        app = make_app(FallbackChat(model), Settings(concurrency=1, queue=0))
        async with in_memory(app) as web:
            first = asyncio.ensure_future(web.post(PATH, json=PLAIN))
            await model.began.wait()
            second = await web.post(PATH, json=PLAIN)
            model.go.set()
            return second, await first, await web.post(PATH, json=PLAIN)

    second, first, third = asyncio.run(run())
    assert (first.status_code, second.status_code, third.status_code) == (200, 429, 200)
    assert second.json()["error"]["type"] == "rate_limit_error"


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_hangs_up_stops_its_generation_and_gives_up_its_place(stream):
    async def run():
        model = Held()
        app = make_app(FallbackChat(model), Settings(concurrency=1, queue=5))
        gone, sent = (
            asyncio.Event(),
            [{"type": "http.request", "body": json.dumps({**PLAIN, "stream": stream}).encode()}],
        )

        async def receive():
            if sent:
                return sent.pop()
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message):
            return None

        scope = {"type": "http", "method": "POST", "path": PATH, "headers": [], "query_string": b"", "root_path": ""}
        request = asyncio.ensure_future(app(scope | {"server": ("server", 80), "scheme": "http"}, receive, send))
        await model.began.wait()
        gone.set()
        await request
        closed = model.closed
        model.go.set()
        async with in_memory(app) as web:
            return closed, (await web.post(PATH, json=PLAIN)).status_code, (await web.get("/metrics")).text

    closed, status, metrics = asyncio.run(run())
    assert (closed, status) == (1, 200)
    assert metric(metrics, "react_text_hung_up_total") == 1


def test_a_client_that_hangs_up_while_it_waits_leaves_the_queue():
    async def run():
        gate = Gate(1, 5)
        async with gate.turn():
            waiting = [asyncio.ensure_future(enter(gate)) for _ in range(2)]
            while gate.waiting < 2:
                await asyncio.sleep(0)
            waiting[0].cancel()
            await asyncio.gather(waiting[0], return_exceptions=True)
            assert gate.waiting == 1
        await waiting[1]
        return gate.running, gate.waiting

    async def enter(gate):
        async with gate.turn():
            pass

    assert asyncio.run(run()) == (0, 0)


def ask(app, method="POST", path=PATH, **options):
    async def run():
        async with in_memory(app) as web:
            return await web.request(method, path, **options)

    return asyncio.run(run())


def test_a_key_is_wanted_where_one_is_set():
    def app():
        return make_app(FallbackChat(Scripted(["Hi."])), Settings(api_key="right"))

    for headers in (
        {},
        {"authorization": "Bearer wrong"},
        {"authorization": "right"},
        {"authorization": "Basic right"},
    ):
        refused = ask(app(), json=PLAIN, headers=headers)
        assert (refused.status_code, refused.json()["error"]["code"]) == (401, "invalid_api_key")
    assert ask(app(), "GET", "/metrics").status_code == 401
    assert ask(app(), "GET", "/health").status_code == 200
    assert ask(app(), json=PLAIN, headers={"authorization": "Bearer right"}).status_code == 200


@pytest.mark.parametrize("headers", [{}, {"transfer-encoding": "chunked"}])
def test_a_request_that_is_too_long_is_refused(headers):
    app = make_app(FallbackChat(Scripted([])), Settings(max_body=1000))
    answer = ask(app, content=b"x" * 1001, headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "request_too_large")


def test_health_says_which_model_is_there():
    got = ask(make_app(FallbackChat(Scripted([], name="small"))), "GET", "/health").json()
    assert got == {"status": "ok", "model": "small", "running": 0, "waiting": 0}


def test_metrics_name_tokens_modes_repairs_and_faults():
    async def run():
        replies = ["Thought: x\nAction: Stock-Level\nAction Input: {'item': 'lamp'}", step("delete", {}), final("x")]
        async with in_memory(make_app(FallbackChat(Scripted(replies)))) as web:
            for stream in (False, True):
                await web.post(PATH, json={"messages": [QUESTION], "tools": TOOLS, "stream": stream})
            return (await web.get("/metrics")).text

    text = asyncio.run(run())
    assert metric(text, "react_text_repairs_total", name="single_quotes") == 1
    assert metric(text, "react_text_faults_total", name="unknown_tool") == 1
    assert metric(text, "react_text_turns_total", mode="text", finish_reason="tool_calls") == 1
    assert metric(text, "react_text_turns_total", mode="text", finish_reason="stop") == 1
    assert metric(text, "react_text_tokens_total", kind="generated") > 10
    assert metric(text, "react_text_request_seconds_count") == 2
    assert metric(text, "react_text_first_chunk_seconds_count") == 1


@pytest.mark.parametrize("contents", [False, True])
def test_the_log_holds_figures_and_contents_only_where_asked_for(contents, caplog):
    app = make_app(FallbackChat(Scripted([step("add", {"a": 41, "b": 1})])), Settings(log_contents=contents))
    with caplog.at_level(logging.INFO, logger="react_text.serve"):
        ask(app, json={"messages": [{"role": "user", "content": "A secret sum."}], "tools": TOOLS})
    (record,) = [json.loads(one.getMessage()) for one in caplog.records if one.name == "react_text.serve"]
    assert (record["status"], record["mode"], record["finish_reason"]) == (200, "text", "tool_calls")
    assert ("secret" in json.dumps(record)) is contents
    assert ("41" in json.dumps({key: record.get(key) for key in ("messages", "tool_calls")})) is contents


def test_what_breaks_inside_is_told_in_one_sentence_and_nothing_more(caplog):
    class Broken(Scripted):
        async def astream(self, request):
            raise RuntimeError("in /secret/path")
            yield

    answer = ask(make_app(FallbackChat(Broken([]))), json=PLAIN)
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert "/secret/path" in caplog.text


@pytest.mark.parametrize(("host", "loopback"), [("127.0.0.1", True), ("::1", True), ("localhost", True)])
def test_loopback_needs_no_key(host, loopback):
    assert is_loopback(host) is loopback
    check_open(host, None)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org", ""])
def test_any_other_address_needs_a_key(host):
    with pytest.raises(ChatError, match="--api-key"):
        serve(FallbackChat(Scripted([])), host=host)
    check_open(host, "key")


def test_an_address_in_use_is_told_in_one_sentence():
    with running(Scripted([])) as url, pytest.raises(ChatError, match="--port"):
        serve(FallbackChat(Scripted([])), port=int(url.rpartition(":")[2]))


def test_the_command_refuses_an_open_address_before_it_loads_a_model():
    from click.testing import CliRunner

    from react_text.cli import main

    result = CliRunner().invoke(main, ["serve", "--model", "no-such-file.gguf", "--host", "0.0.0.0"])
    assert result.exit_code == 2
    assert "--api-key" in result.output
    assert "Traceback" not in result.output


def test_a_stopped_server_finishes_what_is_under_way():
    model = Scripted([final(" ".join(map(str, range(300))))])
    with running(model) as url, httpx.Client(timeout=60) as web:
        body = {"messages": [QUESTION], "tools": TOOLS, "stream": True}
        with web.stream("POST", f"{url}{PATH}", json=body) as answer:
            lines = answer.iter_lines()
            next(lines)
            rest = list(lines)
    assert [line for line in rest if line][-1] == "data: [DONE]"


@pytest.mark.parametrize("origin", ["http://evil.example", "https://evil.example:8080", "null", "http://[", "file://"])
def test_a_web_page_of_another_host_is_refused_where_no_key_is_needed(origin):
    model = Scripted([final("hi")] * 3)
    with running(model) as address:
        answer = httpx.post(address + PATH, json=PLAIN, headers={"origin": origin})
        assert answer.status_code == 403
        assert "--api-key" in answer.json()["error"]["message"]
        assert model.requests == []
        assert httpx.post(address + PATH, json=PLAIN, headers={"origin": "http://localhost:3000"}).status_code == 200
    with running(Scripted([final("hi")]), Settings(api_key="k")) as address:
        told = {"origin": origin, "authorization": "Bearer k"}
        assert httpx.post(address + PATH, json=PLAIN, headers=told).status_code == 200


def test_a_key_that_is_no_utf8_is_compared_byte_by_byte():
    with running(Scripted([final("hi")]), Settings(api_key="k\udce9")) as address:
        assert httpx.get(f"{address}/v1/models", headers={"authorization": b"Bearer k\xe9"}).status_code == 200
        assert httpx.get(f"{address}/v1/models", headers={"authorization": b"Bearer k\xe8"}).status_code == 401


def test_a_length_of_thousands_of_digits_is_too_long():
    service = make_app(FallbackChat(Scripted([])))
    sent = []

    async def ask():
        async def receive():
            return {"type": "http.disconnect"}

        async def send(message):
            sent.append(message)

        headers = [(b"content-length", b"9" * 5000)]
        scope = {"type": "http", "method": "POST", "path": PATH, "headers": headers, "query_string": b""}
        await service(scope, receive, send)

    asyncio.run(ask())
    assert sent[0]["status"] == 413

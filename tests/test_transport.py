"""The transport under the official client: sync, async, streaming, and what is refused."""

from __future__ import annotations

import asyncio
import json

import httpx
import openai
import pytest
from conversation import QUESTION, TOOLS, final, step
from pydantic import BaseModel

from react_text import FallbackChat, Scripted
from react_text.backends.base import Delta
from react_text.errors import ContextOverflow, EndpointError
from react_text.transport import async_client, client


def official(model, **options):
    return openai.OpenAI(
        base_url="http://in-process/v1", api_key="none", max_retries=0, http_client=client(model, **options)
    )


def official_async(model):
    return openai.AsyncOpenAI(
        base_url="http://in-process/v1", api_key="none", max_retries=0, http_client=async_client(model)
    )


def test_the_official_client_runs_a_task_with_two_tools_to_its_end():
    model = Scripted.plan([("stock_level", {"item": "lamp"}), ("add", {"a": 14, "b": 6})], "There are {1}.")
    chat, messages = official(model), [QUESTION]
    run = {"stock_level": lambda item: 14, "add": lambda a, b: a + b}
    while True:
        answer = chat.chat.completions.create(model="any", messages=messages, tools=TOOLS)
        message = answer.choices[0].message
        messages.append(message)
        if answer.choices[0].finish_reason == "stop":
            break
        for call in message.tool_calls:
            result = run[call.function.name](**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": str(result)})
    assert message.content == "There are 20."


def test_the_accumulator_of_the_official_client_gives_what_a_whole_answer_gives():
    replies = [step("stock_level", {"item": "lamp"}) + '\nAction: add\nAction Input: {"a": 1, "b": 2}']
    chat = official(Scripted(replies * 2))
    whole = chat.chat.completions.create(model="any", messages=[QUESTION], tools=TOOLS).choices[0]
    with chat.chat.completions.stream(model="any", messages=[QUESTION], tools=TOOLS) as events:
        kinds = {event.type for event in events}
        streamed = events.get_final_completion().choices[0]
    assert {"tool_calls.function.arguments.delta", "tool_calls.function.arguments.done"} <= kinds
    assert streamed.finish_reason == whole.finish_reason == "tool_calls"
    assert (whole.message.content, streamed.message.content) == ("I look.", None)
    assert streamed.message.reasoning_content == whole.message.reasoning_content == "I look."
    assert [call.function.name for call in streamed.message.tool_calls] == ["stock_level", "add"]
    assert [call.function.arguments for call in streamed.message.tool_calls] == [
        call.function.arguments for call in whole.message.tool_calls
    ]


def test_the_async_client_answers_and_streams():
    async def run():
        chat = official_async(Scripted([step("add", {"a": 2, "b": 3}), final("It is five.")]))
        answer = await chat.chat.completions.create(model="any", messages=[QUESTION], tools=TOOLS)
        parts = await chat.chat.completions.create(model="any", messages=[QUESTION], tools=TOOLS, stream=True)
        text = "".join([part.choices[0].delta.content or "" async for part in parts])
        return answer.choices[0].message.tool_calls[0].function.name, text

    assert asyncio.run(run()) == ("add", "It is five.")


class Add(BaseModel):
    """Add two whole numbers."""

    a: int
    b: int


def test_tools_made_by_pydantic_come_back_parsed():
    chat = official(Scripted([step("Add", {"a": 2, "b": 3})]))
    answer = chat.chat.completions.parse(model="any", messages=[QUESTION], tools=[openai.pydantic_function_tool(Add)])
    assert answer.choices[0].message.tool_calls[0].function.parsed_arguments == Add(a=2, b=3)


def test_a_response_format_made_by_pydantic_comes_back_parsed():
    chat = official(Scripted(['{"a": 2}', '{"a": 2, "b": 3}']))
    answer = chat.chat.completions.parse(model="any", messages=[QUESTION], response_format=Add)
    assert answer.choices[0].message.parsed == Add(a=2, b=3)


def test_the_models_are_listed():
    chat = official(Scripted([], name="small"))
    assert [model.id for model in chat.models.list()] == ["small"]
    assert chat.models.retrieve("small").id == "small"
    with pytest.raises(openai.NotFoundError) as caught:
        chat.models.retrieve("large")
    assert caught.value.code == "model_not_found"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/v1/embeddings", 404),
        ("GET", "/", 404),
        ("GET", "/v1/chat/completions", 405),
        ("POST", "/v1/models", 405),
    ],
)
def test_what_is_not_served_is_answered_in_the_shape_of_the_api(method, path, status):
    answer = client(Scripted([])).request(method, f"http://in-process{path}", json={})
    assert answer.status_code == status
    assert set(answer.json()["error"]) == {"message", "type", "param", "code"}


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"x"', b'{"messages": NaN}', b"[" * 100_000, b"\xff"])
def test_a_body_that_is_no_json_object_is_a_bad_request(body):
    answer = client(Scripted([])).post("/chat/completions", content=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["type"] == "invalid_request_error"


def test_a_bad_parameter_is_the_clients_own_error():
    with pytest.raises(openai.BadRequestError) as caught:
        official(Scripted([])).chat.completions.create(model="any", messages=[QUESTION], n=3)
    assert caught.value.param == "n"


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (ContextOverflow(5000, 4096), 400, "context_length_exceeded"),
        (EndpointError("Busy.", reason="busy", status=429, retry_after=7, retryable=True), 429, "rate_limit_exceeded"),
        (EndpointError("Down.", reason="unreachable", retryable=True), 503, "model_unavailable"),
        (EndpointError("No key.", reason="key", status=401), 502, "model_unavailable"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_a_model_that_fails_before_its_first_word_is_told_by_the_status(error, status, code, stream):
    answer = client(Scripted([error])).post("/chat/completions", json={"messages": [QUESTION], "stream": stream})
    assert answer.status_code == status
    assert answer.json()["error"]["code"] == code
    assert answer.headers.get("retry-after") == ("7" if status == 429 else None)


class Breaking(Scripted):
    """Breaks off in the middle of its reply; counts the streams that were closed."""

    closed = 0

    def stream(self, request):
        try:
            request.until("It is")
            yield Delta("It is", 1)
            yield from super().stream(request)
        finally:
            self.closed += 1


def test_a_model_that_breaks_off_in_a_stream_is_an_error_of_the_client():
    parts = official(Breaking([])).chat.completions.create(
        model="any", messages=[{"role": "user", "content": "Hi"}], stream=True
    )
    with pytest.raises(openai.APIError):
        list(parts)


def test_leaving_a_stream_stops_the_generation():
    model = Breaking([final("word " * 1000)])
    parts = official(model).chat.completions.create(model="any", messages=[QUESTION], tools=TOOLS, stream=True)
    next(iter(parts))
    assert model.closed == 0
    parts.close()
    assert model.closed == 1


def test_a_chat_can_be_shared_by_clients():
    chat = FallbackChat(Scripted([final("one"), final("two")]))
    for answer in ("one", "two"):
        got = client(chat).post("/chat/completions", json={"messages": [QUESTION], "tools": TOOLS})
        assert got.json()["choices"][0]["message"]["content"] == answer


def test_options_reach_the_chat_and_no_socket_is_opened(monkeypatch):
    monkeypatch.setattr("socket.socket.connect", None)
    made = client(Scripted([final("x " * 50)]), max_tokens=10)
    assert isinstance(made, httpx.Client)
    answer = made.post("/chat/completions", json={"messages": [QUESTION], "tools": TOOLS}).json()
    assert answer["choices"][0]["finish_reason"] == "length"

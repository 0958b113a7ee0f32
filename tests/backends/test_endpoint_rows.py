"""One agent against every way in which an endpoint fails to take tools: the run ends with the right answer all the
same, for one request more at most, and for none in the next run.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from ollama_standin import OllamaStandIn
from standin import StandIn, Wire, chat, events

from react_text import Agent
from react_text.backends.ollama import Ollama
from react_text.backends.openai import OpenAICompatible
from react_text.capability_store import CapabilityStore
from react_text.events import Result

Start = Callable[[Callable[[Wire], None]], StandIn]
QUESTION = "How high is the tide at the north quay?"
ANSWER = "The tide is at 3.2 m."
CALL = {"name": "look_up_tide", "arguments": {"quay": "north"}}


def look_up_tide(quay: str) -> str:
    """The height of the tide at a quay."""
    return f"3.2 m at the {quay} quay"


def text_turn(messages: list[dict[str, Any]]) -> str:
    """What a model without tools says to a conversation in the text protocol, going on from what it is begun with."""
    begun = messages[-1]["content"] if messages[-1]["role"] == "assistant" else ""
    asked = messages[-2] if begun else messages[-1]
    if "3.2 m" in str(asked["content"]):
        said = f"Thought: I now know the answer.\nFinal Answer: {ANSWER}"
    else:
        said = f"Thought: I have to look.\nAction: look_up_tide\nAction Input: {json.dumps(CALL['arguments'])}"
    return said.removeprefix(begun)


def refusal(status: int, body: Any) -> Callable[[Wire], None]:
    return lambda wire: wire.json(status, body)


def nested(message: str, kind: str = "invalid_request_error") -> dict[str, Any]:
    return {"error": {"message": message, "type": kind}}


REFUSALS = {
    "llama-server without Jinja": (500, nested("tools param requires --jinja flag", "server_error")),
    "llama-server of 2024": (500, nested("Unsupported param: tools", "server_error")),
    "Ollama over /v1": (400, nested("registry.ollama.ai/library/tiny:latest does not support tools", "api_error")),
    "vLLM without a parser": (
        400,
        {
            "object": "error",
            "message": '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
            "type": "BadRequestError",
            "code": 400,
        },
    ),
    "OpenRouter": (404, {"error": {"message": "No endpoints found that support tool use. See the docs.", "code": 404}}),
    "LiteLLM": (
        400,
        nested("litellm.UnsupportedParamsError: x does not support parameters: ['tools'], for model=y", "None"),
    ),
    "OpenAI": (400, nested("tools is not supported in this model. For a list of supported models, see the docs.")),
    "Azure": (404, nested("Unrecognized request argument supplied: tools")),
    "a flat error": (400, {"error": "this model does not support tools"}),
    "no known words": (400, nested("The request could not be processed.")),
}


def runs(backend: OpenAICompatible | Ollama) -> Result:
    with backend:
        return Agent(backend, [look_up_tide], max_tokens=120).run(QUESTION)


@pytest.mark.parametrize("row", REFUSALS)
def test_refused_tools_cost_one_request_once(standin: Start, store: CapabilityStore, row: str) -> None:
    status, body = REFUSALS[row]

    def answer(wire: Wire) -> None:
        if "tools" in wire.received.body:
            wire.json(status, body)
        else:
            wire.stream(events(text_turn(wire.received.body["messages"])))

    server = standin(chat(answer))
    # what the endpoint says of itself, wrongly
    store_says = {"server": "unknown", "tools": "yes"}

    def backend() -> OpenAICompatible:
        made = OpenAICompatible(f"{server.url}/v1", model="tiny", store=store, backoff=0.001, timeout=10.0)
        if made.capabilities.tools == "unknown":
            for fact, value in store_says.items():
                made.learn(fact, value, "says the endpoint")
        return made

    first = runs(backend())
    assert (first.stop_reason, first.answer) == ("answer", ANSWER)
    assert (first.mode, len(first.mode_changes)) == ("text", 1)
    assert len(server.posted) == 3
    second = runs(backend())
    assert (second.stop_reason, second.answer) == ("answer", ANSWER)
    assert second.mode_changes == ()
    assert len(server.posted) == 5


Pages = dict[str, Any]
"""What an endpoint shows of itself: the answer to a GET or a small POST by its path, with status 200."""


@dataclass(frozen=True)
class Row:
    """One endpoint: its pages, what it does when tools are sent, and how many requests more that may cost once."""

    pages: Pages
    on_tools: Callable[[Wire], None]
    extra: int = 0
    header: str = ""


def models(**entry: Any) -> Pages:
    return {"/v1/models": {"object": "list", "data": [{"id": "tiny", **entry}]}}


def swallows(wire: Wire) -> None:
    """Takes tools and never shows them to the model, which then knows of none."""
    wire.stream(events("I cannot look that up."))


def leaks(wire: Wire) -> None:
    """Shows the tools to the model and leaves its call in the content."""
    known = "3.2 m" in str(wire.received.body["messages"][-1]["content"])
    wire.stream(events(ANSWER if known else f"```json\n{json.dumps(CALL)}\n```"))


def calls(wire: Wire) -> None:
    """Answers with a well-formed call, and with the answer once it has a result."""
    if "3.2 m" in str(wire.received.body["messages"][-1]["content"]):
        wire.stream(events(ANSWER))
        return
    function = {"name": CALL["name"], "arguments": json.dumps(CALL["arguments"])}
    delta = {"role": "assistant", "content": None, "tool_calls": [{"index": 0, "id": "0", "function": function}]}
    choice = {"index": 0, "delta": delta, "finish_reason": "tool_calls"}
    wire.stream([f"data: {json.dumps({'choices': [choice]})}\n\n", "data: [DONE]\n\n"])


def drops_the_call(wire: Wire) -> None:
    """Says that it made calls, and holds none: the text of the model is lost."""
    choice = {"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": "tool_calls"}
    wire.stream([f"data: {json.dumps({'choices': [choice]})}\n\n", "data: [DONE]\n\n"])


def refuses(status: int, body: Any) -> Callable[[Wire], None]:
    return lambda wire: wire.json(status, body)


LLAMA = models(owned_by="llamacpp", meta={"n_ctx": 4096})
PROPS = {"default_generation_settings": {"n_ctx": 4096}, "chat_template": "x"}
UNSUPPORTED = "litellm.UnsupportedParamsError: ollama does not support parameters: ['tools'], for model=tiny"
ROWS = {
    "llama-server, template without tools": Row(
        {**LLAMA, "/props": PROPS, "/apply-template": {"prompt": "<|user|>How high is the tide?"}}, swallows
    ),
    "llama-server before /apply-template": Row(
        {**LLAMA, "/props": {**PROPS, "chat_template_caps": {"supports_tools": False, "supports_tool_calls": False}}},
        swallows,
    ),
    "llama-server, template with tools, model that leaks": Row(
        {**LLAMA, "/props": PROPS, "/apply-template": {"prompt": "measure_tide_at_quay How high is the tide?"}}, leaks
    ),
    "llama-server without Jinja, found out late": Row(
        {**LLAMA, "/props": PROPS, "/apply-template": {"prompt": "measure_tide_at_quay How high is the tide?"}},
        refuses(500, nested("tools param requires --jinja flag", "server_error")),
        extra=1,
    ),
    "llama_cpp.server": Row(models(owned_by="me", permissions=[]), leaks),
    "Ollama over /v1, model without tools": Row(
        {**models(owned_by="library"), "/api/show": {"capabilities": ["completion"]}, "/api/tags": {"models": []}},
        refuses(400, nested("registry.ollama.ai/library/tiny:latest does not support tools")),
    ),
    "Ollama over /v1, model said to have them": Row(
        {**models(owned_by="library"), "/api/show": {"capabilities": ["completion", "tools"]}},
        refuses(400, nested("registry.ollama.ai/library/tiny:latest does not support tools")),
        extra=1,
    ),
    "vLLM": Row(
        {**models(owned_by="vllm", max_model_len=4096), "/version": {"version": "0.32.0"}},
        refuses(*REFUSALS["vLLM without a parser"]),
    ),
    "SGLang without a parser": Row({**models(owned_by="sglang"), "/model_info": {"tool_call_parser": None}}, leaks),
    "SGLang with the wrong parser": Row(
        {**models(owned_by="sglang"), "/model_info": {"tool_call_parser": "qwen25"}}, leaks
    ),
    "LM Studio, not trained": Row(
        {
            **models(owned_by="organization_owner"),
            "/api/v1/models": {"models": [{"key": "tiny", "capabilities": {"trained_for_tool_use": False}}]},
        },
        leaks,
    ),
    "LM Studio, trained": Row(
        {
            **models(owned_by="organization_owner"),
            "/api/v0/models": {"data": [{"id": "tiny", "capabilities": ["tool_use"]}]},
        },
        leaks,
    ),
    "TGI": Row({**models(), "/info": {"router": "text-generation-router", "max_total_tokens": 4096}}, calls),
    "TGI, call that was cut": Row(
        {**models(), "/info": {"router": "text-generation-router", "max_total_tokens": 4096}},
        refuses(422, {"error": "Tool error: Failed to parse generated text: EOF", "error_type": "tool_error"}),
        extra=1,
    ),
    "KoboldCpp": Row({**models(owned_by="koboldcpp")}, calls),
    "text-generation-webui": Row({**models(), "/v1/internal/model/info": {"model_name": "tiny"}}, leaks),
    "TabbyAPI": Row(models(owned_by="tabbyapi"), leaks),
    "LocalAI": Row({**models(), "/v1/models/capabilities": {"data": []}}, calls),
    "LocalAI, call without a name": Row(
        {**models(), "/v1/models/capabilities": {"data": []}},
        lambda wire: wire.stream(
            [
                'data: {"choices": [{"index": 0, "finish_reason": "tool_calls", "delta": {"tool_calls": '
                '[{"index": 0, "id": "", "function": {"name": null, "arguments": "null"}}]}}]}\n\n'
            ]
        ),
        extra=1,
    ),
    "mlx-lm": Row(models(), drops_the_call, header="BaseHTTP/0.6 Python/3.11"),
    "a server that is said to have tools and drops the call": Row(
        {**models(owned_by="sglang"), "/model_info": {"tool_call_parser": "qwen25"}}, drops_the_call, extra=1
    ),
    "OpenRouter by its own word": Row(
        models(supported_parameters=["temperature"]), refuses(404, REFUSALS["OpenRouter"][1])
    ),
    "LiteLLM": Row(
        {**models(), "/v1/model/info": {"data": [{"model_name": "tiny", "model_info": {}}]}},
        refuses(400, nested(UNSUPPORTED)),
    ),
    "LiteLLM, said to have them": Row(
        {
            **models(x_litellm=True),
            "/v1/model/info": {"data": [{"model_name": "tiny", "model_info": {"supports_function_calling": True}}]},
        },
        refuses(400, nested(UNSUPPORTED)),
        extra=1,
    ),
    "a generic server": Row(models(), swallows),
}


def endpoint(row: Row) -> Callable[[Wire], None]:
    def answer(wire: Wire) -> None:
        path = wire.received.path
        if path == "/v1/chat/completions":
            if "tools" in wire.received.body:
                row.on_tools(wire)
            else:
                wire.stream(events(text_turn(wire.received.body["messages"])))
            return
        headers = {"Server": row.header} if row.header else {}
        if "x_litellm" in json.dumps(row.pages.get("/v1/models")):
            headers["X_Litellm_Version"] = "1.110"
        if path in row.pages:
            wire.json(200, row.pages[path], **headers)
        else:
            wire.json(404, {"error": "not found"}, **headers)

    return answer


@pytest.mark.parametrize("name", ROWS)
def test_every_endpoint_gives_the_answer_and_costs_one_request_more_at_most_and_none_in_the_next_run(
    standin: Start, store: CapabilityStore, name: str
) -> None:
    row = ROWS[name]
    server = standin(endpoint(row))

    def generations() -> int:
        return [one.path for one in server.posted].count("/v1/chat/completions")

    for expected in (2 + row.extra, 4 + row.extra):
        result = runs(OpenAICompatible(f"{server.url}/v1", model="tiny", store=store, backoff=0.001, timeout=10.0))
        assert (result.stop_reason, result.answer) == ("answer", ANSWER)
        assert generations() == expected


def test_ollama_without_tools_costs_nothing_at_all(standin: Start, store: CapabilityStore) -> None:
    server = standin(
        OllamaStandIn({"tiny:latest": ["completion"]}, lambda messages: [{"content": text_turn(list(messages))}])  # type: ignore[arg-type]
    )
    result = runs(Ollama(server.url, model="tiny", store=store, timeout=10.0))
    assert (result.stop_reason, result.answer) == ("answer", ANSWER)
    assert [one.path for one in server.posted].count("/api/chat") == 2


def test_ollama_with_tools_runs_structured_from_the_start(standin: Start, store: CapabilityStore) -> None:
    def turn(messages: Any) -> list[dict[str, Any]]:
        if messages[-1]["role"] == "tool":
            assert messages[-1]["tool_name"] == "look_up_tide"
            return [{"content": ANSWER}]
        return [{"tool_calls": [{"function": {"index": 0, **CALL}}]}]

    server = standin(OllamaStandIn({"tiny:latest": ["completion", "tools"]}, turn))
    result = runs(Ollama(server.url, model="tiny", store=store, timeout=10.0))
    assert (result.stop_reason, result.answer, result.mode_changes) == ("answer", ANSWER, ())
    assert "3.2 m at the north quay" in json.dumps(server.posted[-1].body["messages"])


def test_a_call_that_leaks_into_the_text_is_run_all_the_same(standin: Start, store: CapabilityStore) -> None:
    def answer(wire: Wire) -> None:
        messages = wire.received.body["messages"]
        leaked = "3.2 m" not in str(messages[-1]["content"])
        wire.stream(events(json.dumps(CALL) if leaked else ANSWER))

    server = standin(chat(answer))
    known = {"tools": "yes"}
    result = runs(OpenAICompatible(f"{server.url}/v1", model="tiny", known=known, store=store, timeout=10.0))
    assert (result.stop_reason, result.answer) == ("answer", ANSWER)
    assert len(server.posted) == 2


def test_the_raw_text_in_a_servers_complaint_is_a_turn_like_any_other(standin: Start, store: CapabilityStore) -> None:
    def answer(wire: Wire) -> None:
        if "3.2 m" in str(wire.received.body["messages"][-1]["content"]):
            wire.stream(events(ANSWER))
        else:
            raw = f"<tool_call>{json.dumps(CALL)}</tool_call>"
            wire.json(500, {"error": {"code": 500, "message": f"Failed to parse input at pos 0: {raw}"}})

    server = standin(chat(answer))
    result = runs(OpenAICompatible(f"{server.url}/v1", model="tiny", known={"tools": "yes"}, store=store, timeout=10.0))
    assert (result.stop_reason, result.answer) == ("answer", ANSWER)
    assert len(server.posted) == 2


def test_an_endpoint_that_is_down_ends_the_run_with_a_sentence_and_no_traceback(store: CapabilityStore) -> None:
    backend = OpenAICompatible("http://127.0.0.1:9/v1", model="tiny", store=store, retries=0, connect_timeout=1.0)
    result = runs(backend)
    assert result.stop_reason == "backend_error"
    assert "http://127.0.0.1:9/v1" in (result.answer or "")

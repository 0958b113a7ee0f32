"""One agent against every way in which an endpoint fails to take tools: the run ends with the right answer all the
same, for one request more at most, and for none in the next run.
"""

from __future__ import annotations

import json
from collections.abc import Callable
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
    """What a model without tools says to a conversation in the text protocol."""
    if "3.2 m" in str(messages[-1]["content"]):
        return f"Thought: I now know the answer.\nFinal Answer: {ANSWER}"
    return f"Thought: I have to look.\nAction: look_up_tide\nAction Input: {json.dumps(CALL['arguments'])}"


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
    if row == "no known words":
        # whether that 400 was about tools is the agent's to conclude
        return
    second = runs(backend())
    assert (second.stop_reason, second.answer) == ("answer", ANSWER)
    assert second.mode_changes == ()
    assert len(server.posted) == 5


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

"""The plugin under the real `llm`: its chains run the tools, its log keeps the calls."""

import asyncio
import json
import os
import subprocess
import sys

import pytest
from llm.parts import Message, ReasoningPart, TextPart, ToolCallPart, ToolResultPart

from react_text import Scripted, llm_plugin
from react_text.chat import FallbackChat
from react_text.llm_plugin import AsyncReactText, ReactText, messages_of


def stock(item: str) -> int:
    """How many pieces of an item are in stock."""
    return {"lamp": 14, "chair": 6}[item]


def call(item: str, thought: str = "I need it.") -> str:
    return f'Thought: {thought}\nAction: stock\nAction Input: {{"item": "{item}"}}'


ANSWER = "Thought: I know.\nFinal Answer: There are 14."


@pytest.fixture
def scripted(monkeypatch):
    def with_replies(*replies) -> Scripted:
        backend = Scripted(replies)
        chat = FallbackChat(backend)
        monkeypatch.setattr(llm_plugin, "_chat", lambda source: chat)
        return backend

    return with_replies


def model(kind=ReactText):
    return kind("react-text/test", {"model": "smollm2"})


def test_a_chain_runs_the_tool_and_answers_from_its_result(scripted):
    backend = scripted(call("lamp"), ANSWER)
    chain = model().chain("How many lamps?", tools=[stock])
    assert chain.text() == "There are 14."
    assert backend.requests[1].messages[-1]["content"] == "Observation: 14"


def test_the_async_chain_does_the_same(scripted):
    backend = scripted(call("lamp"), ANSWER)

    async def work() -> str:
        return await model(AsyncReactText).chain("How many lamps?", tools=[stock]).text()

    assert asyncio.run(work()) == "There are 14."
    assert backend.requests[1].messages[-1]["content"] == "Observation: 14"


def test_broken_json_reaches_llm_mended(scripted):
    scripted("Thought: hm\nAction: Stock\nAction Input: {'item': 'lamp',}", ANSWER)
    response = model().prompt("How many lamps?", tools=[stock])
    assert [(one.name, one.arguments) for one in response.tool_calls()] == [("stock", {"item": "lamp"})]


def test_two_calls_in_a_turn_are_two_calls_with_their_own_results(scripted):
    backend = scripted(call("lamp") + '\nAction: stock\nAction Input: {"item": "chair"}', ANSWER)
    responses = list(model().chain("How many?", tools=[stock]).responses())
    assert len({one.tool_call_id for one in responses[0].tool_calls()}) == 2
    shown = backend.requests[1].messages[-1]["content"]
    assert shown.index("14") < shown.index("6")


def test_an_error_of_a_tool_is_told_to_the_model(scripted):
    backend = scripted(call("anvil"), ANSWER)
    model().chain("How many anvils?", tools=[stock]).text()
    assert "Error" in backend.requests[1].messages[-1]["content"]


def test_a_thought_is_reasoning_and_not_part_of_the_answer(scripted):
    scripted(call("lamp", "The stock tool knows."), ANSWER)
    first, second = model().chain("How many lamps?", tools=[stock]).responses()
    kinds = [type(part) for message in first.messages() for part in message.parts]
    assert kinds == [ReasoningPart, ToolCallPart]
    assert second.text() == "There are 14."


def test_a_conversation_keeps_its_calls_and_results(scripted):
    backend = scripted(call("lamp"), ANSWER, "Thought: I know.\nFinal Answer: As I said.")
    conversation = model().conversation(tools=[stock])
    conversation.chain("How many lamps?").text()
    assert conversation.chain("Really?").text() == "As I said."
    shown = [message["content"] for message in backend.requests[2].messages]
    start = shown.index("How many lamps?")
    assert shown[start + 1] == call("lamp")
    assert shown[start + 2] == "Observation: 14"
    assert shown[-1] == "Really?"


def test_the_tokens_are_counted_and_the_repairs_are_kept(scripted):
    scripted("Thought: hm\nAction: Stock\nAction Input: {'item': 'lamp'}")
    response = model().prompt("How many lamps?", tools=[stock])
    response.text()
    assert response.input_tokens > 0
    assert response.output_tokens > 0
    assert "single_quotes" in response.response_json["repairs"]


def test_options_reach_the_model(scripted):
    backend = scripted(ANSWER)
    model().prompt("Hi?", temperature=0.5, max_tokens=7, seed=3).text()
    (request,) = backend.requests
    assert (request.sampling.temperature, request.sampling.seed, request.max_tokens) == (0.5, 3, 7)


def test_a_schema_is_held_to(scripted):
    scripted("not json", '{"n": 3}')
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    assert json.loads(model().prompt("A number?", schema=schema).text()) == {"n": 3}


def test_calls_without_ids_are_paired_in_order():
    calls = [ToolCallPart(name="stock", arguments={"item": one}) for one in ("lamp", "chair")]
    results = [ToolResultPart(name="stock", output=one) for one in ("14", "6")]
    history = [Message("user", [TextPart("?")]), Message("assistant", calls), Message("tool", results)]
    _, assistant, *tools = messages_of(history)
    assert [one["tool_call_id"] for one in tools] == [one["id"] for one in assistant["tool_calls"]]
    assert len({one["tool_call_id"] for one in tools}) == 2


def run_llm(tmp_path, *commands: list[str]) -> list[str]:
    """Each command of the real `llm`, in one process: its output, with what went wrong behind it."""
    code = (
        "import json, sys; from click.testing import CliRunner; from llm.cli import cli\n"
        "for command in json.loads(sys.argv[1]):\n"
        "    outcome = CliRunner().invoke(cli, command)\n"
        "    print(json.dumps(outcome.output + str(outcome.exception or '')))\n"
        "print(json.dumps([name for name in ('llama_cpp',) if name in sys.modules]))"
    )
    environment = os.environ | {"LLM_USER_PATH": str(tmp_path), "LLM_LOAD_PLUGINS": "react-text"}
    command = [sys.executable, "-c", code, json.dumps(commands)]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    return [json.loads(line) for line in ran.stdout.splitlines()]


def test_llm_lists_the_models_that_were_added_and_loads_no_engine_for_it(tmp_path):
    (tmp_path / "model.gguf").write_text("no model")
    added, listed, refused, _, gone, loaded = run_llm(
        tmp_path,
        ["react-text", "add", "served", "qwen", "--base-url", "http://127.0.0.1:9/v1"],
        ["models"],
        ["react-text", "add", "mine", str(tmp_path / "model.gguf")],
        ["react-text", "remove", "served"],
        ["models"],
    )
    assert "llm -m react-text/served" in added
    assert "react-text/served" in listed
    assert "GGUF" in refused
    assert "react-text/served" not in gone
    assert loaded == []


def test_an_old_llm_is_told_what_it_lacks_and_still_starts(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "llm.parts", None)
    registered = []
    llm_plugin.register_models(lambda *models: registered.append(models))
    assert registered == []
    assert "llm>=0.36" in capsys.readouterr().err


@pytest.mark.model
def test_llm_gets_tools_on_a_gguf(tmp_path):
    functions = (
        "def stock_level(item: str) -> int:\n"
        '    "How many pieces of an item are in stock."\n'
        '    return {"lamp": 14}[item.lower()]\n'
    )
    (tmp_path / "functions.py").write_text(functions)
    asked = ["-m", "react-text/smollm2", "--functions", str(tmp_path / "functions.py"), "How many lamp are in stock?"]
    answer, log, _ = run_llm(tmp_path, asked, ["logs", "--json", "-n", "2"])
    assert "14" in answer
    assert any(call["arguments"] == {"item": "lamp"} for entry in json.loads(log) for call in entry["tool_calls"])

"""The OpenAI Agents SDK on chat completions, unchanged but for its client."""

from __future__ import annotations

import asyncio

import openai
from agents import Agent, OpenAIChatCompletionsModel, RunConfig, Runner, function_tool

from react_text import Scripted
from react_text.transport import async_client


@function_tool
def stock_level(item: str) -> int:
    """Pieces of an item in stock."""
    return {"lamp": 14, "chair": 6}[item]


@function_tool
def add(a: int, b: int) -> int:
    """Add two whole numbers."""
    return a + b


def agent(model):
    connection = openai.AsyncOpenAI(
        base_url="http://in-process/v1", api_key="none", http_client=async_client(model), max_retries=0
    )
    return Agent(
        name="Stock",
        instructions="You work in a shop.",
        tools=[stock_level, add],
        model=OpenAIChatCompletionsModel(model="any", openai_client=connection),
    )


def plan():
    return Scripted.plan([("stock_level", {"item": "lamp"}), ("add", {"a": 14, "b": 6})], "There are {1}.")


QUIET = RunConfig(tracing_disabled=True)


def test_an_agent_runs_two_tools_to_its_answer():
    result = asyncio.run(Runner.run(agent(plan()), "How many lamps and chairs are there?", run_config=QUIET))
    assert result.final_output == "There are 20."


def test_an_agent_streams_its_events():
    async def run():
        streamed = Runner.run_streamed(agent(plan()), "How many lamps and chairs are there?", run_config=QUIET)
        names = [event.name async for event in streamed.stream_events() if event.type == "run_item_stream_event"]
        return streamed.final_output, names

    answer, names = asyncio.run(run())
    assert answer == "There are 20."
    assert names.count("tool_called") == 2

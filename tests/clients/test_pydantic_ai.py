"""pydantic-ai's agent on its OpenAI chat model, unchanged but for its client."""

from __future__ import annotations

import asyncio

import openai
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from react_text import Scripted
from react_text.transport import async_client


def agent(model, **options):
    connection = openai.AsyncOpenAI(
        base_url="http://in-process/v1", api_key="none", http_client=async_client(model), max_retries=0
    )
    made = Agent(OpenAIChatModel("any", provider=OpenAIProvider(openai_client=connection)), **options)

    @made.tool_plain
    def stock_level(item: str) -> int:
        """Pieces of an item in stock."""
        return {"lamp": 14, "chair": 6}[item]

    @made.tool_plain
    def add(a: int, b: int) -> int:
        """Add two whole numbers."""
        return a + b

    return made


CALLS = [("stock_level", {"item": "lamp"}), ("add", {"a": 14, "b": 6})]


def test_an_agent_runs_two_tools_to_its_answer():
    result = asyncio.run(agent(Scripted.plan(CALLS, "There are {1}.")).run("How many lamps and chairs are there?"))
    assert result.output == "There are 20."


def test_an_agent_streams_its_answer():
    async def run():
        async with agent(Scripted.plan(CALLS, "There are {1} of them.")).run_stream("How many?") as result:
            return [part async for part in result.stream_text(delta=True, debounce_by=None)]

    parts = asyncio.run(run())
    assert "".join(parts) == "There are 20 of them."
    assert len(parts) > 1


class Count(BaseModel):
    """How many there are."""

    pieces: int


def test_an_agent_with_a_typed_answer_is_given_it_by_a_forced_call():
    model = Scripted.plan([*CALLS, ("final_result", {"pieces": 20})])
    result = asyncio.run(agent(model, output_type=Count).run("How many lamps and chairs are there?"))
    assert result.output == Count(pieces=20)

"""The same clients over HTTP, with a small real model under the grammar: every run comes to its end.

What a model of 135 million parameters makes of a question is its own affair; that each call it makes is one of the
tools with arguments that fit, and that each client gets to an answer, is not.
"""

from __future__ import annotations

import asyncio

import agents
import httpx
import openai
import pydantic_ai
import pytest
from langchain.agents import create_agent
from langchain_core.tools import tool as langchain_tool
from langchain_openai import ChatOpenAI
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

pytestmark = pytest.mark.model
QUESTION = "Pieces of an item in stock (item: lamp)"


class Shop:
    """Two tools, and how often each ran."""

    def __init__(self):
        self.ran = []

    def stock_level(self, item: str) -> int:
        """Pieces of an item in stock."""
        self.ran.append(("stock_level", {"item": item}))
        return {"lamp": 14, "chair": 6}.get(item, 0)

    def add(self, a: int, b: int) -> int:
        """Add two whole numbers."""
        self.ran.append(("add", {"a": a, "b": b}))
        return a + b

    def checked(self, answer):
        assert answer.strip()
        assert self.ran
        for name, arguments in self.ran:
            kinds = [str] if name == "stock_level" else [int, int]
            assert [type(value) for value in arguments.values()] == kinds


def connection(url):
    return openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0, timeout=280)


def test_langchain(served):
    shop = Shop()
    with httpx.Client(timeout=280) as web:
        chat = ChatOpenAI(model="any", base_url=served, api_key="none", max_retries=0, http_client=web)
        agent = create_agent(chat, [langchain_tool(shop.stock_level), langchain_tool(shop.add)])
        shop.checked(agent.invoke({"messages": [("user", QUESTION)]})["messages"][-1].content)


def test_pydantic_ai(served):
    async def run():
        async with connection(served) as client:
            model = OpenAIChatModel("any", provider=OpenAIProvider(openai_client=client))
            return await pydantic_ai.Agent(model, tools=[shop.stock_level, shop.add]).run(QUESTION)

    shop = Shop()
    shop.checked(asyncio.run(run()).output)


def test_openai_agents(served):
    async def run():
        async with connection(served) as client:
            tools = [agents.function_tool(shop.stock_level), agents.function_tool(shop.add)]
            model = agents.OpenAIChatCompletionsModel(model="any", openai_client=client)
            quiet = agents.RunConfig(tracing_disabled=True)
            agent = agents.Agent(name="Stock", tools=tools, model=model)
            return await agents.Runner.run(agent, QUESTION, run_config=quiet)

    shop = Shop()
    shop.checked(asyncio.run(run()).final_output)

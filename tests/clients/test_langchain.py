"""LangChain's agent on ChatOpenAI, unchanged but for its http_client."""

from __future__ import annotations

import asyncio

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

from react_text import Scripted
from react_text.transport import async_client, client


@tool
def stock_level(item: str) -> int:
    """Pieces of an item in stock."""
    return {"lamp": 14, "chair": 6}[item]


@tool
def add(a: int, b: int) -> int:
    """Add two whole numbers."""
    return a + b


def agent(model):
    chat = ChatOpenAI(
        model="any",
        base_url="http://in-process/v1",
        api_key="none",
        http_client=client(model),
        http_async_client=async_client(model),
        max_retries=0,
    )
    return create_agent(chat, [stock_level, add])


def plan():
    return Scripted.plan([("stock_level", {"item": "lamp"}), ("add", {"a": 14, "b": 6})], "There are {1}.")


QUESTION = {"messages": [("user", "How many lamps and chairs are there?")]}


def test_an_agent_runs_two_tools_to_its_answer():
    assert agent(plan()).invoke(QUESTION)["messages"][-1].content == "There are 20."


def test_an_agent_runs_async():
    assert asyncio.run(agent(plan()).ainvoke(QUESTION))["messages"][-1].content == "There are 20."


def test_an_agent_streams_its_messages():
    parts = [part for part, _ in agent(plan()).stream(QUESTION, stream_mode="messages")]
    assert "There are 20." in "".join(part.text for part in parts if part.type == "AIMessageChunk")

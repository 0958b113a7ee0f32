"""Tools made with the real langchain-core: what is offered, what is run, what the model is told."""

import asyncio
from typing import Annotated

import pytest

from react_text import Agent, Call, Scripted, Toolbox
from react_text.adapters.langchain import langchain_tools
from react_text.errors import ToolDefinitionError

tools = pytest.importorskip("langchain_core.tools")


@tools.tool
def multiply(a: int, b: Annotated[int, "the second factor"], user: Annotated[str, tools.InjectedToolArg] = "x") -> int:
    """Multiply two numbers."""
    return a * b


@tools.tool
async def greet(name: str) -> str:
    """Greet somebody."""
    return f"Hello {name}"


class Shelf(tools.BaseTool):
    name: str = "find book"
    description: str = "Where a book stands."

    def _run(self, title: str) -> str:
        raise tools.ToolException(f"no book {title}\nthere are: Emma, Persuasion")


@tools.tool
def look(place: str) -> list:
    """Look at a place."""
    return [{"type": "text", "text": f"{place} at noon"}, {"type": "image_url", "image_url": {"url": "data:"}}]


def test_a_langchain_tool_answers_a_question():
    model = Scripted.plan([("multiply", {"a": 6, "b": 7})], "It is {0}.")
    assert Agent(model, langchain_tools([multiply])).run("What is 6 times 7?").answer == "It is 42."


def test_the_schema_is_offered_without_titles_and_injected_arguments():
    (made,) = langchain_tools([multiply])
    assert made.description == "Multiply two numbers."
    assert made.parameters == {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer", "description": "the second factor"}},
        "required": ["a", "b"],
    }


def test_a_tool_that_is_only_async_runs_in_a_sync_and_in_an_async_agent():
    box = Toolbox(langchain_tools([greet]))
    call = Call("1", "greet", {"name": "Ada"})
    assert box.run(call).content == asyncio.run(box.arun(call)).content == "Hello Ada"


def test_a_tool_exception_is_told_in_its_own_words():
    observation = Toolbox(langchain_tools([Shelf()])).run(Call("1", "find_book", {"title": "Ulysses"}))
    assert observation.content == "Error: find_book failed: no book Ulysses\nthere are: Emma, Persuasion"


def test_content_blocks_are_shown_as_text():
    observation = Toolbox(langchain_tools([look])).run(Call("1", "look", {"place": "Oban"}))
    assert observation.content == "Oban at noon\n[image_url, not shown]"


def test_what_is_no_langchain_tool_is_named():
    with pytest.raises(ToolDefinitionError, match="function is no LangChain tool"):
        langchain_tools([lambda x: x])

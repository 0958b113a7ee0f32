"""LangChain tools (of langchain-core) as tools. Needs nothing but the objects themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from react_text.adapters.choosing import tool_name
from react_text.errors import ToolDefinitionError, ToolFailed
from react_text.schema.cleaning import clean
from react_text.tools import Tool


def langchain_tools(tools: Iterable[Any]) -> list[Tool]:
    """Tools from LangChain's: what `@tool` makes, a StructuredTool, or a subclass of BaseTool; sync or async.

    Arguments that LangChain injects are not offered, and its ToolException is told to the model in its own words.
    Raises ToolDefinitionError for anything else.
    """
    return [_as_tool(one) for one in tools]


def _as_tool(given: Any) -> Tool:
    try:
        schema, invoke, ainvoke = given.tool_call_schema, given.invoke, given.ainvoke
        name, description = given.name, given.description
    except AttributeError:
        raise ToolDefinitionError(f"{type(given).__name__} is no LangChain tool; make one of it with @tool.") from None
    parameters = schema if isinstance(schema, Mapping) else schema.model_json_schema()
    only_async = getattr(given, "func", given) is None
    return Tool(
        name=tool_name(name),
        description=description,
        parameters=clean(parameters),
        function=_async(ainvoke) if only_async else _sync(invoke),
    )


def _sync(invoke: Callable[[dict[str, Any]], Any]) -> Callable[..., Any]:
    def call(**arguments: Any) -> Any:
        try:
            return _said(invoke(arguments))
        except Exception as error:
            raise _told(error) from error

    return call


def _async(ainvoke: Callable[[dict[str, Any]], Any]) -> Callable[..., Any]:
    async def call(**arguments: Any) -> Any:
        try:
            return _said(await ainvoke(arguments))
        except Exception as error:
            raise _told(error) from error

    return call


def _told(error: Exception) -> Exception:
    """LangChain's way to speak to the model as ours; known by its name, so that nothing need be imported."""
    ours = any(kind.__name__ == "ToolException" for kind in type(error).__mro__)
    return ToolFailed(str(error)) if ours else error


def _said(result: Any) -> Any:
    """A list of content blocks as text, what is no text named; anything else as it is."""
    if not (isinstance(result, list) and result and all(isinstance(part, dict) and "type" in part for part in result)):
        return result
    return "\n".join(part["text"] if "text" in part else f"[{part['type']}, not shown]" for part in result)

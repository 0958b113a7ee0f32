"""Chat-completions tool dicts and the one function, or the functions by name, that run their calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from react_text.errors import ToolDefinitionError
from react_text.schema.function import is_async
from react_text.tools import Tool


def handler_tools(
    tools: Iterable[Mapping[str, Any]], handler: Callable[[str, dict[str, Any]], Any] | Mapping[str, Callable[..., Any]]
) -> list[Tool]:
    """Tools from chat-completions tool dicts.

    `handler` is called with the name of the tool and its arguments as a dict, or is a mapping from names to functions
    that take the arguments by keyword; either sync or async. Raises ToolDefinitionError.
    """
    return [replace(made, function=_function(made.name, handler)) for made in map(Tool.from_dict, tools)]


def _function(name: str, handler: Any) -> Callable[..., Any]:
    if isinstance(handler, Mapping):
        if name not in handler:
            raise ToolDefinitionError(f'The tool "{name}" has no function; the handler has {", ".join(handler)}.')
        function: Callable[..., Any] = handler[name]
        return function
    if not callable(handler):
        raise ToolDefinitionError(
            "A handler is a function of the tool's name and its arguments, or a dict of functions."
        )
    if is_async(handler):

        async def acall(**arguments: Any) -> Any:
            return await handler(name, arguments)

        return acall

    def call(**arguments: Any) -> Any:
        return handler(name, arguments)

    return call

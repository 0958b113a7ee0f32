"""Tools: what a model may call. A tool keeps its name, description, JSON Schema and function together.

Nothing here runs a tool for a model; `toolbox.py` does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, overload

from react_text.errors import ToolDefinitionError

_NONE: dict[str, Any] = {"type": "object", "properties": {}}


@dataclass(frozen=True, slots=True)
class Example:
    """One worked example of a tool: a question, the arguments that answer it, and what the tool gave back."""

    question: str
    arguments: Mapping[str, Any]
    result: str
    answer: str | None = None


@dataclass(frozen=True)
class Tool:
    """One tool. `parameters` is a JSON Schema of type object; `function` is None for a tool that is only described.

    `safe` says that a call changes nothing, so that it may run beside others and be tried again. `timeout` is in
    seconds, None for the toolbox's own. `bind` turns valid JSON arguments into what the function takes.
    """

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})
    function: Callable[..., Any] | None = None
    examples: tuple[Example, ...] = ()
    safe: bool = False
    timeout: float | None = None
    bind: Callable[[Mapping[str, Any]], dict[str, Any]] | None = field(default=None, repr=False, compare=False)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function as if it had never become a tool."""
        if self.function is None:
            raise ToolDefinitionError(f'The tool "{self.name}" is only described; give it a function to call it.')
        return self.function(*args, **kwargs)

    @classmethod
    def from_dict(cls, tool: Mapping[str, Any], function: Callable[..., Any] | None = None) -> Tool:
        """A tool from a chat-completions tool dict (`{"type": "function", "function": {...}}`) or its inner part.

        Nothing is checked but that there is a name: `Toolbox` checks the schema.
        """
        try:
            inner = tool.get("function", tool)
            return cls(inner["name"], inner.get("description") or "", inner.get("parameters") or _NONE, function)
        except (KeyError, TypeError, AttributeError):
            raise ToolDefinitionError(
                'A tool must be a Tool or a dict {"type": "function", "function": {"name": ..., "parameters": ...}}.'
            ) from None

    def to_dict(self) -> dict[str, Any]:
        """The chat-completions tool dict."""
        return {
            "type": "function",
            "function": {"name": self.name, "description": self.description, "parameters": dict(self.parameters)},
        }


ToolLike: TypeAlias = "Tool | Mapping[str, Any] | Callable[..., Any]"


def as_tools(tools: Iterable[ToolLike]) -> tuple[Tool, ...]:
    """Tool objects from Tool objects, chat-completions tool dicts or plain typed functions; a Toolbox will do."""
    return tuple(item if isinstance(item, Tool) else _as_tool(item) for item in tools)


def _as_tool(item: Any) -> Tool:
    return tool(item) if callable(item) else Tool.from_dict(item)


@overload
def tool(
    function: Callable[..., Any],
    *,
    name: str | None = None,
    description: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    examples: Sequence[Any] = (),
    safe: bool = False,
    timeout: float | None = None,
) -> Tool: ...


@overload
def tool(
    function: None = None,
    *,
    name: str | None = None,
    description: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    examples: Sequence[Any] = (),
    safe: bool = False,
    timeout: float | None = None,
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(
    function: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    description: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    examples: Sequence[Any] = (),
    safe: bool = False,
    timeout: float | None = None,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a Tool of a plain typed function, sync or async; as `tool(function)`, `@tool` or `@tool(name=...)`.

    The schema comes from the signature and the descriptions from the docstring, unless `parameters` gives a JSON
    Schema: then the arguments reach the function as they are in the JSON. An example is an `Example`, a tuple
    (question, arguments, result[, answer]) or a dict with those keys; its arguments must fit the schema.
    Raises ToolDefinitionError when the function cannot be offered to a model.
    """

    def make(function: Callable[..., Any]) -> Tool:
        from react_text.schema import check_schema
        from react_text.schema.function import read

        if isinstance(function, Tool):
            raise ToolDefinitionError(f'"{function.name}" is a tool already; pass the function itself.')
        found = read(function, name, parameters)
        if not re.fullmatch(r"[\w.-]{1,64}", found.name):
            raise ToolDefinitionError(
                f"{found.name!r} cannot be the name of a tool: pass name= with at most 64 letters, digits, _, - or ."
            )
        if timeout is not None and not timeout > 0:
            raise ToolDefinitionError(f'The timeout of the tool "{found.name}" must be more than 0 s, not {timeout}.')
        check_schema(found.parameters, found.name)
        return Tool(
            name=found.name,
            description=found.description if description is None else description,
            parameters=found.parameters,
            function=function,
            examples=_examples(examples, found.parameters, found.name),
            safe=safe,
            timeout=timeout,
            bind=found.bind,
        )

    return make if function is None else make(function)


def _examples(examples: Sequence[Any], parameters: Mapping[str, Any], name: str) -> tuple[Example, ...]:
    from react_text.schema import first_problem

    made = []
    for number, given in enumerate(examples, 1):
        try:
            example = given if isinstance(given, Example) else _example(given)
        except (TypeError, ValueError):
            raise ToolDefinitionError(
                f'Example {number} of the tool "{name}" must be an Example or a tuple (question, arguments, result).'
            ) from None
        if problem := first_problem(example.arguments, parameters):
            raise ToolDefinitionError(f'Example {number} of the tool "{name}" does not fit its schema: {problem}')
        made.append(example)
    return tuple(made)


def _example(given: Any) -> Example:
    from react_text.observations import as_text

    example = Example(**given) if isinstance(given, Mapping) else Example(*given)
    if isinstance(example.result, str):
        return example
    return Example(example.question, example.arguments, as_text(example.result), example.answer)

"""Chat-completions tool dicts with what runs their calls."""

import asyncio

import pytest

from react_text import Call, Toolbox
from react_text.adapters.handler import handler_tools
from react_text.errors import ToolDefinitionError

DICTS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": "",
            "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
        },
    }
    for name in ("double", "halve")
]
CALL = Call("1", "double", {"n": 4})


def test_one_handler_runs_the_calls_of_all_tools():
    box = Toolbox(handler_tools(DICTS, lambda name, arguments: f"{name} {arguments['n']}"))
    assert [box.run(Call("1", name, {"n": 4})).content for name in box.names] == ["double 4", "halve 4"]


def test_an_async_handler_runs_in_sync_and_in_async_toolboxes():
    async def handler(name, arguments):
        await asyncio.sleep(0)
        return f"{name} {arguments['n']}"

    box = Toolbox(handler_tools(DICTS, handler))
    assert box.run(CALL).content == asyncio.run(box.arun(CALL)).content == "double 4"


def test_functions_by_name_take_the_arguments_by_keyword():
    box = Toolbox(handler_tools(DICTS, {"double": lambda n: 2 * n, "halve": lambda n: n / 2}))
    assert box.run(CALL).content == "8"


def test_arguments_are_checked_before_the_handler_sees_them():
    box = Toolbox(handler_tools(DICTS, lambda name, arguments: "ran"))
    assert box.run(Call("1", "double", {"n": "many"})).is_error


def test_a_tool_without_a_function_is_named_at_once():
    with pytest.raises(ToolDefinitionError, match='"halve" has no function; the handler has double'):
        handler_tools(DICTS, {"double": lambda n: 2 * n})


def test_what_cannot_be_called_is_no_handler():
    with pytest.raises(ToolDefinitionError, match="handler is a function"):
        handler_tools(DICTS, "double")

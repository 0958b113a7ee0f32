"""The functions of a module as tools."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from react_text.adapters.choosing import chosen_names
from react_text.errors import ToolDefinitionError, ToolSourceError
from react_text.tools import Tool, as_tools


def module_tools(module: ModuleType, *, allow: Iterable[str] | None = None, deny: Iterable[str] = ()) -> list[Tool]:
    """The tools of a module: its Tool objects, or else the public functions that it defines or lists in `__all__`.

    Of these, those that a pattern of `allow` fits and none of `deny`. Raises ToolDefinitionError where a function
    cannot be a tool, and ToolSourceError where there is none or a pattern fits none.
    """
    found, where = offered(module), module.__name__
    if not found:
        raise ToolSourceError(
            f"The module {where} defines no tools; write a public function with typed parameters in it."
        )
    wanted = chosen_names([_name(one) for one in found], allow, deny, f"the module {where}")
    try:
        return list(as_tools(one for one in found if _name(one) in wanted))
    except ToolDefinitionError as error:
        raise ToolDefinitionError(f"{where}: {error} Leave out with deny= what is no tool.") from None


def offered(module: ModuleType) -> list[Tool | Callable[..., Any]]:
    """What a module offers as tools; a thing with two names once."""
    once: dict[int, tuple[str, Any]] = {}
    for name, value in vars(module).items():
        once.setdefault(id(value), (name, value))
    if tools := [value for _, value in once.values() if isinstance(value, Tool)]:
        return list(tools)
    listed = getattr(module, "__all__", None)
    return [
        value
        for name, value in once.values()
        if inspect.isfunction(value)
        and (name in listed if listed is not None else value.__module__ == module.__name__ and name[0] != "_")
    ]


def _name(offered: Tool | Callable[..., Any]) -> str:
    return offered.name if isinstance(offered, Tool) else str(getattr(offered, "__name__", ""))

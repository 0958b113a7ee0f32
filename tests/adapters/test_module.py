"""The functions of a module as tools."""

import statistics
import types

import pytest

from react_text import Call, Toolbox, tool
from react_text.adapters.module import module_tools
from react_text.errors import ToolDefinitionError, ToolSourceError


def module(**names: object) -> types.ModuleType:
    made = types.ModuleType("harbor")
    for name, value in names.items():
        if getattr(value, "__module__", None) == __name__:
            value.__module__ = "harbor"
        setattr(made, name, value)
    return made


def depth(pier: str) -> float:
    """Depth of the water."""
    return 4.5


def berths() -> int:
    return 12


def untyped(pier):
    return pier


def test_public_functions_of_the_module_become_tools():
    (made,) = module_tools(module(depth=depth, sounding=depth, _hidden=berths, mean=statistics.mean, LIMIT=3))
    assert (made.name, made.description) == ("depth", "Depth of the water.")
    assert Toolbox([made]).run(Call("1", "depth", {"pier": "A"})).content == "4.5"


def test_where_there_are_tool_objects_only_these_are_taken():
    assert [made.name for made in module_tools(module(free=tool(berths, name="free_berths"), depth=depth))] == [
        "free_berths"
    ]


def test_what_a_module_lists_as_public_is_taken_from_wherever_it_comes():
    assert [one.name for one in module_tools(module(depth=depth, berths=berths, __all__=["berths"]))] == ["berths"]


def test_patterns_choose():
    both = module(depth=depth, berths=berths)
    assert [made.name for made in module_tools(both, deny=["d*"])] == ["berths"]
    assert [made.name for made in module_tools(both, allow=["depth"])] == ["depth"]


def test_a_function_that_is_no_tool_is_named_and_can_be_left_out():
    both = module(depth=depth, untyped=untyped)
    with pytest.raises(ToolDefinitionError, match=r"harbor: .*untyped.*deny="):
        module_tools(both)
    assert [made.name for made in module_tools(both, deny=["untyped"])] == ["depth"]


@pytest.mark.parametrize("allow", [["dept"], ["x*"]])
def test_a_pattern_that_fits_nothing_is_answered_with_what_there_is(allow):
    with pytest.raises(ToolSourceError, match="depth"):
        module_tools(module(depth=depth, berths=berths), allow=allow)


def test_a_module_without_tools_is_named():
    with pytest.raises(ToolSourceError, match="harbor defines no tools"):
        module_tools(module(LIMIT=3))

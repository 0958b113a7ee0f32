"""Tools that the tests of the parser share, and the lines of the corpus."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from react_text import Tool

STRING, INTEGER, BOOLEAN = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}


def _tool(name: str, required: dict[str, Any], **optional: Any) -> Tool:
    return Tool(name, parameters={"type": "object", "properties": {**required, **optional}, "required": list(required)})


TOOLS = {
    tool.name: tool
    for tool in (
        _tool("search", {"query": STRING}),
        _tool("weather", {"city": STRING}, days=INTEGER, unit={"type": "string", "enum": ["celsius", "fahrenheit"]}),
        _tool("add", {"a": INTEGER, "b": INTEGER}),
        _tool("clock", {}),
        _tool("write_file", {"path": STRING, "content": STRING}),
        _tool("run_code", {"code": STRING}),
        _tool("list_tables", {}),
        _tool("get_user", {"user_id": INTEGER}),
        _tool("get_users", {"group": STRING}),
        _tool("configure", {"settings": {"type": "object"}}),
        _tool("find_docs", {"query": STRING}, top_k=INTEGER, tags={"type": "array", "items": STRING}),
        _tool("book", {"place": STRING, "guests": INTEGER, "time": STRING}, outdoor=BOOLEAN),
        _tool("match", {"pattern": STRING, "text": STRING}),
    )
}


@pytest.fixture(scope="session")
def offered() -> Callable[..., tuple[Tool, ...]]:
    """The tools with these names; all of them for none."""

    def choose(*names: str) -> tuple[Tool, ...]:
        return tuple(TOOLS[name] for name in names or TOOLS)

    return choose


@pytest.fixture(scope="session")
def tool() -> Callable[[str], Tool]:
    """The tool with this name."""
    return TOOLS.__getitem__


def corpus(name: str) -> list[dict[str, Any]]:
    """The cases of one corpus file."""
    path = Path(__file__).parent.parent / "corpus" / f"{name}.dev.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="session")
def react_cases() -> list[dict[str, Any]]:
    """Every line of the ReAct corpus."""
    return corpus("react")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that takes `react_case` or `text_case` runs once for each line of the corpus."""
    if "react_case" in metafunc.fixturenames:
        cases = corpus("react")
        metafunc.parametrize("react_case", cases, ids=[case["id"] for case in cases])
    if "text_case" in metafunc.fixturenames:
        cases = corpus("react") + [
            case
            for case in corpus("structured")
            if case["format"] not in ("openai-message", "openai-stream", "ollama-message")
        ]
        metafunc.parametrize("text_case", cases, ids=[case["id"] for case in cases])

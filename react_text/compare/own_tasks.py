"""A user's own tasks: JSON lines.

    {"question": "How many lamps are left?", "tools": "tools.py",
     "calls": [{"name": "stock_level", "arguments": {"item": ["lamp", "lamps"]}}], "answer": [14]}

`tools` is a tools file (its path as seen from the tasks file), whose functions are run, or a list of
chat-completions tool dicts, of which only the first calls are looked at. In `arguments` a list holds the values that
will do ("" among them: the argument may be left out), anything else is the one value. `answer` lists what an answer
must hold, each a value or a list of its spellings. A task without `calls` needs none. Further keys: `id`, `category`,
`ordered` (the calls need each other), `first` (calls that are right to begin with), `split` ("dev" or "test").
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from react_text.compare.entries import expected_calls, spellings
from react_text.compare.tasks import Offered, Task
from react_text.errors import TasksError
from react_text.toolbox import Toolbox
from react_text.tools import Tool, as_tools
from react_text.tools_file import load_tools

KEYS: Mapping[str, type | tuple[type, ...]] = {
    "id": str,
    "category": str,
    "question": str,
    "tools": (str, list),
    "calls": list,
    "ordered": bool,
    "first": list,
    "answer": list,
    "split": str,
}
"""The keys of a task, each with the type of its value."""


def own_tasks(source: str) -> tuple[Task, ...]:
    """The tasks of FILE.jsonl. Raises TasksError with the line and the fix."""
    path = Path(source).expanduser()
    if path.suffix != ".jsonl":
        raise TasksError(f"There are no tasks {source!r}; give builtin, bfcl:CATEGORY or a FILE.jsonl.")
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise TasksError(f"{path} cannot be read ({error.strerror}); check the path.") from None
    except UnicodeDecodeError:
        raise TasksError(f"{path} is not UTF-8 text; save it as UTF-8.") from None
    toolboxes: dict[str, Toolbox] = {}
    tasks = [_task(line, path, number, toolboxes) for number, line in enumerate(lines, 1) if line.strip()]
    ids = [task.id for task in tasks]
    if repeated := next((one for one in ids if ids.count(one) > 1), None):
        raise TasksError(f"{path}: two tasks have the id {repeated!r}; give one of them another.")
    return tuple(tasks)


def _task(line: str, path: Path, number: int, toolboxes: dict[str, Toolbox]) -> Task:
    place = f"{path}, line {number}"
    entry = _entry(line, place)
    executed = isinstance(entry["tools"], str)
    if executed:
        file = str(path.parent / entry["tools"])
        if file not in toolboxes:
            toolboxes[file] = load_tools(file)
        tools, kit = tuple(toolboxes[file]), file
    else:
        tools, kit = tuple(Toolbox(as_tools(entry["tools"]))), json.dumps(entry["tools"], sort_keys=True)
    try:
        calls, first = expected_calls(entry.get("calls", ())), expected_calls(entry.get("first", ()))
    except (KeyError, TypeError, AttributeError):
        raise TasksError(f'{place}: each call must be {{"name": ..., "arguments": {{...}}}}.') from None
    names = {tool.name for tool in tools}
    if unknown := next((call.name for call in (*calls, *first) if call.name not in names), None):
        raise TasksError(f"{place}: the call of {unknown!r} names no tool; there are {', '.join(sorted(names))}.")
    return Task(
        id=entry.get("id", f"{path.stem}-{number}"),
        category=entry.get("category", path.stem),
        question=entry["question"],
        kit=kit,
        offer=partial(_offer, tools),
        needs_call=bool(calls),
        calls=calls,
        ordered=entry.get("ordered", False),
        first=first,
        answer=spellings(entry.get("answer", ())),
        split=entry.get("split"),
        first_call_only=not executed,
    )


def _entry(line: str, place: str) -> Mapping[str, Any]:
    try:
        entry = json.loads(line)
    except ValueError as error:
        raise TasksError(f"{place} is not JSON: {error}.") from None
    if not isinstance(entry, dict):
        raise TasksError(f"{place} is no JSON object.")
    for key in ("question", "tools"):
        if not entry.get(key):
            raise TasksError(f'{place} has no "{key}".')
    for key, value in entry.items():
        if key not in KEYS:
            raise TasksError(f'{place}: "{key}" is no key of a task; they are {", ".join(KEYS)}.')
        if not isinstance(value, KEYS[key]):
            raise TasksError(f'{place}: "{key}" cannot be {json.dumps(value)[:40]}.')
    if entry.get("split") not in (None, "dev", "test"):
        raise TasksError(f'{place}: "split" must be "dev" or "test".')
    return entry


def _offer(tools: Sequence[Tool], examples: bool) -> Offered:
    return Offered(tuple(tools) if examples else tuple(replace(tool, examples=()) for tool in tools))

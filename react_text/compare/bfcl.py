"""Tasks of the Berkeley Function-Calling Leaderboard, from the installed `bfcl_eval` package or from its files.

Only first calls are looked at and nothing is run. BFCL's types are Python-flavoured and its names hold dots: tools
are offered with JSON Schema types and names that every endpoint takes, and calls are judged under their own names.
"""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from react_text.compare.bfcl_rule import calls_right
from react_text.compare.tasks import ExpectedCall, Offered, Task, hashed
from react_text.errors import TasksError
from react_text.tools import Tool

CATEGORIES: Mapping[str, tuple[str, ...]] = {
    "simple": ("simple_python", "simple"),
    "multiple": ("multiple",),
    "parallel": ("parallel",),
    "parallel_multiple": ("parallel_multiple",),
    "irrelevance": ("irrelevance",),
    "live_simple": ("live_simple",),
    "live_multiple": ("live_multiple",),
    "live_parallel": ("live_parallel",),
    "live_parallel_multiple": ("live_parallel_multiple",),
    "live_irrelevance": ("live_irrelevance",),
}
"""The categories that can be measured, with the endings of their files in BFCL's versions, newest first."""
JSON_TYPES = {"dict": "object", "float": "number", "tuple": "array", "any": None}
"""BFCL's types that JSON Schema does not have; None is a value of any type. The others mean the same in both."""
KEPT = ("description", "enum", "minimum", "maximum")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME = 64
_VERSION = re.compile(r"^BFCL_v\d+_")


def bfcl_tasks(category: str) -> tuple[Task, ...]:
    """The tasks of a category, or of a file in BFCL's format (`FILE.json`, answers in `possible_answer/` beside it).

    Half of them are the split "dev" and half "test", by a hash of the id. Raises TasksError.
    """
    path = Path(category).expanduser() if category.endswith((".json", ".jsonl")) else _installed(category)
    name = category if category in CATEGORIES else _VERSION.sub("", path.stem)
    answers_path = path.parent / "possible_answer" / path.name
    needs_call = "irrelevance" not in name
    answers = {one["id"]: one["ground_truth"] for one in _lines(answers_path)} if needs_call else {}
    tasks = []
    for number, entry in enumerate(_lines(path), 1):
        try:
            tasks.append(_task(entry, f"bfcl:{name}", answers, needs_call))
        except (KeyError, TypeError, IndexError, AttributeError) as error:
            said = f"{type(error).__name__}: {error}"
            raise TasksError(f"{path}, entry {number}, is not in BFCL's format ({said}).") from None
    return tuple(tasks)


def _installed(category: str) -> Path:
    if category not in CATEGORIES:
        raise TasksError(f"There is no BFCL category {category!r}; there are {', '.join(CATEGORIES)}, or a FILE.json.")
    package = importlib.util.find_spec("bfcl_eval")
    if package is None or package.origin is None:
        raise TasksError(
            "BFCL's tasks are not installed: pip install --no-deps bfcl-eval, or give a file of them, bfcl:FILE.json."
        )
    data = Path(package.origin).parent / "data"
    for ending in CATEGORIES[category]:
        if found := sorted(path for path in data.glob("BFCL_v*.json") if _VERSION.sub("", path.stem) == ending):
            return found[-1]
    raise TasksError(f"The installed bfcl_eval holds no file for {category}; install another version of it.")


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    try:
        with path.open(encoding="utf-8") as lines:
            yield from (json.loads(line) for line in lines if line.strip())
    except OSError as error:
        raise TasksError(f"{path} cannot be read ({error.strerror}); check the path.") from None
    except ValueError:
        raise TasksError(f"{path} is not in BFCL's format: one JSON object a line.") from None


def _task(
    entry: Mapping[str, Any], category: str, answers: Mapping[str, Sequence[Mapping[str, Any]]], needs_call: bool
) -> Task:
    functions: Sequence[Mapping[str, Any]] = entry["function"]
    names = offered_names([function["name"] for function in functions])
    tools = tuple(
        Tool(names[function["name"]], function.get("description", ""), json_schema(function["parameters"]))
        for function in functions
    )
    right: Sequence[Mapping[str, Any]] = answers[entry["id"]] if needs_call else ()
    calls = [ExpectedCall(names[name], allowed) for answer in right for name, allowed in answer.items()]
    return Task(
        id=entry["id"],
        category=category,
        question=_question(entry["question"]),
        kit=entry["id"],
        offer=partial(_offer, tools),
        needs_call=needs_call,
        calls=tuple(calls),
        split="dev" if hashed(entry["id"]) % 2 else "test",
        first_call_only=True,
        judge=partial(_judge, functions, right, {new: old for old, new in names.items()}) if needs_call else None,
    )


def _offer(tools: tuple[Tool, ...], examples: bool) -> Offered:
    return Offered(tools)


def _judge(
    functions: Sequence[Mapping[str, Any]],
    right: Sequence[Mapping[str, Any]],
    own_names: Mapping[str, str],
    made: Sequence[Mapping[str, Any]],
) -> tuple[bool, bool]:
    """Whether the right tools were called, and whether with the right arguments, by BFCL's rule on its own names and
    types."""
    described = {function["name"]: function["parameters"] for function in functions}
    calls = []
    for call in made:
        name = own_names.get(call["name"], call["name"])
        calls.append({"name": name, "arguments": own_value(call["arguments"], described.get(name, {}))})
    tools = sorted(call["name"] for call in calls) == sorted(name for answer in right for name in answer)
    return tools, tools and calls_right(calls, functions, right)


def own_value(value: Any, described: Mapping[str, Any]) -> Any:
    """A value of JSON as the type that BFCL declares: to JSON 12 is a float too.

    BFCL's own rule does so for an argument, and not for what lists and objects hold.
    """
    if described.get("type") == "float" and type(value) is int:
        return float(value)
    if isinstance(value, list) and isinstance(described.get("items"), Mapping):
        return [own_value(one, described["items"]) for one in value]
    properties = described.get("properties")
    if isinstance(value, Mapping) and isinstance(properties, Mapping):
        return {name: own_value(one, properties.get(name) or {}) for name, one in value.items()}
    return value


def _question(turns: Sequence[Any]) -> str:
    """The messages of the first turn as one question."""
    messages = turns[0] if isinstance(turns[0], list) else turns
    return "\n\n".join(message["content"].strip() for message in messages)


def offered_names(names: Sequence[str]) -> dict[str, str]:
    """For each name one that every endpoint takes: letters, digits, `_` and `-`, at most 64 of them, all different."""
    made: dict[str, str] = {}
    for name in names:
        plain = _NOT_IN_NAMES.sub("_", name)[:_LONGEST_NAME]
        number = 2
        while plain in made.values():
            plain = f"{_NOT_IN_NAMES.sub('_', name)[: _LONGEST_NAME - 3]}_{number}"
            number += 1
        made[name] = plain
    return made


def json_schema(described: Mapping[str, Any]) -> dict[str, Any]:
    """BFCL's description of a value as JSON Schema."""
    kind = JSON_TYPES.get(described.get("type", "any"), described.get("type"))
    schema: dict[str, Any] = {} if kind is None else {"type": kind}
    schema |= {key: described[key] for key in KEPT if described.get(key) is not None}
    if isinstance(described.get("items"), Mapping):
        schema["items"] = json_schema(described["items"])
    if isinstance(described.get("properties"), Mapping):
        schema["properties"] = {name: json_schema(value) for name, value in described["properties"].items()}
        schema["required"] = [name for name in described.get("required", ()) if name in described["properties"]]
    elif kind == "object":
        schema.setdefault("properties", {})
    return schema

"""Worked examples made from the user's own tools.

A tool may carry its own examples; for the others one is made from the schema: a question that holds the values, and a
call that is valid against the schema. No example ever names a tool that is not offered.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from react_text.messages import Fault, Turn
from react_text.schema import first_problem, resolve_ref
from react_text.tools import Example, Tool

_WORDS = ("maple", "harbor", "copper", "violet", "lantern", "meadow")
_FORMATS = {
    "date": "2031-05-17",
    "time": "09:30:00",
    "date-time": "2031-05-17T09:30:00Z",
    "email": "maple@example.org",
    "uri": "https://example.org/maple",
    "uuid": "7c9e6679-7425-40de-944b-e07fc1f90ae7",
    "ipv4": "192.0.2.7",
    "hostname": "maple.example.org",
    "duration": "PT15M",
}
_RESULT = 3817
"""The first made result: a number that hardly any real result is."""
_LONG_NUMBER = 3
"""Digits of a number that an answer does not hold by chance."""
_NO_VALUE = object()
_MAX_DEPTH = 6
_MOST_ITEMS = 40
"""Items of a made list, fewer the deeper it lies."""
_LONGEST = 2000
"""Letters of a made text."""


def example_of(tool: Tool, index: int = 0) -> Example | None:
    """The tool's own first example, else one made from its schema; None where no valid arguments can be made.

    `index` varies the made words, so that the examples of several tools do not share their values.
    """
    if tool.examples:
        return tool.examples[0]
    words = _WORDS[index % len(_WORDS) :] + _WORDS[: index % len(_WORDS)]
    arguments = _value(tool.parameters, tool.parameters, iter(words * 4), 0)
    if not isinstance(arguments, dict) or first_problem(arguments, tool.parameters) is not None:
        return None
    subject = _first_sentence(tool.description) or tool.name.replace("_", " ")
    values = ", ".join(f"{name}: {_shown(value)}" for name, value in arguments.items())
    question = f"{subject} ({values})" if values else subject
    return Example(question, arguments, str(_RESULT + index))


def examples_of(tools: tuple[Tool, ...]) -> list[tuple[Tool, Example]]:
    """One example per tool, in the tools' order; tools for which none can be made are left out."""
    made = ((tool, example_of(tool, index)) for index, tool in enumerate(tools))
    return [(tool, example) for tool, example in made if example is not None]


def scalars(value: Any) -> Iterator[str]:
    """Every string and number inside a JSON value, as text, in order. Booleans and nulls carry no content."""
    stack = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, Mapping):
            stack.extend(reversed(list(one.values())))
        elif isinstance(one, list | tuple):
            stack.extend(reversed(one))
        elif isinstance(one, str) or (isinstance(one, int | float) and not isinstance(one, bool)):
            yield str(one)


def copies_example(arguments: Mapping[str, Any], tool: Tool, example: Example, known: str) -> bool:
    """Whether a call repeats the example's values although `known` (question and observations) does not hold them.

    Values that a model has to choose from a list, and defaults, cannot be told from copied ones and do not count.
    """
    properties = tool.parameters.get("properties") or {}
    open_ended = {
        name: value
        for name, value in example.arguments.items()
        if not _is_given(resolve_ref(properties.get(name, {}), tool.parameters), value)
    }
    values = list(scalars(open_ended))
    if not values or dict(arguments) != dict(example.arguments):
        return False
    known = known.casefold()
    return not all(value.casefold() in known for value in values)


def copies_answer(answer: str, example: Example, known: str) -> bool:
    """Whether an answer is the example's, or holds its number, although `known` does not hold the example's result."""
    result = example.result.strip()
    number = result.isdecimal() and len(result) >= _LONG_NUMBER
    held = number and re.search(rf"(?<![\w.]){result}(?!\w)", answer) is not None
    if not held and answer.strip() != answer_of(example).strip():
        return False
    return result.casefold() not in known.casefold()


def copied_fault(turn: Turn, examples: Mapping[str, tuple[Tool, Example]], known: str) -> Fault | None:
    """What is wrong with a turn that repeats an example although `known` does not hold its values; None if it does not.

    `examples` are by the name of their tool.
    """
    for call in turn.calls:
        if call.name in examples and copies_example(call.arguments, *examples[call.name], known):
            sentence = (
                f"The arguments of {call.name} are those of the example, not of the question. "
                "Take every value from the question."
            )
            return Fault("copied_example", sentence, call)
    if turn.final and any(copies_answer(turn.final, example, known) for _, example in examples.values()):
        return Fault("copied_example", "That is the answer of the example. Answer the question from the Observation.")
    return None


def answer_of(example: Example) -> str:
    """What the example answers: its own sentence, else one made from its result."""
    return example.answer or f"The answer is {example.result.rstrip('.')}."


def _is_given(schema: Mapping[str, Any], value: Any) -> bool:
    return "enum" in schema or "const" in schema or ("default" in schema and schema["default"] == value)


def _value(schema: Any, root: Mapping[str, Any], words: Iterator[str], depth: int) -> Any:
    if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
        return _NO_VALUE
    schema = resolve_ref(schema, root)
    for key in ("const", "default"):
        if schema.get(key) is not None:
            return schema[key]
    for key in ("examples", "enum"):
        if schema.get(key):
            return schema[key][0]
    for key in ("anyOf", "oneOf"):
        for option in schema.get(key, ()):
            if (value := _value(option, root, words, depth + 1)) not in (None, _NO_VALUE):
                return value
    kind = schema.get("type", "object" if "properties" in schema else "string")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), "null")
    match kind:
        case "string":
            return _string(schema, words)
        case "integer" | "number":
            return _number(schema, integer=kind == "integer")
        case "boolean":
            return True
        case "array":
            count = max(1, int(schema.get("minItems", 1)))
            if count * depth > _MOST_ITEMS:
                return _NO_VALUE
            items = [_value(schema.get("items", {"type": "string"}), root, words, depth + 1) for _ in range(count)]
            return _NO_VALUE if _NO_VALUE in items else items
        case "object":
            return _object(schema, root, words, depth)
        case _:
            return _NO_VALUE


def _object(schema: Mapping[str, Any], root: Mapping[str, Any], words: Iterator[str], depth: int) -> Any:
    properties = schema.get("properties", {})
    names = schema.get("required", ()) or list(properties)[:1]
    made = {name: _value(properties.get(name, {}), root, words, depth + 1) for name in names}
    return _NO_VALUE if any(value is _NO_VALUE for value in made.values()) else made


def _string(schema: Mapping[str, Any], words: Iterator[str]) -> str:
    if schema.get("format") in _FORMATS:
        return _FORMATS[schema["format"]]
    text = next(words, _WORDS[0])
    while len(text) < min(schema.get("minLength", 0), _LONGEST):
        text += f" {next(words, _WORDS[0])}"
    return text[: int(schema.get("maxLength", len(text)))]


def _number(schema: Mapping[str, Any], *, integer: bool) -> float | int:
    low = schema.get("minimum", schema.get("exclusiveMinimum", 0))
    high = schema.get("maximum", schema.get("exclusiveMaximum", low + 40))
    value = low + min(7, (high - low) / 2)
    step = schema.get("multipleOf")
    if step:
        value = -(-value // step) * step
    return int(value) if integer else round(float(value), 2)


def _first_sentence(text: str) -> str:
    line = " ".join(text.split())
    end = line.find(". ")
    return (line if end < 0 else line[:end]).rstrip(".")


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

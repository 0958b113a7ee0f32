"""An answer in a shape: a JSON Schema or a pydantic type that the final answer has to fit.

Reads an answer, lossless and tolerant like the arguments of a call, and says what is wrong with one that does not fit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from react_text.parsing.jsonish import read_value
from react_text.schema import first_problem
from react_text.schema.coercion import coerce
from react_text.schema.validator import unsound

_FENCED = re.compile(r"```\w*\n(.*?)```", re.DOTALL)
_OPENS = re.compile(r"[\[{]")
_VALUE = "value"
_PLACE = f"#/properties/{_VALUE}"
_MOST_OPENINGS = 50
"""Places in an answer that are looked at for a JSON value."""
_DATA = ("const", "default", "enum", "examples")
"""Keywords that hold values, in which nothing is a reference."""


@dataclass(frozen=True)
class AnswerShape:
    """A JSON Schema for the answer, and what makes the caller's own value of one that fits.

    `build` raises ValueError for what the schema could not say; pydantic's ValidationError is one. Raises ValueError
    for a schema that is none.
    """

    schema: Mapping[str, Any]
    build: Callable[[Any], Any] = lambda value: value
    _root: Mapping[str, Any] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # whole answers are checked as arguments are, by the name that their sentences then speak of
        root = {"type": "object", "properties": {_VALUE: _moved(self.schema)}, "required": [_VALUE]}
        if "$schema" in self.schema:
            root["$schema"] = self.schema["$schema"]
        object.__setattr__(self, "_root", root)
        try:
            json.dumps(self.schema)
            wrong = unsound(root)
        except (TypeError, ValueError, RecursionError):
            wrong = "is not made of JSON values"
        if wrong:
            raise ValueError(f"output_type is no JSON Schema that an answer can be held to: the schemas in it {wrong}.")

    @classmethod
    def of(cls, wanted: Any) -> AnswerShape:
        """The shape of a JSON Schema, or of anything pydantic can make a schema of: a model, a dataclass, list[int]."""
        if isinstance(wanted, Mapping):
            return cls(wanted)
        from pydantic import PydanticUserError, TypeAdapter
        from pydantic.errors import PydanticInvalidForJsonSchema

        try:
            adapter = TypeAdapter(wanted)
            schema = adapter.json_schema()
        except (PydanticUserError, PydanticInvalidForJsonSchema) as error:
            raise ValueError(
                f"output_type {wanted!r} has no JSON Schema; give a pydantic model, a type or a JSON Schema. ({error})"
            ) from None
        # as JSON, since strict types take a date or a tuple from nothing else
        return cls(schema, lambda value: adapter.validate_json(json.dumps(value)))

    @property
    def request(self) -> str:
        """The sentence that asks for this shape."""
        return f"Give the answer as JSON that fits this schema, and nothing else: {json.dumps(dict(self.schema))}"

    def read(self, answer: str) -> tuple[Any, str | None]:
        """The value of an answer, and what is wrong with it as a sentence for the model, or None.

        Of several JSON values in an answer the one that fits is taken; several that fit and differ are none.
        """
        problem = "The answer is no JSON value."
        for values in (_whole(answer), _inner(answer)):
            fitting = []
            for one in values:
                value = coerce({_VALUE: one}, self._root, self._root)
                wrong = first_problem(value, self._root)
                if wrong is None and value not in fitting:
                    fitting.append(value)
                problem = wrong or problem
            if len(fitting) > 1:
                return None, "The answer holds several values that fit and differ; give one."
            if fitting:
                return self._built(fitting[0][_VALUE])
        return None, problem

    def _built(self, value: Any) -> tuple[Any, str | None]:
        try:
            return self.build(value), None
        except ValueError as error:
            return None, f"The answer does not fit: {' '.join(str(error).split())[:300]}"


def _whole(answer: str) -> Iterator[Any]:
    """The JSON value that an answer is, alone."""
    text = answer.strip()
    read = read_value(text)
    if read.readable and read.complete and not text[read.end :].strip(" .\n"):
        yield read.value


def _inner(answer: str) -> Iterator[Any]:
    """The JSON values that stand in an answer: in its code blocks, and lists and objects in its words."""
    for fenced in _FENCED.finditer(answer):
        yield from _whole(fenced[1])
    at = 0
    for _ in range(_MOST_OPENINGS):
        opened = _OPENS.search(answer, at)
        if opened is None:
            return
        read = read_value(answer[opened.start() :])
        at = opened.end()
        if read.readable and read.complete:
            yield read.value
            at = opened.start() + max(read.end, 1)


def _moved(schema: Any) -> Any:
    """A schema whose references hold where it stands at _PLACE."""
    if isinstance(schema, list | tuple):
        return [_moved(one) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {
        key: _PLACE + one[1:]
        if key == "$ref" and isinstance(one, str) and one.startswith("#")
        else one
        if key in _DATA
        else _moved(one)
        for key, one in schema.items()
    }

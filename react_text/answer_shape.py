"""An answer in a shape: a JSON Schema or a pydantic type that the final answer has to fit.

Reads an answer, lossless and tolerant like the arguments of a call, and says what is wrong with one that does not fit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from react_text.parsing.jsonish import read_value
from react_text.schema import first_problem
from react_text.schema.coercion import coerce

_FENCED = re.compile(r"```\w*\n(.*?)```", re.DOTALL)
_OPENS = re.compile(r"[\[{]")
_VALUE = "value"


@dataclass(frozen=True)
class AnswerShape:
    """A JSON Schema for the answer, and what makes the caller's own value of one that fits.

    `build` raises ValueError for what the schema could not say; pydantic's ValidationError is one.
    """

    schema: Mapping[str, Any]
    build: Callable[[Any], Any] = lambda value: value

    @classmethod
    def of(cls, wanted: Any) -> AnswerShape:
        """The shape of a JSON Schema, or of anything pydantic can make a schema of: a model, a dataclass, list[int]."""
        if isinstance(wanted, Mapping):
            return cls(wanted)
        from pydantic import PydanticUserError, TypeAdapter
        from pydantic.errors import PydanticInvalidForJsonSchema

        try:
            adapter = TypeAdapter(wanted)
            return cls(adapter.json_schema(), adapter.validate_python)
        except (PydanticUserError, PydanticInvalidForJsonSchema) as error:
            raise ValueError(
                f"output_type {wanted!r} has no JSON Schema; give a pydantic model, a type or a JSON Schema. ({error})"
            ) from None

    @property
    def request(self) -> str:
        """The sentence that asks for this shape."""
        return f"Give the answer as JSON that fits this schema, and nothing else: {json.dumps(dict(self.schema))}"

    def read(self, answer: str) -> tuple[Any, str | None]:
        """The value of an answer, and what is wrong with it as a sentence for the model, or None."""
        found = _value_in(answer)
        if not found:
            return None, "The answer is no JSON value."
        # whole answers are checked as arguments are, by the name that their sentences then speak of
        root = {"type": "object", "properties": {_VALUE: dict(self.schema)}, "required": [_VALUE]}
        if "$defs" in self.schema:
            root["$defs"] = self.schema["$defs"]
        value = coerce({_VALUE: found[0]}, root, root)
        problem = first_problem(value, root)
        if problem is not None:
            return None, problem
        try:
            return self.build(value[_VALUE]), None
        except ValueError as error:
            return None, f"The answer does not fit: {' '.join(str(error).split())[:300]}"


def _value_in(answer: str) -> tuple[Any, ...]:
    """The one JSON value of an answer, where it is that alone or stands in words or a code block."""
    fenced = _FENCED.search(answer)
    texts = [answer, *([fenced[1]] if fenced else [])]
    opened = _OPENS.search(answer)
    if opened:
        texts.append(answer[opened.start() :])
    for text in texts:
        read = read_value(text.strip())
        if read.readable and read.complete and not text.strip()[read.end :].strip(" .\n"):
            return (read.value,)
    if opened and (read := read_value(answer[opened.start() :])).readable and read.complete:
        return (read.value,)
    return ()

"""The same constraint for servers that take no GBNF: as a JSON Schema, a structural tag, or a regular expression. Pure.

`SERVER_FIELDS` says under which request fields each kind of server takes which form. Only what a server is known to
take stands there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from react_text.errors import GrammarError
from react_text.protocol.native_grammar import format_of
from react_text.protocol.schema_rules import Wanted
from react_text.schema.shape import standard
from react_text.tools import Tool

FINAL = "final_answer"
"""The name under which an answer is given where every reply has to be a call."""
LONGEST_REGEX = 250_000

VALUE = "%value%"
SERVER_FIELDS: Mapping[str, Mapping[str, Mapping[str, Any]]] = MappingProxyType(
    {
        "llama-server": {"gbnf": {"grammar": VALUE}, "json-schema": {"json_schema": VALUE}},
        "llama_cpp.server": {
            "gbnf": {"grammar": VALUE},
            "json-schema": {"response_format": {"type": "json_object", "schema": VALUE}},
        },
        "ollama": {"json-schema": {"format": VALUE}},
        "vllm": {
            form: {"structured_outputs": {field: VALUE}}
            for form, field in (
                ("gbnf", "grammar"),
                ("json-schema", "json"),
                ("regex", "regex"),
                ("structural-tag", "structural_tag"),
            )
        },
        "sglang": {
            "gbnf": {"ebnf": VALUE},
            "regex": {"regex": VALUE},
            "json-schema": {
                "response_format": {"type": "json_schema", "json_schema": {"name": "reply", "schema": VALUE}}
            },
            "structural-tag": {"response_format": VALUE},
        },
        "lmstudio": {
            "json-schema": {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "reply", "strict": True, "schema": VALUE},
                }
            }
        },
        "tgi": {
            "json-schema": {"response_format": {"type": "json_object", "value": VALUE}},
            "regex": {"response_format": {"type": "regex", "value": VALUE}},
        },
        "tabbyapi": {
            "gbnf": {"grammar_string": VALUE},
            "json-schema": {"json_schema": VALUE},
            "regex": {"regex_pattern": VALUE},
        },
        "koboldcpp": {"gbnf": {"grammar": VALUE}},
        "text-generation-webui": {"gbnf": {"grammar_string": VALUE}},
        "localai": {"gbnf": {"grammar": VALUE}},
    }
)
"""By server and form: the fields of a chat request, with VALUE where the constraint goes. See `request_fields`."""


def request_fields(server: str, form: str, value: Any) -> dict[str, Any]:
    """The fields that a chat request to `server` carries the constraint `value` in.

    vLLM takes a structural tag as JSON text, so give it that. Raises GrammarError where the server takes no such form.
    """
    fields = SERVER_FIELDS.get(server, {}).get(form)
    if fields is None:
        known = ", ".join(SERVER_FIELDS.get(server, ())) or "no grammar at all"
        raise GrammarError(f"The server {server!r} takes no {form}; it takes {known}.")
    made: dict[str, Any] = filled(fields, value)
    return made


def filled(template: Any, value: Any) -> Any:
    """The fields of a row of SERVER_FIELDS with `value` where the constraint goes."""
    if isinstance(template, Mapping):
        return {key: filled(inner, value) for key, inner in template.items()}
    return value if template == VALUE else template


def json_schema_form(
    tools: Sequence[Tool], wanted: Wanted = "any", *, arguments_key: str = "arguments"
) -> dict[str, Any]:
    """The JSON Schema of one reply that is a call, `{"name": ..., "arguments": {...}}`.

    With "any" an answer is one of the calls, named `final_answer` with its text in `answer`; with "answer" the only
    one. The reader takes both for what they are.
    """
    definitions: dict[str, Any] = {}
    ways: list[dict[str, Any]] = []
    if wanted != "answer":
        for tool in tools:
            schema = _closed(standard(tool.parameters))
            if _refers(schema):
                definitions[tool.name] = _moved(schema, f"#/$defs/{tool.name.replace('~', '~0').replace('/', '~1')}")
                schema = {"$ref": definitions[tool.name].pop("$id")}
            ways.append(_call_schema(tool.name, schema, arguments_key))
    if wanted != "call" or not ways:
        answer = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
        ways.append(_call_schema(FINAL, {**answer, "additionalProperties": False}, arguments_key))
    form: dict[str, Any] = ways[0] if len(ways) == 1 else {"type": "object", "anyOf": ways}
    return {**form, "$defs": definitions} if definitions else form


def _call_schema(name: str, arguments: Any, arguments_key: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"name": {"const": name}, arguments_key: arguments},
        "required": ["name", arguments_key],
        "additionalProperties": False,
    }


def _closed(schema: Any, *, joined: bool = False) -> Any:
    """The schema with objects closed where they declare members and say nothing of others, as arguments are checked."""
    if isinstance(schema, list):
        return [_closed(one) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    parts = ("items", "prefixItems", "anyOf", "oneOf", "additionalProperties")
    closed = {
        key: {name: _closed(one) for name, one in inner.items()}
        if key in ("properties", "$defs", "definitions") and isinstance(inner, Mapping)
        else _closed(inner)
        if key in parts
        else inner
        for key, inner in schema.items()
    }
    several = any(key in schema for key in ("allOf", "anyOf", "oneOf", "$ref", "if", "patternProperties"))
    if isinstance(schema.get("properties"), Mapping) and not several:
        closed.setdefault("additionalProperties", False)
    return closed


def _refers(schema: Any) -> bool:
    if isinstance(schema, Mapping):
        return isinstance(schema.get("$ref"), str) or any(_refers(inner) for inner in schema.values())
    return isinstance(schema, list) and any(_refers(inner) for inner in schema)


def _moved(schema: Any, place: str) -> Any:
    """A schema whose references begin at `place`; the place itself is left in `$id` for the caller to take."""
    return {**_rewritten(schema, place), "$id": place}


def _rewritten(schema: Any, place: str) -> Any:
    if isinstance(schema, list):
        return [_rewritten(inner, place) for inner in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {
        key: place + inner[1:]
        if key == "$ref" and isinstance(inner, str) and inner[:1] == "#"
        else _rewritten(inner, place)
        for key, inner in schema.items()
    }


def structural_tag_form(
    family: str, tools: Sequence[Tool], wanted: Wanted = "any", *, parallel: bool = False
) -> dict[str, Any]:
    """The structural tag of a reply in the call format of `family`: free text, and calls held to each tool's schema.

    Raises GrammarError for a family whose calls no mark announces or whose arguments are no JSON object, and for an
    answer alone.
    """
    form = format_of(family)
    if not form.call or not form.mark:
        raise GrammarError(f"Calls of the family {family!r} begin with no mark, which a structural tag needs.")
    if form.arguments is not None:
        raise GrammarError(f"Calls of the family {family!r} hold no JSON object, which a structural tag is about.")
    if wanted == "answer" or not tools:
        raise GrammarError("A structural tag is about calls; send none where only an answer is wanted.")
    tags = []
    for tool in tools:
        begin, end = form.around(tool.name)
        content = {"type": "json_schema", "json_schema": _closed(standard(tool.parameters))}
        tags.append({"type": "tag", "begin": form.opens + begin, "content": content, "end": end + form.closes})
    return {
        "type": "structural_tag",
        "format": {
            "type": "triggered_tags",
            "triggers": [form.mark],
            "tags": tags,
            "at_least_one": wanted == "call",
            "stop_after_first": not parallel,
        },
    }


_TOKEN = re.compile(
    r'(?P<literal>"(?:[^"\\]|\\.)*")|(?P<letters>\[(?:[^\]\\]|\\.)*\])|(?P<name>[A-Za-z0-9-]+)'
    r"|(?P<mark>[*+?|().]|\{[^}]*\})|\s+"
)
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))")
_NAMED = {"n": "\n", "r": "\r", "t": "\t"}
_SPECIAL = re.compile(r"[\\.^$*+?()\[\]{}|]")


def regex_form(gbnf: str, *, most_counted: int | None = None) -> str:
    """A grammar of this package as one regular expression without look-around, for a whole reply.

    Repetitions that may go beyond `most_counted` are left open, which is looser: engines that work out every state of
    an expression beforehand take minutes over long ones. Raises GrammarError where no regular expression can say the
    same, because a rule uses itself, or only a very long one.
    """
    rules = {}
    for line in gbnf.splitlines():
        name, found, body = line.partition("::=")
        if found:
            rules[name.strip()] = body
    text = "".join(_expanded("root", rules, (), [LONGEST_REGEX]))
    return text if most_counted is None else _opened(text, most_counted)


def _opened(expression: str, most_counted: int) -> str:
    """The expression with its long ranges of repetitions left open; what stands in classes or is escaped stays."""

    def opened(match: re.Match[str]) -> str:
        if match["most"] is None or int(match["most"]) <= most_counted:
            return match[0]
        least = min(int(match["least"]), most_counted)
        return "*" if least == 0 else f"{{{least},}}"

    pieces = r"\\.|\[(?:[^\]\\]|\\.)*\]|\{(?P<least>\d+),(?P<most>\d+)\}"
    return re.sub(pieces, opened, expression, flags=re.DOTALL)


def _expanded(name: str, rules: Mapping[str, str], within: tuple[str, ...], left: list[int]) -> Iterator[str]:
    if name in within:
        raise GrammarError(f"The rule {name!r} uses itself, which no regular expression can say; send the GBNF.")
    for match in _TOKEN.finditer(rules[name]):
        kind, text = match.lastgroup, match[0]
        if kind == "name":
            yield "(?:"
            yield from _expanded(text, rules, (*within, name), left)
            text = ")"
        elif kind == "literal":
            value = _SPECIAL.sub(r"\\\g<0>", _ESCAPE.sub(_letter, text[1:-1])).replace("\n", "\\n")
            repeated = rules[name][match.end() : match.end() + 1] in ("*", "+", "?", "{")
            text = f"(?:{value})" if repeated and len(value) > 1 else value
        elif kind == "letters":
            text = re.sub(r"\\U([0-9A-Fa-f]{8})", lambda one: chr(int(one[1], 16)), text)
        elif kind == "mark":
            text = {"(": "(?:", ".": r"[\s\S]"}.get(text, text)
        else:
            continue
        left[0] -= len(text)
        if left[0] < 0:
            raise GrammarError(f"As a regular expression the grammar is longer than {LONGEST_REGEX} letters.")
        yield text


def _letter(match: re.Match[str]) -> str:
    code = match[1] or match[2] or match[3]
    return chr(int(code, 16)) if code else _NAMED.get(match[4], match[4])

"""Tools and a dialect in, a GBNF grammar out: real tool names only, and after each exactly that tool's arguments.

The skeleton of the reply is a file in grammars/; the argument rules come from each tool's JSON Schema. What GBNF (or
this module) cannot say falls back to the nearest looser rule, and is named in `Grammar.loosened`; arguments are
validated after parsing in any case.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from react_text.protocol.dialect import Dialect
from react_text.schema import resolve_ref
from react_text.tools import Tool

Wanted: TypeAlias = Literal["any", "call", "answer"]

MAX_STRING = 400
MAX_ITEMS = 16
MAX_KEYS = 8
_TERMINALS = {
    "char": r"""[^"\\\x00-\x1f] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4})""",
    "integer": r'"-"? natural',
    "natural": r'"0" | [1-9] [0-9]{0,14}',
    "number": r'"-"? natural ("." [0-9]{1,12})? ([eE] [-+]? [0-9]{1,2})?',
    "boolean": '"true" | "false"',
    "null": '"null"',
    "string": rf'"\"" char{{0,{MAX_STRING}}} "\""',
    "scalar": "string | number | boolean | null",
    "flat-array": rf'"[" (scalar (", " scalar){{0,{MAX_ITEMS - 1}}})? "]"',
    "flat-object": rf'"{{" (pair (", " pair){{0,{MAX_KEYS - 1}}})? "}}"',
    "pair": r'"\"" char{1,40} "\": " (scalar | flat-array)',
    "value": "scalar | flat-array | flat-object",
}
_LITERAL = re.compile(r'"(?:\\.|[^"\\])*"|\[(?:\\.|[^\]\\])*\]')
_REFERENCE = re.compile(r"(?<![\w\"\\-])([a-z][a-z-]*)(?![\w-])")
_UNSAID = {
    "integer": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "string": ("pattern", "format"),
    "array": ("uniqueItems", "contains", "prefixItems"),
    "object": ("patternProperties", "dependentRequired", "if", "minProperties", "maxProperties"),
}


@dataclass(frozen=True, slots=True)
class Grammar:
    """A GBNF text, and the schema keywords it could not express, as `tool.argument: keyword`."""

    gbnf: str
    loosened: tuple[str, ...] = ()


def text_grammar(skeleton: str, dialect: Dialect, tools: Sequence[Tool], wanted: Wanted = "any") -> Grammar:
    """The grammar of one reply after `Dialect.reply_start`.

    `wanted` "call" leaves no room for an answer, "answer" none for a call. Without tools only an answer is possible.
    """
    rules = _Rules()
    names = [rules.tool(tool, dialect) for tool in tools]
    if not names:
        wanted = "answer"
    slots = {
        "%step%": {"any": "call | answer", "call": "call", "answer": "answer"}[wanted],
        "%calls%": " | ".join(names) or "answer",
        "%final%": _escaped(dialect.final),
        "%rules%": "\n".join(rules.lines() if wanted != "answer" else []),
    }
    if wanted == "answer":
        skeleton = re.sub(r"(?m)^call .*\n", "", skeleton)
    elif wanted == "call":
        skeleton = re.sub(r"(?m)^answer .*\n", "", skeleton)
    text = re.sub(r"%[a-z]+%", lambda match: slots.get(match[0], match[0]), _without_comments(skeleton))
    return Grammar(text.strip() + "\n", tuple(rules.loosened))


def quoted(text: str) -> str:
    """A GBNF string literal."""
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    text = text.replace("\\", "\\\\").replace('"', '\\"')
    return "".join(one if one.isprintable() else _code(ord(one)) for one in text.replace("\n", "\\n"))


def _code(point: int) -> str:
    return f"\\u{point:04X}" if point <= 0xFFFF else f"\\U{point:08X}"


def _without_comments(skeleton: str) -> str:
    return re.sub(r"(?m)^#.*\n", "", skeleton)


@dataclass
class _Rules:
    """The rules made so far, by name, and what could not be said."""

    made: dict[str, str] = field(default_factory=dict)
    loosened: list[str] = field(default_factory=list)
    references: dict[tuple[int, str], str] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """Every rule made, then the terminals they need."""
        wanted, needed = list(self.made.values()), set[str]()
        while wanted:
            for name in _REFERENCE.findall(_LITERAL.sub(" ", wanted.pop())):
                if name in _TERMINALS and name not in needed:
                    needed.add(name)
                    wanted.append(_TERMINALS[name])
        rules = self.made | {name: body for name, body in _TERMINALS.items() if name in needed}
        return [f"{name} ::= {body}" for name, body in rules.items()]

    def name(self, where: str) -> str:
        """A free rule name that shows what the rule is for."""
        stem = "of-" + (re.sub(r"[^a-zA-Z0-9]+", "-", where).strip("-") or "argument")
        name, number = stem, 1
        while name in self.made:
            number += 1
            name = f"{stem}-{number}"
        self.made[name] = ""
        return name

    def rule(self, where: str, body: str) -> str:
        name = self.name(where)
        self.made[name] = body
        return name

    def tool(self, tool: Tool, dialect: Dialect) -> str:
        schema = tool.parameters or {"type": "object", "properties": {}}
        name = self.name(f"{tool.name} call")
        plain = {
            "properties",
            "required",
            "additionalProperties",
            "type",
            "title",
            "description",
            "$defs",
            "definitions",
        }
        no_arguments = (
            not schema.get("properties") and plain.issuperset(schema) and not schema.get("additionalProperties")
        )
        arguments = '"{}"' if no_arguments else self.value({"type": "object", **schema}, schema, tool.name)
        head = quoted(f"{dialect.action}: {tool.name}\n{dialect.input}: ")
        self.made[name] = f"{head} {arguments}"
        return name

    def value(self, schema: Any, root: Mapping[str, Any], where: str) -> str:
        """The expression for one JSON value that fits `schema`."""
        if not isinstance(schema, Mapping) or not schema:
            return "value"
        if isinstance(schema.get("$ref"), str):
            return self.reference(schema, root, where)
        if "const" in schema:
            return quoted(_json(schema["const"]))
        if schema.get("nullable") is True:
            return _either([self.value({**schema, "nullable": False}, root, where), "null"])
        if schema.get("enum"):
            return _either(quoted(_json(value)) for value in schema["enum"])
        for key in ("anyOf", "oneOf"):
            if schema.get(key):
                beside = {name: value for name, value in schema.items() if name != key}
                return _either(self.value(_joined(beside, option), root, where) for option in schema[key])
        kind = schema.get("type", "object" if "properties" in schema else None)
        if isinstance(kind, list) and kind:
            return _either(self.value({**schema, "type": one}, root, where) for one in kind)
        self.loosened += [f"{where}: {key}" for key in _UNSAID.get(str(kind), ()) if key in schema]
        match kind:
            case "object" if "allOf" in schema:
                self.loosened.append(f"{where}: allOf")
                return "flat-object"
            case "object":
                return self.object(schema, root, where)
            case "array":
                return self.array(schema, root, where)
            case "string":
                return _string(schema.get("minLength", 0), schema.get("maxLength", MAX_STRING))
            case "integer":
                return "natural" if schema.get("minimum", -1) >= 0 else "integer"
            case "number" | "boolean" | "null":
                return str(kind)
            case _:
                self.loosened.append(f"{where}: {'allOf' if 'allOf' in schema else 'no type'}")
                return "value"

    def reference(self, schema: Mapping[str, Any], root: Mapping[str, Any], where: str) -> str:
        """One rule per definition, so that a schema which refers to itself ends."""
        key = (id(root), schema["$ref"])
        if key not in self.references:
            self.references[key] = self.name(str(schema["$ref"]).rpartition("/")[2])
            self.made[self.references[key]] = self.value(resolve_ref(schema, root), root, where)
        return self.references[key]

    def array(self, schema: Mapping[str, Any], root: Mapping[str, Any], where: str) -> str:
        item = self.value(schema.get("items"), root, f"{where} item")
        low = schema.get("minItems", 0)
        high = max(low, min(schema.get("maxItems", MAX_ITEMS), MAX_ITEMS))
        if high == 0:
            return '"[]"'
        body = f'{item} (", " {item}){{{max(0, low - 1)},{high - 1}}}'
        return self.rule(where, f'"[" {body} "]"' if low else f'"[" ({body})? "]"')

    def object(self, schema: Mapping[str, Any], root: Mapping[str, Any], where: str) -> str:
        """Keys in the schema's order, optional ones skippable."""
        properties: Mapping[str, Any] = schema.get("properties") or {}
        extra = schema.get("additionalProperties")
        if not properties:
            if isinstance(extra, Mapping) and extra:
                pair = f'"\\"" char{{1,40}} "\\": " {self.value(extra, root, where)}'
                return self.rule(where, f'"{{" ({pair} (", " {pair}){{0,{MAX_KEYS - 1}}})? "}}"')
            return '"{}"' if extra is False else "flat-object"
        if extra:
            self.loosened.append(f"{where}: additionalProperties")
        required = set(schema.get("required", ()))
        names = list(properties)
        members = [
            f"{quoted(_json(name) + ': ')} {self.value(properties[name], root, f'{where} {name}')}" for name in names
        ]
        # what may follow the member before: the rest of the object, each optional member taken or skipped
        rests = ['"}"']
        for name, member in zip(reversed(names[1:]), reversed(members[1:]), strict=True):
            rest = f'", " {member} {rests[0]}' + ("" if name in required else f" | {rests[0]}")
            rests.insert(0, self.rule(f"{where} then {name}", rest))
        starts = []
        for name, member, rest in zip(names, members, rests, strict=True):
            starts.append(f"{member} {rest}")
            if name in required:
                break
        else:
            starts.append('"}"')
        return self.rule(where, '"{" ' + _either(starts))


def _joined(beside: Mapping[str, Any], option: Any) -> Any:
    """One of several options, with what stands beside them in the schema."""
    if not isinstance(option, Mapping) or not isinstance(beside.get("properties", {}), Mapping):
        return option
    joined = {**beside, **option}
    if "properties" in beside and "properties" in option:
        joined["properties"] = {**beside["properties"], **option["properties"]}
    if "required" in beside and "required" in option:
        joined["required"] = [*beside["required"], *option["required"]]
    return joined


def _either(options: Iterable[str]) -> str:
    unique = list(dict.fromkeys(options))
    return unique[0] if len(unique) == 1 else f"({' | '.join(unique)})"


def _string(low: int, high: int) -> str:
    if (low, high) == (0, MAX_STRING):
        return "string"
    return f'"\\"" char{{{low},{max(low, min(high, MAX_STRING))}}} "\\""'


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)

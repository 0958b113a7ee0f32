"""Tools as compact signatures: what a model needs of a JSON Schema in a third fewer tokens than the schema itself."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from react_text.schema import resolve_ref
from react_text.tools import Tool

_MAX_DEPTH = 4


def tool_lines(tools: Iterable[Tool]) -> str:
    """Every tool as a signature with its description, one argument a line where an argument has a description."""
    return "\n".join(_tool_line(tool) for tool in tools)


def _tool_line(tool: Tool) -> str:
    schema = tool.parameters
    properties: Mapping[str, Any] = schema.get("properties", {})
    required = set(schema.get("required", ()))
    arguments = ", ".join(
        _argument(name, subschema, name in required, schema) for name, subschema in properties.items()
    )
    lines = [f"{tool.name}({arguments})" + (f" - {_one_line(tool.description)}" if tool.description else "")]
    for name, subschema in properties.items():
        if description := _description(subschema, schema):
            lines.append(f"  {name}: {description}")
    return "\n".join(lines)


def _argument(name: str, subschema: Any, required: bool, root: Mapping[str, Any]) -> str:
    default = ""
    if isinstance(subschema, Mapping) and subschema.get("default") is not None:
        default = f" = {_literal(subschema['default'])}"
    return f"{name}{'' if required else '?'}: {type_text(subschema, root)}{default}"


def type_text(schema: Any, root: Mapping[str, Any], depth: int = 0) -> str:
    """The type that a JSON Schema describes, in the notation of typed languages: `"c" | "f"`, `{x: number}[]`."""
    if not isinstance(schema, Mapping):
        return "any"
    schema = resolve_ref(schema, root)
    if depth > _MAX_DEPTH:
        return "object"
    if "const" in schema:
        return _literal(schema["const"])
    if "enum" in schema:
        return " | ".join(_literal(value) for value in schema["enum"])
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " | ".join(dict.fromkeys(type_text(option, root, depth + 1) for option in schema[key]))
    kind = schema.get("type", "object" if "properties" in schema else "any")
    if isinstance(kind, list):
        return " | ".join(type_text({**schema, "type": one}, root, depth) for one in kind)
    if kind == "array":
        item = type_text(schema.get("items"), root, depth + 1)
        return f"({item})[]" if " | " in item else f"{item}[]"
    if kind == "object" and schema.get("properties"):
        required = set(schema.get("required", ()))
        inner = ", ".join(
            f"{name}{'' if name in required else '?'}: {type_text(sub, root, depth + 1)}"
            for name, sub in schema["properties"].items()
        )
        return f"{{{inner}}}"
    if kind == "string" and "format" in schema:
        return f"string ({schema['format']})"
    return str(kind)


def _description(subschema: Any, root: Mapping[str, Any]) -> str:
    if not isinstance(subschema, Mapping):
        return ""
    return _one_line(subschema.get("description") or resolve_ref(subschema, root).get("description") or "")


def _one_line(text: str) -> str:
    return " ".join(str(text).split())


def _literal(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)

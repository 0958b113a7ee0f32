"""pydantic's JSON Schema made plain for a small model: no titles, definitions written out where they are used."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_MAPS = ("properties", "$defs", "patternProperties", "dependentSchemas")
_LARGEST = 20_000


def clean(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema without titles; `$defs` stay only for types that hold themselves, or where inlining would bloat."""
    untitled: dict[str, Any] = _untitled(schema)
    definitions = untitled.get("$defs")
    if definitions:
        recursive = {name for name in definitions if name in _reached(definitions[name], definitions, set())}
        inlined = _inlined({key: value for key, value in untitled.items() if key != "$defs"}, definitions, recursive)
        if recursive:
            inlined["$defs"] = {name: _inlined(definitions[name], definitions, recursive) for name in sorted(recursive)}
        if len(json.dumps(inlined, default=str)) <= _LARGEST:
            untitled = inlined
    properties = {name: _without_null_default(inner) for name, inner in untitled.get("properties", {}).items()}
    kept = ("required", "$defs")
    return {"type": "object", "properties": properties} | {key: untitled[key] for key in kept if key in untitled}


def _without_null_default(schema: Mapping[str, Any]) -> dict[str, Any]:
    """That an argument which is not required is null when left out needs no words."""
    return {key: value for key, value in schema.items() if not (key == "default" and value is None)}


def _untitled(node: Any) -> Any:
    if isinstance(node, list):
        return [_untitled(item) for item in node]
    if not isinstance(node, Mapping):
        return node
    kept: dict[str, Any] = {}
    for key, value in node.items():
        if key == "title" and isinstance(value, str):
            continue
        if key in _MAPS and isinstance(value, Mapping):
            kept[key] = {name: _untitled(inner) for name, inner in value.items()}
        elif key in ("enum", "const", "default", "examples"):
            kept[key] = value
        else:
            kept[key] = _untitled(value)
    return kept


def _target(node: Any) -> str | None:
    reference = node.get("$ref") if isinstance(node, Mapping) else None
    return reference.rpartition("/")[2] if isinstance(reference, str) else None


def _reached(node: Any, definitions: Mapping[str, Any], seen: set[str]) -> set[str]:
    """The names of all definitions that a schema refers to, directly or through others."""
    name = _target(node)
    if name is not None and name not in seen and name in definitions:
        seen.add(name)
        _reached(definitions[name], definitions, seen)
    inner = node.values() if isinstance(node, Mapping) else node if isinstance(node, list) else ()
    for value in inner:
        _reached(value, definitions, seen)
    return seen


def _inlined(node: Any, definitions: Mapping[str, Any], recursive: set[str]) -> Any:
    if isinstance(node, list):
        return [_inlined(item, definitions, recursive) for item in node]
    if not isinstance(node, Mapping):
        return node
    name = _target(node)
    if name is not None and name in definitions and name not in recursive:
        beside = {key: value for key, value in node.items() if key != "$ref"}
        return _inlined({**definitions[name], **beside}, definitions, recursive)
    return {key: _inlined(value, definitions, recursive) for key, value in node.items()}

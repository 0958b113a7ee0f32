"""An OpenAPI document read: its operations, and where each argument of an operation goes in a request.

It sends nothing.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from react_text.adapters.choosing import tool_name
from react_text.adapters.openapi_schema import Schemas, pointed
from react_text.errors import MissingExtra, ToolSourceError

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
BODY = "body"
"""The argument that is the whole body, where a body is no object or its properties have names that are taken."""
_NOT_ARGUMENTS = ("accept", "content-type", "authorization")
"""Headers that are never arguments, by the specification."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where an argument goes, under which name; `spread` says that a list is one query parameter for each item."""

    where: Literal["path", "query", "header", "property", "body"]
    name: str
    spread: bool = True


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation. `places` holds a place for each argument, `media_type` is that of its body, None without one."""

    name: str
    description: str
    method: str
    path: str
    parameters: Mapping[str, Any]
    places: Mapping[str, Place]
    media_type: str | None = None


def read_document(path: Path) -> Mapping[str, Any]:
    """A JSON or YAML file as a dict. Raises ToolSourceError, and MissingExtra for YAML without the extra."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ToolSourceError(f"The API description {path} cannot be read: {why}.") from None
    try:
        read = json.loads(text) if path.suffix == ".json" else _yaml(text)
    except ValueError as error:
        line = str(error).splitlines()[0]
        raise ToolSourceError(f"The API description {path} cannot be read: {line}.") from None
    if not isinstance(read, Mapping):
        raise ToolSourceError(f"{path} is no OpenAPI document: it holds no object.")
    return read


def _yaml(text: str) -> Any:
    try:
        import yaml
    except ImportError:
        raise MissingExtra("openapi", "An API description in YAML") from None
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from None


def title_of(document: Mapping[str, Any]) -> str:
    """What the API is called."""
    return str((document.get("info") or {}).get("title") or "without a title")


def server_of(document: Mapping[str, Any]) -> str:
    """The URL of the first server, with the defaults of its variables. It may be relative, or empty."""
    servers = document.get("servers") or [{}]
    url = str(servers[0].get("url", ""))
    for name, variable in (servers[0].get("variables") or {}).items():
        url = url.replace(f"{{{name}}}", str(variable.get("default", "")))
    return url


def operations_of(document: Mapping[str, Any]) -> list[Operation]:
    """Every operation of the document that can be called. Raises ToolSourceError where it is no OpenAPI 3 document."""
    version = str(document.get("openapi", ""))
    if not version.startswith("3.") or not isinstance(document.get("paths"), Mapping):
        found = f"Swagger {document['swagger']}" if "swagger" in document else "something else"
        raise ToolSourceError(f"An OpenAPI document of version 3 with paths is wanted, but this is {found}.")
    schemas = Schemas(document)
    operations = []
    for path, item in document["paths"].items():
        try:
            whole = pointed(item, document)
            operations += [_operation(path, method, whole, document, schemas) for method in METHODS if method in whole]
        except (AttributeError, KeyError, TypeError) as error:
            raise ToolSourceError(f"What the document says of {path} cannot be understood ({error!r}).") from None
    names = Counter(one.name for one in operations)
    if twice := [name for name, count in names.items() if count > 1]:
        raise ToolSourceError(f'Two operations are called "{twice[0]}"; give one another operationId.')
    return operations


def _operation(
    path: str, method: str, item: Mapping[str, Any], document: Mapping[str, Any], schemas: Schemas
) -> Operation:
    given = item[method]
    places: dict[str, Place] = {}
    properties: dict[str, Any] = {}
    required: list[str] = []
    for parameter in _parameters(path, item, given, document):
        name, where = parameter["name"], parameter["in"]
        argument = name if name not in places else f"{where}_{name}"
        spread = parameter.get("explode", parameter.get("style", "form") == "form")
        places[argument] = Place(where, name, spread)
        properties[argument] = _described(schemas.plain(_schema_of(parameter)), parameter)
        if parameter.get("required") or where == "path":
            required.append(argument)
    media_type, body, needed = _body(given, document, schemas)
    if media_type is not None and not _spreads(body, places):
        places[BODY], properties[BODY] = Place("body", BODY), body
        required += [BODY] if needed else []
    elif media_type is not None:
        places |= {name: Place("property", name) for name in body["properties"]}
        properties |= body["properties"]
        required += body.get("required", []) if needed else []
    told = [str(given.get(key) or item.get(key) or "").strip() for key in ("summary", "description")]
    return Operation(
        name=tool_name(given.get("operationId") or f"{method}{path}".replace("/", "_").replace("{", "")),
        description="\n".join(dict.fromkeys(text for text in told if text)),
        method=method,
        path=path,
        parameters={"type": "object", "properties": properties, "required": required},
        places=places,
        media_type=media_type,
    )


def _parameters(
    path: str, item: Mapping[str, Any], operation: Mapping[str, Any], document: Mapping[str, Any]
) -> Iterator[Mapping[str, Any]]:
    """The parameters of the path and of the operation, of which the operation's win."""
    found: dict[tuple[str, str], Mapping[str, Any]] = {}
    for one in [*item.get("parameters", ()), *operation.get("parameters", ())]:
        parameter = pointed(one, document)
        found[parameter["in"], parameter["name"]] = parameter
    for (where, name), parameter in found.items():
        if where != "cookie" and not (where == "header" and name.casefold() in _NOT_ARGUMENTS):
            yield parameter
    for name in re.findall(r"{([^{}]+)}", path):
        if ("path", name) not in found:  # documents forget to declare them
            yield {"in": "path", "name": name}


def _schema_of(holder: Mapping[str, Any]) -> Any:
    """The schema of a parameter, which may stand under a media type."""
    content = holder.get("content")
    if content:
        return next(iter(content.values())).get("schema", {})
    return holder.get("schema", {"type": "string"})


def _described(schema: Any, parameter: Mapping[str, Any]) -> Any:
    description = parameter.get("description")
    return {**schema, "description": description} if description and isinstance(schema, Mapping) else schema


def _body(operation: Mapping[str, Any], document: Mapping[str, Any], schemas: Schemas) -> tuple[str | None, Any, bool]:
    """The media type of the body, its schema, and whether it is required."""
    body = pointed(operation.get("requestBody") or {}, document)
    content = body.get("content") or {}
    if not content:
        return None, {}, False
    media_type = min(content, key=_preference)
    return media_type, schemas.plain(content[media_type].get("schema", {})), bool(body.get("required"))


def _preference(media_type: str) -> int:
    kind = media_type.partition(";")[0].strip().casefold()
    order = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data")
    return order.index(kind) if kind in order else 0 if kind.endswith("+json") else len(order)


def _spreads(body: Any, places: Mapping[str, Place]) -> bool:
    """Whether the properties of the body can stand as arguments of their own."""
    properties = body.get("properties") if isinstance(body, Mapping) else None
    if not properties or "anyOf" in body or "oneOf" in body:
        return False
    return not (properties.keys() & places.keys())

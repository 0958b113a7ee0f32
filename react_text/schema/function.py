"""A Python function read as a tool: its name, its description, the JSON Schema of its arguments, and how to call it.

pydantic makes the schema and turns JSON into the declared types; docstring_parser finds the descriptions.
"""

from __future__ import annotations

import copy
import functools
import inspect
import sys
import typing
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from react_text.errors import ToolDefinitionError
from react_text.schema.cleaning import clean
from react_text.schema.typed_dict import replaced

_OWN = __name__.partition(".")[0]
_STARS = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


@dataclass(frozen=True, slots=True)
class Read:
    """What was read. `bind` turns valid JSON arguments into keyword arguments; it raises pydantic's ValidationError."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    bind: Callable[[Mapping[str, Any]], dict[str, Any]] | None


def read(function: Callable[..., Any], name: str | None, parameters: Mapping[str, Any] | None) -> Read:
    """Read a function; where `parameters` are given they are the schema and the annotations are not looked at."""
    if not callable(function) or inspect.isclass(function):
        raise ToolDefinitionError(f"A tool is made from a function, not from {_one_line(repr(function))[:80]}.")
    innermost = inspect.unwrap(_innermost(function))
    name = name or getattr(innermost, "__name__", None) or type(innermost).__name__
    if inspect.isgeneratorfunction(innermost) or inspect.isasyncgenfunction(innermost):
        raise ToolDefinitionError(f"{name}() is a generator; return a list or a text instead.")
    summary, notes = _docstring(innermost)
    offered = _offered(function, name)
    if parameters is not None:
        _check_names(name, offered, parameters)
        return Read(name, summary, parameters, None)
    model, names, always = _arguments_model(function, name, offered, notes)
    return Read(name, summary, _schema(model, name, names), functools.partial(_bind, model, names, always))


def is_async(function: Callable[..., Any]) -> bool:
    """True when calling the function gives a coroutine."""
    innermost = _innermost(function)
    return inspect.iscoroutinefunction(innermost) or inspect.iscoroutinefunction(type(innermost).__call__)


def _innermost(function: Any) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    return function


def _offered(function: Any, name: str) -> dict[str, inspect.Parameter]:
    """The parameters that are the model's to fill in: what a partial already holds is not, and is never shown."""
    try:
        parameters = dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        raise ToolDefinitionError(
            f"The signature of {name}() cannot be read; wrap it in a typed function of your own."
        ) from None
    while isinstance(function, functools.partial):
        for held in function.keywords:
            parameters.pop(held, None)
        function = function.func
    return parameters


def _docstring(function: Any) -> tuple[str, dict[str, str]]:
    """The summary of a docstring and the description of each parameter."""
    from docstring_parser import ParseError, parse

    documented = (function,) if inspect.isroutine(function) else (type(function).__call__, type(function))
    text = next((doc for item in documented if (doc := inspect.getdoc(item))), "")
    try:
        found = parse(text)
    except ParseError:
        return _one_line(text.strip().split("\n\n")[0]), {}
    summary = found.short_description or ""
    if not found.blank_after_short_description:  # a summary that runs over several lines
        summary += " " + (found.long_description or "").split("\n\n")[0]
    return _one_line(summary), {
        param.arg_name.lstrip("*"): _one_line(param.description) for param in found.params if param.description
    }


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _check_names(name: str, offered: Mapping[str, inspect.Parameter], parameters: Mapping[str, Any]) -> None:
    """A schema and a function that do not know the same names fail when the tool is made, not when a model calls it."""
    properties = parameters.get("properties", {}) if isinstance(parameters, Mapping) else None
    if not isinstance(properties, Mapping) or parameters.get("type", "object") != "object":
        return  # check_schema says what is wrong with it
    takes_any = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in offered.values())
    for declared in properties:
        if declared not in offered and not takes_any:
            raise ToolDefinitionError(
                f'The schema of {name}() declares "{declared}", which is no parameter of the function; use the same '
                "names in both."
            )
    for parameter in offered.values():
        _check_by_name(name, parameter)
        needed = parameter.default is parameter.empty and parameter.kind not in _STARS
        if needed and parameter.name not in properties:
            raise ToolDefinitionError(
                f'The parameter "{parameter.name}" of {name}() is not in its schema; add it to "properties" or give '
                "it a default."
            )


def _check_by_name(name: str, parameter: inspect.Parameter) -> None:
    if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
        raise ToolDefinitionError(
            f'The parameter "{parameter.name}" of {name}() is positional-only, and a model passes arguments by name; '
            "remove the / from the signature."
        )


def _check_typed(name: str, parameter: inspect.Parameter, typed: bool) -> None:
    _check_by_name(name, parameter)
    if parameter.kind in _STARS:
        raise ToolDefinitionError(
            f"{name}() takes {_STARS[parameter.kind]}{parameter.name}, which no schema can describe; name each "
            "parameter, or pass parameters= with a JSON Schema."
        )
    if not typed and parameter.name in ("self", "cls"):
        raise ToolDefinitionError(
            f'The parameter "{parameter.name}" of {name}() is an object; pass the method of one, object.{name}.'
        )
    if not typed:
        raise ToolDefinitionError(
            f'The parameter "{parameter.name}" of {name}() has no type; annotate it, for example {parameter.name}: str.'
        )


def _arguments_model(
    function: Callable[..., Any], name: str, offered: Mapping[str, inspect.Parameter], notes: Mapping[str, str]
) -> tuple[Any, dict[str, str], set[str]]:
    """A pydantic model of the arguments, the parameter of each of its fields, and the fields to pass in any case.

    Fields have names of their own and the parameter's as alias: pydantic reserves names such as `schema` or `_x`.
    """
    from pydantic import ConfigDict, create_model
    from pydantic.fields import FieldInfo

    hints = _hints(function, name) if offered else {}
    fields: dict[str, Any] = {}
    names: dict[str, str] = {}
    for number, parameter in enumerate(offered.values()):
        _check_typed(name, parameter, parameter.name in hints)
        hint = replaced(hints[parameter.name])
        if parameter.default is None:
            hint = typing.Optional[hint]  # noqa: UP045
        _check_type(name, parameter.name, hint)
        names[f"argument_{number}"] = parameter.name
        fields[f"argument_{number}"] = (hint, _field(parameter, hint, notes.get(parameter.name)))
    model = create_model(name, __config__=ConfigDict(alias_generator=lambda field: names.get(field, field)), **fields)
    always = {field for field, parameter in names.items() if isinstance(offered[parameter].default, FieldInfo)}
    return model, names, always


def _check_type(name: str, parameter: str, hint: Any) -> None:
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError

    try:
        TypeAdapter(hint)
    except (PydanticUserError, NameError, TypeError):
        raise _not_json(name, parameter, hint) from None


def _not_json(name: str, parameter: str, hint: Any) -> ToolDefinitionError:
    kind = hint.__name__ if isinstance(hint, type) else str(hint)
    return ToolDefinitionError(
        f'The parameter "{parameter}" of {name}() has the type {kind}, which JSON cannot express; use a plain type, '
        "a dataclass, a TypedDict or a pydantic model."
    )


def _field(parameter: inspect.Parameter, hint: Any, note: str | None) -> Any:
    from pydantic import Field
    from pydantic.fields import FieldInfo

    default = parameter.default
    if isinstance(default, FieldInfo):
        given = copy.copy(default)
        given.description = given.description or note
        return given
    metadata = typing.get_args(hint)[1:] if typing.get_origin(hint) is typing.Annotated else ()
    said = next((item for item in metadata if isinstance(item, str)), note)
    if said is None or any(isinstance(item, FieldInfo) and item.description for item in metadata):
        return Field(... if default is parameter.empty else default)
    return Field(... if default is parameter.empty else default, description=said)


def _hints(function: Callable[..., Any], name: str) -> dict[str, Any]:
    """The resolved annotations; the names of the functions now running count, for a tool defined inside another."""
    target = inspect.unwrap(_innermost(function))
    target = target if inspect.isroutine(target) else type(target).__call__
    try:
        return typing.get_type_hints(target, include_extras=True)
    except NameError:
        pass
    try:
        return typing.get_type_hints(target, localns=_running_scope(target), include_extras=True)
    except NameError as error:
        raise ToolDefinitionError(
            f'The annotations of {name}() use "{error.name}", which is not defined; import it outside TYPE_CHECKING.'
        ) from None


def _running_scope(target: Any) -> dict[str, Any]:
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _OWN:
        frame = frame.f_back
    nearest, outer = dict(frame.f_locals), dict[str, Any]()
    while frame.f_back is not None:
        frame = frame.f_back
        outer = {**frame.f_locals, **outer}
    return {**outer, **getattr(inspect.unwrap(target), "__globals__", {}), **nearest}


def _schema(model: Any, name: str, names: Mapping[str, str]) -> dict[str, Any]:
    from pydantic.errors import PydanticUserError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a default that is no JSON is left out of the schema, which is right
            return clean(model.model_json_schema(by_alias=True))
    except PydanticUserError:
        pass
    from pydantic import TypeAdapter

    for field, info in model.model_fields.items():
        try:
            TypeAdapter(info.annotation).json_schema()
        except PydanticUserError:
            raise _not_json(name, names[field], info.annotation) from None
    raise ToolDefinitionError(f"{name}() has a parameter that JSON cannot express; use plain types.")


def _bind(model: Any, names: Mapping[str, str], always: set[str], arguments: Mapping[str, Any]) -> dict[str, Any]:
    filled = model.model_validate(dict(arguments))
    given = filled.model_fields_set | always
    return {parameter: getattr(filled, field) for field, parameter in names.items() if field in given}

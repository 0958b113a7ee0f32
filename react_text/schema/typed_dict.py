"""typing.TypedDict for pydantic, which before Python 3.12 takes only the one of typing_extensions."""

from __future__ import annotations

import sys
import types
import typing
from typing import Any


def replaced(hint: Any) -> Any:
    """The type with every typing.TypedDict in it rebuilt as one that pydantic takes."""
    if sys.version_info >= (3, 12):
        return hint
    return _replaced(hint, {})


def _replaced(hint: Any, built: dict[Any, Any]) -> Any:
    if typing.is_typeddict(hint) and type(hint).__module__ == "typing":
        return built[hint] if hint in built else _rebuilt(hint, built)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is None or origin is typing.Literal:
        return hint
    if origin is typing.Annotated:
        parts = (_replaced(arguments[0], built), *hint.__metadata__)
        return typing.Annotated.__class_getitem__(parts)
    inner = tuple(_replaced(argument, built) for argument in arguments)
    if inner == arguments:
        return hint
    if origin in (typing.Union, types.UnionType):
        return typing.Union[inner]  # noqa: UP007
    return origin[inner]


def _rebuilt(kind: Any, built: dict[Any, Any]) -> Any:
    import typing_extensions

    built[kind] = Any  # a TypedDict that holds itself: the inner one is taken as it comes
    fields: dict[str, Any] = {}
    for name, hint in typing.get_type_hints(kind, include_extras=True).items():
        qualifier = getattr(typing.get_origin(hint), "_name", None)
        qualified = qualifier in ("Required", "NotRequired")
        inner = _replaced(typing.get_args(hint)[0] if qualified else hint, built)
        # With postponed annotations __required_keys__ does not know of NotRequired, so the hint goes first.
        required = qualifier == "Required" if qualified else name in kind.__required_keys__
        fields[name] = typing_extensions.Required[inner] if required else typing_extensions.NotRequired[inner]
    built[kind] = typing_extensions.TypedDict(kind.__name__, fields)  # type: ignore[operator]
    return built[kind]

"""A chat-completions request, checked field by field. Pure: a body in, a value or a ChatError that names the parameter.

What the public API takes is understood, put aside and named in `ChatRequest.ignored`, or refused; nothing is dropped
in silence.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from react_text.backends.base import Sampling
from react_text.chat.history import read_messages
from react_text.errors import ChatError, ToolDefinitionError
from react_text.messages import Message
from react_text.schema import check_schema
from react_text.tools import Tool

Choice: TypeAlias = Literal["auto", "none", "required"]

MOST_TOOLS = 128
MOST_STOPS = 4
_CHOICES: Mapping[str, Choice] = {"auto": "auto", "none": "none", "required": "required"}
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")

IGNORED: Mapping[str, Any] = {
    "audio": None,
    "frequency_penalty": 0,
    "logit_bias": {},
    "metadata": None,
    "modalities": None,
    "moderation": None,
    "prediction": None,
    "presence_penalty": 0,
    "prompt_cache_key": None,
    "prompt_cache_options": None,
    "prompt_cache_retention": None,
    "reasoning_effort": None,
    "safety_identifier": None,
    "service_tier": None,
    "store": None,
    "top_k": None,
    "top_logprobs": None,
    "user": None,
    "verbosity": None,
    "web_search_options": None,
}
"""Parameters that change nothing here, each with the value that asks for nothing."""
WITHOUT_EFFECT = frozenset(
    {"metadata", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "safety_identifier", "store"}
    | {"service_tier", "user"}
)
"""Those of them that never change a reply anywhere: not worth a word."""
REFUSED = {
    "functions": "Use tools.",
    "function_call": "Use tool_choice.",
}
"""Parameters that are not served, and what to do instead."""


@dataclass(frozen=True)
class ChatRequest:
    """One request, checked.

    `allowed` are the names that a call may have; `schema` is the JSON Schema an answer must fit, `{}` for any JSON,
    None for plain text. `max_tokens` is None where the caller sets no limit.
    """

    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    choice: Choice = "auto"
    allowed: frozenset[str] = frozenset()
    parallel: bool | None = None
    named: bool = False
    stop: tuple[str, ...] = ()
    max_tokens: int | None = None
    sampling: Sampling = field(default_factory=Sampling)
    schema: Mapping[str, Any] | None = None
    stream: bool = False
    include_usage: bool = False
    ignored: tuple[str, ...] = ()
    tools_key: str = ""


def read_request(body: Any, defaults: Sampling, tools_of: Callable[[str, Any], tuple[Tool, ...]]) -> ChatRequest:
    """The request in `body`. `tools_of` gives the Tool objects of a tools list by its JSON text. Raises ChatError."""
    if not isinstance(body, Mapping):
        raise ChatError("The body must be a JSON object.", code="invalid_type")
    given = {name: value for name, value in body.items() if value is not None}
    for name in given:
        if name in REFUSED:
            raise ChatError(f"{name} is not served here. {REFUSED[name]}", param=name, code="unsupported_parameter")
        if name not in _READ and name not in IGNORED:
            raise ChatError(f"There is no parameter {_short(name)}.", param=str(name), code="unknown_parameter")
    if "messages" not in given:
        raise ChatError("The parameter messages is missing.", param="messages", code="missing_required_parameter")
    _string(given, "model")
    if _number(given, "n", 1, whole=True, low=1) != 1:
        raise ChatError("n must be 1: one choice is made at a time.", param="n", code="unsupported_value")
    if _flag(given, "logprobs"):
        raise ChatError("logprobs are not served here.", param="logprobs", code="unsupported_parameter")
    tools, key = _tools(given, tools_of)
    choice, allowed, named = _choice(given, tools)
    options = _object(given, "stream_options")
    stream = _flag(given, "stream")
    if options and not stream:
        raise ChatError("stream_options needs stream to be true.", param="stream_options", code="invalid_value")
    return ChatRequest(
        messages=tuple(read_messages(given["messages"])),
        tools=tools,
        choice=choice,
        allowed=allowed,
        named=named,
        parallel=_flag(given, "parallel_tool_calls") if "parallel_tool_calls" in given else None,
        stop=_stop(given),
        max_tokens=_limit(given),
        sampling=_sampling(given, defaults),
        schema=_format(given),
        stream=stream,
        include_usage=_flag(options, "include_usage", "stream_options."),
        ignored=tuple(
            sorted(
                name
                for name, value in given.items()
                if name in IGNORED and name not in WITHOUT_EFFECT and value != IGNORED[name]
            )
        ),
        tools_key=key,
    )


def read_tools(sent: Any) -> tuple[Tool, ...]:
    """The tools of a request. Raises ChatError."""
    tools: list[Tool] = []
    for index, entry in enumerate(sent):
        where = f"tools[{index}]"
        if not isinstance(entry, Mapping):
            raise ChatError(f"{where} must be an object.", param=where, code="invalid_type")
        if entry.get("type") != "function":
            raise ChatError(
                f"{where}.type must be function, not {_short(entry.get('type'))}.",
                param=f"{where}.type",
                code="invalid_value",
            )
        inner = entry.get("function")
        if not isinstance(inner, Mapping):
            raise ChatError(f"{where}.function must be an object.", param=f"{where}.function", code="invalid_type")
        name = inner.get("name")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ChatError(
                f"{where}.function.name must be 1 to 64 letters, digits, _, - or ., not {_short(name)}.",
                param=f"{where}.function.name",
                code="invalid_value",
            )
        if any(name == tool.name for tool in tools):
            raise ChatError(f"Two tools have the name {name}.", param=f"{where}.function.name", code="invalid_value")
        description = inner.get("description")
        if description is not None and not isinstance(description, str):
            raise ChatError(
                f"{where}.function.description must be a string.",
                param=f"{where}.function.description",
                code="invalid_type",
            )
        parameters = inner.get("parameters")
        if parameters is not None:
            _check_parameters(parameters, name, f"{where}.function.parameters")
        tools.append(Tool.from_dict(entry))
    return tuple(tools)


def _check_parameters(parameters: Any, name: str, where: str) -> None:
    try:
        if not isinstance(parameters, Mapping):
            raise ToolDefinitionError(f'The parameters of the tool "{name}" must be a JSON Schema object.')
        check_schema(parameters, name)
    except (ToolDefinitionError, RecursionError) as error:
        sentence = str(error) if isinstance(error, ToolDefinitionError) else f"{where} is nested too deeply."
        raise ChatError(sentence, param=where, code="invalid_function_parameters") from None


def _tools(given: Mapping[str, Any], tools_of: Callable[[str, Any], tuple[Tool, ...]]) -> tuple[tuple[Tool, ...], str]:
    sent = given.get("tools", [])
    if not isinstance(sent, (list, tuple)):
        raise ChatError("tools must be a list.", param="tools", code="invalid_type")
    if len(sent) > MOST_TOOLS:
        raise ChatError(f"There are {len(sent)} tools; at most {MOST_TOOLS} fit.", param="tools", code="array_too_long")
    if not sent:
        return (), ""
    try:
        key = json.dumps(sent, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        raise ChatError("tools must be plain JSON values.", param="tools", code="invalid_type") from None
    return tools_of(key, sent), key


def _choice(given: Mapping[str, Any], tools: tuple[Tool, ...]) -> tuple[Choice, frozenset[str], bool]:
    """What may be called, and whether something must be."""
    names = frozenset(tool.name for tool in tools)
    sent = given.get("tool_choice", "auto" if tools else "none")
    if isinstance(sent, str) and sent in _CHOICES:
        if sent == "required" and not tools:
            raise ChatError("tool_choice required needs tools.", param="tool_choice", code="invalid_value")
        return _CHOICES[sent] if tools else "none", names, False
    if isinstance(sent, Mapping) and sent.get("type") == "function":
        inner = sent.get("function", sent)
        name = inner.get("name") if isinstance(inner, Mapping) else None
        if not isinstance(name, str) or name not in names:
            raise ChatError(
                f"tool_choice names the tool {_short(name)}, which is not among tools.",
                param="tool_choice",
                code="invalid_value",
            )
        return "required", frozenset({name}), True
    if isinstance(sent, Mapping) and sent.get("type") == "allowed_tools":
        return _allowed(sent, names)
    raise ChatError(
        f"tool_choice must be auto, none, required or an object that names a tool, not {_short(sent)}.",
        param="tool_choice",
        code="invalid_value",
    )


def _allowed(sent: Mapping[str, Any], names: frozenset[str]) -> tuple[Choice, frozenset[str], bool]:
    inner = sent.get("allowed_tools", sent)
    mode, entries = (inner.get("mode", "auto"), inner.get("tools")) if isinstance(inner, Mapping) else (None, None)
    where = "tool_choice.allowed_tools"
    if mode not in ("auto", "required") or not isinstance(entries, list) or not entries:
        raise ChatError(f"{where} needs a mode (auto or required) and tools.", param=where, code="invalid_value")
    wanted: list[str] = []
    for entry in entries:
        function = entry.get("function", entry) if isinstance(entry, Mapping) else None
        name = function.get("name") if isinstance(function, Mapping) else None
        if not isinstance(name, str) or name not in names:
            raise ChatError(
                f"{where} names {_short(name)}, which is not among tools.", param=where, code="invalid_value"
            )
        wanted.append(name)
    return ("required" if mode == "required" else "auto"), frozenset(wanted), False


def _stop(given: Mapping[str, Any]) -> tuple[str, ...]:
    sent = given.get("stop", [])
    stops = [sent] if isinstance(sent, str) else sent
    if not isinstance(stops, list) or not all(isinstance(one, str) for one in stops):
        raise ChatError("stop must be a string or a list of strings.", param="stop", code="invalid_type")
    if len(stops) > MOST_STOPS:
        raise ChatError(f"stop holds at most {MOST_STOPS} strings.", param="stop", code="array_too_long")
    return tuple(one for one in stops if one)


def _limit(given: Mapping[str, Any]) -> int | None:
    for name in ("max_completion_tokens", "max_tokens"):
        if name in given:
            return int(_number(given, name, 1, whole=True, low=1))
    return None


def _sampling(given: Mapping[str, Any], defaults: Sampling) -> Sampling:
    return Sampling(
        temperature=_number(given, "temperature", defaults.temperature, low=0, high=2),
        top_p=_number(given, "top_p", defaults.top_p, low=0, high=1) or defaults.top_p,
        min_p=_number(given, "min_p", defaults.min_p, low=0, high=1),
        repeat_penalty=_number(given, "repeat_penalty", defaults.repeat_penalty, low=0.1, high=10),
        seed=int(_number(given, "seed", 0, whole=True)) if "seed" in given else defaults.seed,
    )


def _format(given: Mapping[str, Any]) -> Mapping[str, Any] | None:
    sent = _object(given, "response_format")
    kind = sent.get("type", "text")
    if kind == "text":
        return None
    if kind == "json_object":
        schema = sent.get("schema", {})  # llama-server's way to give a schema
    elif kind == "json_schema":
        inner = sent.get("json_schema")
        schema = inner.get("schema", {}) if isinstance(inner, Mapping) else None
    else:
        raise ChatError(
            f"response_format.type must be text, json_object or json_schema, not {_short(kind)}.",
            param="response_format.type",
            code="invalid_value",
        )
    where = "response_format.json_schema.schema" if kind == "json_schema" else "response_format.schema"
    if not isinstance(schema, Mapping):
        raise ChatError(f"{where} must be a JSON Schema object.", param=where, code="invalid_type")
    if schema:
        _check_answer_schema(schema, where)
    return schema


def _check_answer_schema(schema: Mapping[str, Any], where: str) -> None:
    from react_text.schema.validator import unsound

    try:
        found = unsound(schema)
    except RecursionError:
        found = "is nested too deeply"
    if found:
        raise ChatError(f"{where} {found}.", param=where, code="invalid_value")


def _object(given: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = given.get(name, {})
    if not isinstance(value, Mapping):
        raise ChatError(f"{name} must be an object, not {_short(value)}.", param=name, code="invalid_type")
    return value


def _string(given: Mapping[str, Any], name: str) -> None:
    if not isinstance(given.get(name, ""), str):
        raise ChatError(f"{name} must be a string, not {_short(given[name])}.", param=name, code="invalid_type")


def _flag(given: Mapping[str, Any], name: str, where: str = "") -> bool:
    value = given.get(name, False)
    if value is None:
        return False
    if not isinstance(value, bool):
        raise ChatError(f"{where}{name} must be true or false.", param=f"{where}{name}", code="invalid_type")
    return value


def _number(
    given: Mapping[str, Any],
    name: str,
    default: float,
    *,
    whole: bool = False,
    low: float = -(2.0**63),
    high: float = 2.0**63,
) -> float:
    value = given.get(name, default)
    kind = "a whole number" if whole else "a number"
    endless = isinstance(value, float) and not math.isfinite(value)  # what JSON reads of 1e400
    if isinstance(value, bool) or not isinstance(value, (int, float)) or (whole and (endless or value != int(value))):
        raise ChatError(f"{name} must be {kind}, not {_short(value)}.", param=name, code="invalid_type")
    if not low <= value <= high:
        bounds = f"from {low:g} to {high:g}" if high < 2.0**63 else f"of at least {low:g}"
        raise ChatError(f"{name} must be {kind} {bounds}, not {_short(value)}.", param=name, code="invalid_value")
    return value


def _short(value: Any) -> str:
    """A value for a message, on one line."""
    try:
        text = json.dumps(value, ensure_ascii=True)
    except (TypeError, ValueError, RecursionError):
        text = f"a {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:60]}..."


_READ = frozenset(
    {
        "messages",
        "model",
        "n",
        "logprobs",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "stop",
        "max_tokens",
        "max_completion_tokens",
        "temperature",
        "top_p",
        "min_p",
        "repeat_penalty",
        "seed",
        "response_format",
        "stream",
        "stream_options",
    }
)

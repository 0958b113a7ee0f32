"""A request as the body of a chat completion or a raw completion. Pure: values in, a body out.

Which parameters are sent depends on the server and on what it refused before.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from react_text.backends.base import Request
from react_text.backends.chat_template import RAW_STOPS, content_text, render_raw
from react_text.backends.http.constraint import constraint_of, continues
from react_text.capabilities import Capabilities
from react_text.messages import Message
from react_text.protocol.markers import break_markers

LLAMA_SAMPLERS = frozenset({"llama.cpp", "llama_cpp.server", "koboldcpp"})
"""Servers with samplers of their own on by default, which are set to what the request says."""

REPEAT_PENALTY = dict.fromkeys(LLAMA_SAMPLERS, "repeat_penalty")
"""The name of the repeat penalty; elsewhere it is repetition_penalty."""

COUNTS_AS_IT_GOES: dict[str, dict[str, Any]] = {
    "llama.cpp": {"timings_per_token": True},
    "vllm": {"stream_options": {"include_usage": True, "continuous_usage_stats": True}},
    "sglang": {"stream_options": {"include_usage": True, "continuous_usage_stats": True}},
}
"""What makes a server tell its token counts with every event, so that a reply ended on this side is counted too."""

NO_NULL_CONTENT = frozenset({"llama_cpp.server"})
"""Servers that refuse an assistant message whose content is null, though they send such ones."""


def chat_body(
    request: Request, model: str, known: Capabilities, *, stream: bool = True, extra: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The body of a chat completion. Tools and a grammar are never sent together: tools go first."""
    messages = harmless(request.messages, known.server)
    body = {"model": model, "messages": messages, **_common(request, known, stream)}
    body |= _stop(request.stop)
    if continues(request, known):
        body["messages"] = [*messages, {"role": "assistant", "content": request.reply_start}]
        if known.prefill == "flags":
            body |= {"continue_final_message": True, "add_generation_prompt": False}
    if request.tools:
        body["tools"] = list(request.tools)
        if request.tool_choice is not None:
            body["tool_choice"] = request.tool_choice
        if request.parallel_tool_calls is not None:
            body["parallel_tool_calls"] = request.parallel_tool_calls
    elif held := constraint_of(request, known):
        body |= held.fields(known.server)
    return _without(body, known) | dict(extra or {})


def completion_body(
    request: Request, model: str, known: Capabilities, *, stream: bool = True, extra: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The body of a raw completion: the messages as labelled turns, the begun reply at the end of the prompt."""
    prompt = "".join(piece.text for piece in render_raw(harmless(request.messages, known.server)))
    body = {"model": model, "prompt": prompt + request.reply_start, **_common(request, known, stream)}
    body |= _stop((*request.stop, *RAW_STOPS))
    if held := constraint_of(request, known, raw=True):
        body |= held.fields(known.server)
    return _without(body, known) | dict(extra or {})


def harmless(messages: Sequence[Message], server: str = "") -> list[Message]:
    """Messages that no server chokes on: no control marker in a content, no broken arguments in an earlier call.

    Both would do harm: the server would tokenise the first as control, and refuse the second with every request.
    """
    changed: list[Message] = []
    for message in messages:
        content = message.get("content")
        if content is None and server in NO_NULL_CONTENT:
            content = ""
        elif isinstance(content, list) and all(
            isinstance(one, Mapping) and one.get("type") == "text" for one in content
        ):
            content = content_text(message)
        if isinstance(content, str):
            content = break_markers(content, calls=message.get("role") != "assistant")
            message = {**message, "content": content}
        calls = message.get("tool_calls")
        if isinstance(calls, list) and not all(_has_sound_arguments(call) for call in calls):
            message = {**message, "tool_calls": [_with_sound_arguments(call) for call in calls]}
        changed.append(message)
    return changed


def _has_sound_arguments(call: Any) -> bool:
    function = call.get("function") if isinstance(call, Mapping) else None
    arguments = function.get("arguments") if isinstance(function, Mapping) else None
    if not isinstance(arguments, str):
        return False
    try:
        return isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        return False


def _with_sound_arguments(call: Any) -> Any:
    """The call with its arguments as the JSON text of an object: an object is written out, a broken text becomes {}."""
    if not isinstance(call, Mapping) or _has_sound_arguments(call):
        return call
    function = call.get("function")
    function = dict(function) if isinstance(function, Mapping) else {}
    arguments = function.get("arguments")
    function["arguments"] = json.dumps(arguments, ensure_ascii=False) if isinstance(arguments, Mapping) else "{}"
    return {**call, "function": function}


def _common(request: Request, known: Capabilities, stream: bool) -> dict[str, Any]:
    sampling = request.sampling
    limit = "max_completion_tokens" if "max_tokens" in known.refused else "max_tokens"
    body: dict[str, Any] = {limit: max(1, request.max_tokens), "temperature": sampling.temperature}
    if stream:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
        if request.until is not None:
            body |= COUNTS_AS_IT_GOES.get(known.server, {})
    explicit = known.server in LLAMA_SAMPLERS
    if explicit:
        body["top_k"] = 0
    if explicit or sampling.top_p != 1.0:
        body["top_p"] = sampling.top_p
    if explicit or sampling.min_p != 0.0:
        body["min_p"] = sampling.min_p
    if explicit or sampling.repeat_penalty != 1.0:
        body[REPEAT_PENALTY.get(known.server, "repetition_penalty")] = sampling.repeat_penalty
    if sampling.seed is not None:
        body["seed"] = sampling.seed
    return body


def _stop(stops: Sequence[str]) -> dict[str, Any]:
    # an empty stop string ends every reply at once
    wanted = list(dict.fromkeys(stop for stop in stops if stop))
    return {"stop": wanted} if wanted else {}


def _without(body: Mapping[str, Any], known: Capabilities) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name not in known.refused or name in ("model", "messages")}

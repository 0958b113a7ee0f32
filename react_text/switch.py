"""Text or structured, and when to change. Pure: values in, values out.

A run starts in the mode that the evidence speaks for and changes when an answer proves it wrong. A mode that the user
chose never changes by itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from react_text.capabilities import Support
from react_text.messages import Turn

Mode: TypeAlias = Literal["text", "structured"]
Wanted: TypeAlias = Literal["auto", "text", "structured"]

LEAKS_IN_A_ROW = 3
"""Calls in a row that arrive in `content` instead of `tool_calls` before a model is moved to text for good."""
FAULTS_IN_A_ROW = 2
"""Unreadable structured turns in a row before a model is moved to text for good."""

# the words with which servers say that tools are not for this model; the status is no sign, it varies from 400 to 500
_REFUSALS = re.compile(
    r"""does\ not\ support\ tools?
    | tools?\ (is|are)\ not\ supported
    | tools?\ param\ requires\ --jinja
    | tool_choice\ param\ requires\ --jinja
    | --enable-auto-tool-choice
    | unsupported\ param(eter)?s?:?\ '?(tools|tool_choice)
    | support\ tool\ use
    | does\ not\ support\ param(eter)?s:?[^.]*\btools?\b
    | unrecognized\ request\ argument[^:]*:\ (tools|tool_choice)
    | (unexpected|unknown)\ (field|keyword|argument|parameter)s?\b[^.]{0,60}\btools\b
    | extra\ inputs\ are\ not\ permitted[^.]{0,80}\btools\b
    | function\ calling\ is\ not\ (enabled|supported|available)
    """,
    re.VERBOSE | re.IGNORECASE,
)
# what a server says when its own tool parser or template failed: the same request would fail again
_UNPARSABLE = re.compile(
    r"""failed\ to\ parse\ (input|tool\ call|generated\ text)
    | error\ parsing\ tool\ call
    | does\ not\ match\ the\ expected\ \S+\ format
    | invalid\ tool\ call\ arguments
    """,
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ModeChange:
    """One change of mode and the evidence for it."""

    before: Mode
    after: Mode
    reason: str


@dataclass(frozen=True, slots=True)
class Switch:
    """Which mode a model is in, why, and what was seen so far.

    `support` is what is known of real tool calls; `trial` is True while a request without tools is being tried to
    prove that an unclear refusal was about the tools.
    """

    wanted: Wanted
    mode: Mode
    support: Support = "unknown"
    leaks: int = 0
    faults: int = 0
    trial: bool = False
    changes: tuple[ModeChange, ...] = ()


def start(wanted: Wanted, support: Support) -> Switch:
    """The mode to begin with: the one the user wants, else structured only where there is evidence for it."""
    if wanted != "auto":
        return Switch(wanted, wanted, support)
    return Switch("auto", "structured" if support == "yes" else "text", support)


def refuses_tools(error: str) -> bool:
    """Whether an endpoint's error text says that it has no tools for this model."""
    return _REFUSALS.search(error) is not None


def could_not_parse(error: str) -> bool:
    """Whether an endpoint's error text says that its own tool parser failed on the model's output."""
    return _UNPARSABLE.search(error) is not None


def after_error(switch: Switch, error: str, status: int | None) -> Switch | None:
    """The switch with which the same turn is to be asked again, or None when the error stands.

    A clear refusal and a tool parser that failed move the model to text. Another 4xx is tried once without tools:
    `after_turn` then takes that as proof, and a second error stands.
    """
    if switch.mode == "text" or switch.wanted != "auto":
        return None
    if refuses_tools(error):
        return _to_text(switch, f"the endpoint refused tools: {_first_line(error)}", support="no")
    if could_not_parse(error):
        return _to_text(switch, f"the endpoint could not read its model's call: {_first_line(error)}")
    if status is not None and 400 <= status < 500 and status not in (401, 403, 408, 429):
        return replace(_to_text(switch, f"tried without tools after: {_first_line(error)}"), trial=True)
    return None


def after_turn(switch: Switch, turn: Turn, message: Mapping[str, Any] | None) -> Switch:
    """What a turn that was read says about the mode.

    `message` is the assistant message as it was received, None where a model in process wrote text: there calls always
    come as text, and that is no leak.
    """
    if switch.trial:
        return replace(switch, trial=False, support="no")
    if switch.mode == "text":
        return switch
    structured = message is None or bool(message.get("tool_calls"))
    if turn.kind == "none":
        counted = replace(switch, faults=switch.faults + 1)
    elif turn.kind == "action" and not structured:
        counted = replace(switch, leaks=switch.leaks + 1, faults=0)
    elif turn.kind == "action":
        counted = replace(switch, leaks=0, faults=0, support="yes")
    else:
        counted = replace(switch, faults=0)
    if counted.wanted != "auto":
        return counted
    if turn.kind == "none" and _lost_its_calls(message or {}):
        return _to_text(counted, "the endpoint said that there were calls and sent none that can be read")
    if counted.leaks >= LEAKS_IN_A_ROW:
        return _to_text(counted, f"{counted.leaks} calls in a row arrived as text in the content")
    if counted.faults >= FAULTS_IN_A_ROW:
        return _to_text(counted, f"{counted.faults} structured replies in a row could not be used")
    return counted


def _lost_its_calls(message: Mapping[str, Any]) -> bool:
    """Whether there is a list of calls in which no tool is named: the endpoint's parser dropped what was written."""
    calls = message.get("tool_calls")
    functions = [one.get("function") for one in calls if isinstance(one, Mapping)] if isinstance(calls, list) else None
    return functions is not None and not any(isinstance(one, Mapping) and one.get("name") for one in functions)


def _to_text(switch: Switch, reason: str, support: Support | None = None) -> Switch:
    change = ModeChange(switch.mode, "text", reason)
    known = switch.support if support is None else support
    return replace(switch, mode="text", support=known, leaks=0, faults=0, changes=(*switch.changes, change))


def _first_line(error: str) -> str:
    line = " ".join(error.split())
    return line if len(line) <= 160 else f"{line[:160]} ..."

"""The published format, to the letter. What it does not accept, the tolerant reading may; nothing of that is here."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from react_text.messages import Call, Turn
from react_text.parsing.align import align
from react_text.parsing.echoes import echoed_answer
from react_text.parsing.hints import invalid_arguments
from react_text.parsing.json_text import MAX_DEPTH, as_object, depth
from react_text.parsing.labels import find_labels
from react_text.parsing.names import is_answer, is_echo, is_no_tool, resolve_name
from react_text.parsing.patterns import pattern
from react_text.tools import Tool

_DECODE = json.JSONDecoder(object_pairs_hook=as_object).raw_decode
_THOUGHT, _ACTION, _INPUT, _FINAL = "Thought: ", "\nAction: ", "\nAction Input: ", "\nFinal Answer: "
_SUSPECT = pattern(
    r"^[^\w\n]{0,12}(?:\d{1,3}[.)][ \t]*)?[^\W\d_][^\n:：﹕]{0,40}[:：﹕]|^[ \t]*(?:#|\[|\*\*|__|```|~~~)", re.MULTILINE
)
_MARKS = ("<", "Action: ", "Input: ", "Answer: ", "Observation: ", "[TOOL", "INST]", "</")


def read_strict(text: str, tools: Sequence[Tool]) -> Turn | None:
    """The turn, when `text` is in the published format to the letter, else None.

    A thought, then one or more pairs of action and JSON input, or a final answer; nothing else. Arguments must fit the
    tool as they stand, or the turn is a strict one with the fault `invalid_arguments`.
    """
    if not text.startswith(_THOUGHT):
        return None
    action = text.find(_ACTION, 8)
    final = text.find(_FINAL, 8)
    if action < 0 or 0 <= final < action:
        return _answer(text, final) if final >= 0 else None
    thought = text[9:action]
    if not thought or thought != thought.strip() or _holds_label(text, 9, action):
        return None
    written: list[tuple[str, dict[str, Any]]] = []
    position = action
    while text.startswith(_ACTION, position):
        name_start = position + 9
        given = text.find(_INPUT, name_start, name_start + 250)
        value_start = given + 15
        if given < 0 or text[value_start : value_start + 1] != "{":
            return None
        try:
            value, position = _DECODE(text, value_start)
        except (ValueError, RecursionError):
            return None
        brackets = text.count("{", value_start, position) + text.count("[", value_start, position)
        if brackets > MAX_DEPTH < depth(text, value_start, position):
            return None
        written.append((text[name_start:given], value))
    if position < len(text) and text[position:].strip(" \n"):
        return None
    return _calls(written, thought, tools)


def _holds_label(text: str, start: int, stop: int) -> bool:
    """Whether a part of the text may hold a section of its own, or a chat token; the tolerant reading decides then."""
    for mark in _MARKS:
        if text.find(mark, start, stop) >= 0:
            return True
    line = text.find("\n", start, stop)
    if line < 0 or _SUSPECT.search(text, line, stop) is None:
        return False
    rest = text[line + 1 : stop]
    return ("```" in rest and start == 9) or any(True for _ in find_labels(rest))


def _answer(text: str, final: int) -> Turn | None:
    thought, answer = text[9:final], text[final + 15 :].rstrip(" \n")
    if not thought or thought != thought.strip() or _holds_label(text, 9, final):
        return None
    if (
        answer.count("```") % 2
        or not answer
        or answer != answer.strip()
        or echoed_answer(answer)
        or _holds_label(text, final + 15, len(text))
    ):
        return None
    return Turn("final", final=answer, thought=thought, strict=True)


def _calls(written: Sequence[tuple[str, dict[str, Any]]], thought: str, tools: Sequence[Tool]) -> Turn | None:
    """The turn of calls whose layout is the strict one; None where a name or an argument needs a repair."""
    calls: list[Call] = []
    for name, value in written:
        number = f"call_{len(calls) + 1}"
        for tool in tools:
            if tool.name == name:
                break
        else:
            if not _is_unknown(name, tools):
                return None
            calls.append(Call(number, name, value))
            continue
        aligned = align(value, tool)
        if aligned.repairs:
            return None
        call = Call(number, name, aligned.arguments)
        if aligned.problem is not None:
            refusal = invalid_arguments(aligned.problem, tool, call, aligned.fault)
            return Turn("none", thought=thought, fault=refusal, strict=True)
        if calls and calls[-1].name == name and calls[-1].arguments == call.arguments:
            return None
        calls.append(call)
    return Turn("action", tuple(calls), thought=thought, strict=True)


def _is_unknown(name: str, tools: Sequence[Tool]) -> bool:
    """Whether a name is one word on its line that no offered tool, answer or placeholder can be meant by."""
    if not name or name != name.strip() or "\n" in name or is_no_tool(name) or is_answer(name) or is_echo(name):
        return False
    return resolve_name(name, tools).tool is None

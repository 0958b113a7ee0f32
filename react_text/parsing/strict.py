"""The published format, to the letter. What it does not accept, the tolerant reading may; nothing of that is here."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from react_text.messages import Call, Turn
from react_text.parsing.align import align
from react_text.parsing.hints import invalid_arguments
from react_text.parsing.labels import find_labels
from react_text.parsing.names import is_answer, is_echo, is_no_tool, resolve_name
from react_text.tools import Tool

_DECODE = json.JSONDecoder().raw_decode
_THOUGHT, _ACTION, _INPUT, _FINAL = "Thought: ", "\nAction: ", "\nAction Input: ", "\nFinal Answer: "
_SUSPECT = re.compile(
    r"^[^\w\n]{0,12}(?:\d{1,3}[.)][ \t]*)?[^\W\d_][^\n:：﹕]{0,40}[:：﹕]|^[ \t]*(?:#|\[|\*\*|__|```|~~~)", re.MULTILINE
)
_MARK = re.compile(
    r"<\||<｜|</?s>|</?think|<tool|<function|_of_turn>|INST\]|\[TOOL|"
    r"Action: |Action Input: |Final Answer: |Observation: "
)
_DEEP = 48


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
    if not thought.strip() or thought != thought.strip() or _holds_label(text, 9, action):
        return None
    calls: list[Call] = []
    position = action
    while True:
        name_start = position + 9
        given = text.find(_INPUT, name_start)
        if given < 0 or given - name_start > 200:
            return None
        name = text[name_start:given]
        value_start = given + 15
        if text[value_start : value_start + 1] != "{":
            return None
        try:
            value, stop = _DECODE(text, value_start)
        except (ValueError, RecursionError):
            return None
        if text.count("{", value_start, stop) + text.count("[", value_start, stop) > _DEEP:
            return None
        turn = _call(name, value, thought, tools, calls)
        if turn is not None or not calls:
            return turn
        position = stop
        if not text.startswith(_ACTION, position):
            break
    if text[position:].strip(" \n"):
        return None
    return Turn("action", tuple(calls), thought=thought, strict=True)


def _holds_label(text: str, start: int, stop: int) -> bool:
    """Whether a part of the text may hold a section of its own, or a chat token; the tolerant reading decides then."""
    if _MARK.search(text, start, stop):
        return True
    line = text.find("\n", start, stop)
    if line < 0 or _SUSPECT.search(text, line, stop) is None:
        return False
    rest = text[line + 1 : stop]
    return ("```" in rest and start == 9) or any(True for _ in find_labels(rest))


def _answer(text: str, final: int) -> Turn | None:
    thought, answer = text[9:final], text[final + 15 :].rstrip(" \n")
    if not thought.strip() or thought != thought.strip() or _holds_label(text, 9, final):
        return None
    if not answer or answer != answer.strip() or (len(answer) < 60 and answer[:1] in "[<{.") or _SUSPECT.search(answer):
        return None
    return Turn("final", final=answer, thought=thought, strict=True)


def _call(name: str, value: object, thought: str, tools: Sequence[Tool], calls: list[Call]) -> Turn | None:
    """Add one call to `calls`; a Turn when it is refused, and nothing added when the layout is not the strict one."""
    assert isinstance(value, dict)
    tool = next((tool for tool in tools if tool.name == name), None)
    number = f"call_{len(calls) + 1}"
    if tool is None:
        if resolve_name(name, tools).tool is not None or is_no_tool(name) or is_answer(name) or is_echo(name):
            calls.clear()
            return None
        if name != name.strip() or "\n" in name or not name:
            calls.clear()
            return None
        calls.append(Call(number, name, value))
        return None
    aligned = align(value, tool)
    if aligned.repairs:
        calls.clear()
        return None
    call = Call(number, name, aligned.arguments)
    if calls and calls[-1].name == name and calls[-1].arguments == call.arguments:
        calls.clear()
        return None
    if aligned.problem is not None:
        refusal = invalid_arguments(aligned.problem, tool, call, aligned.fault)
        return Turn("none", thought=thought, fault=refusal, strict=True)
    calls.append(call)
    return None

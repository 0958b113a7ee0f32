"""`parse`: one model output, read as a turn.

The published format first, untouched by anything tolerant; then the labelled reading; and where a text has no labels,
native formats and plain answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from react_text.messages import Repair, Turn
from react_text.parsing.hints import fault
from react_text.parsing.jsonish import SNIPPET
from react_text.parsing.labelled import Reading
from react_text.parsing.labels import header_end
from react_text.parsing.patterns import pattern
from react_text.parsing.reasoning import at_line_start, find_reasoning
from react_text.parsing.sections import Division, divide
from react_text.parsing.strict import read_strict
from react_text.parsing.unlabelled import CALL_MARK, answer_in_json, is_step, unlabelled_turn
from react_text.parsing.wrappers import fence_body, fence_end
from react_text.tools import Tool, as_tools

_BLANKS = pattern(r"\s*")
_NATIVE_MARK = pattern(r"<\|?/?[\w｜:]*tool|<function|<invoke|<｜|<\|python|\[TOOL|<\|channel|<\|start\|>")
_TEMPLATE_NAME = pattern(r"\$(?:JSON_BLOB|TOOL_NAME|INPUT)\b")


def parse(
    text: str,
    tools: Iterable[Tool | Mapping[str, Any]] = (),
    *,
    finish_reason: str | None = None,
    loose_names: bool = False,
) -> Turn:
    """Read one model output.

    `tools` are Tool objects or chat-completions tool dicts. `finish_reason` "length" says that the text was cut.
    `loose_names` resolves a tool name also by the largest share of common words. Any text gives a Turn; nothing raises.
    """
    offered = as_tools(tools)
    strict = read_strict(text, offered)
    if strict is not None and not (loose_names and _names_unknown(strict, offered)):
        return strict
    if not text.strip():
        return Turn("none", fault=fault("empty", offered))
    return _turn(Reading(text, offered, cut=finish_reason == "length", loose=loose_names), finish_reason)


def _names_unknown(turn: Turn, tools: Sequence[Tool]) -> bool:
    return any(call.name not in [tool.name for tool in tools] for call in turn.calls)


def is_decided(text: str, tools: Sequence[Tool]) -> bool:
    """Whether nothing that may follow `text` could change the calls of its turn."""
    return _is_decided(Reading(text, tools))


def seen_sections(text: str, tools: Sequence[Tool]) -> tuple[tuple[str, int, int], ...]:
    """The sections of a text as the labelled reading sees them: label, start and end; the label is "" where none is."""
    reasoning = find_reasoning(text, header_end(text))
    text = at_line_start(text, reasoning.start)
    division = divide(text, *_inside_fence(Reading(text, tools), reasoning.start, reasoning.end), tools)
    found = [("reasoning", 0, reasoning.start)] if reasoning.start and reasoning.thought is not None else []
    for section in division.sections:
        if section.label is not None:
            found.append((section.label.words, section.start, section.end))
        elif text[section.start : section.end].strip():
            found.append(("", section.start, section.end))
    return tuple(found)


def _turn(reading: Reading, finish_reason: str | None) -> Turn:
    start = header_end(reading.text)
    if start:
        reading.note("chat_token", 0, start)
    reasoning = find_reasoning(reading.text, start)
    start, end = reasoning.start, reasoning.end
    if reasoning.thought is not None:
        reading.thought = reasoning.thought
        reading.note("reasoning_block", 0, start)
    reading.text = at_line_start(reading.text, start)
    start, end = _inside_fence(reading, start, end)
    division = divide(reading.text, start, end, reading.tools)
    labelled = any(section.kind in ("action", "final", "input") for section in division.sections)
    if not labelled:
        own = answer_in_json(reading, division)
        if own is not None:
            return own
        if _TEMPLATE_NAME.search(reading.text, start, end):
            return reading.none(fault("template_echo", reading.tools))
    if not labelled or _native_first(reading, division):
        from react_text.parsing.native import read_native

        native = read_native(reading.original, tuple(reading.tools), finish_reason=finish_reason)
        if native is not None and _takes(reading, native, division, labelled):
            if labelled and native.kind == "action" and _calls_else(reading, native, division):
                return reading.none(fault("mixed_formats", reading.tools))
            return native
    early = _call_before_answer(reading, division, start) if labelled else None
    if early is not None:
        return early
    turn = reading.labelled_turn(division) if labelled else unlabelled_turn(reading, division, reasoning)
    if reasoning.inside and not reasoning.closed and (reading.cut or not _ends_the_block(reading, turn, division)):
        return replace(turn, kind="none", calls=(), final=None, fault=fault("truncated", reading.tools))
    if turn.kind == "action" and labelled and _call_before(reading, turn, division):
        return replace(turn, kind="none", calls=(), fault=fault("mixed_formats", reading.tools))
    if turn.kind == "action" and _native_after(reading, turn, division):
        return replace(turn, kind="none", calls=(), fault=fault("mixed_formats", reading.tools))
    return turn


def _is_decided(reading: Reading) -> bool:
    reasoning = find_reasoning(reading.text, header_end(reading.text))
    reading.text = at_line_start(reading.text, reasoning.start)
    start, end = _inside_fence(reading, reasoning.start, reasoning.end)
    if reasoning.inside or start != reasoning.start:
        return False
    division = divide(reading.text, start, end, reading.tools)
    kinds = [section.kind for section in division.sections]
    if not {"action", "final"} & set(kinds) or _native_first(reading, division):
        return False
    if division.stop in ("observation", "role", "chat_token", "next_turn"):
        return True
    turn = reading.labelled_turn(division)
    return kinds[-1] == "final" and turn.kind == "action"


def _inside_fence(reading: Reading, start: int, end: int) -> tuple[int, int]:
    """The inside of a fence that holds the whole turn."""
    blanks = _BLANKS.match(reading.text, start, end)
    at = blanks.end() if blanks else start
    if not reading.text.startswith(("```", "~~~"), at):
        return start, end
    if reading.text.startswith("tool", at + 3):
        return start, end
    body = fence_body(reading.text, at)
    head = divide(reading.text, body, min(end, body + 400), reading.tools).sections
    if len(head) < 2 or reading.text[body : head[0].end].strip():
        return start, end
    stop = fence_end(reading.text, at)
    tail = reading.text.rfind(reading.text[at : at + 3], body, end)
    if tail >= 0 and not reading.text[tail:end].strip("`~ \t\r\n"):
        reading.note("whole_turn_fenced", at, body)
        return body, tail
    if stop < 0:
        reading.note("whole_turn_fenced", at, body)
        return body, end
    return start, end


def _native_first(reading: Reading, division: Division) -> bool:
    """Whether native markup stands where a call belongs: before the first labelled step, or as its action."""
    for section in division.sections:
        if section.kind in ("final", "input"):
            return False
        spoken = False
        for mark in _NATIVE_MARK.finditer(reading.text, section.start, section.end):
            if spoken and mark[0].startswith("</"):
                continue
            spoken = True
            if section.kind == "action" or not _in_sentence(reading.text, section.start, mark.start()):
                return True
        if section.kind == "action":
            return False
    return False


def _in_sentence(text: str, start: int, at: int) -> bool:
    """Whether a mark goes on with a sentence that began on its line, so that a thought only speaks of the call."""
    line = text[max(start, text.rfind("\n", max(0, at - 400), at) + 1, at - 400) : at].strip()
    return line[-1:].isalnum() or line[-1:] in (",", "(", "-", "–", "—")


def _calls_else(reading: Reading, native: Turn, division: Division) -> bool:
    """Whether labelled steps beside a native call, with no result between, call something else."""
    from react_text.parsing.families import OTHER_VOICE

    steps = [section for section in division.sections if section.kind in ("action", "input")]
    if not steps or any(_NATIVE_MARK.search(reading.text, section.start, section.end) for section in steps):
        return False
    if re.search(OTHER_VOICE, reading.text[: steps[0].start]):
        return False
    other = Reading(reading.text, reading.tools, cut=reading.cut, loose=reading.loose).labelled_turn(division)
    return _differ(other, native)


def _call_before(reading: Reading, turn: Turn, division: Division) -> bool:
    """Whether a call without any marks, other than the labelled ones, stands before the first label."""
    first = division.sections[0]
    before = reading.text[first.start : first.end]
    if first.kind != "preamble" or "{" not in before or _NATIVE_MARK.search(before):
        return False
    from react_text.parsing.native import read_native

    native = read_native(before, tuple(reading.tools))
    return native is not None and _differ(native, turn)


def _native_after(reading: Reading, turn: Turn, division: Division) -> bool:
    """Whether a native call that the labelled steps do not hold follows one of them, with no result between."""
    from react_text.parsing.native import read_native

    stepped = False
    for section in division.sections:
        stepped = stepped or section.kind == "action"
        if not stepped or section.kind == "final":
            continue
        if section.value_end < 0 and section.kind != "thought":
            continue
        start = max(section.start, section.value_end)
        mark = _NATIVE_MARK.search(reading.text, start, section.end)
        if mark is not None:
            native = read_native(reading.text[start : section.end], tuple(reading.tools))
            return native is not None and _differ(native, turn)
    if division.stop == "chat_token" and _NATIVE_MARK.match(reading.text, division.end):
        native = read_native(reading.text[division.end :], tuple(reading.tools))
        return native is not None and _differ(native, turn)
    return False


def _differ(other: Turn, turn: Turn) -> bool:
    known = [(call.name, call.arguments) for call in turn.calls]
    return any((call.name, call.arguments) not in known for call in other.calls)


def _call_before_answer(reading: Reading, division: Division, start: int) -> Turn | None:
    """A call without any marks that stands before the first labelled step where that is an answer.

    The answer was written before the tool ran, so it is ignored.
    """
    first = next(section for section in division.sections if section.kind in ("action", "final", "input"))
    if first.kind != "final" or first.label is None:
        return None
    before = reading.text[start : first.label.start]
    if ("{" not in before and "(" not in before) or _NATIVE_MARK.search(before):
        return None
    from react_text.parsing.native import read_native

    native = read_native(before, tuple(reading.tools))
    if native is None or native.kind != "action":
        return None
    answer = reading.text[first.label.start : first.end].strip()
    return replace(native, edits=(*native.edits, Repair("answer_before_result", answer[:SNIPPET])))


def _takes(reading: Reading, native: Turn, division: Division, labelled: bool) -> bool:
    """Whether a native reading stands: a call always, an answer only where nothing speaks for a step."""
    if native.kind == "action" or (native.kind == "none" and not labelled):
        return True
    if labelled or any(section.kind == "thought" for section in division.sections):
        return False
    section = division.sections[-1]
    body = reading.text[section.start : section.end].strip()
    return CALL_MARK.match(body) is None and not is_step(reading, body)


def _ends_the_block(reading: Reading, turn: Turn, division: Division) -> bool:
    """Whether a turn inside a reasoning block that never closed is the end of it: nothing was thought after."""
    last = division.sections[-1]
    if turn.kind != "action" or last.value is None or not last.value.closed:
        return False
    return not any(char.isalnum() for char in reading.text[last.value_end : last.end])

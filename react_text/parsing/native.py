"""Calls that stand in a text in a model family's own format, read as a turn.

Text that holds nothing of the kind is left to the reader of labelled text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from react_text.messages import Call, Fault, Repair, Turn
from react_text.parsing.cut import ends_in_mark, ends_inside
from react_text.parsing.families import CONTROL, THINK_CLOSE, THINK_OPEN
from react_text.parsing.findings import NOTHING, Found, Names, Scan
from react_text.parsing.patterns import pattern
from react_text.parsing.scan import scan_text
from react_text.parsing.settle import settle, truncated
from react_text.tools import Tool


def _repeats(text: str, before: Call, at: Found, call: Call, item: Found) -> bool:
    """Whether a call is the same as the one before it, with nothing said between the two."""
    same = (before.name, before.arguments) == (call.name, call.arguments)
    between = THOUGHT_MARKS.sub("", text[at.end : max(at.end, item.start)])
    return same and not any(char.isalnum() for char in TAGS.sub("", between))


TAGS = pattern(r"</?[\w:]{1,40}>|\[/?[A-Z_]{1,20}\]|\.?json")
THOUGHT_MARKS = pattern(
    rf"{THINK_OPEN}|{THINK_CLOSE}|<\|start\|>assistant|<\|channel\|>(?:analysis|commentary|final)|<\|start_header_id\|>assistant"
    rf"|<\|im_start\|>assistant|{CONTROL}|^\s*Thought\s*:"
)


def read_native(text: str, tools: Sequence[Tool] = (), *, finish_reason: str | None = None) -> Turn | None:
    """The turn in a native format, or None when `text` holds nothing of the kind."""
    names = Names(tools)
    scan = scan_text(text, names, ended=finish_reason in ("stop", "tool_calls"))
    if scan is None:
        return None
    calls = _ending_reasoning(text, scan)
    fault = scan.fault
    if calls and finish_reason == "length" and (scan.thinking is not None or calls[-1].call.open):
        fault = truncated()
    since = calls[-1].end if calls else scan.reasoned
    if (
        fault is None
        and scan.answer is None
        and (ends_in_mark(text[since:]) if calls else ends_inside(text[since:], names.offered, names.begun))
    ):
        fault = truncated()
    if fault is not None:
        return Turn("none", thought=_thought(text, calls[0].start if calls else 0), fault=fault)
    if calls:
        return _turn(text, calls, tools)
    if scan.answer is not None:
        return _answered(text, scan.answer)
    if scan.talk and scan.thinking is None:
        answer = text[scan.reasoned : scan.stop].strip()
        edits = (Repair("implicit_final"), Repair("format_discussed"))
        return Turn("final", final=answer, thought=_thought(text, scan.reasoned), edits=edits)
    if scan.fabricated and scan.thinking is None:
        return _before_result(text[scan.reasoned : scan.stop].strip(), _thought(text, scan.reasoned), names)
    return _stripped_answer(text)


def _before_result(answer: str, thought: str | None, names: Names) -> Turn | None:
    """The answer before a result that the model wrote itself; None where it names a tool and so may be a plan."""
    if not answer:
        message = "The reply holds only a result, which is not yours to write; call a tool or give the answer."
        return Turn("none", thought=thought, fault=Fault("no_action", message))
    if any(tool.name in answer for tool in names.tools):
        return None
    edits = (Repair("implicit_final"), Repair("fabricated_observation"))
    return Turn("final", final=answer, thought=thought, edits=edits)


def _ending_reasoning(text: str, scan: Scan) -> list[Found]:
    """The calls that count: of those inside a reasoning block that was never closed, only the ones that end it."""
    calls = scan.calls
    if scan.thinking is None or not calls:
        return calls
    kept: list[Found] = []
    follows = len(text)
    for found in reversed(calls):
        if found.start >= scan.thinking and NOTHING.sub("", text[found.end : follows]):
            break
        if found.call.open:
            found = replace(found, call=replace(found.call, cut=True))
        kept.append(found)
        follows = min(found.start, follows)
    return kept[::-1]


def _turn(text: str, found: list[Found], tools: Sequence[Tool]) -> Turn:
    thought = _thought(text, found[0].start)
    families = dict.fromkeys(item.family for item in found)
    edits: list[Repair] = [Repair("native_format", family) for family in families]
    calls: list[Call] = []
    taken: set[str] = set()
    last: Found | None = None
    for item in found:
        number = len(calls) + 1
        call_id = item.call.id or f"call_{number}"
        while call_id in taken:
            number += 1
            call_id = f"call_{number}"
        settled = settle(item.call, tools, call_id)
        edits += settled.edits
        if settled.final is not None:
            if calls:
                break
            return Turn("final", final=settled.final, thought=thought, edits=tuple(edits))
        if settled.call is None:
            cut = next((other.call for other in found if other.call.cut), None)
            fault = settled.fault if cut is None else settle(cut, tools, "").fault
            return Turn("none", thought=thought, fault=fault, edits=tuple(edits))
        if calls and last is not None and _repeats(text, calls[-1], last, settled.call, item):
            edits.append(Repair("duplicate_dropped", settled.call.name))
            continue
        last = item
        taken.add(call_id)
        calls.append(settled.call)
    return Turn("action", tuple(calls), thought=thought, edits=tuple(edits))


def _thought(text: str, end: int) -> str | None:
    return THOUGHT_MARKS.sub(" ", text[:end]).strip(" \t\r\n`[") or None


def _answered(text: str, start: int) -> Turn:
    ending = re.compile(CONTROL).search(text, start)
    answer = text[start : ending.start() if ending else len(text)].strip()
    thought = _thought(text, start)
    if not answer:
        return Turn("none", thought=thought, fault=Fault("no_action", "The reply holds neither a call nor an answer."))
    return Turn("final", final=answer, thought=thought, edits=(Repair("native_format", "harmony"),))


def _stripped_answer(text: str) -> Turn | None:
    """Harmony text that lost its tokens: `analysis…assistantfinal…`, or channels without any answer."""
    if re.match(r"\s*analysis(?=[A-Z\s])", text) and "assistantfinal" in text:
        thought, _, answer = text.partition("assistantfinal")
        if answer.strip():
            edits = (Repair("native_format", "harmony"),)
            return Turn(
                "final", final=answer.strip(), thought=thought.strip().removeprefix("analysis") or None, edits=edits
            )
    if re.match(r"\s*(?:<\|start\|>assistant)?<\|channel\|>(?:analysis|commentary)", text):
        fault = Fault("no_action", "The reply holds neither a call nor an answer.")
        return Turn("none", thought=_thought(text, len(text)), fault=fault)
    return None

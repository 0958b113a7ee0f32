"""A text without action or answer labels: JSON that holds the step, an answer without its label, or no turn at all."""

from __future__ import annotations

import re
from itertools import islice

from react_text.messages import Repair, Turn
from react_text.parsing.echoes import echoed_blob
from react_text.parsing.hints import fault
from react_text.parsing.jsonish import SNIPPET, read_value
from react_text.parsing.labelled import Reading
from react_text.parsing.labels import is_label_piece
from react_text.parsing.names import is_answer, plain, resolve_name
from react_text.parsing.patterns import pattern
from react_text.parsing.reasoning import Reasoning
from react_text.parsing.sections import Division
from react_text.parsing.steps import read_envelope, step_names
from react_text.parsing.wrappers import fence_body

_NO_TOOL_NEEDED = pattern(r"\bneed to use a tool\?\s*\**(?:No\b[^\n]{0,200}(?:\n|\Z)|Yes\b\W*\Z)", re.IGNORECASE)
_TOKENS_BEFORE = pattern(r"\A(?:\s*<\|[^|<>\n]{1,40}\|>(?:assistant\b)?)+")
CALL_MARK = pattern(r"<\|?tool_?calls?|<function[=_]|<invoke\b|<｜tool|\[TOOL_CALLS\]")
_EVERYDAY = pattern(r"[a-z]+")
_SENTENCE_END = pattern(r"[.!?:\n]")
_MARKED = pattern(r"[`'\"*\[]")
_INTENT = pattern(
    r"\b(?:I|I'll|I’ll|I'm|we|let|let's|need|needs|should|must|will|would|could|going|next|first|then|now|us(?:e|es|ing)"
    r"|call(?:ing)?|invok(?:e|ing)|run(?:ning)?|try(?:ing)?|query|ask|check|look|actions?|inputs?|tools?"
    r"|functions?|with the|via)\b",
    re.IGNORECASE,
)
_LINE_OBJECT = pattern(r"^[ \t]*(?:```\w*\s*)?\{", re.MULTILINE)

MOST_MENTIONS = 500
"""Places where a tool with an everyday name is mentioned that are looked at; an answer with more is about the word."""


def answer_in_json(reading: Reading, division: Division) -> Turn | None:
    """The answer where the whole text is a JSON object whose action is the final answer."""
    if len(division.sections) != 1:
        return None
    section = division.sections[0]
    body = reading.text[section.start : section.end].strip()
    if body[:1] in "`~":
        body = body[fence_body(body, 0) :].strip()
    envelope = read_envelope(body) if body[:1] == "{" and '"' in body else None
    if envelope is None or not is_answer(envelope.name) or resolve_name(envelope.name, reading.tools).tool:
        return None
    reading.layout(division)
    return reading.step_in_json(section.start, section.end, [])


def unlabelled_turn(reading: Reading, division: Division, reasoning: Reasoning) -> Turn:
    """A text without action or answer: JSON that holds the step, an answer without a label, or no turn at all."""
    sections = division.sections
    last = sections[-1]
    found = _LINE_OBJECT.search(reading.text, last.start, last.end)
    if found is not None:
        at = found.start()
        before = [reading.text[section.start : section.end].strip() for section in sections[:-1]]
        turn = reading.step_in_json(at, last.end, [*before, reading.text[last.start : at].strip()])
        if turn is not None:
            return turn
    if any(section.kind == "thought" for section in sections):
        return _after_decision(reading, division) or _thought_only(reading, division)
    if reasoning.inside:
        return reading.none(fault("no_action" if reasoning.closed else "truncated", reading.tools))
    answer = _TOKENS_BEFORE.sub("", reading.text[last.start : last.end]).strip()
    if last.kind == "role":
        return reading.none(fault("no_action", reading.tools))
    return _implicit(reading, answer, division)


def _thought_only(reading: Reading, division: Division) -> Turn:
    thoughts = [
        reading.text[section.start : section.end].strip() for section in division.sections if section.kind != "role"
    ]
    return reading.none(fault("truncated" if reading.cut else "no_action", reading.tools), thoughts)


def _after_decision(reading: Reading, division: Division) -> Turn | None:
    """`Do I need to use a tool? No`, and then the answer without its label."""
    last = division.sections[-1]
    decided = _NO_TOOL_NEEDED.search(reading.text, last.start, last.end)
    answer = reading.text[decided.end() : last.end].strip() if decided else ""
    if decided is None or not answer or reading.cut:
        return None
    reading.layout(division)
    reading.repairs.append(Repair("implicit_final", "", answer[:SNIPPET]))
    return reading.answer(answer, [reading.text[last.start : decided.end()].strip()])


def _implicit(reading: Reading, answer: str, division: Division) -> Turn:
    if _NO_TOOL_NEEDED.search(answer[:400]):
        return _after_decision(reading, division) or _thought_only(reading, division)
    if not answer:
        return reading.none(fault("empty", reading.tools))
    if not any(char.isalnum() for char in answer[:2000]):
        return reading.none(fault("empty", reading.tools))
    if len(answer) >= 200 and _ends_in_repeats(answer[-600:] + (" " if answer[-1] != " " else "")):
        return reading.none(fault("runaway", reading.tools))
    if reading.cut or _is_cut_object(reading, answer):
        return reading.none(fault("truncated", reading.tools))
    if len(answer) < 24 and is_label_piece(answer):
        return reading.none(fault("no_action", reading.tools))
    fence = answer.find("```")
    if fence >= 0 and echoed_blob(answer[fence_body(answer, fence) :].split("```")[0].strip()):
        return reading.none(fault("template_echo", reading.tools))
    if _names_a_tool(reading, answer) or CALL_MARK.match(answer):
        return reading.none(fault("unlabelled_intent", reading.tools), [answer])
    if division.stop:
        reading.layout(division)
    reading.repairs.append(Repair("implicit_final", "", answer[:SNIPPET]))
    return reading.answer(answer, ())


def _ends_in_repeats(text: str) -> bool:
    """Whether the text ends in the same piece, of 60 characters at most, eight times over."""
    return any(text.endswith(text[-size:] * 8) for size in range(1, min(60, len(text) // 8) + 1))


def is_step(reading: Reading, body: str) -> bool:
    """Whether a whole text is a JSON object that holds a step for an offered tool, or half of one."""
    if body[:1] in "`~":
        body = body[fence_body(body, 0) :].strip()
    if body[:1] != "{":
        return False
    envelope = read_envelope(body, reading.tools)
    if envelope is not None and resolve_name(envelope.name, reading.tools).tool is not None:
        return True
    value = read_value(body).value
    return isinstance(value, dict) and any(plain(key) in ("actioninput", "toolinput") for key in value)


def _is_cut_object(reading: Reading, answer: str) -> bool:
    """Whether an answer is the beginning of a JSON object that breaks off."""
    at = fence_body(answer, 0) if answer[:2] == "``" else 0
    if answer[at : at + 2] not in ('{"', "{'", "{\n", "[{"):
        return False
    read = read_value(answer, at)
    return not read.complete or (read.readable and not read.closed)


def _names_a_tool(reading: Reading, answer: str) -> bool:
    """Whether an answer without a label is a plan: it names an offered tool, and not only inside a JSON value."""
    if answer[:1] == "{":
        value = read_value(answer).value
        if isinstance(value, dict):
            return is_step(reading, answer) or any(resolve_name(name, reading.tools).tool for name in step_names(value))
    return any(tool.name in answer and _is_named(tool.name, answer) for tool in reading.tools)


def _is_named(name: str, answer: str) -> bool:
    """Whether a text names a tool: by a name that is no everyday word, or by such a word in a sentence of intent."""
    mentions = re.finditer(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", answer)
    for found in islice(mentions, MOST_MENTIONS):
        if not _EVERYDAY.fullmatch(name):
            return True
        sentence = _sentence(answer, found.start(), found.end())
        if (
            not sentence.isascii()
            or _INTENT.search(sentence)
            or _MARKED.match(answer, max(0, found.start() - 1), found.start())
        ):
            return True
        if answer[found.end() : found.end() + 1] in ("`", "(", '"', "'"):
            return True
    return False


def _sentence(text: str, start: int, end: int) -> str:
    """The sentence around a place, at most a few hundred characters of it."""
    before = _SENTENCE_END.split(text[max(0, start - 200) : start])[-1]
    return before + text[start:end] + _SENTENCE_END.split(text[end : end + 200], maxsplit=1)[0]

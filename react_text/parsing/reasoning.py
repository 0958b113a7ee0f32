"""Reasoning blocks (`<think>…</think>`): what of a text is not the turn itself."""

from __future__ import annotations

import re
from dataclasses import dataclass

from react_text.parsing.patterns import pattern

_OPEN = pattern(r"\s*(?:<(think|thinking|thought|reasoning|reflection|scratchpad)>|\[(THINK)\])", re.IGNORECASE)
_OBSERVED = pattern(
    r"^\W{0,8}Observation(?:\W{0,4}:|[ \t]*\r?$)|<tool_(?:response|result|output)s?>|\[TOOL_RESULTS?\]", re.MULTILINE
)
_ANSWERED = pattern(r"^\W{0,8}Final ?Answer\W{0,4}:", re.MULTILINE | re.IGNORECASE)
_CLOSE = pattern(r"</(?:think|thinking|reasoning|reflection|scratchpad)>|\[/THINK\]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Reasoning:
    """The turn itself stands between `start` and `end`; `thought` is what was reasoned, None without a block.

    `inside` is True when a block is all there is, so that the turn has to be read inside it; `closed` is False when
    its end never came.
    """

    start: int
    end: int
    thought: str | None = None
    inside: bool = False
    closed: bool = True


def find_reasoning(text: str, start: int) -> Reasoning:
    """The reasoning that stands before the turn, with or without its opening tag."""
    end = len(text)
    opened = _OPEN.match(text, start)
    if opened is not None:
        begin = opened.end()
        close = re.compile(rf"</{opened[1]}>" if opened[1] else r"\[/THINK\]", re.IGNORECASE).search(text, begin)
        if close is None:
            return Reasoning(begin, end, text[begin:].strip(), inside=True, closed=False)
        if not text[close.end() :].strip():
            return Reasoning(begin, close.start(), text[begin : close.start()].strip(), inside=True)
        return Reasoning(close.end(), end, text[begin : close.start()].strip())
    if "</" in text or "[/THINK]" in text:
        observed, answered = _OBSERVED.search(text, start), _ANSWERED.search(text, start)
        for close in _CLOSE.finditer(text, start):
            if observed and observed.start() < close.start():
                break
            if not _begins_line(text, close.start()) and (
                (answered and answered.start() < close.start()) or is_mentioned(text, close.start(), close.end())
            ):
                continue
            if _stands_alone(text, close.start(), close.end()):
                if not text[close.end() :].strip():
                    return Reasoning(start, close.start(), text[start : close.start()].strip(), inside=True)
                return Reasoning(close.end(), end, text[start : close.start()].strip())
    return Reasoning(start, end)


def is_mentioned(text: str, begin: int, stop: int) -> bool:
    """Whether a closing tag that nothing opened stands in the middle of a sentence, as something spoken of."""
    return text[begin - 1 : begin] == " " and text[stop : stop + 1] == " " and text[stop + 1 : stop + 2].islower()


def _begins_line(text: str, begin: int) -> bool:
    line = text.rfind("\n", max(0, begin - 100), begin)
    return not text[line + 1 if line >= 0 else max(0, begin - 100) : begin].strip()


def _stands_alone(text: str, start: int, stop: int) -> bool:
    """Whether a closing tag is one, and not part of a quoted text."""
    line = text.rfind("\n", max(0, start - 1000), start)
    before = text[line + 1 if line >= 0 else max(0, start - 1000) : start]
    return before.count('"') % 2 == 0 and before.count("`") % 2 == 0 and text[stop : stop + 1] not in ("`", '"', "'")


def at_line_start(text: str, start: int) -> str:
    """The text, of the same length, with a line break before `start`, so that a label right after a tag counts."""
    return text if start == 0 or text[start - 1] == "\n" else f"{text[: start - 1]}\n{text[start:]}"

"""A text divided into the sections of a turn: which labels count where they stand, and where the turn ends.

Labels inside values, fences and quotes open nothing; what follows a self-written observation, another role or a chat
token belongs to no section. Knows tools only by name.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from react_text.messages import Repair
from react_text.parsing.json_text import ValueRead
from react_text.parsing.jsonish import read_value
from react_text.parsing.labels import CHAT_TOKEN, Label, find_inline, find_labels
from react_text.parsing.names import resolve_name
from react_text.parsing.patterns import pattern
from react_text.parsing.wrappers import fence_body, fence_end
from react_text.tools import Tool

SectionKind: TypeAlias = Literal["preamble", "thought", "action", "input", "final", "observation", "role"]

MOST_SECTIONS = 500
"""A turn with more sections is a runaway; what follows is not read."""

MOST_PASSED = 300
"""Label words within lines that are looked at in vain; after as many, such words open nothing any more."""


@dataclass(slots=True)
class Section:
    """A part of the text, from `start` to `end`, after its label. `value` is the JSON-like value at its beginning,
    which stands at `value_start`; `value_end` is where the section's own text is known to be over."""

    kind: SectionKind
    label: Label | None
    start: int
    end: int = -1
    value: ValueRead | None = None
    value_start: int = -1
    value_end: int = -1


@dataclass(slots=True)
class Division:
    """The sections of a turn in order. `stop` says what ended the turn before the end of the text, "" for nothing."""

    sections: list[Section]
    end: int
    stop: Literal["", "observation", "role", "chat_token", "stop_word", "next_turn"] = ""
    repairs: list[Repair] = field(default_factory=list)


_BLANKS = pattern(r"\s*")
_FENCE_LINE = pattern(r"^[ \t]{0,8}(`{3,}|~{3,})", re.MULTILINE)
_THINK = pattern(r"<(think|thinking)>", re.IGNORECASE)
_OBSERVATION = pattern(r"^[ \t]*(?:Observation|OBSERVATION)(?=[ \t]+[\"'\w{\[(]|[ \t]*\r?$)", re.MULTILINE)
_STOP_PIECE = pattern(r"\n[ \t]*(?:\*{0,2}|#{0,4} ?)Obs(?:e(?:r(?:v(?:a(?:t(?:i(?:o(?:n)?)?)?)?)?)?)?)?[ \t]*:?\s*\Z")
_SENTENCE_END = pattern(r"[.!?:;,)\]}。！？\"'’”*]\s*$")
_TALK = pattern(
    r"\b(?:the|a|an|my|your|write|writes|writing|with|say|says|label|labels|as|of|after|before|put|use|using|to|line|"
    r"word|words|format|called|named|or|and|no|without|this|that|each|every|first|next|for|in|into|from|by|on|at|is|be|"
    r"yet|not|ready|give|giving|produce|output)\s*$",
    re.IGNORECASE,
)
_PROMPT_TEXT = pattern(
    r"begin!?$|invalid (?:format|or incomplete)\b|could not parse\b|error:|previous conversation", re.IGNORECASE
)
_HEADER_WORDS = pattern(r"<\|[^|<>\n]{1,40}\|>|\b(?:assistant|model)\b")
_CALL_BRACKET = pattern(r"[^\n(\[{]{1,120}([(\[{])")


def divide(text: str, start: int, end: int, tools: Sequence[Tool]) -> Division:
    """The sections of `text` between two offsets."""
    return _Divider(text, start, end, tools).divide()


class _Divider:
    def __init__(self, text: str, start: int, end: int, tools: Sequence[Tool]) -> None:
        self.text, self.position, self.end, self.tools = text, start, end, tools
        self.sections = [Section("preamble", None, start)]
        self.stepped = False
        self.passed = 0

    def divide(self) -> Division:
        self._skip_object()
        for at, what in self._marks():
            if at >= self.end:
                break
            if at < self.position:
                continue
            current = self.sections[-1]
            if isinstance(what, Label):
                if what.inline and self.passed > MOST_PASSED:
                    continue
                stop = self._label(what, current)
                if stop or len(self.sections) > MOST_SECTIONS:
                    return self._ended(at, stop or "next_turn")
            elif what == "fence":
                self._fence(at, current)
            elif what == "observation":
                if current.value_end >= 0 or (current.kind in ("action", "input") and not self._is_line(at)):
                    return self._ended(at, "observation")
            elif what == "think":
                self._think(at, current)
            elif self._is_token(at, what, current):
                return self._ended(at, "chat_token")
        return self._ended(self.end, "")

    def _is_line(self, at: int) -> bool:
        """Whether a word is alone on its line, which within a bare text may be a line of it."""
        return len(self.text[at : at + 40].lstrip().split("\n", 1)[0].split()) == 1

    def _skip_object(self) -> None:
        """Move past a JSON object that the text begins with: label words inside it are data."""
        blanks = _BLANKS.match(self.text, self.position, self.end)
        at = blanks.end() if blanks else self.position
        if self.text.startswith("{", at):
            read = read_value(self.text, at)
            if isinstance(read.value, dict) and read.value and read.complete and read.closed:
                self.position = min(read.end, self.end)

    def _marks(self) -> Iterator[tuple[int, Label | str]]:
        """Everything that may divide the text, by offset."""
        text = self.text
        lines = ((label.start, 0, label) for label in find_labels(text))
        inline = ((label.start, 1, label) for label in find_inline(text))
        others: list[Iterator[tuple[int, int, Label | str]]] = []
        if "<" in text or "[" in text:
            others.append((match.start(), 2, match.group()) for match in CHAT_TOKEN.finditer(text))
            others.append((match.start(), 3, "think") for match in _THINK.finditer(text))
        if "bservation" in text or "BSERV" in text:
            others.append((match.start(), 4, "observation") for match in _OBSERVATION.finditer(text))
        if "```" in text or "~~~" in text:
            others.append((match.start(), -1, "fence") for match in _FENCE_LINE.finditer(text))
        for at, _, what in heapq.merge(lines, inline, *others, key=_by_offset):
            yield at, what

    def _ended(self, at: int, stop: str) -> Division:
        last = self.sections[-1]
        last.end = max(at, last.start)
        if last.kind in ("input", "final", "action"):
            piece = _STOP_PIECE.search(self.text, max(last.start - 1, last.end - 80), last.end)
            if piece is not None and (stop or not self.text[piece.end() :].strip()):
                last.end = piece.start()
                stop = stop or "stop_word"
        return Division(self.sections, last.end, stop)  # type: ignore[arg-type]

    def _open(self, kind: SectionKind, label: Label) -> None:
        self.sections[-1].end = label.start
        section = Section(kind, label, label.end)
        self.sections.append(section)
        self.position = label.end
        if kind in ("action", "final"):
            self.stepped = True
        if kind == "input":
            self._skip_value(section, label.end)
        elif kind == "action":
            self._skip_call(section)

    def _label(self, label: Label, current: Section) -> str:
        """Open the section that a label begins, or do nothing; the reason to stop where the turn ends here."""
        kind = label.kind
        if label.inline and not self._counts_inline(label, current):
            self.passed += 1
            return ""
        if current.kind == "final":
            return self._after_answer(label, current)
        if current.kind == "input" and not self._counts_in_input(label, current):
            return ""
        if label.short and current.kind != ("action" if kind == "input" else "input"):
            return ""
        if kind == "observation":
            return "observation" if self.stepped or not label.inline else ""
        if kind in ("role", "assistant"):
            return self._role(label, current)
        if kind == "input" and current.kind == "input" and not self._is_other_input(label, current):
            return ""
        if kind == "final" and current.kind == "action" and not self.text[current.start : label.start].strip():
            self.sections.pop()
        self._open(
            "final"
            if kind == "final"
            else "thought"
            if kind == "thought"
            else "action"
            if kind == "action"
            else "input",
            label,
        )
        return ""

    def _is_other_input(self, label: Label, current: Section) -> bool:
        """Whether a second input follows a complete one, so that the action between them was lost."""
        if label.inline or label.short or current.value_end < 0 or label.start < current.value_end:
            return False
        size = current.value_end - current.value_start
        start = (
            label.end + len(self.text[label.end : label.end + 40]) - len(self.text[label.end : label.end + 40].lstrip())
        )
        return (
            current.value_start >= 0
            and self.text[start : start + size] != self.text[current.value_start : current.value_end]
        )

    def _role(self, label: Label, current: Section) -> str:
        """Another role begins to speak: before any step it is an echo of the prompt, after one the turn is over."""
        if self.stepped or current.kind == "thought":
            return "role"
        if current.kind == "role":
            return ""
        spoken = self.text[current.start : label.start].strip()
        if spoken and not _PROMPT_TEXT.match(spoken):
            return "role"
        current.end = label.start
        self.sections.append(Section("role" if label.kind == "role" else "preamble", label, label.end))
        self.position = label.end
        return ""

    def _after_answer(self, label: Label, current: Section) -> str:
        """What a label after the answer means: the next turn, or a line of the answer."""
        if label.inline or label.heading == 1:
            return ""
        if label.kind in ("observation", "role", "assistant"):
            return "" if label.short else label.kind.replace("assistant", "role")
        if label.words[:1].islower():
            return ""
        if label.kind == "thought" and not label.repairs:
            return "next_turn"
        if label.kind == "final" and " " in label.words and self.text[current.start : label.start].strip():
            return "next_turn"
        if label.kind == "action" and self.passed < MOST_PASSED:
            self.passed += 1
            return "next_turn" if self._names_tool(label.end) else ""
        if label.kind == "thought" and "label_translated" in label.repairs:
            return "next_turn"
        return ""

    def _names_tool(self, start: int) -> bool:
        """Whether the line after `start` is the name of an offered tool, up to a label or bracket within it."""
        line_end = self.text.find("\n", start, min(self.end, start + 200))
        line = self.text[start : line_end if line_end >= 0 else min(self.end, start + 200)]
        for label in find_inline(" " + line):
            line = line[: max(label.start - 1, 0)]
            break
        written = re.split(r"[(\[{]", line.strip(), maxsplit=1)[0].strip() or line.strip()
        if not self.tools:
            return re.fullmatch(r"[\w.-]{1,64}", written) is not None
        read = resolve_name(written, self.tools)
        return read.tool is not None and all(repair.name in ("name_marks", "name_spelling") for repair in read.repairs)

    def _counts_inline(self, label: Label, current: Section) -> bool:
        if current.kind == "final" or self._is_quoted(label.start):
            return False
        if current.kind in ("preamble", "thought", "role"):
            if label.kind == "final":
                return (
                    label.words != "Answer"
                    and _TALK.search(self.text, max(current.start, label.start - 12), label.start) is None
                )
            return label.kind == "action" and self._begins_step(label, current)
        if current.kind == "action":
            return label.kind != "action" and not (label.short and label.kind != "input")
        if label.kind == "action":
            return self._begins_step(label, current)
        if current.value_end >= 0:
            between = self.text[current.value_end : label.start] if label.start - current.value_end < 20 else "x"
            return not between.strip(" \t.,;)]}`") or _SENTENCE_END.search(between[-4:]) is not None
        line_end = self.text.find("\n", current.start, label.start)
        return line_end < 0 and label.kind in ("observation", "final", "thought")

    def _begins_step(self, label: Label, current: Section) -> bool:
        """Whether `Action:` within a line begins a step: it names a tool, or a JSON blob follows it."""
        after = _BLANKS.match(self.text, label.end, self.end)
        ahead = after.end() if after else label.end
        sentence = _SENTENCE_END.search(self.text, max(current.start, label.start - 4), label.start) is not None
        if current.kind == "thought" and not self.text[current.start : label.start].strip():
            sentence = True
        if ahead >= self.end or self.text.startswith(("```", "{"), ahead):
            return sentence
        if not self._names_tool(label.end):
            return False
        line_end = self.text.find("\n", label.end, min(self.end, label.end + 200))
        rest = self.text[label.end : line_end if line_end >= 0 else min(self.end, label.end + 200)]
        return sentence or re.search(r"Action Input|[(\[]", rest) is not None

    def _is_quoted(self, at: int) -> bool:
        line = self.text.rfind("\n", max(0, at - 300), at)
        before = self.text[line + 1 if line >= 0 else max(0, at - 300) : at]
        if before[-1:] == '"' and (len(before) < 2 or before[-2] in " \\([{:,="):
            return True
        return before.count('"') % 2 == 1 or before.count("`") % 2 == 1 or before.count("“") > before.count("”")

    def _counts_in_input(self, label: Label, current: Section) -> bool:
        """In the middle of an input, only labels that no code or list would hold."""
        if current.value_end >= 0 or label.inline:
            return True
        if label.heading == 1 or (label.heading and label.indent >= 4):
            return False
        published = not label.repairs or set(label.repairs) <= {"layout", "label_marks", "label_number", "label_colon"}
        return published or label.words[:1].isupper() or not label.words.isascii() or " " in label.words

    def _fence(self, at: int, current: Section) -> None:
        """Labels inside a fence count only where the fence is the value of the section."""
        if current.kind == "input":
            return
        start = self.text.index("`" if "`" in self.text[at : at + 12] else "~", at)
        stop = fence_end(self.text, start)
        self.position = stop if stop >= 0 else self.end

    def _think(self, at: int, current: Section) -> None:
        if current.kind in ("preamble", "thought") and not self._is_quoted(at):
            close = re.compile(r"</think(?:ing)?>", re.IGNORECASE).search(self.text, at, self.end)
            self.position = close.end() if close else self.end

    def _is_token(self, at: int, token: str, current: Section) -> bool:
        """Whether a chat token is one, and not talk about one."""
        before, after = self.text[at - 1 : at], self.text[at + len(token) : at + len(token) + 1]
        if before and before in "`\"'“" and after and after in "`\"'”":
            return False
        spoken = self.text[self.sections[0].start : at]
        return len(spoken) > 200 or bool(_HEADER_WORDS.sub("", spoken).strip())

    def _skip_value(self, section: Section, start: int) -> None:
        """Move past the value that an input begins with, so that label words inside it count for nothing."""
        blanks = _BLANKS.match(self.text, start, self.end)
        at = blanks.end() if blanks else start
        fenced = self.text.startswith(("``", "~~~"), at) and at < self.end
        if fenced:
            inside = _BLANKS.match(self.text, fence_body(self.text, at), self.end)
            body = inside.end() if inside else at
            if self.text[body : body + 1] not in ("{", "["):
                stop = fence_end(self.text, at)
                self.position = section.value_end = stop if 0 <= stop <= self.end else self.end
                return
            at = body
        while at < self.end and self.text[at] == "(" and not fenced:
            at += 1
        if at >= self.end or self.text[at] not in "{[":
            return
        read = read_value(self.text, at)
        if not read.readable and read.complete:
            return
        section.value, section.value_start = read, at
        self.position = section.value_end = min(read.end, self.end) if read.complete else self.end
        if fenced and (mark := re.compile(r"\s*(?:`{2,}|~{3,})").match(self.text, self.position, self.end)):
            self.position = section.value_end = mark.end()

    def _skip_call(self, section: Section) -> None:
        """Move past a JSON blob or a bracketed object that stands where the tool's name is expected."""
        blanks = _BLANKS.match(self.text, section.start, self.end)
        at = blanks.end() if blanks else section.start
        if self.text.startswith(("{", "``"), at):
            self._skip_value(section, at)
            return
        bracket = _CALL_BRACKET.match(self.text, at, self.end)
        if bracket is None or any(True for _ in find_inline(" " + bracket.group())):
            return
        inside = _BLANKS.match(self.text, bracket.end(), self.end)
        ahead = inside.end() if inside else bracket.end()
        if bracket[1] == "{" or self.text.startswith("{", ahead):
            self._skip_value(section, bracket.end() - 1 if bracket[1] == "{" else ahead)


def _by_offset(mark: tuple[int, int, object]) -> tuple[int, int]:
    return mark[0], mark[1]

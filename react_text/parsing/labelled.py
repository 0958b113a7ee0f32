"""A text with labels, read as a turn: its steps in order, what of its layout differs, and what ended it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from react_text.messages import Call, Fault, Repair, Turn
from react_text.parsing.echoes import echoed_answer
from react_text.parsing.hints import fault
from react_text.parsing.jsonish import SNIPPET, read_value
from react_text.parsing.patterns import pattern
from react_text.parsing.sections import Division, Section
from react_text.parsing.shapes import ARGUMENT_KEYS, is_record
from react_text.parsing.steps import Step, read_envelope, read_step
from react_text.parsing.wrappers import fence_body
from react_text.tools import Tool

_PUBLISHED = pattern(r"Thought: \S[^\n]*(?:\n.*)?\n(?:Action: \S[^\n]*\nAction Input: \{|Final Answer: \S)", re.DOTALL)
_STOPS = {
    "observation": "fabricated_observation",
    "role": "other_role",
    "chat_token": "chat_token",
    "stop_word": "stop_word_piece",
    "next_turn": "next_turn",
}


class Reading:
    """One text on its way to a turn: what the ways to read it share.

    `thought` is what a reasoning block held, `cut` whether the text hit the token limit.
    """

    def __init__(self, text: str, tools: Sequence[Tool], *, cut: bool = False, loose: bool = False) -> None:
        self.text = self.original = text
        self.tools, self.cut, self.loose = tools, cut, loose
        self.repairs: list[Repair] = []
        self.thought: str | None = None

    def labelled_turn(self, division: Division) -> Turn:
        """The turn that the sections make."""
        sections = division.sections
        self.layout(division)
        thoughts: list[str] = []
        calls: list[Call] = []
        no_tool = False
        index = 0
        while index < len(sections):
            section = sections[index]
            index += 1
            if section.kind == "thought" or section.kind == "preamble":
                if not calls:
                    thoughts.append(self.text[section.start : section.end].strip())
                continue
            if section.kind == "input":
                if no_tool:
                    continue
                if calls:
                    return self.none(fault("missing_action", self.tools), thoughts)
                return self._envelope(section, thoughts) or self.none(fault("missing_action", self.tools), thoughts)
            if section.kind == "final":
                if calls:
                    self.note("answer_before_result", section.start, section.end)
                    break
                return self._final(section, division, thoughts)
            if section.kind != "action":
                continue
            body = self.text[section.start : section.start + 400].lstrip(" \t\r\n`json")
            if body.startswith("[") and body[1:].lstrip().startswith("{"):
                from react_text.parsing.native import read_native

                listed = read_native(self.text[section.start : section.end], tuple(self.tools))
                if listed is not None and listed.kind == "action" and len(listed.calls) > 1 and not calls:
                    self.repairs.extend(listed.edits)
                    calls.extend(listed.calls)
                    continue
            given = sections[index] if index < len(sections) and sections[index].kind == "input" else None
            if given is not None:
                index += 1
            last = (given or section).end >= len(self.text)
            step = read_step(self.text, section, given, self.tools, last=last, loose=self.loose)
            self.repairs.extend(step.repairs)
            if step.fault is not None:
                return self.none(replace(step.fault, span=(section.start, (given or section).end)), thoughts)
            if step.final is not None:
                if calls:
                    break
                return self.answer(step.final, thoughts)
            if step.call is None:
                no_tool = True
                continue
            if last and self.cut and (step.bare or not step.closed or given is None):
                return self.none(fault("truncated", self.tools), thoughts)
            if not self._add(calls, step):
                self.note("duplicate_dropped", section.start, section.end)
        thought = self.thought_of(thoughts)
        if calls and self.cut and self._ends_in_label(sections[-1]):
            return self.none(fault("truncated", self.tools), thoughts)
        if calls:
            edits = self.edits()
            return Turn("action", tuple(calls), thought=thought, strict=not edits, edits=edits)
        return self.none(fault("no_tool" if no_tool else "no_action", self.tools), thoughts)

    def _ends_in_label(self, last: Section) -> bool:
        """Whether a cut text breaks off in the label of a further step."""
        piece = self.text[max(last.value_end, last.start) : last.end].rpartition("\n")[2].strip(" \t*#_>").casefold()
        return bool(piece) and last.end == len(self.text) and "action input".startswith(piece)

    def _add(self, calls: list[Call], step: Step) -> bool:
        assert step.call is not None
        if calls and calls[-1].name == step.call.name and calls[-1].arguments == step.call.arguments:
            return False
        calls.append(replace(step.call, id=f"call_{len(calls) + 1}"))
        return True

    def layout(self, division: Division) -> None:
        """Note what of the layout differs from the published format."""
        sections = division.sections
        kinds = [section.kind for section in sections]
        if self.text[sections[0].start : sections[0].end].strip():
            self.repairs.append(
                Repair("unlabelled_thought", self.text[sections[0].start : sections[0].end].strip()[:SNIPPET])
            )
        elif "thought" not in kinds and not self.thought:
            self.repairs.append(Repair("missing_thought"))
        seen = {repair.name for repair in self.repairs}
        for section in sections:
            if section.kind == "role" and "context_echo" not in seen:
                self.note("context_echo", section.start, section.end)
            for name in section.label.repairs if section.label else ():
                if name not in seen and section.label is not None:
                    seen.add(name)
                    self.note(name, section.label.start, section.label.end)
        if division.stop:
            self.note(_STOPS[division.stop], division.end, len(self.text))

    def note(self, name: str, start: int, stop: int, after: str = "") -> None:
        """Add a repair of the text between two offsets."""
        self.repairs.append(Repair(name, self.text[start:stop][:SNIPPET], after, (start, stop)))

    def edits(self) -> tuple[Repair, ...]:
        """The repairs; a text that differs from the published format only in blanks has at least that one."""
        if not self.repairs and _PUBLISHED.match(self.text) is None:
            self.repairs.append(Repair("layout"))
        return tuple(self.repairs)

    def thought_of(self, thoughts: Sequence[str]) -> str | None:
        """The thoughts of the turn, or else what a reasoning block held."""
        own = "\n".join(part for part in thoughts if part).strip()
        return own or self.thought or None

    def none(self, why: Fault, thoughts: Sequence[str] = ()) -> Turn:
        """The turn that runs nothing and answers nothing."""
        return Turn("none", thought=self.thought_of(thoughts), fault=why, edits=tuple(self.repairs))

    def answer(self, answer: str, thoughts: Sequence[str]) -> Turn:
        """The turn that answers, unless the answer is the prompt's placeholder for one."""
        if echoed_answer(answer):
            return self.none(fault("template_echo", self.tools), thoughts)
        edits = self.edits()
        return Turn("final", final=answer, thought=self.thought_of(thoughts), strict=not edits, edits=edits)

    def _final(self, section: Section, division: Division, thoughts: Sequence[str]) -> Turn:
        answer = self.text[section.start : section.end].strip()
        if section.label is not None and section.label.bold and answer.endswith("**"):
            answer = answer[:-2].rstrip()
        if answer.endswith("\n```") and answer.count("```") % 2:
            self.note("whole_turn_fenced", section.end - 3, section.end)
            answer = answer[:-3].rstrip()
        if not answer:
            return self.none(fault("no_action", self.tools), thoughts)
        return self.answer(answer, thoughts)

    def _envelope(self, section: Section, thoughts: Sequence[str]) -> Turn | None:
        """An input without an action whose JSON names the tool itself."""
        return self.step_in_json(section.start, section.end, thoughts)

    def step_in_json(self, start: int, end: int, thoughts: Sequence[str]) -> Turn | None:
        """The turn whose step is the JSON object at the start of a part of the text, None where there is none."""
        body = self.text[start:end].strip()
        if body[:1] in "`~":
            body = body[fence_body(body, 0) :].strip()
        if body[:1] != "{":
            return None
        envelope = read_envelope(body, self.tools)
        if envelope is None or _is_record_of_call(body):
            return None
        step = read_step(body, Section("action", None, 0, len(body)), None, self.tools, last=False, loose=self.loose)
        self.repairs.extend(step.repairs)
        if step.fault is not None:
            return self.none(step.fault, thoughts)
        if step.final is not None:
            return self.answer(step.final, thoughts)
        if step.call is None:
            return None
        if self.cut and not step.closed:
            return self.none(fault("truncated", self.tools), thoughts)
        return Turn("action", (replace(step.call, id="call_1"),), thought=self.thought_of(thoughts), edits=self.edits())


def _is_record_of_call(body: str) -> bool:
    """Whether a JSON object holds name and arguments as a log entry or a list of tools does."""
    value = read_value(body).value
    return isinstance(value, dict) and any(key in ARGUMENT_KEYS for key in value) and is_record(value)

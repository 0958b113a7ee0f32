"""`parse`: one model output, read as a turn.

The published format first, untouched by anything tolerant; then the labelled reading; and where a text has no labels,
native formats and plain answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from react_text.messages import Call, Fault, Repair, Turn
from react_text.parsing.echoes import echoed_answer, echoed_blob
from react_text.parsing.hints import fault
from react_text.parsing.jsonish import SNIPPET, read_value
from react_text.parsing.labels import header_end, is_label_piece
from react_text.parsing.names import is_answer, plain, resolve_name
from react_text.parsing.native import read_native
from react_text.parsing.reasoning import Reasoning, at_line_start, find_reasoning
from react_text.parsing.sections import Division, Section, divide
from react_text.parsing.steps import Step, read_envelope, read_step, step_names
from react_text.parsing.strict import read_strict
from react_text.parsing.wrappers import fence_body, fence_end
from react_text.tools import Tool, as_tools

_BLANKS = re.compile(r"\s*")
_NATIVE_MARK = re.compile(r"<\|?/?[\w｜:]*tool|<function|<invoke|<｜|<\|python|\[TOOL|<\|channel|<\|start\|>")
_NO_TOOL_NEEDED = re.compile(r"\bneed to use a tool\?\s*\**(?:No\b[^\n]{0,200}(?:\n|\Z)|Yes\b\W*\Z)", re.IGNORECASE)
_TOKENS_BEFORE = re.compile(r"\A(?:\s*<\|[^|<>\n]{1,40}\|>(?:assistant\b)?)+")
_CALL_MARK = re.compile(r"<\|?tool_?calls?|<function[=_]|<invoke\b|<｜tool|\[TOOL_CALLS\]")
_TEMPLATE_NAME = re.compile(r"\$(?:JSON_BLOB|TOOL_NAME|INPUT)\b")
_REPEATED = re.compile(r"(.{1,60}?)\1{7,}\Z", re.DOTALL)
_LINE_OBJECT = re.compile(r"^[ \t]*(?:```\w*\s*)?\{", re.MULTILINE)
_PUBLISHED = re.compile(
    r"Thought: \S[^\n]*(?:\n.*)?\n(?:Action: \S[^\n]*\nAction Input: \{|Final Answer: \S)", re.DOTALL
)


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
    return _Reading(text, offered, finish_reason == "length", loose_names).turn(finish_reason)


def _names_unknown(turn: Turn, tools: Sequence[Tool]) -> bool:
    return any(call.name not in [tool.name for tool in tools] for call in turn.calls)


def is_decided(text: str, tools: Sequence[Tool]) -> bool:
    """Whether nothing that may follow `text` could change the calls of its turn."""
    return _Reading(text, tools, False, False).is_decided()


def seen_sections(text: str, tools: Sequence[Tool]) -> tuple[tuple[str, int, int], ...]:
    """The sections of a text as the labelled reading sees them: label, start and end; the label is "" where none is."""
    reasoning = find_reasoning(text, header_end(text))
    text = at_line_start(text, reasoning.start)
    division = divide(text, reasoning.start, reasoning.end, tools)
    found = [("reasoning", 0, reasoning.start)] if reasoning.start and reasoning.thought is not None else []
    for section in division.sections:
        if section.label is not None:
            found.append((section.label.words, section.start, section.end))
        elif text[section.start : section.end].strip():
            found.append(("", section.start, section.end))
    return tuple(found)


class _Reading:
    """One text on its way to a turn: what is shared by the ways to read it."""

    def __init__(self, text: str, tools: Sequence[Tool], cut: bool, loose: bool) -> None:
        self.text = self.original = text
        self.tools, self.cut, self.loose = tools, cut, loose
        self.repairs: list[Repair] = []
        self.thought: str | None = None

    def turn(self, finish_reason: str | None) -> Turn:
        start = header_end(self.text)
        if start:
            self._note("chat_token", 0, start)
        reasoning = find_reasoning(self.text, start)
        start, end = reasoning.start, reasoning.end
        if reasoning.thought is not None:
            self.thought = reasoning.thought
            self._note("reasoning_block", 0, start)
        self.text = at_line_start(self.text, start)
        start, end = self._inside_fence(start, end)
        division = divide(self.text, start, end, self.tools)
        labelled = any(section.kind in ("action", "final", "input") for section in division.sections)
        if not labelled:
            own = self._answer_in_json(division)
            if own is not None:
                return own
            if _TEMPLATE_NAME.search(self.text, start, end):
                return self._none(fault("template_echo", self.tools))
        if not labelled or self._native_first(division):
            native = read_native(self.original, tuple(self.tools), finish_reason=finish_reason)
            if native is not None and self._takes(native, division, labelled):
                return native
        turn = self._labelled(division, reasoning) if labelled else self._unlabelled(division, reasoning)
        if reasoning.inside and not reasoning.closed and not self._ends_the_block(turn, division):
            return replace(turn, kind="none", calls=(), final=None, fault=fault("truncated", self.tools))
        return turn

    def is_decided(self) -> bool:
        """See the function of the same name."""
        reasoning = find_reasoning(self.text, header_end(self.text))
        self.text = at_line_start(self.text, reasoning.start)
        start, end = self._inside_fence(reasoning.start, reasoning.end)
        if reasoning.inside or start != reasoning.start:
            return False
        division = divide(self.text, start, end, self.tools)
        kinds = [section.kind for section in division.sections]
        if not {"action", "final"} & set(kinds) or self._native_first(division):
            return False
        if division.stop in ("observation", "role", "chat_token", "next_turn"):
            return True
        turn = self._labelled(division, reasoning)
        return kinds[-1] == "final" and turn.kind == "action"

    def _note(self, name: str, start: int, stop: int, after: str = "") -> None:
        self.repairs.append(Repair(name, self.text[start:stop][:SNIPPET], after, (start, stop)))

    def _inside_fence(self, start: int, end: int) -> tuple[int, int]:
        """The inside of a fence that holds the whole turn."""
        blanks = _BLANKS.match(self.text, start, end)
        at = blanks.end() if blanks else start
        if not self.text.startswith(("```", "~~~"), at):
            return start, end
        if self.text.startswith("tool", at + 3):
            return start, end
        body = fence_body(self.text, at)
        head = divide(self.text, body, min(end, body + 400), self.tools).sections
        if len(head) < 2 or self.text[body : head[0].end].strip():
            return start, end
        stop = fence_end(self.text, at)
        tail = self.text.rfind(self.text[at : at + 3], body, end)
        if tail >= 0 and not self.text[tail:end].strip("`~ \t\r\n"):
            self._note("whole_turn_fenced", at, body)
            return body, tail
        if stop < 0:
            self._note("whole_turn_fenced", at, body)
            return body, end
        return start, end

    def _native_first(self, division: Division) -> bool:
        """Whether native markup stands where a call belongs: before the first labelled step, or as its action."""
        for section in division.sections:
            if section.kind in ("final", "input"):
                return False
            if _NATIVE_MARK.search(self.text, section.start, section.end):
                return True
            if section.kind == "action":
                return False
        return False

    def _takes(self, native: Turn, division: Division, labelled: bool) -> bool:
        """Whether a native reading stands: a call always, an answer only where nothing speaks for a step."""
        if native.kind == "action" or (native.kind == "none" and not labelled):
            return True
        if labelled or any(section.kind == "thought" for section in division.sections):
            return False
        section = division.sections[-1]
        body = self.text[section.start : section.end].strip()
        return _CALL_MARK.match(body) is None and not self._is_step(body)

    def _is_step(self, body: str) -> bool:
        """Whether a whole text is a JSON object that holds a step for an offered tool, or half of one."""
        if body[:1] in "`~":
            body = body[fence_body(body, 0) :].strip()
        if body[:1] != "{":
            return False
        envelope = read_envelope(body, self.tools)
        if envelope is not None and resolve_name(envelope.name, self.tools).tool is not None:
            return True
        value = read_value(body).value
        return isinstance(value, dict) and any(plain(key) in ("actioninput", "toolinput") for key in value)

    def _ends_the_block(self, turn: Turn, division: Division) -> bool:
        last = division.sections[-1]
        return turn.kind == "action" and last.value is not None and last.value.closed

    def _labelled(self, division: Division, reasoning: Reasoning) -> Turn:
        sections = division.sections
        self._layout(division)
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
                    return self._none(fault("missing_action", self.tools), thoughts)
                return self._envelope(section, thoughts) or self._none(fault("missing_action", self.tools), thoughts)
            if section.kind == "final":
                if calls:
                    self._note("answer_before_result", section.start, section.end)
                    break
                return self._final(section, division, thoughts)
            if section.kind != "action":
                continue
            body = self.text[section.start : section.start + 400].lstrip(" \t\r\n`json")
            if body.startswith("[") and body[1:].lstrip().startswith("{"):
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
                return self._none(step.fault, thoughts)
            if step.final is not None:
                if calls:
                    break
                return self._answer(step.final, thoughts)
            if step.call is None:
                no_tool = True
                continue
            if last and self.cut and (step.bare or not step.closed or given is None):
                return self._none(fault("truncated", self.tools), thoughts)
            if not self._add(calls, step):
                self._note("duplicate_dropped", section.start, section.end)
        thought = self._thought(thoughts)
        if calls:
            edits = self._edits()
            return Turn("action", tuple(calls), thought=thought, strict=not edits, edits=edits)
        return self._none(fault("no_tool" if no_tool else "no_action", self.tools), thoughts)

    def _add(self, calls: list[Call], step: Step) -> bool:
        assert step.call is not None
        if calls and calls[-1].name == step.call.name and calls[-1].arguments == step.call.arguments:
            return False
        calls.append(replace(step.call, id=f"call_{len(calls) + 1}"))
        return True

    def _layout(self, division: Division) -> None:
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
                self._note("context_echo", section.start, section.end)
            for name in section.label.repairs if section.label else ():
                if name not in seen and section.label is not None:
                    seen.add(name)
                    self._note(name, section.label.start, section.label.end)
        stops = {
            "observation": "fabricated_observation",
            "role": "other_role",
            "chat_token": "chat_token",
            "stop_word": "stop_word_piece",
            "next_turn": "next_turn",
        }
        if division.stop:
            self._note(stops[division.stop], division.end, len(self.text))

    def _edits(self) -> tuple[Repair, ...]:
        """The repairs; a text that differs from the published format only in blanks has at least that one."""
        if not self.repairs and _PUBLISHED.match(self.text) is None:
            self.repairs.append(Repair("layout"))
        return tuple(self.repairs)

    def _thought(self, thoughts: Sequence[str]) -> str | None:
        own = "\n".join(part for part in thoughts if part).strip()
        return own or self.thought or None

    def _none(self, why: Fault, thoughts: Sequence[str] = ()) -> Turn:
        return Turn("none", thought=self._thought(thoughts), fault=why, edits=tuple(self.repairs))

    def _answer(self, answer: str, thoughts: Sequence[str]) -> Turn:
        if echoed_answer(answer):
            return self._none(fault("template_echo", self.tools), thoughts)
        edits = self._edits()
        return Turn("final", final=answer, thought=self._thought(thoughts), strict=not edits, edits=edits)

    def _final(self, section: Section, division: Division, thoughts: Sequence[str]) -> Turn:
        answer = self.text[section.start : section.end].strip()
        if section.label is not None and section.label.bold and answer.endswith("**"):
            answer = answer[:-2].rstrip()
        if not answer:
            return self._none(fault("no_action", self.tools), thoughts)
        return self._answer(answer, thoughts)

    def _envelope(self, section: Section, thoughts: Sequence[str]) -> Turn | None:
        """An input without an action whose JSON names the tool itself."""
        return self._step_in_json(section.start, section.end, thoughts)

    def _step_in_json(self, start: int, end: int, thoughts: Sequence[str]) -> Turn | None:
        body = self.text[start:end].strip()
        if body[:1] in "`~":
            body = body[fence_body(body, 0) :].strip()
        if body[:1] != "{":
            return None
        envelope = read_envelope(body, self.tools)
        if envelope is None:
            return None
        step = read_step(body, Section("action", None, 0, len(body)), None, self.tools, last=False, loose=self.loose)
        self.repairs.extend(step.repairs)
        if step.fault is not None:
            return self._none(step.fault, thoughts)
        if step.final is not None:
            return self._answer(step.final, thoughts)
        if step.call is None:
            return None
        if self.cut and not step.closed:
            return self._none(fault("truncated", self.tools), thoughts)
        return Turn("action", (replace(step.call, id="call_1"),), thought=self._thought(thoughts), edits=self._edits())

    def _answer_in_json(self, division: Division) -> Turn | None:
        """The answer where the whole text is a JSON object whose action is the final answer."""
        if len(division.sections) != 1:
            return None
        section = division.sections[0]
        body = self.text[section.start : section.end].strip()
        if body[:1] in "`~":
            body = body[fence_body(body, 0) :].strip()
        envelope = read_envelope(body) if body[:1] == "{" and '"' in body else None
        if envelope is None or not is_answer(envelope.name) or resolve_name(envelope.name, self.tools).tool:
            return None
        self._layout(division)
        return self._step_in_json(section.start, section.end, [])

    def _unlabelled(self, division: Division, reasoning: Reasoning) -> Turn:
        """A text without action or answer: JSON that holds the step, an answer without a label, or no turn at all."""
        sections = division.sections
        last = sections[-1]
        found = _LINE_OBJECT.search(self.text, last.start, last.end)
        if found is not None:
            at = found.start()
            before = [self.text[section.start : section.end].strip() for section in sections[:-1]]
            turn = self._step_in_json(at, last.end, [*before, self.text[last.start : at].strip()])
            if turn is not None:
                return turn
        if any(section.kind == "thought" for section in sections):
            return self._after_decision(division) or self._thought_only(division)
        if reasoning.inside:
            return self._none(fault("no_action" if reasoning.closed else "truncated", self.tools))
        answer = _TOKENS_BEFORE.sub("", self.text[last.start : last.end]).strip()
        if last.kind == "role":
            return self._none(fault("no_action", self.tools))
        return self._implicit(answer, division)

    def _thought_only(self, division: Division) -> Turn:
        thoughts = [
            self.text[section.start : section.end].strip() for section in division.sections if section.kind != "role"
        ]
        return self._none(fault("truncated" if self.cut else "no_action", self.tools), thoughts)

    def _after_decision(self, division: Division) -> Turn | None:
        """`Do I need to use a tool? No`, and then the answer without its label."""
        last = division.sections[-1]
        decided = _NO_TOOL_NEEDED.search(self.text, last.start, last.end)
        answer = self.text[decided.end() : last.end].strip() if decided else ""
        if decided is None or not answer or self.cut:
            return None
        self._layout(division)
        self.repairs.append(Repair("implicit_final", "", answer[:SNIPPET]))
        return self._answer(answer, [self.text[last.start : decided.end()].strip()])

    def _implicit(self, answer: str, division: Division) -> Turn:
        if _NO_TOOL_NEEDED.search(answer[:400]):
            return self._after_decision(division) or self._thought_only(division)
        if not answer:
            return self._none(fault("empty", self.tools))
        if not any(char.isalnum() for char in answer[:2000]):
            return self._none(fault("empty", self.tools))
        if len(answer) >= 200 and _REPEATED.search(answer[-600:] + (" " if answer[-1] != " " else "")):
            return self._none(fault("runaway", self.tools))
        if self.cut or self._is_cut_object(answer):
            return self._none(fault("truncated", self.tools))
        if len(answer) < 24 and is_label_piece(answer):
            return self._none(fault("no_action", self.tools))
        fence = answer.find("```")
        if fence >= 0 and echoed_blob(answer[fence_body(answer, fence) :].split("```")[0].strip()):
            return self._none(fault("template_echo", self.tools))
        if self._names_a_tool(answer) or _CALL_MARK.match(answer):
            return self._none(fault("unlabelled_intent", self.tools), [answer])
        if division.stop:
            self._layout(division)
        self.repairs.append(Repair("implicit_final", "", answer[:SNIPPET]))
        return self._answer(answer, ())

    def _is_cut_object(self, answer: str) -> bool:
        """Whether an answer is the beginning of a JSON object that breaks off."""
        at = fence_body(answer, 0) if answer[:2] == "``" else 0
        if answer[at : at + 2] not in ('{"', "{'", "{\n", "[{"):
            return False
        read = read_value(answer, at)
        return not read.complete or (read.readable and not read.closed)

    def _names_a_tool(self, answer: str) -> bool:
        """Whether an answer without a label is a plan: it names an offered tool, and not only inside a JSON value."""
        if answer[:1] == "{":
            value = read_value(answer).value
            if isinstance(value, dict):
                return self._is_step(answer) or any(resolve_name(name, self.tools).tool for name in step_names(value))
        return any(
            tool.name in answer and re.search(rf"(?<![\w.-]){re.escape(tool.name)}(?![\w-])", answer)
            for tool in self.tools
        )

"""One step of a turn: an action section and its input, read as a call, as the answer, or as a fault."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from react_text.messages import Call, Fault, Repair
from react_text.parsing.align import ENVELOPES, NAME_KEYS, align
from react_text.parsing.arguments import ArgumentsRead, is_empty, read_arguments
from react_text.parsing.echoes import echoed_blob
from react_text.parsing.hints import fault, invalid_arguments
from react_text.parsing.json_text import ValueRead
from react_text.parsing.jsonish import SNIPPET, read_value
from react_text.parsing.names import is_answer, is_echo, is_no_tool, plain, resolve_name
from react_text.parsing.pairs import read_call_arguments
from react_text.parsing.patterns import pattern
from react_text.parsing.sections import Section
from react_text.parsing.wrappers import fence_body, unfenced, unquoted
from react_text.schema import first_problem
from react_text.tools import Tool


@dataclass(slots=True)
class Step:
    """What a step turned out to be: `call`, `final` or `fault`; none of them when it says that no tool is wanted."""

    call: Call | None = None
    final: str | None = None
    fault: Fault | None = None
    repairs: list[Repair] = field(default_factory=list)
    closed: bool = True
    bare: bool = False


@dataclass(frozen=True, slots=True)
class Written:
    """A step as it was written: the name, and the text of its input, None where there was none."""

    name: str
    input: str | None
    repairs: tuple[Repair, ...] = ()
    arguments: Any = None
    is_object: bool = False
    is_call: bool = False


_CALL = pattern(r"([^\n(\[{]{1,120}?)[ \t]*([(\[{])(.*)\Z", re.DOTALL)
_NAME_KEYS = {plain(name) for name in NAME_KEYS}
_ENVELOPES = {plain(name) for name in ENVELOPES}
_WHOLE_NAME = {"name_marks", "name_spelling", "name_doubled"}
_STEP_KEYS = ("action", "tool", "toolname", "name", "function", "functionname")
_ASIDES = frozenset({"thought", "thoughts", "reasoning", "type", "id", "observation"})
_PARTNER = {"(": ")", "[": "]", "{": "}"}


def read_step(
    text: str, action: Section, given: Section | None, tools: Sequence[Tool], *, last: bool, loose: bool = False
) -> Step:
    """The step that an action section and the input section after it make.

    `last` says that nothing of the text comes after, so that a name may have been cut.
    """
    body = text[action.start : action.end]
    name = body.strip().lstrip(":：= \t\r\n")
    if action.label and action.label.bold:
        name = name.strip("*_` \t")
    given_text = text[given.start : given.end] if given else None
    written = _written(name, given_text, tools)
    step = Step(repairs=list(written.repairs))
    if echoed_blob(name) or (is_echo(written.name) and not _offered(written.name, tools)):
        step.fault = fault("template_echo", tools)
        return step
    read = resolve_name(written.name, tools, loose=loose)
    if read.tool is None and is_no_tool(written.name):
        step.repairs.append(Repair("no_tool_action", written.name))
        return step
    if read.tool is None and is_answer(written.name):
        return _answer(written, step, tools)
    step.repairs.extend(read.repairs)
    if not written.name:
        step.fault = fault("missing_action", tools)
        return step
    cut = last and bool(body) and not body[-1].isspace()
    if (
        given is None
        and cut
        and any(repair.name not in _WHOLE_NAME for repair in read.repairs)
        and body.strip() == written.name
    ):
        step.fault = fault("truncated", tools)
        return step
    if read.tool is None and not written.is_object and not (written.input or "").strip():
        step.fault = fault("truncated" if cut or (last and given) else "missing_action_input", tools)
        return step
    known = None
    if given is not None and given.value is not None and written.input is given_text and text[given.value_start] == "{":
        known = replace(given.value, end=given.value.end - given.value_start)
    return _call(written, read.tool, read.name, step, tools, known)


def _offered(name: str, tools: Sequence[Tool]) -> bool:
    return any(plain(tool.name) == plain(name) for tool in tools)


def _call(
    written: Written, tool: Tool | None, name: str, step: Step, tools: Sequence[Tool], known: ValueRead | None
) -> Step:
    read = _arguments(written, tool, known)
    step.repairs.extend(read.repairs)
    step.closed, step.bare = read.closed, read.bare
    if read.arguments is None:
        call = Call("", name, {})
        if read.fault == "invalid_arguments" and tool is not None:
            step.fault = invalid_arguments(first_problem({"input": written.input}, tool.parameters) or "", tool, call)
        else:
            step.fault = fault(read.fault or "unreadable_arguments", tools, tool=tool, call=call)
        return step
    if tool is None:
        step.call = Call("", name, read.arguments)
        return step
    aligned = align(read.arguments, tool)
    step.repairs.extend(aligned.repairs)
    call = Call("", tool.name, aligned.arguments)
    if aligned.problem is not None:
        step.fault = invalid_arguments(aligned.problem, tool, call, aligned.fault)
    else:
        step.call = call
    return step


def _arguments(written: Written, tool: Tool | None, known: ValueRead | None) -> ArgumentsRead:
    if written.is_call and written.input and tool is not None:
        inside = written.input.strip()
        named = read_call_arguments(inside, tool)
        if named is not None:
            return ArgumentsRead(named)
        if inside[0] in "\"'" and unquoted(inside) is None:
            return ArgumentsRead(None, fault="ambiguous_arguments")
    if not written.is_object:
        return read_arguments(written.input or "", tool, known)
    value = written.arguments
    if isinstance(value, Mapping):
        return ArgumentsRead(dict(value))
    if value is None:
        return read_arguments("", tool)
    return read_arguments(value, tool) if isinstance(value, str) else read_arguments(f"{value}", tool)


def _answer(written: Written, step: Step, tools: Sequence[Tool]) -> Step:
    """A step whose action is the final answer."""
    step.repairs.append(Repair("final_as_action", written.name))
    value = written.arguments if written.is_object else written.input
    if isinstance(value, str):
        text = value.strip()
        if not written.is_object:
            if text[:1] == "{" and isinstance((read := read_value(text)).value, dict) and not text[read.end :].strip():
                value = read.value
            elif (inside := unfenced(text) if text[:1] in "`~" else unquoted(text)) and inside.closed:
                text = inside.text
        if isinstance(value, str):
            step.final = text
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        step.final = str(value)
    if isinstance(value, Mapping) and len(value) == 1:
        (only,) = value.values()
        step.final = only.strip() if isinstance(only, str) else None
    if not step.final:
        step.final = None
        step.fault = fault("no_tool", tools)
    return step


def _written(name: str, given: str | None, tools: Sequence[Tool]) -> Written:
    """The name and the input out of an action section that may hold both."""
    bare = given is None or is_empty(given)
    inside = unfenced(name) if name[:2] in ("``", "~~") else None
    inner = inside.text.strip() if inside else name
    if inside and name[fence_body(name, 0) :].lstrip()[:1] in ("{", "["):
        inner = name[fence_body(name, 0) :].lstrip()
    if inner[:1] in ("{", "["):
        envelope = read_envelope(inner, tools)
        if envelope is not None:
            return envelope
    if inside is not None:
        name = inner
    if not name and given:
        envelope = read_envelope(given.strip().strip("`").removeprefix("json").strip(), tools)
        return envelope or Written("", given)
    first, _, rest = name.partition("\n")
    call = _CALL.match(name) if bare else None
    if call is not None and call[1].strip() and _may_be_call(call[1], tools):
        written = _bracket_call(call)
        if written is not None:
            return written
    if rest.strip():
        following = rest.strip()
        if bare and is_answer(first) and resolve_name(first.strip(), tools).tool is None:
            return Written(first.strip(), following, (Repair("missing_input_label", following[:SNIPPET]),))
        if bare and following[0] in "{`":
            return Written(first.strip(), following, (Repair("missing_input_label", following[:SNIPPET]),))
        if bare and first.strip():
            return (
                Written(first.strip(), None, (Repair("trailing_text", following[:SNIPPET]),))
                if not _needs(first, tools)
                else Written(first.strip(), None)
            )
        if not bare:
            return Written(first.strip(), given, (Repair("trailing_text", following[:SNIPPET]),))
    if bare and given is None and not _needs(first, tools):
        tool = resolve_name(first.strip(), tools).tool
        if tool is not None:
            return Written(first.strip(), "", ())
    return Written(first.strip(), given)


def _needs(name: str, tools: Sequence[Tool]) -> bool:
    tool = resolve_name(name.strip(), tools).tool
    return tool is None or bool(tool.parameters.get("required"))


def _may_be_call(name: str, tools: Sequence[Tool]) -> bool:
    return is_answer(name) or resolve_name(name.strip(), tools).tool is not None


def _bracket_call(call: re.Match[str]) -> Written | None:
    """`tool(…)`, `tool[…]` or `tool {…}` as a name and an input."""
    name, bracket, rest = call[1].strip(), call[2], call[3]
    note = (Repair("call_on_action_line", call[0][:SNIPPET]),)
    if bracket == "{":
        return Written(name, "{" + rest, note)
    spaced = call[0][len(call[1])] in " \t"
    if spaced and bracket == "(" and rest.lstrip()[:1] not in ("{", '"', "'") and not re.match(r"\s*\w+\s*[=:]", rest):
        return None
    line = rest.rstrip(" \t\r\n.;,`*")
    stop = line.rfind(_PARTNER[bracket])
    inner = line[:stop] if stop == len(line) - 1 else None
    if inner is None and rest.lstrip()[:1] == "{":
        return Written(name, rest.lstrip(), note)
    if inner is None:
        head = rest.split("\n", 1)[0].rstrip(" \t\r.;,`*")
        if not head.endswith(_PARTNER[bracket]):
            return None
        inner = head[:-1]
    return Written(name, inner, note, is_call=True)


def step_names(value: Mapping[str, Any]) -> list[str]:
    """What stands under the keys of a JSON object that may name a tool."""
    keys = {plain(key): key for key in value if isinstance(key, str)}
    found = [value[keys[key]] for key in _STEP_KEYS if key in keys]
    return [name for name in found if isinstance(name, str)]


def read_envelope(text: str, tools: Sequence[Tool] = ()) -> Written | None:
    """A JSON object that holds the whole step: the tool's name under one key, its arguments under another.

    For an offered tool the arguments may also stand beside the name, or be left out where it needs none; an object that
    holds nothing but a `name` is data and no step.
    """
    read = read_value(text)
    value = read.value
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict) or not read.complete:
        return None
    keys = {plain(key): key for key in value}
    names = [keys[key] for key in _STEP_KEYS if key in keys]
    inputs = [key for key in value if plain(key) in _ENVELOPES and key not in names]
    inner = value[names[0]] if names else None
    if isinstance(inner, Mapping) and not inputs:
        return read_envelope(json.dumps(inner), tools)
    if not names or not isinstance(inner, str) or len(inputs) > 1:
        return None
    repairs = (Repair("json_action", text[:SNIPPET]), *read.repairs)
    if not inputs:
        if len(value) == 1 and plain(names[0]) == "name":
            return None
        return _beside(inner, {key: value[key] for key in value if key != names[0]}, tools, repairs)
    return Written(inner, None, repairs, value[inputs[0]], is_object=True)


def _beside(name: str, others: Mapping[str, Any], tools: Sequence[Tool], repairs: tuple[Repair, ...]) -> Written | None:
    tool = resolve_name(name, tools).tool
    given = {key: value for key, value in others.items() if plain(key) not in _ASIDES}
    declared = tool.parameters.get("properties") or {} if tool else {}
    if tool is None or not all(key in declared for key in given) or (not given and tool.parameters.get("required")):
        return None
    return Written(name, None, (*repairs, Repair("arguments_beside_name")), given, is_object=True)

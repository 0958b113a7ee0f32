"""The text of an Action Input, whatever its form, as a dict of arguments.

Knows the tool's schema only where that decides between readings; types are put right in align.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from react_text.messages import Repair
from react_text.parsing.align import only_parameter, takes_text
from react_text.parsing.json_text import ValueRead
from react_text.parsing.jsonish import SNIPPET, read_value
from react_text.parsing.pairs import is_only_text, read_call, read_call_arguments, read_pairs
from react_text.parsing.patterns import pattern
from react_text.parsing.scalars import read_scalar
from react_text.parsing.wrappers import fence_body, unfenced, unquoted
from react_text.schema import declared_properties
from react_text.tools import Tool


@dataclass(frozen=True, slots=True)
class ArgumentsRead:
    """Arguments found in a text, not yet aligned; or `arguments` None and the `fault` code that says why.

    `complete` is False when a value may have been cut by the end of the text. `closed` is False when only closers
    were missing. `bare` is True when the text itself is the value, so that only the end of the reply bounds it.
    """

    arguments: dict[str, Any] | None
    repairs: tuple[Repair, ...] = ()
    fault: str | None = None
    complete: bool = True
    closed: bool = True
    bare: bool = False


_EMPTY = pattern(
    r"\(?(?:none|null|nil|n/?a|empty|nothing|(?:no|not|none)\s+(?:any\s+)?(?:inputs?|arguments?|parameters?|args|params|"
    r"needed|required|necessary|applicable|input\s+(?:is\s+)?(?:needed|required|necessary))(?:\s+(?:is\s+|are\s+)?"
    r"(?:needed|required|necessary))?)\)?\.?|[-–—]+|\(\)|\[\]|\{\}",
    re.IGNORECASE,
)
_PROSE_AFTER = pattern(
    r"\n[ \t]*(?:I|I'll|I'm|I’ll|Let|Now|This|The|These|We|Next|Then|After|Once|Please|Waiting|Note|Here|If|When|My|"
    r"It)\b[^={}();<>\n]*(?:[.!?:…]|\Z)"
)
_REMARK_AFTER = pattern(r"\n[ \t]*\n[ \t]*[\[(][A-Za-z][^=;{}<>\n]* [^=;{}<>\n]*[\])][ \t]*\Z")
_LEFT_OVER = pattern(r"\s*\n[ \t]*(?:PAUSE|[-=_*]{3,}|(?P<fence>`{3,}))[ \t]*\Z")
_CODE = pattern(r"[=(){};]|^\s*(?:#|//|SELECT|def|import|for|while|if)\b", re.IGNORECASE | re.MULTILINE)
_DOUBTFUL = frozenset({"unquoted_string", "wrong_closer", "inner_quotes", "missing_closer"})
"""Repairs that make more text on the line of the object's end a sign that it was read as too short."""

_CLOSED_TWICE = pattern(r"[\"'][\s\])}]*[}\])]")
_LANGUAGE_WORD = pattern(r"json5?:?\s*(?=\{)", re.IGNORECASE)
_NEXT_FENCE = pattern(r"`{3,}\s*`{3,}\w{0,10}\s*(?=\{)")
_POSITIONAL = pattern(r"(\"[^\"\n]*\"|'[^'\n]*')\s*,")
_CODE = pattern(r"[=(){};]|^\s*(?:#|//|SELECT|def|import|for|while|if)\b", re.IGNORECASE | re.MULTILINE)


def is_empty(text: str) -> bool:
    """Whether an input is blank, or a word that says there is none."""
    inner = text.strip()
    return not inner or (len(inner) < 80 and _EMPTY.fullmatch(inner) is not None)


def read_arguments(text: str, tool: Tool | None, known: ValueRead | None = None) -> ArgumentsRead:
    """The arguments in `text`, read for `tool` (None: a tool nobody offered).

    `known` is the object that `text` begins with, where it was read before; its `end` counts from its own start.
    """
    inner = text.strip()
    if is_empty(inner):
        return _no_input(inner, tool)
    if inner[0] in "`~" and (fenced := unfenced(inner)):
        json_like = inner[fence_body(inner, 0) :].lstrip()
        if json_like[:1] == "{" or (json_like[:1] == "[" and json_like[1:].lstrip()[:1] == "{"):
            read = _object(json_like, tool, known) if json_like[0] == "{" else _array(json_like.rstrip("`~ \n"), tool)
            if read is not None:
                return replace(read, repairs=(_note("fenced_input", inner), *read.repairs))
        return _fenced(fenced.text, fenced.closed, fenced.rest, inner, tool)
    if inner[0] == "{":
        return _object(inner, tool, known)
    if inner[0] == "[" and (read := _array(inner, tool)):
        return read
    if tool is not None and (read := _named(inner, tool)):
        return read
    if language := _LANGUAGE_WORD.match(inner):
        read = _object(inner[language.end() :], tool)
        return replace(read, repairs=(_note("language_word", inner), *read.repairs))
    quoted = unquoted(inner)
    if quoted is None:
        return _bare(inner, tool)
    if not quoted.closed:
        return ArgumentsRead(None, fault="truncated", complete=False)
    return _quoted(quoted.text, quoted.rest, inner, tool)


def _note(name: str, before: str, after: str = "") -> Repair:
    return Repair(name, before[:SNIPPET], after[:SNIPPET])


def _no_input(written: str, tool: Tool | None) -> ArgumentsRead:
    repairs = (_note("empty_input", written, "{}"),) if written != "{}" else ()
    if tool is not None and tool.parameters.get("required"):
        return ArgumentsRead(None, repairs, "missing_action_input" if written != "{}" else "invalid_arguments")
    return ArgumentsRead({}, repairs)


def _fenced(body: str, closed: bool, rest: str, whole: str, tool: Tool | None) -> ArgumentsRead:
    repairs: tuple[Repair, ...] = (_note("fenced_input", whole, body),)
    if rest.strip():
        repairs += (_note("trailing_text", rest.strip()),)
    inner = body.strip()
    if not closed:
        return ArgumentsRead(None, repairs, "truncated", complete=False)
    if inner[:1] == "{":
        return replace(read := _object(inner, tool), repairs=repairs + read.repairs)
    if is_empty(inner):
        read = _no_input(inner, tool)
    elif language := _LANGUAGE_WORD.match(inner):
        read = _object(inner[language.end() :], tool)
    elif "\n" not in inner and (quoted := unquoted(inner)) and quoted.closed:
        read = _quoted(quoted.text, quoted.rest, inner, tool)
    else:
        read = (tool and _named(inner, tool)) or _bare(body.strip("\r\n").rstrip(), tool, fenced=True)
    return replace(read, repairs=repairs + read.repairs, bare=False)


def _object(text: str, tool: Tool | None, known: ValueRead | None = None) -> ArgumentsRead:
    read = known or read_value(text)
    if not read.complete:
        return ArgumentsRead(None, read.repairs, "truncated", complete=False)
    if not read.readable or not isinstance(read.value, dict):
        return ArgumentsRead(None, fault="ambiguous_arguments" if read.ambiguous else "unreadable_arguments")
    repairs = read.repairs
    rest = text[read.end :].strip()
    trimmed = rest.lstrip("}])\"' \t\n")
    if rest and trimmed != rest:
        repairs += (_note("extra_closer", rest[: len(rest) - len(trimmed)]),)
    following = trimmed.lstrip(",; \t\n")
    if another := _NEXT_FENCE.match(following):
        following = following[another.end() :]
    if following[:1] == "{":
        other = read_value(following)
        if other.readable and isinstance(other.value, dict) and _rivals(other.value, tool):
            if other.value != read.value:
                return ArgumentsRead(None, repairs, "ambiguous_arguments")
            repairs += (_note("duplicate_dropped", following),)
            trimmed = following[other.end :].strip()
    line = text[read.end :].split("\n", 1)[0]
    beside = line.lstrip("}])\"' \t").strip("`;. \t\r")
    doubtful = beside and any(repair.name in _DOUBTFUL for repair in read.repairs)
    if doubtful or trimmed[:1] in (",", ":", "=", "\\") or (following[:1] != "{" and _CLOSED_TWICE.search(line)):
        return ArgumentsRead(None, repairs, "ambiguous_arguments")
    if trimmed.strip("`; \n"):
        repairs += (_note("trailing_text", trimmed),)
    return ArgumentsRead(read.value, repairs, closed=read.closed)


def _rivals(other: dict[str, Any], tool: Tool | None) -> bool:
    """Whether another object may be arguments of the tool as well: it has one of the declared keys."""
    if tool is None or not other:
        return True
    properties, _ = declared_properties(tool.parameters, tool.parameters)
    return any(key in properties for key in other)


def _array(text: str, tool: Tool | None) -> ArgumentsRead | None:
    """A list around the arguments; None where the bracket belongs to a bare text."""
    read = read_value(text)
    only = only_parameter(tool) if tool else None
    is_text = only is not None and takes_text(only[1])
    if not read.complete and not is_text:
        return ArgumentsRead(None, fault="truncated", complete=False)
    if not read.readable or not isinstance(read.value, list) or text[read.end :].strip():
        return ArgumentsRead(None, fault="unreadable_arguments") if text[1:].lstrip()[:1] == "{" else None
    if not read.complete:
        return ArgumentsRead(None, fault="truncated", complete=False)
    note = _note("array_wrapped", text)
    objects = [item for item in read.value if isinstance(item, dict)]
    if objects and len(objects) == len(read.value):
        rivals = [item for item in objects if _rivals(item, tool)]
        if len(rivals) == 1 or (rivals and all(item == rivals[0] for item in rivals)):
            return ArgumentsRead(rivals[0], (note, *read.repairs), closed=read.closed)
        return ArgumentsRead(None, fault="ambiguous_arguments")
    if only and "array" in (only[1].get("type"), *(only[1].get("type") or ())):
        return ArgumentsRead({only[0]: read.value}, (_note("bare_input", text), *read.repairs), closed=read.closed)
    if only and is_text and len(read.value) == 1 and isinstance(read.value[0], str) and text[1:].lstrip()[:1] in "\"'":
        return ArgumentsRead({only[0]: read.value[0]}, (note, *read.repairs), closed=read.closed)
    return None


def _named(text: str, tool: Tool) -> ArgumentsRead | None:
    """Pairs, or a call of the tool itself."""
    call = read_call(text, tool)
    if call is None and text[0] == "(" and text.rstrip(" .;")[-1:] == ")":
        only = only_parameter(tool)
        inside = text.rstrip(" .;")[1:-1]
        if inside.lstrip()[:1] == "{" or only is None:
            call = read_call_arguments(inside, tool)
        elif read_pairs(inside, tool):
            read = _named(inside, tool)
            return replace(read, bare=False) if read else None
    if call is not None:
        return ArgumentsRead(call, (_note("call_syntax", text),))
    pairs = read_pairs(text, tool)
    if pairs is None:
        return None
    if len(pairs) == 1 and is_only_text(text, tool, next(iter(pairs))):
        return ArgumentsRead(None, fault="ambiguous_arguments")
    return ArgumentsRead(pairs, (_note("key_value_input", text),), bare=True)


def _quoted(inner: str, rest: str, whole: str, tool: Tool | None) -> ArgumentsRead:
    repairs: tuple[Repair, ...] = ()
    if rest.strip():
        repairs = (_note("trailing_text", rest.strip()),)
    if not inner.strip():
        return _no_input(inner.strip() or "''", tool)
    if inner.lstrip()[:1] == "{":
        read = read_value(inner.strip())
        if isinstance(read.value, dict) and read.complete and read.closed and _rivals(read.value, tool):
            return ArgumentsRead(read.value, (*repairs, _note("double_encoded", whole, inner), *read.repairs))
    if inner[:1] in ('"', "'") and inner[1:3] in ('{"', "{'", "{\\") and (again := unquoted(inner)) and again.closed:
        return _quoted(again.text, rest, whole, tool)
    read_text = _bare(inner, tool, fenced=True)
    return replace(read_text, repairs=(*repairs, _note("quoted_input", whole, inner), *read_text.repairs), bare=False)


def _bare(text: str, tool: Tool | None, *, fenced: bool = False) -> ArgumentsRead:
    """The text itself as the value of the only parameter that it can mean."""
    if tool is None:
        return ArgumentsRead({"input": text}, (_note("bare_input", text),), bare=True)
    only = only_parameter(tool)
    if only is None:
        return ArgumentsRead(
            None, fault="invalid_arguments" if not tool.parameters.get("properties") else "unreadable_arguments"
        )
    name, schema = only
    note = _note("bare_input", text, name)
    if takes_text(schema):
        repairs: tuple[Repair, ...] = (note,)
        if _holds_more(text, tool) or (not fenced and _goes_on(text)):
            return ArgumentsRead(None, repairs, "ambiguous_arguments")
        rest = None if fenced else _LEFT_OVER.search(text, max(0, len(text) - 100))
        if rest is not None and not (rest["fence"] and text.count("```") % 2 == 0):
            repairs += (_note("trailing_text", text[rest.start() :].strip()),)
            text = text[: rest.start()]
        return ArgumentsRead({name: text}, repairs, bare=True)
    scalar = read_scalar(text)
    if scalar is not None and len(declared_properties(tool.parameters, tool.parameters)[0]) == 1:
        return ArgumentsRead({name: scalar.value}, (note,), bare=True)
    return ArgumentsRead(None, fault="unreadable_arguments")


def _goes_on(text: str) -> bool:
    """Whether a text for one argument seems to be followed by words about it."""
    prose = _PROSE_AFTER.search(text)
    if prose and (text[: prose.start()].endswith("\n") or not _CODE.search(text[: prose.start()])):
        return True
    return _REMARK_AFTER.search(text, max(0, len(text) - 400)) is not None


def _holds_more(text: str, tool: Tool) -> bool:
    """Whether a text for one argument holds named arguments, or several values one after another."""
    properties, _ = declared_properties(tool.parameters, tool.parameters)
    names = "|".join(re.escape(name) for name in properties)
    if re.search(rf"(?:\A|[{{,])\s*\\*[\"']?(?:{names})\\*[\"']?\s*:", text) and ("{" in text or "}" in text):
        return True
    if text[0] == "<" and re.match(rf"<(?:{names})>", text):
        return True
    return len(properties) > 1 and _POSITIONAL.match(text) is not None

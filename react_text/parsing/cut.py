"""Whether a text ends inside what would have become a call: in a mark, a key, a name, before any value.

Only for texts in which no whole call was read; nothing here reads one.
"""

from __future__ import annotations

from collections.abc import Callable

import regex

from react_text.parsing.shapes import ARGUMENT_KEYS, CALL_TYPES, LIST_KEYS, NAME_KEYS, WRAPPER_KEYS
from react_text.parsing.talk import line_before, quoted

FIRST_KEYS = (*NAME_KEYS, *ARGUMENT_KEYS, *LIST_KEYS, *WRAPPER_KEYS, "type", "id", "tool_call_id", "index", "thought")
MARKS = (
    r"<(?:tool_calls?|toolcall|function_calls?|functioncall|think|thinking|tool_use|(?:[a-z]{1,20}:)?tool_call)>|<function="
    r"|<(?:\w{1,20}:)?invoke name=|<parameter=|<parameter name=|<arg_key>|<arg_value>"
    r"|<\|(?:tool_call(?:s|_begin|_start|_argument_begin|s_section_begin)?|python_(?:tag|start)|action_start|plugin"
    r"|START_ACTION|START_THINKING|tools_prefix|FunctionCallBegin|channel|constrain|message|start)\|?>"
    r"|<｜[\w▁]{1,40}(?:｜>|｜invoke name=|｜function_calls>|｜parameter name=)|<start_function_call>"
    r"|\[TOOL_CALLS\]|\[TOOL_REQUEST\]|\[TOOL_CALL\]"
)
OPENER = regex.compile(MARKS)
MARK = regex.compile(rf"{MARKS}|</[\w:]{{1,30}}>")
MARK_AND_WORDS = regex.compile(rf"(?:{MARKS})\s*\S{{0,100}}(?:\s\S{{0,100}})?")
MARKS_ONLY = regex.compile(r"[\s<\[{|`\"'(]+")
CODE_LANGUAGES = ("tool_code", "tool_call", "tool_calls", "tool", "tool_use", "function_call")
OPEN_FENCE = regex.compile(r"```(?P<language>[\w+-]*)[ \t]*(?:\n\s*(?P<word>[^\n]{0,60})\s*)?$")
HALF_FENCE = regex.compile(r"(?:^|\n)[ \t]*``?$")
LAST_OBJECT = regex.compile(r"(?<![^\n`])[ \t]*\[?\s*\{[^{}]*$")
FIRST_KEY = regex.compile(
    r"\s*\[?\s*\{[\s{]*(?:[\"'“]?(?P<key>\w{0,24})(?:[\"'”]?\s*:\s*(?:[\"'](?P<value>[^\"'\n]{0,100})(?P<whole>[\"'])?)?)?)?"
)
NAMED = regex.compile(
    r"""["'](?:name|tool|tool_name|function_name|action|function)["']\s*:\s*["'](?P<name>[^"'\n]{0,80})(?P<whole>["'])?"""
)
LISTED = regex.compile(r"\s*(?:\[\s*(?P<name>[A-Za-z_][\w.]*)|(?P<name>[A-Za-z_][\w.-]*)\[[A-Z]{0,4}\]?)\s*")

Offered = Callable[[str], bool]


def ends_inside(text: str, offered: Offered, starts_offered: Offered) -> bool:
    """Whether `text` stops where a call was only being opened.

    `offered` says whether a name is a tool's, `starts_offered` whether it is the beginning of one.
    """
    if MARKS_ONLY.fullmatch(text):
        return bool(text.strip())
    end = text[-240:]
    if text.count("```") % 2 and (opened := OPEN_FENCE.search(end)):
        word = opened["word"]
        if not word or opened["language"] in CODE_LANGUAGES or starts_offered(word):
            return True
    if HALF_FENCE.search(end):
        return True
    opening = LAST_OBJECT.search(end)
    if opening is not None and unfinished_object(end[opening.start() :], offered, starts_offered, only_first=True):
        return True
    listed = LISTED.fullmatch(end[end.rfind("\n") + 1 :])
    if listed is not None and starts_offered(listed["name"]):
        return True
    return ends_in_mark(text, MARK) or _ends_in_opened(end)


def unfinished_object(text: str, offered: Offered, starts_offered: Offered, *, only_first: bool = False) -> bool:
    """Whether an object that the text ends inside of was going to be a call, as far as its first keys tell.

    With `only_first` no more than the first key and its value may have been written.
    """
    first = FIRST_KEY.match(text)
    if first is None or (only_first and first.end() < len(text.rstrip())):
        return False
    key = first["key"] or ""
    if not any(name.startswith(key) if first.end() >= len(text.rstrip()) else name == key for name in FIRST_KEYS):
        return False
    if key == "type" and first["value"] is not None:
        known = first["value"] in CALL_TYPES if first["whole"] else any(kind.startswith(first["value"]) for kind in CALL_TYPES)
        if not known:
            return False
    named = NAMED.search(text, 0, 400)
    if named is None:
        return True
    return offered(named["name"]) if named["whole"] else starts_offered(named["name"])


def ends_in_mark(text: str, marks: regex.Pattern[str] = OPENER) -> bool:
    """Whether the last thing in `text` is the beginning of one of `marks`."""
    tail = text[-80:]
    at = max(tail.rfind("<"), tail.rfind("["))
    start = len(text) - len(tail) + at
    if at < 0 or quoted(text, start):
        return False
    before = line_before(text, start)
    glued = tail[at] == "<" and tail[at - 1 : at] not in ("", " ")
    if before and not glued and len(tail) - at < 3:
        return False
    match = marks.fullmatch(tail, at, partial=True)
    return match is not None and match.partial


def _ends_in_opened(end: str) -> bool:
    """Whether a mark on a line of its own is all there is but for a word or two."""
    for mark in OPENER.finditer(end):
        glued = mark[0][:2] == "<|" and not quoted(end, mark.start())
        if (glued or not line_before(end, mark.start())) and MARK_AND_WORDS.fullmatch(end, mark.start()):
            return True
    return False

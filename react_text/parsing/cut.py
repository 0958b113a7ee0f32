"""Whether a text ends inside what would have become a call: in a mark, a key, a name, before any value.

Only for texts in which no whole call was read; nothing here reads one.
"""

from __future__ import annotations

import re

from react_text.parsing.patterns import pattern
from react_text.parsing.shapes import ARGUMENT_KEYS, CALL_TYPES, LIST_KEYS, NAME_KEYS, WRAPPER_KEYS, Offered
from react_text.parsing.talk import line_before, quoted

FIRST_KEYS = (*NAME_KEYS, *ARGUMENT_KEYS, *LIST_KEYS, *WRAPPER_KEYS, "type", "id", "tool_call_id", "index", "thought")
MARKS = (
    *(
        "<tool_call>",
        "<tool_calls>",
        "<toolcall>",
        "<function_calls>",
        "<function_call>",
        "<functioncall>",
        "<tool_use>",
    ),
    *(
        "<think>",
        "<thinking>",
        "<function=",
        "<invoke name=",
        "<parameter=",
        "<parameter name=",
        "<arg_key>",
        "<arg_value>",
    ),
    *("<minimax:tool_call>", "<seed:tool_call>", "<longcat_tool_call>", "<start_function_call>", "<|tool_call>"),
    *("<|tool_call|>", "<|tool_calls_section_begin|>", "<|tool_call_begin|>", "<|tool_call_argument_begin|>"),
    *(
        "<|tool_call_start|>",
        "<|python_tag|>",
        "<|python_start|>",
        "<|action_start|>",
        "<|plugin|>",
        "<|START_ACTION|>",
    ),
    *(
        "<|START_THINKING|>",
        "<|END_THINKING|>",
        "<|tools_prefix|>",
        "<|FunctionCallBegin|>",
        "<|channel|>",
        "<|constrain|>",
    ),
    *(
        "<|message|>",
        "<|start|>",
        "<｜tool▁calls▁begin｜>",
        "<｜tool▁call▁begin｜>",
        "<｜tool▁sep｜>",
        "<｜DSML｜invoke name=",
    ),
    *("<｜DSML｜function_calls>", "<｜DSML｜tool_calls>", "<｜DSML｜parameter name=", "[TOOL_CALLS]", "[TOOL_REQUEST]"),
)
OPENER = pattern("|".join(map(re.escape, MARKS)))
MARK_AND_WORDS = pattern(rf"(?:{OPENER.pattern})\s*\S{{0,100}}(?:\s\S{{0,100}})?")
CLOSING_TAG = pattern(r"</[\w:]{0,30}|<[a-z]{1,20}:(?:t|to|too|tool|tool_\w{0,4})?")
MARKS_ONLY = pattern(r"[\s<\[{|`\"'(]+")
CODE_LANGUAGES = ("tool_code", "tool_call", "tool_calls", "tool", "tool_use", "function_call")
OPEN_FENCE = pattern(r"```(?P<language>[\w+-]*)[ \t]*(?:\n\s*(?P<word>[^\n]{0,60})\s*)?$")
HALF_FENCE = pattern(r"(?:^|\n)[ \t]*``?$")
LAST_OBJECT = pattern(r"(?<![^\n`])[ \t]*\[?\s*\{[^{}]*$")
FIRST_KEY = pattern(
    r"\s*\[?\s*\{\s{0,40}(?:\{\s{0,40})?(?:[\"'“]?(?P<key>\w{0,24})(?:[\"'”]?\s*:\s*(?:[\"'](?P<value>[^\"'\n]{0,100})(?P<whole>[\"'])?)?)?)?"
)
NAMED = pattern(
    r"""["'](?:name|tool|tool_name|function_name|action|function)["']\s*:\s*["'](?P<name>[^"'\n]{0,80})(?P<whole>["'])?"""
)
TOOL_TAG = pattern(r"(?:(?:\A|\n)[ \t]*<(?P<name>[A-Za-z_][\w.-]*)|[.!?]\s*<\|?)\Z")
LISTED = pattern(r"\s*(?P<list>\[\s*)?(?P<name>[A-Za-z_][\w.-]*)(?P<args>\[[A-Z]{0,4}\]?)?\s*")


def ends_inside(text: str, offered: Offered, starts_offered: Offered) -> bool:
    """Whether `text` stops where a call was only being opened.

    `offered` says whether a name is a tool's, `starts_offered` whether it is the beginning of one.
    """
    if MARKS_ONLY.fullmatch(text):
        return bool(text.strip())
    if len(text) < 200 and text.strip() and offered(text.strip(" \t\r\n:`")):
        return True
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
    tag = TOOL_TAG.search(end)
    if tag is not None and (not tag["name"] or starts_offered(tag["name"])):
        return True
    listed = LISTED.fullmatch(end[end.rfind("\n") + 1 :])
    if listed is not None and (listed["list"] or listed["args"]) and starts_offered(listed["name"]):
        return True
    return ends_in_mark(text, closing=True) or _ends_in_opened(end)


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
        known = (
            first["value"] in CALL_TYPES
            if first["whole"]
            else any(kind.startswith(first["value"]) for kind in CALL_TYPES)
        )
        if not known:
            return False
    named = NAMED.search(text, 0, 400)
    if named is None:
        return True
    return offered(named["name"]) if named["whole"] else starts_offered(named["name"])


def ends_in_mark(text: str, *, closing: bool = False) -> bool:
    """Whether the last thing in `text` is the beginning of a mark that opens, or with `closing` of any tag."""
    tail = text[-80:]
    at = max(tail.rfind("<"), tail.rfind("["))
    start = len(text) - len(tail) + at
    if at < 0 or quoted(text, start):
        return False
    end = tail[at:]
    glued = end[0] == "<" and tail[at - 1 : at] not in ("", " ")
    if line_before(text, start) and not glued and len(end) < 3:
        return False
    begun = any(mark.startswith(end) and mark != end for mark in MARKS)
    return begun or (closing and CLOSING_TAG.fullmatch(end) is not None)


def _ends_in_opened(end: str) -> bool:
    """Whether a mark on a line of its own is all there is but for a word or two."""
    for mark in OPENER.finditer(end):
        glued = mark[0][:2] == "<|" and not quoted(end, mark.start())
        if (glued or not line_before(end, mark.start())) and MARK_AND_WORDS.fullmatch(end, mark.start()):
            return True
    return False

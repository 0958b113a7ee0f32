"""What follows the opener of a native call: JSON objects, a name with arguments, marked values, braces.

Each reader takes a text and an offset and says what it read and where that ended. Which marks mean what is written in
`families`; whether a call is meant at all is not decided here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from react_text.messages import Repair
from react_text.parsing.families import CHILD, CLOSES, CONTROL, OPENERS, OTHER_VOICE, Family
from react_text.parsing.patterns import pattern
from react_text.parsing.pycall import HEAD, PythonCall, read_python_call
from react_text.parsing.shapes import ARGUMENT_KEYS, Offered, WrittenCall, calls_in
from react_text.parsing.values import ValueRead, read_value

LEAD_IN = pattern(r"(?:\s|```(?:json|xml|python|tool_code)?(?=[\s{\[])|(?:json|tool_code)(?=\s*[{\[]))*")
BETWEEN = pattern(r"(?:[\s,;\[\]})]|\.json\b|```(?:json)?)*")
RUN_CLOSERS = pattern(rf"(?:\s|```|{CLOSES})*")
ENDS = rf"{CLOSES}|{CONTROL}|{OTHER_VOICE}|\n[ \t]*```|<tool_calls?>|\[TOOL_CALLS\]|<function="
MAY_END = r"(?=[<\[`✿\n]|(?<=\n)[ \t]*[OHUQ])"
END_OUTSIDE_STRINGS = pattern(rf'"[^"\\]*(?:\\.[^"\\]*)*(?:"|(?P<open>\\?\Z))|{MAY_END}(?P<end>{ENDS})', re.DOTALL)
DELIMITED = pattern(r"<\|\"\|>(.*?)<\|\"\|>|<escape>(.*?)</?escape>", re.DOTALL)
END = pattern(f"{MAY_END}(?:{ENDS})")
END_OUTSIDE_DELIMITERS = pattern(rf"{DELIMITED.pattern}|(?P<end>{ENDS})", re.DOTALL)
STRING = pattern(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
LIST_OF_OBJECTS = pattern(r"\[\s*\{")
EXTRA_CLOSERS = pattern(r"[\s\]})]*")
BLANK_END = pattern(r"\s*\Z")
CHILD_TAG = pattern(CHILD)
WRAPPER_TAGS = frozenset({"args", "arguments", "parameters", "params", "input", "tool_input"})
CALL_OPENERS = "|".join("(?:" + opener.replace("?P<name>", "?:") + ")" for opener in OPENERS[:-3])


BLANKS = pattern(r"\s*")


@dataclass(frozen=True, slots=True)
class Body:
    """Calls read up to `end`; `calls` is empty when nothing readable stood there.

    `loose` says that the arguments are any text at all, so that only the place can tell a call from talk.
    """

    calls: tuple[WrittenCall, ...]
    end: int
    readable: bool = True
    loose: bool = False


@dataclass(frozen=True, slots=True)
class Json:
    """One JSON value, or what was meant as one.

    `cut` says that the text ended inside it, `open` that it ended before its closers, and `closers` which were missing.
    """

    value: Any
    end: int
    edits: tuple[Repair, ...] = ()
    cut: bool = False
    open: bool = False
    readable: bool = True
    closed: bool = True
    closers: str = ""

    def list_open(self, *, inside: bool) -> bool:
        """Whether the text ended in a list of the arguments, which may have had more items to come.

        `inside` says that the value itself is the arguments; otherwise they stand under one of its keys.
        """
        value = self.value
        for _ in self.closers:
            if isinstance(value, list):
                if inside:
                    return True
                value = value[-1] if value else None
            elif isinstance(value, dict) and value:
                key = next(reversed(value))
                inside = inside or key in ARGUMENT_KEYS
                value = value[key]
        return False


DECODER = json.JSONDecoder()
WINDOWS = (2_000, 30_000, 500_000)
"""How far ahead a value is looked for, step by step, so that many short values cost no more than one long one."""


def read_json(text: str, start: int) -> Json:
    """The object or list at `start`, ended at the latest by a mark that stands outside its strings."""
    end = _valid_end(text, start)
    if end is None:
        return _read_loose(text, start)
    read = read_value(text[start:end])
    return _json(read, end, len(text), text, start)


def _valid_end(text: str, start: int) -> int | None:
    """Where the valid JSON value at `start` ends, looked for in a near part of the text first."""
    near = text[start : start + WINDOWS[0]]
    try:
        return start + DECODER.raw_decode(near)[1]
    except json.JSONDecodeError as error:
        if start + len(near) == len(text) or (error.pos < len(near) - 8 and not error.msg.startswith("Unterminated")):
            return None
    except RecursionError:
        return None
    try:
        return DECODER.raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        return None


def _read_loose(text: str, start: int) -> Json:
    result = Json(None, start, readable=False)
    last: int | None = None
    for window in (*WINDOWS, len(text)):
        stop = min(start + window, len(text))
        mark = _end_mark(text, start, stop)
        if mark is not None and mark == last:
            return result
        last = mark
        result = _bounded(text, start, stop if mark is None else mark)
        if result.readable and not result.cut and (result.closed or mark is not None or stop == len(text)):
            return result
        first = END.search(text, start, mark) if mark is not None else None
        paragraph = text.find("\n\n", start, stop if mark is None else mark)
        for limit in (first.start() if first else -1, paragraph):
            shorter = _bounded(text, start, limit) if limit > 0 else None
            if shorter is not None and shorter.readable and not shorter.cut:
                return shorter
        if stop == len(text):
            break
    return result


def _end_mark(text: str, start: int, stop: int) -> int | None:
    for match in END_OUTSIDE_STRINGS.finditer(text, start, stop):
        if match["end"] is not None:
            return match.start()
        # where one string has no end none after it has, so the rest is looked at once and without strings
        if match["open"] is not None:
            mark = END.search(text, match.start() + 1, stop)
            return mark.start() if mark else None
    return None


def _bounded(text: str, start: int, limit: int) -> Json:
    """The value at `start`, as if the text ended at `limit`; only its real end can cut a value."""
    bounded = limit < len(text)
    read = read_value(text[start:limit] + "\n" if bounded else text[start:])
    return _json(read, min(start + read.end, limit), limit, text, start)


def _json(read: ValueRead, end: int, limit: int, text: str, start: int) -> Json:
    at_end = limit == len(text) and BLANK_END.match(text, end) is not None
    closers = next((edit.after for edit in read.repairs if edit.name == "missing_closer"), "") if at_end else ""
    dangling = at_end and not read.closed and text[max(start, len(text) - 200) :].rstrip()[-1:] in ",:"
    return Json(
        read.value,
        end,
        read.repairs,
        cut=not read.complete or dangling,
        open=not read.closed and at_end,
        closed=read.closed,
        closers=closers,
        readable=read.readable and isinstance(read.value, (dict, list)),
    )


def read_run(text: str, start: int, offered: Offered) -> Body | None:
    """The calls one after the other at `start`, as JSON objects or Python calls, and the marks that close them.

    None when neither a bracket nor a call stands there, so that the opener before it was no opener.
    """
    lead_in = LEAD_IN.match(text, start)
    at = lead_in.end() if lead_in else start
    first = at
    found = _calls_in_string(text, at, offered)
    if found:
        at = _string_end(text, at)
    while True:
        between = BETWEEN.match(text, at)
        at = between.end() if between else at
        head = HEAD.match(text, at)
        if text[at : at + 1] == "{":
            read = read_json(text, at)
            calls = calls_in(read.value, offered, enveloped=True) if read.readable else None
            if calls is None:
                broken = WrittenCall("", cut=read.cut, edits=read.edits)
                return Body((*found, broken), read.end, readable=False)
            cut = read.cut or read.list_open(inside=False)
            found += [replace(call, cut=cut, open=read.open, edits=read.edits + call.edits) for call in calls]
            at = read.end
        elif head is not None and text[head.end() - 2] not in " \t\n":
            call = read_python_call(text, at)
            assert call is not None
            found.append(from_python(call))
            if not call.readable:
                return Body(tuple(found), call.end, readable=False)
            at = call.end
        else:
            break
    if not found:
        return Body((), at, readable=False) if text[first : first + 1] in ("{", "[") else None
    if at >= len(text) and "," in (between[0] if between else ""):
        found[-1] = replace(found[-1], cut=True)
    closers = RUN_CLOSERS.match(text, at)
    return Body(tuple(found), closers.end() if closers else at)


def _calls_in_string(text: str, at: int, offered: Offered) -> list[WrittenCall]:
    """The calls in a JSON text that stands there as a JSON string."""
    if text[at : at + 1] != '"':
        return []
    try:
        inner = json.loads(text[at : _string_end(text, at)])
        calls = calls_in(json.loads(inner), offered, enveloped=True) if inner.lstrip().startswith(("{", "[")) else None
    except (ValueError, RecursionError):
        return []
    return [replace(call, edits=(Repair("double_encoded"), *call.edits)) for call in calls or ()]


def _string_end(text: str, at: int) -> int:
    string = STRING.match(text, at)
    return string.end() if string else at


def from_python(call: PythonCall) -> WrittenCall:
    """A Python call as a written call; arguments without a name are kept under their positions."""
    arguments: Any = dict(call.keywords)
    if len(call.positional) == 1 and not call.keywords and isinstance(call.positional[0], Mapping):
        return WrittenCall(call.name, dict(call.positional[0]), cut=call.cut, open=not call.closed)
    if call.positional:
        arguments = {**{str(index): value for index, value in enumerate(call.positional)}, **call.keywords}
    return WrittenCall(call.name, arguments, cut=call.cut, open=not call.closed, positional=len(call.positional))


def read_named(text: str, start: int, name: str, family: Family, offered: Offered, *, ended: bool) -> Body | None:
    """The arguments of the call that `family` opened and named before `start`; None when it opened none.

    `ended` says that the model ended its text itself, so that bare text up to the end is whole. Where the text ends
    after the name, only an offered one is known to be whole.
    """
    closes = _pattern(family.closes.replace("{name}", re.escape(name))) if family.closes else None
    lead_in = LEAD_IN.match(text, start)
    at = lead_in.end() if lead_in else start
    if family.form == "braces":
        return _read_braces(text, at, name)
    # `<tool_call> and </tool_call>` in a sentence: an unknown word among blanks is no name
    if text.startswith("</", at) and not offered(name) and text[at - 1] == " ":
        return None
    if text[at : at + 1] == "{" or LIST_OF_OBJECTS.match(text, at):
        return _read_object(text, at, name)
    if text.startswith("/>", start - 2):
        return Body((WrittenCall(name, {}),), _after(text, start))
    if at >= len(text):
        whole = text[start - 1] == ">" or family.name == "glm"
        return Body((WrittenCall(name, {}, open=True, cut=not (whole and offered(name))),), at)
    if family.key:
        as_tags = CHILD_TAG.match(text, at) is not None and not _pattern(family.key).match(text, at)
        shaped = replace(family, key=CHILD, value_end="</{key}>") if as_tags else family
        body = _read_marked(text, start, name, shaped, closes)
        if body is not None:
            return body
    if closes is not None and (closed := closes.match(text, at)):
        return Body((WrittenCall(name, {}),), _after(text, closed.end()))
    if not family.bare or not (offered(name) or family.name == "harmony"):
        return None
    closed = closes.search(text, start) if closes is not None else None
    end = closed.start() if closed is not None else len(text)
    call = WrittenCall(name, text[start:end].strip(), cut=closed is None and not ended)
    return Body((call,), _after(text, closed.end()) if closed else end, loose=family.name != "harmony")


def _after(text: str, at: int) -> int:
    closers = RUN_CLOSERS.match(text, at)
    return closers.end() if closers else at


@lru_cache(maxsize=256)
def _pattern(source: str) -> re.Pattern[str]:
    return re.compile(source, re.DOTALL)


MOST_REPEATED = 100
"""Copies of the same arguments after one name that are taken for one; more are no call any more."""


def _read_object(text: str, start: int, name: str) -> Body:
    read = read_json(text, start)
    cut = read.cut or read.list_open(inside=True)
    call = WrittenCall(name, read.value, cut=cut, open=read.open, edits=read.edits)
    at = read.end
    between = EXTRA_CLOSERS.match(text, at)
    at = between.end() if between else at
    if not read.readable:
        return Body((replace(call, arguments=None),), at, readable=False)
    repeated = 0
    while text[at : at + 1] == "{":
        again = read_json(text, at)
        if not again.readable or again.value != read.value:
            return Body((replace(call, cut=again.cut, arguments=None),), again.end, readable=False)
        repeated += 1
        at = again.end
        if repeated > MOST_REPEATED:
            return Body((replace(call, arguments=None),), len(text), readable=False)
    call = replace(call, edits=(*call.edits, *[Repair("repeated_arguments", name)] * repeated))
    return Body((call,), _after(text, at))


def _read_braces(text: str, start: int, name: str) -> Body:
    """`{key:<|"|>text<|"|>,other:3}`: delimited texts become JSON strings, the rest is read as a loose object."""
    limit = next((match.start() for match in END_OUTSIDE_DELIMITERS.finditer(text, start) if match["end"]), len(text))
    region = text[start:limit]
    loose = DELIMITED.sub(lambda match: json.dumps(match[1] or match[2] or ""), region)
    cut = limit == len(text) and ('<|"|>' in loose or "<escape>" in loose)
    read = read_value(loose + "\n" if limit < len(text) else loose)
    call = WrittenCall(name, read.value, cut=cut or not read.complete, open=not read.closed and limit == len(text))
    end = limit if "\n" in loose[read.end :] else start + len(region)
    return Body((call,), _after(text, end), readable=read.readable and isinstance(read.value, dict))


def _value_close(
    text: str, start: int, reach: int, value_end: re.Pattern[str], structure: re.Pattern[str]
) -> tuple[int, int] | None:
    """Where the mark stands that ends a marked value: the first one after which the call goes on or is over.

    The value may hold such a mark itself. None where there is no mark; a negative start where text is left over.
    """
    ends = [(found.start(), found.end()) for found in value_end.finditer(text, start, reach)]
    for begin, end in ends:
        blanks = BLANKS.match(text, end)
        at = blanks.end() if blanks else end
        if at >= len(text) or structure.match(text, at):
            return begin, end
    if not ends:
        return None
    left_over = text[ends[0][1] : reach].strip()
    if len(ends) > 1 or (reach < len(text) and left_over and left_over[0] != "<"):
        return -1, ends[-1][1]
    return ends[0]


def _read_marked(text: str, start: int, name: str, family: Family, closes: re.Pattern[str] | None) -> Body | None:
    """Arguments each in marks of its own: `<parameter=key>value</parameter>` and its relatives."""
    child = "{key}" in family.value_end
    own = _pattern(rf"(?P<argument>{family.key})|(?P<next>{family.call})")
    stop = _pattern(rf"{closes.pattern if closes else CLOSES}|{CLOSES}|{CALL_OPENERS}|{OTHER_VOICE}")
    limit = _child_limit(text, start, closes) if child else len(text)
    arguments: dict[str, Any] = {}
    edits: tuple[Repair, ...] = ()
    stray = False
    at = start
    while True:
        mark = own.search(text, at, limit)
        end = stop.search(text, at, mark.start() if mark else limit)
        edge = end or mark
        if not arguments and edge is not None and text[at : edge.start()].strip(" \t\r\n:-"):
            if end is not None or mark is None or mark["next"]:
                return None
            stray = True
        if end is not None or mark is None or mark["next"]:
            closed = end is not None and closes is not None and closes.match(text, end.start())
            finish = end.end() if end and closed else end.start() if end else mark.start() if mark else limit
            if mark is None and end is None and text[at:limit].strip() and not arguments:
                return None
            call = WrittenCall(name, arguments, texts=True, open=end is None and limit == len(text), edits=edits)
            following = own.search(text, finish)
            over = following.start() if following else len(text)
            stray_end = None if child or not arguments else _pattern(family.value_end).search(text, finish, over)
            if stray_end is not None and text[finish : stray_end.start()].strip():
                return Body((call,), stray_end.end(), readable=False)
            return Body((call,), _after(text, finish), loose=stray)
        key = mark["key"]
        if child and key in WRAPPER_TAGS:
            at = mark.end()
            continue
        value_end = _pattern(family.value_end.replace("{key}", re.escape(key)))
        following = own.search(text, mark.end(), limit)
        reach = limit if child or following is None else following.start()
        closing = _value_close(text, mark.end(), reach, value_end, _pattern(f"{own.pattern}|{stop.pattern}"))
        if closing is not None and closing[0] < 0:
            return Body((WrittenCall(name, arguments, texts=True),), closing[1], readable=False)
        if closing is not None:
            value, at = text[mark.end() : closing[0]], closing[1]
        else:
            end = stop.search(text, mark.end(), following.start() if following else limit)
            if end is None and following is None and limit == len(text):
                return Body((WrittenCall(name, arguments, texts=True, cut=True),), limit)
            at = end.start() if end else following.start() if following else limit
            value = text[mark.end() : at]
            edits += (Repair("missing_closing_mark", key),)
        if key in arguments:
            return Body((WrittenCall(name, arguments, texts=True),), at, readable=False)
        arguments[key] = _unframed(value)


def _child_limit(text: str, start: int, closes: re.Pattern[str] | None) -> int:
    closing = closes.search(text, start) if closes else None
    return closing.start() if closing else len(text)


def _unframed(value: str) -> str:
    """A value without the one line break at each end that only frames it."""
    value = value.removeprefix("\r\n") if value.startswith("\r\n") else value.removeprefix("\n")
    return value.removesuffix("\n").removesuffix("\r")

"""Calls without any family's marks: a JSON object in the shape of a call, a Python call on a line of its own.

Such text is a call only where it names an offered tool and stands where a call stands.
"""

from __future__ import annotations

import re
from dataclasses import replace

from react_text.messages import Fault
from react_text.parsing.bodies import Body, from_python, read_json
from react_text.parsing.cut import unfinished_object
from react_text.parsing.families import CONTROL, LINE
from react_text.parsing.findings import NOTHING, Names, Scan, accept, in_sentence, only
from react_text.parsing.patterns import pattern
from react_text.parsing.pycall import HEAD, read_python_call
from react_text.parsing.settle import FINAL_NAMES, truncated
from react_text.parsing.shapes import ARGUMENT_KEYS, LIST_KEYS, NAME_KEYS, WRAPPER_KEYS, WrittenCall, calls_in
from react_text.parsing.talk import line_before, standing

CALL_KEYS = "|".join({*NAME_KEYS, *ARGUMENT_KEYS, *LIST_KEYS, *WRAPPER_KEYS, "type", "id", "thought"})
OBJECT = rf"\{{\s{{0,40}}(?:\{{\s{{0,40}})?(?:[\"'“‘]|(?:{CALL_KEYS})\s*:)"
PYTHON = rf"{LINE}(\[\s*)?(?:print\(\s*)?(?:[A-Za-z_]\w{{0,60}}\s*=\s*)?(?:await\s+)?(?=[A-Za-z_][\w.-]{{0,127}}\()"
CONJUNCTION = pattern(r"(?:and|then|also|next|,|\s)*(?:\s*[{\[].*)?$", re.DOTALL)
LISTS = pattern(r"[\s\[]*")
NEXT_IN_LIST = pattern(r"\s*[,;]\s*(?=[A-Za-z_])")
LIST_CUT = pattern(r"\s*[,;]\s*[\w.]*\Z")
LINE_END = pattern(rf"(?:{CONTROL}|```|</[\w:｜]{{1,30}}>|[\s\[\])}};,])*")


def read_bare_object(text: str, match: re.Match[str], scan: Scan, names: Names) -> int:
    """A JSON object without any family's marks: a call where it has the shape of one and names an offered tool."""
    start = match.start()
    since = max(scan.calls[-1].end if scan.calls else 0, scan.reasoned)
    read = read_json(text, start)
    before = CONJUNCTION.sub(
        "", NOTHING.sub("", line_before(text, start, since)) if since else line_before(text, start)
    )
    calls = calls_in(read.value, names.offered, enveloped=False) if read.readable and not read.cut else None
    if calls is None and (read.cut or read.open or not read.readable):
        scan.objects = False
        if (not before or before[-1] in ".:!?)>]") and unfinished_object(
            text[start : start + 400], names.offered, names.begun
        ):
            cut = read.cut or read.open
            scan.fault = (
                truncated()
                if cut
                else Fault("unreadable_call", "The call is no valid JSON; write it as one JSON object.")
            )
        return match.end()
    if calls is None:
        scan.talk = scan.talk or _is_data(read.value, names)
        return max(read.end, match.end())
    if not all(names.offered(call.name) or _is_final(call.name) for call in calls):
        alone = scan.fence is None and only(LISTS, text, since, start) and only(NOTHING, text, read.end, len(text))
        if not (alone and all(call.enveloped for call in calls)):
            scan.talk = True
            return read.end
    tail = text[read.end : read.end + 200].split("\n")[0]
    after = NOTHING.sub("", tail)
    tail_prose = after[:1].isalnum()
    if tail_prose and after[:1].islower() and not CONJUNCTION.fullmatch(after) and scan.fence is None:
        if not before and all(names.offered(call.name) for call in calls):
            scan.fault = in_sentence()
        return read.end
    if before and (before[-1] not in ".:!?)>]*" or tail_prose):
        return read.end
    if scan.fence is None and not _meant(text, start, read.end, since, scan):
        return read.end
    cut = read.list_open(inside=False) or LIST_CUT.match(text, read.end) is not None
    calls = [replace(call, cut=cut, open=read.open, edits=read.edits + call.edits) for call in calls]
    return accept(Body(tuple(calls), read.end), start, "json", scan)


def _is_data(value: object, names: Names) -> bool:
    """Whether an object that is no call has a name all the same, and it is no tool's."""
    if not isinstance(value, dict):
        return False
    written = [value[key] for key in NAME_KEYS if isinstance(value.get(key), str)]
    return bool(written) and not any(names.offered(name) for name in written)


def _meant(text: str, start: int, end: int, since: int, scan: Scan) -> bool:
    """Whether a call at `[start, end)` is meant; otherwise the scan is told that it is talk, or may be."""
    stands = standing(text, start, end, since=since, markup=False)
    scan.talk = scan.talk or stands == "talk"
    if stands == "doubt":
        scan.fault = in_sentence()
    return stands == "call"


def _is_final(name: str) -> bool:
    return re.sub(r"[\W_]", "", name).lower() in FINAL_NAMES


def read_bare_python(text: str, match: re.Match[str], scan: Scan, names: Names) -> int:
    """A Python call of an offered tool on a line of its own, or in a list."""
    in_list = match[0].lstrip().startswith("[")
    start = match.start()
    found: list[WrittenCall] = []
    at = match.end()
    last = at
    known = in_list and only(LISTS, text, 0, start)
    while (head := HEAD.match(text, at)) is not None:
        if not known and not names.offered(head["name"]):
            return match.end() if not found else at
        call = read_python_call(text, at)
        assert call is not None
        found.append(from_python(call))
        if not call.readable or call.cut:
            if not names.offered(call.name):
                return match.end()
            return accept(Body(tuple(found), call.end, readable=False), start, "python", scan)
        last = at = call.end
        following = NEXT_IN_LIST.match(text, at) if in_list else None
        if following is None:
            break
        at = following.end()
    if found and in_list and LIST_CUT.match(text, last):
        found[-1] = replace(found[-1], cut=True)
        at = len(text)
    if not found:
        return match.end()
    line = text[at : at + 200].split("\n")[0]
    if LINE_END.sub("", line):
        return at
    unknown = [call for call in found if not names.offered(call.name)]
    if unknown and (not only(NOTHING, text, at, len(text)) or not all(call.arguments for call in unknown)):
        return at
    since = max(scan.calls[-1].end if scan.calls else 0, scan.reasoned)
    if scan.fence is None and not _meant(text, start, at, since, scan):
        return at
    return accept(Body(tuple(found), at), start, "python", scan)

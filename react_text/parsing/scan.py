"""One scan of a text for native calls, from left to right over the marks that `families` lists.

What a mark opens is read where it stands, so that marks inside a value are never seen; reasoning, talk about the
format, and all that follows a self-written result are stepped over.
"""

from __future__ import annotations

import re
import string

from react_text.messages import Fault
from react_text.parsing.bare import OBJECT, PYTHON, read_bare_object, read_bare_python
from react_text.parsing.bodies import Body, read_named, read_run
from react_text.parsing.cut import CODE_LANGUAGES
from react_text.parsing.families import (
    ANSWER,
    END_OF_TURN,
    FAMILIES,
    LINE,
    OPENERS,
    OTHER_VOICE,
    THINK_CLOSE,
    THINK_OPEN,
)
from react_text.parsing.findings import NOTHING, Found, Names, Scan, accept, in_sentence
from react_text.parsing.patterns import pattern
from react_text.parsing.reasoning import is_mentioned
from react_text.parsing.settle import truncated
from react_text.parsing.talk import line_before, quoted, standing

LABEL = (
    rf"(?i:{LINE}[*_#>\- \t]{{0,6}}(?:action(?: ?input)?[ \t]*(?:\d+[*_ \t]*|[*_][*_ \t]*)?[:：][*_ \t]*(?=[^\s{{\[`<])"
    r"|(?:final[ _]?answer|answer)[ \t]*(?:\d+[*_ \t]*|[*_][*_ \t]*)?[:：]))"
)
KINDS = (
    ("think_close", THINK_CLOSE),
    ("think_open", THINK_OPEN),
    ("voice", OTHER_VOICE),
    ("answer", ANSWER),
    *((f"f{index}", opener.replace("?P<name>", "?:")) for index, opener in enumerate(OPENERS)),
    ("end", END_OF_TURN),
    ("label", LABEL),
    ("fence", r"```[\w+-]*[ \t]*"),
    ("object", OBJECT),
    ("python", PYTHON),
)
ANCHOR = pattern("|".join(f"(?:{pattern})(?P<{kind}>)" for kind, pattern in KINDS))
"""What may begin here. An empty group after each alternative names it and leaves the fast path of `re` open."""
TRIGGER = pattern(
    r"✿(?=F|R)|◁(?=/?t)|<(?=[A-Za-z]|/[a-z]|[|｜‖]{1,2}\s?[A-Za-z/])|\[(?=/?(?:TOOL|THINK|ARGS|CALL_ID|INST|END_TOOL))|```"
    rf"|to=(?=[A-Za-z_])|functools|function call<|(?={OBJECT})"
    r"|(?:\A|\n)(?=[ \t]*>>>|[ \t*_#>\[-]{0,12}(?<!_)[A-Za-z_](?=([\w.-]*))\1(?: (?=([\w.-]+))\2)?(?=([ \t*_\d]*))\3"
    r"(?:[(:：=<]|\s*(?:<arg_key|(?:```(?:json)?\s*)?\{)))"
)
"""Where it is worth looking at all: no anchor begins anywhere else. `(?=(x*))\\1` is a run that is never given back."""
NAME_LETTERS = string.ascii_letters + string.digits + "_.:/-"
CALLS = {f"f{index}": pattern(family.call) for index, family in enumerate(FAMILIES) if family.call}
OFFERED_KINDS = frozenset(f"f{index}" for index, family in enumerate(FAMILIES) if family.offered)
MOST_CALLS = 128
"""More calls than this in one turn are a model that cannot stop."""
MOST_LOOKED = 10_000_000
"""Characters after marks that are looked at, those that are looked at again included."""
MOST_MARKS = 60_000
"""Marks that are looked at, one that is read as a call counting ten times; what stands after them is not read."""
THINK_END = pattern(THINK_CLOSE)
OPENING_TAG = pattern(r"\s*<[\w:]{1,30}>\s*")
BLANK_END = pattern(r"\s*\Z")
FENCE_END = pattern(r"\n[ \t]*```")
CALLISH = pattern(
    r"\s*(?:[\[{<✿]|functools|TOOL_NAME|call:|print\(|[A-Za-z_][\w.]*(?:\(|\s*=\s*[A-Za-z_][\w.]*\(|\[ARGS\]))"
)


def scan_text(text: str, names: Names, *, ended: bool) -> Scan | None:
    scan = Scan()
    at = 0
    first = len(text) - len(text.lstrip())
    line = -1
    marks = 0
    while hit := TRIGGER.search(text, at - 1 if at != line and text[at - 1 : at] == "\n" else at):
        marks += 1
        if marks > MOST_MARKS or scan.looked > MOST_LOOKED:
            break
        start = _word_start(text, hit.start())
        line = start if text[hit.start()] == "\n" else line
        match = ANCHOR.match(text, max(start, at))
        if match is None:
            at = max(hit.end(), hit.start() + 1)
            continue
        kind, start, at = str(match.lastgroup), match.start(), match.end()
        if kind == "label" and scan.fence is None:
            if not scan.calls:
                return None
            break
        if kind in OFFERED_KINDS and not names.offered(_name(kind, text, start)):
            continue
        if (kind == "object" and not scan.objects) or quoted(text, start):
            continue
        if kind in ("voice", "label") and scan.fence is not None:
            continue
        if kind == "voice":
            named_in_prose = text[start - 1 : start] == " " and text[at : at + 1] in (" ", ",", ".")
            if not named_in_prose and (start > first or text[start] in "<[`✿"):
                scan.stop = start
                scan.fabricated = text[start] in "<[`✿"
                break
        elif kind == "answer":
            if not scan.calls:
                scan.answer = at
            break
        elif kind == "end":
            if NOTHING.sub("", text[: min(start, 200)]):
                scan.stop = start
                break
        elif kind == "think_open":
            if not line_before(text, start, scan.calls[-1].end if scan.calls else 0):
                closing = THINK_END.search(text, at) if scan.thinking is None else None
                at = closing.end() if closing else at
                scan.thinking = None if closing else start
                scan.reasoned = closing.end() if closing else scan.reasoned
        elif kind == "think_close":
            if scan.thinking is None and is_mentioned(text, start, at):
                continue
            scan.calls.clear()
            scan.fault, scan.thinking, scan.fence, scan.reasoned, scan.objects = None, None, None, at, True
        elif kind == "fence":
            at = _fence(text, match, scan)
        else:
            marks += 9
            at = _read(text, match, scan, names, ended=ended)
            if len(scan.calls) > MOST_CALLS:
                scan.fault = Fault("runaway", "The reply went on calling tools without an end; make one call and wait.")
                break
            if scan.fault is not None:
                scan.drafts += 1
                closing = THINK_END.search(text, start + 1) if scan.drafts < MOST_CALLS else None
                if closing is None:
                    break
                at = closing.start()
        at = max(at, start + 1)
    if scan.fence is not None:
        # the marks that end a call may have taken the end of its fence with them
        taken = text[scan.fence_body : scan.calls[-1].end].rstrip() if scan.calls else ""
        end = len(text) if scan.stop is None else scan.stop
        if taken.endswith("```"):
            end = scan.fence_body + len(taken) - 3
        _close_fence(text, end, scan)
    return scan


def _word_start(text: str, at: int) -> int:
    """Where an anchor that was noticed at `at` begins: after its line break, or at the name before its mark."""
    if text[at] == "\n":
        return at + 1
    if text.startswith(("[ARGS]", "[CALL_ID]"), at):
        before = text[max(0, at - 130) : at].rstrip()
        return max(0, at - 130) + len(before.rstrip(NAME_LETTERS))
    return at


def _name(kind: str, text: str, start: int) -> str:
    named = CALLS[kind].match(text, start)
    return named["name"] if named else ""


def _fence(text: str, match: re.Match[str], scan: Scan) -> int:
    """Enter, leave or step over a fenced block; where to go on."""
    if scan.fence is not None:
        _close_fence(text, match.start(), scan)
        return match.start() + 3
    language = match[0].strip("` \t").lower()
    if language in CODE_LANGUAGES or CALLISH.match(text, match.end()):
        scan.fence, scan.fence_body, scan.code = match.start(), match.end(), language in CODE_LANGUAGES
        return match.end()
    closing = FENCE_END.search(text, match.end())
    return closing.end() if closing else len(text)


def _close_fence(text: str, end: int, scan: Scan) -> None:
    """Drop the calls of a block that explains the format, or that is code with more in it than calls."""
    assert scan.fence is not None
    inside = [found for found in scan.calls if found.start >= scan.fence]
    if inside:
        markup = inside[0].family not in ("json", "python")
        after = min(end + 3, len(text))
        mixed = inside[0].family == "python" and _leftover(text, scan.fence_body, end, inside)
        stands = standing(text, scan.fence, after, fenced=True, markup=markup)
        if mixed or stands != "call":
            del scan.calls[len(scan.calls) - len(inside) :]
            scan.talk = scan.talk or stands == "talk"
            if mixed and scan.code:
                scan.fault = Fault("unreadable_call", "The tool code holds more than calls; write only the call.")
            elif stands == "doubt" and not mixed:
                scan.fault = in_sentence()
    scan.fence = None


def _leftover(text: str, start: int, end: int, calls: list[Found]) -> bool:
    at = start
    for found in calls:
        if text[at : found.start].strip(" \t\r\n;,)]"):
            return True
        at = found.end
    return bool(text[at:end].strip(" \t\r\n;,)]"))


def _read(text: str, match: re.Match[str], scan: Scan, names: Names, *, ended: bool) -> int:
    """Read what an anchor opens into the scan; where to go on."""
    kind = str(match.lastgroup)
    if kind == "object":
        return read_bare_object(text, match, scan, names)
    if kind == "python":
        return read_bare_python(text, match, scan, names)
    family = FAMILIES[int(kind[1:])]
    body: Body | None
    if family.call:
        name = _name(kind, text, match.start())
        body = read_named(text, match.end(), name, family, names.offered, ended=ended)
    else:
        body = read_run(text, match.end(), names.offered)
        if body is None and BLANK_END.match(text, match.end()) and not line_before(text, match.start()):
            scan.fault = truncated()
    if body is None:
        return match.end()
    scan.looked += body.end - match.end()
    since = max(scan.calls[-1].end if scan.calls else 0, scan.reasoned)
    stands = "call" if scan.fence is not None else standing(text, match.start(), body.end, since=since)
    if stands == "talk" or (body.loose and OPENING_TAG.sub("", line_before(text, match.start(), since))):
        scan.talk = scan.talk or bool(body.calls)
        return body.end if stands == "talk" else match.end()
    if stands == "doubt":
        scan.fault = in_sentence()
        return body.end
    return accept(body, match.start(), family.name, scan)

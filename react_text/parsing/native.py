"""Calls that stand in a text in a model family's own format, read as a turn.

One scan from left to right over the marks that `families` lists. What a mark opens is read where it stands, so that
marks inside a value are never seen; reasoning, talk about the format, and all that follows a self-written result are
stepped over. Text that holds nothing of the kind is left to the reader of labelled text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from react_text.messages import Call, Fault, Repair, Turn
from react_text.parsing.bodies import Body, from_python, read_json, read_named, read_run
from react_text.parsing.cut import CODE_LANGUAGES, ends_in_mark, ends_inside, unfinished_object
from react_text.parsing.families import (
    ANSWER,
    CONTROL,
    END_OF_TURN,
    FAMILIES,
    LINE,
    OPENERS,
    OTHER_VOICE,
    THINK_CLOSE,
    THINK_OPEN,
)
from react_text.parsing.pycall import HEAD, read_python_call
from react_text.parsing.settle import FINAL_NAMES, find_tool, settle, truncated
from react_text.parsing.shapes import ARGUMENT_KEYS, LIST_KEYS, NAME_KEYS, WRAPPER_KEYS, WrittenCall, calls_in
from react_text.parsing.talk import line_before, quoted, standing
from react_text.tools import Tool

CALL_KEYS = "|".join({*NAME_KEYS, *ARGUMENT_KEYS, *LIST_KEYS, *WRAPPER_KEYS, "type", "id", "thought"})
OBJECT = rf"\{{\s{{0,40}}(?:\{{\s{{0,40}})?(?:[\"'“‘]|(?:{CALL_KEYS})\s*:)"
PYTHON = rf"{LINE}(\[\s*)?(?:print\(\s*)?(?:[A-Za-z_]\w{{0,60}}\s*=\s*)?(?=[A-Za-z_][\w.-]{{0,127}}\()"
LABEL = (
    rf"(?i:{LINE}[*_#>\- \t]{{0,6}}(?:action(?: ?input)?[ \t]*\d*[*_ \t]*[:：][*_ \t]*(?=[^\s{{\[`<])"
    r"|(?:final[ _]?answer|answer)[ \t]*\d*[*_ \t]*[:：]))"
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
ANCHOR = re.compile("|".join(f"(?:{pattern})(?P<{kind}>)" for kind, pattern in KINDS))
"""What may begin here. An empty group after each alternative names it and leaves the fast path of `re` open."""
TRIGGER = re.compile(
    r"[✿◁]|<(?=[/|｜A-Za-z])|\[(?=/?(?:TOOL|THINK|ARGS|CALL_ID|INST|END_TOOL))|```|to=(?=[A-Za-z_])|functools|function call<"
    rf"|(?={OBJECT})|(?:\A|\n)(?=[ \t]*>>>|[ \t*_#>\[-]{{0,12}}[A-Za-z_][\w.-]{{0,127}}(?:[ _][A-Za-z]{{1,10}})?[ \t*_\d]*"
    r"(?:[(:：=<]|\s*(?:```(?:json)?\s*)?\{))"
)
"""Where it is worth looking at all: no anchor begins anywhere else."""
WORD_BEFORE = re.compile(r"[A-Za-z_][\w.:/-]{0,127}\s*\Z")
CALLS = {f"f{index}": re.compile(family.call) for index, family in enumerate(FAMILIES) if family.call}
OFFERED_KINDS = frozenset(f"f{index}" for index, family in enumerate(FAMILIES) if family.offered)
MOST_CALLS = 128
"""More calls than this in one turn are a model that cannot stop."""
THINK_END = re.compile(THINK_CLOSE)
CONJUNCTION = re.compile(r"(?:and|then|also|next|,|\s)*(?:\s*[{\[].*)?$", re.DOTALL)
BLANK_END = re.compile(r"\s*\Z")
FENCE_END = re.compile(r"\n[ \t]*```")
CALLISH = re.compile(r"\s*(?:[\[{<✿]|functools|TOOL_NAME|call:|print\(|[A-Za-z_][\w.]*(?:\(|\s*=\s*[A-Za-z_][\w.]*\(|\[ARGS\]))")
LISTS = re.compile(r"[\s\[]*")
NOTHING = re.compile(rf"(?:{CONTROL}|[\s\[\]}},;>)`]|\.?json\b|</[\w:｜]{{1,30}}>)*")


@dataclass(frozen=True, slots=True)
class _Found:
    call: WrittenCall
    start: int
    end: int
    family: str


@dataclass(slots=True)
class _Scan:
    """What was seen so far, and the places where reasoning and an open fence began."""

    calls: list[_Found] = field(default_factory=list)
    fault: Fault | None = None
    answer: int | None = None
    reasoned: int = 0
    thinking: int | None = None
    fence: int | None = None
    fence_body: int = 0
    code: bool = False
    objects: bool = True
    talk: bool = False
    stop: int | None = None


class _Names:
    """The offered names, with an answer remembered for each spelling that was asked for."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self.tools = tools
        self.known: dict[str, bool] = {}

    def offered(self, name: str) -> bool:
        """Whether a written name is a tool's but for case, separators and a namespace."""
        if name not in self.known:
            found = find_tool(name, self.tools)
            doubtful = any(edit.name in ("name_typo", "name_in_sentence") for edit in found.repairs)
            self.known[name] = found.tool is not None and not doubtful
        return self.known[name]

    def begun(self, name: str) -> bool:
        """Whether a name is the beginning of a tool's."""
        return any(tool.name.startswith(name) for tool in self.tools)


def read_native(text: str, tools: Sequence[Tool] = (), *, finish_reason: str | None = None) -> Turn | None:
    """The turn in a native format, or None when `text` holds nothing of the kind."""
    names = _Names(tools)
    scan = _scan(text, names, ended=finish_reason in ("stop", "tool_calls"))
    if scan is None:
        return None
    calls = _ending_reasoning(text, scan)
    fault = scan.fault
    since = calls[-1].end if calls else scan.reasoned
    if fault is None and scan.answer is None and (ends_in_mark(text[since:]) if calls else ends_inside(text[since:], names.offered, names.begun)):
        fault = truncated()
    if fault is not None:
        return Turn("none", thought=_thought(text, calls[0].start if calls else 0), fault=fault)
    if calls:
        return _turn(text, calls, tools)
    if scan.answer is not None:
        return _answered(text, scan.answer)
    if scan.talk and scan.thinking is None:
        answer = text[scan.reasoned : scan.stop].strip()
        edits = (Repair("implicit_final"), Repair("format_discussed"))
        return Turn("final", final=answer, thought=_thought(text, scan.reasoned), edits=edits)
    return _stripped_answer(text)


def _scan(text: str, names: _Names, *, ended: bool) -> _Scan | None:
    scan = _Scan()
    at = 0
    first = len(text) - len(text.lstrip())
    while hit := TRIGGER.search(text, at):
        start = _word_start(text, hit.start())
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
        if kind == "voice" and scan.fence is None:
            if start > first or text[start] in "<[`✿":
                scan.stop = start
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
            scan.calls.clear()
            scan.fault, scan.thinking, scan.reasoned, scan.objects = None, None, at, True
        elif kind == "fence":
            at = _fence(text, match, scan)
        else:
            at = _read(text, match, scan, names, ended=ended)
            if len(scan.calls) > MOST_CALLS:
                scan.fault = Fault("runaway", "The reply went on calling tools without an end; make one call and wait.")
                break
            if scan.fault is not None:
                closing = THINK_END.search(text, at)
                if closing is None:
                    break
                at = closing.start()
        at = max(at, start + 1)
    if scan.fence is not None:
        _close_fence(text, len(text), scan)
    return scan


def _word_start(text: str, at: int) -> int:
    """Where an anchor that was noticed at `at` begins: after its line break, or at the name before its mark."""
    if text[at] == "\n":
        return at + 1
    if text.startswith(("[ARGS]", "[CALL_ID]"), at):
        word = WORD_BEFORE.search(text, max(0, at - 130), at)
        return word.start() if word else at
    return at


def _name(kind: str, text: str, start: int) -> str:
    named = CALLS[kind].match(text, start)
    return named["name"] if named else ""


def _fence(text: str, match: re.Match[str], scan: _Scan) -> int:
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


def _close_fence(text: str, end: int, scan: _Scan) -> None:
    """Drop the calls of a block that explains the format, or that is code with more in it than calls."""
    assert scan.fence is not None
    inside = [found for found in scan.calls if found.start >= scan.fence]
    if inside:
        markup = inside[0].family not in ("json", "python")
        after = min(end + 3, len(text))
        mixed = inside[0].family == "python" and _leftover(text, scan.fence_body, end, inside)
        if mixed or standing(text, scan.fence, after, fenced=True, markup=markup) == "talk":
            del scan.calls[len(scan.calls) - len(inside) :]
            scan.talk = scan.talk or not mixed
            if mixed and scan.code:
                scan.fault = Fault("unreadable_call", "The tool code holds more than calls; write only the call.")
    scan.fence = None


def _leftover(text: str, start: int, end: int, calls: list[_Found]) -> bool:
    at = start
    for found in calls:
        if text[at : found.start].strip(" \t\r\n;,)]"):
            return True
        at = found.end
    return bool(text[at:end].strip(" \t\r\n;,)]"))


def _read(text: str, match: re.Match[str], scan: _Scan, names: _Names, *, ended: bool) -> int:
    """Read what an anchor opens into the scan; where to go on."""
    kind = str(match.lastgroup)
    if kind == "object":
        return _bare_object(text, match, scan, names)
    if kind == "python":
        return _bare_python(text, match, scan, names)
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
    since = scan.calls[-1].end if scan.calls else 0
    stands = "call" if scan.fence is not None else standing(text, match.start(), body.end, since=since)
    if stands == "talk":
        scan.talk = scan.talk or bool(body.calls)
        return body.end
    if stands == "doubt":
        scan.fault = _in_sentence()
        return body.end
    return _accept(body, match.start(), family.name, scan)


def _in_sentence() -> Fault:
    return Fault("quoted_call", "A call stands in the middle of a sentence; write it on a line of its own.")


def _accept(body: Body, start: int, family: str, scan: _Scan) -> int:
    if not body.readable:
        cut = any(call.cut for call in body.calls)
        message = f"The call in {family} format could not be read; write its arguments as one JSON object."
        named = next((call.name for call in body.calls if call.name), "")
        call = Call("", named) if named else None
        scan.fault = truncated(named) if cut else Fault("unreadable_call", message, call)
        return body.end
    scan.calls += [_Found(call, start, body.end, family) for call in body.calls]
    return body.end


def _bare_object(text: str, match: re.Match[str], scan: _Scan, names: _Names) -> int:
    """A JSON object without any family's marks: a call where it has the shape of one and names an offered tool."""
    start = match.start()
    since = max(scan.calls[-1].end if scan.calls else 0, scan.reasoned)
    read = read_json(text, start)
    before = CONJUNCTION.sub("", NOTHING.sub("", line_before(text, start, since)) if since else line_before(text, start))
    calls = calls_in(read.value, names.offered, enveloped=False) if read.readable and not read.cut else None
    if calls is None and (read.cut or read.open or not read.readable):
        scan.objects = False
        if (not before or before[-1] in ".:!?)>]") and unfinished_object(text[start : start + 400], names.offered, names.begun):
            cut = read.cut or read.open
            scan.fault = truncated() if cut else Fault("unreadable_call", "The call is no valid JSON; write it as one JSON object.")
        return match.end()
    if calls is None:
        return max(read.end, match.end())
    if not all(names.offered(call.name) or _is_final(call.name) for call in calls):
        alone = scan.fence is None and _only(LISTS, text, since, start) and _only(NOTHING, text, read.end, len(text))
        if not (alone and all(call.enveloped for call in calls)):
            return read.end
    tail = text[read.end : read.end + 200].split("\n")[0]
    after = NOTHING.sub("", tail)
    tail_prose = after[:1].isalnum()
    if tail_prose and after[:1].islower() and not CONJUNCTION.fullmatch(after) and scan.fence is None:
        if not before and all(names.offered(call.name) for call in calls):
            scan.fault = _in_sentence()
        return read.end
    if before and (before[-1] not in ".:!?)>]*" or tail_prose):
        return read.end
    if scan.fence is None and standing(text, start, read.end, since=since, markup=False) == "talk":
        scan.talk = True
        return read.end
    cut = read.list_open(inside=False)
    calls = [replace(call, cut=cut, open=read.open, edits=read.edits + call.edits) for call in calls]
    return _accept(Body(tuple(calls), read.end), start, "json", scan)


def _only(pattern: re.Pattern[str], text: str, start: int, end: int) -> bool:
    """Whether nothing but `pattern` stands between two places."""
    match = pattern.match(text, start)
    return match is not None and match.end() >= end


def _is_final(name: str) -> bool:
    return re.sub(r"[\W_]", "", name).lower() in FINAL_NAMES


def _bare_python(text: str, match: re.Match[str], scan: _Scan, names: _Names) -> int:
    """A Python call of an offered tool on a line of its own, or in a list."""
    in_list = match[0].lstrip().startswith("[")
    start = match.start()
    found: list[WrittenCall] = []
    at = match.end()
    last = at
    known = in_list and _only(LISTS, text, 0, start)
    while (head := HEAD.match(text, at)) is not None:
        if not known and not names.offered(head["name"]):
            return match.end() if not found else at
        call = read_python_call(text, at)
        assert call is not None
        found.append(from_python(call))
        if not call.readable or call.cut:
            if not names.offered(call.name):
                return match.end()
            return _accept(Body(tuple(found), call.end, readable=False), start, "python", scan)
        last = at = call.end
        following = re.compile(r"\s*[,;]\s*(?=[A-Za-z_])").match(text, at) if in_list else None
        if following is None:
            break
        at = following.end()
    if found and in_list and re.fullmatch(r"\s*[,;]\s*[\w.]*", text[last : last + 200]):
        found[-1] = replace(found[-1], cut=True)
        at = len(text)
    if not found:
        return match.end()
    line = text[at : at + 200].split("\n")[0]
    if re.sub(rf"(?:{CONTROL}|```|</[\w:｜]{{1,30}}>|[\s\[\])}};,])*", "", line):
        return at
    unknown = [call for call in found if not names.offered(call.name)]
    if unknown and (not _only(NOTHING, text, at, len(text)) or not all(call.arguments for call in unknown)):
        return at
    since = max(scan.calls[-1].end if scan.calls else 0, scan.reasoned)
    if scan.fence is None and standing(text, start, at, since=since, markup=False) == "talk":
        scan.talk = True
        return at
    return _accept(Body(tuple(found), at), start, "python", scan)


def _ending_reasoning(text: str, scan: _Scan) -> list[_Found]:
    """The calls that count: of those inside a reasoning block that was never closed, only the ones that end it."""
    calls = scan.calls
    if scan.thinking is None or not calls:
        return calls
    kept: list[_Found] = []
    follows = len(text)
    for found in reversed(calls):
        if found.start >= scan.thinking and NOTHING.sub("", text[found.end : follows]):
            break
        if found.call.open:
            found = replace(found, call=replace(found.call, cut=True))
        kept.append(found)
        follows = min(found.start, follows)
    return kept[::-1]


def _turn(text: str, found: list[_Found], tools: Sequence[Tool]) -> Turn:
    thought = _thought(text, found[0].start)
    families = dict.fromkeys(item.family for item in found)
    edits: list[Repair] = [Repair("native_format", family) for family in families]
    calls: list[Call] = []
    taken: set[str] = set()
    for item in found:
        call_id = item.call.id if item.call.id and item.call.id not in taken else f"call_{len(calls) + 1}"
        settled = settle(item.call, tools, call_id)
        edits += settled.edits
        if settled.final is not None:
            if calls:
                break
            return Turn("final", final=settled.final, thought=thought, edits=tuple(edits))
        if settled.call is None:
            fault = next((s.fault for i in found if i.call.cut and (s := settle(i.call, tools, "")).fault), settled.fault)
            return Turn("none", thought=thought, fault=fault, edits=tuple(edits))
        if calls and (calls[-1].name, calls[-1].arguments) == (settled.call.name, settled.call.arguments):
            edits.append(Repair("duplicate_dropped", settled.call.name))
            continue
        taken.add(call_id)
        calls.append(settled.call)
    return Turn("action", tuple(calls), thought=thought, edits=tuple(edits))


THOUGHT_MARKS = re.compile(
    rf"{THINK_OPEN}|{THINK_CLOSE}|<\|start\|>assistant|<\|channel\|>(?:analysis|commentary)|<\|start_header_id\|>assistant"
    rf"|<\|im_start\|>assistant|{CONTROL}|^\s*Thought\s*:"
)


def _thought(text: str, end: int) -> str | None:
    return THOUGHT_MARKS.sub(" ", text[:end]).strip(" \t\r\n`[") or None


def _answered(text: str, start: int) -> Turn:
    ending = re.compile(CONTROL).search(text, start)
    answer = text[start : ending.start() if ending else len(text)].strip()
    thought = _thought(text, start)
    if not answer:
        return Turn("none", thought=thought, fault=Fault("no_action", "The reply holds neither a call nor an answer."))
    return Turn("final", final=answer, thought=thought, edits=(Repair("native_format", "harmony"),))


def _stripped_answer(text: str) -> Turn | None:
    """Harmony text that lost its tokens: `analysis…assistantfinal…`, or channels without any answer."""
    if re.match(r"\s*analysis(?=[A-Z\s])", text) and "assistantfinal" in text:
        thought, _, answer = text.partition("assistantfinal")
        if answer.strip():
            edits = (Repair("native_format", "harmony"),)
            return Turn("final", final=answer.strip(), thought=thought.strip().removeprefix("analysis") or None, edits=edits)
    if re.match(r"\s*(?:<\|start\|>assistant)?<\|channel\|>(?:analysis|commentary)", text):
        fault = Fault("no_action", "The reply holds neither a call nor an answer.")
        return Turn("none", thought=_thought(text, len(text)), fault=fault)
    return None



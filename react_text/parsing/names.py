"""A written tool name resolved to an offered tool when it is unmistakable. Knows nothing of arguments or layout."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from react_text.messages import Repair
from react_text.parsing.patterns import pattern
from react_text.tools import Tool

LONGEST_NAME = 200
"""A longer text on the action line is prose, not a name, and is compared with nothing."""


@dataclass(frozen=True, slots=True)
class NameRead:
    """`tool` is None when no single offered tool can be meant; then `name` is as written."""

    tool: Tool | None
    name: str
    repairs: tuple[Repair, ...] = ()


_DIGITS = re.compile(r"\d")
_PLAIN = pattern(r"[\W_]+")
_TOKEN = pattern(r"<\|[^|>]{0,40}\|>|</?\w[\w.:-]{0,40}>")
_WRAPS = " \t\r\n\"'`“”‘’«»「」*_[](){}<>.,:;!、。，：；"
_NO_TOOL = pattern(
    r"(?:none|n/?a|null|nil|nothing|no|not (?:applicable|needed|required|necessary)|"
    r"I do(?: not|n.t) need (?:a|any) tools?)"
    r"(?:[\s_-]+(?:tools?|actions?|input|further|more|need(?:ed)?|required|necessary|is|at all|available|"
    r"applicable|of the|"
    r"for now|this time|function|calls?|to (?:use|call|take)(?: a| any)?))*"
    r"(?:\s*\([^()]{0,120}\)|\s*[,;.:–-]\s(?!\d)[^\n]{0,160})?",
    re.IGNORECASE,
)
_ANSWERS = frozenset({"finalanswer", "finish"})
_ECHO = pattern(
    r"\bthe action to take\b|\b(?:should|must) be one of\b|\bone of\b.{0,20}[\[{<(]|\bone of the (?:tools|following)\b|"
    r"^\W*(?:the )?(?:tool|action|function)[ _-]?name\b|^\W*name of (?:the |a )?(?:tool|action|function)\b|"
    r"\$(?:json_blob|tool_name|action)\b|^\W*(?:tool|action) (?:to use|to call|here)\W*$|^\W*<[^<>]{1,40}>\W*$",
    re.IGNORECASE,
)
_NEGATED = pattern(
    r"\b(?:not|never|no|none|without|avoid(?:ing)?|instead of|rather than|cannot|unable|skip|stop|nor|neither|refuse|"
    r"unavailable|missing|nicht|kein\w*|ohne|pas|jamais|sans|sin|nunca|не|нет|без)\b|n['’]t\b|不|没|無|ない|않|안 ",
    re.IGNORECASE,
)
_HEDGED = pattern(r"\?\s*$|\b(?:or|either|maybe|perhaps|whether|if)\b", re.IGNORECASE)
_FILLERS = pattern(r"(?:\W|\b(?:the|a|an|my|our|tool|function|action|is|to|it|so|ok|okay|now|then)\b)*", re.IGNORECASE)
_USE = pattern(
    r"\b(?:us(?:e|es|ing)|utili[sz]\w*|call(?:s|ing)?|run(?:s|ning)?|invok\w+|execut\w+|perform\w*|try(?:ing)?|appl(?:y|ying)"
    r"|employ\w*|consult\w*|choos\w+|pick\w*|select\w*|query\w*|check\w*|look\w*|search\w*|fetch\w*|get\w*|find\w*|go"
    r"|with|via|through|need|want|should|must|will|shall|let|benutz\w*|nutz\w*|verwend\w*|ruf\w*|us(?:o|ar|ando|are)|appel\w+"
    r"|llam\w+|cham\w+)\b|[使调調用呼]|사용|호출|использ\w*|вызыва\w*|вызов\w*",
    re.IGNORECASE,
)
"""Words that say a tool is to be used."""
_COUNTERMANDED = pattern(
    r"\b(?:refrain\w*|cancel\w*|abort\w*|ask(?:s|ed|ing)?|before|after|until|unless|except|fail\w*|errors?|errored|returned|was"
    r"|were|did|had|confirm\w*|permission|approv\w*|wait\w*|delay\w*|postpone\w*|disabl\w*|undo\w*|revert\w*|block\w*|prevent\w*"
    r"|forbid\w*|dangerous|later|already|previous\w*|hold off)\b",
    re.IGNORECASE,
)
"""Words that say it is not to be used now, or that tell of a use that is over."""
_GENERIC_NAMESPACES = frozenset(
    {
        "function",
        "functions",
        "tool",
        "tools",
        "toolcode",
        "defaultapi",
        "api",
        "mcp",
        "client",
        "server",
        "multitooluse",
    }
)
_NAMESPACE = pattern(r"[.:/]|__|->|→")


def plain(name: str) -> str:
    """A name without case, separators and marks: what spelling variants of it have in common."""
    return _PLAIN.sub("", name).casefold()


def is_no_tool(written: str) -> bool:
    """Whether the action line says that no tool is wanted (`None`, `N/A`, `no tool needed`)."""
    return len(written) <= LONGEST_NAME and any(
        _NO_TOOL.fullmatch(form) for form in (written.strip(), written.strip(_WRAPS), written.strip(_WRAPS) + ")")
    )


def is_answer(written: str) -> bool:
    """Whether the action line is a way to spell the final answer (`Final Answer`, `final_answer`, `Finish`)."""
    name = plain(written[: LONGEST_NAME + 1])
    return name in _ANSWERS or one_edit(name, "finalanswer")


def is_echo(written: str) -> bool:
    """Whether the action line repeats the prompt's own words for what should stand there."""
    return _ECHO.search(written[: 4 * LONGEST_NAME]) is not None


def resolve_name(written: str, tools: Sequence[Tool], *, loose: bool = False) -> NameRead:
    """The tool that `written` names.

    Exact names first; then marks around the name, case and separators, a name written twice, a namespace too many or
    too few, one typing error, and a sentence that names one tool. Two candidates are none. With `loose`, the tool that
    shares most words with what was written counts too, where it is the only one.
    """
    for tool in tools:
        if tool.name == written:
            return NameRead(tool, written)
    if not tools or len(written) > LONGEST_NAME:
        return NameRead(None, written)
    unescaped = written.replace("\\_", "_")
    cleaned = (_TOKEN.sub("", unescaped).strip() or unescaped).strip(_WRAPS)
    for name, find in _STEPS:
        found = {tool.name: tool for tool in find(cleaned, tools)} if cleaned else {}
        if len(found) == 1:
            (tool,) = found.values()
            return NameRead(tool, tool.name, (Repair(name, written, tool.name),))
        if found and name != "name_prefix":
            break
    if loose and (best := _most_words(cleaned, tools)):
        return NameRead(best, best.name, (Repair("loose_name", written, best.name),))
    return NameRead(None, written)


def _wrapped(cleaned: str, tools: Sequence[Tool]) -> list[Tool]:
    return [tool for tool in tools if tool.name == cleaned or tool.name.strip(_WRAPS) == cleaned]


def _spelled(cleaned: str, tools: Sequence[Tool]) -> list[Tool]:
    wanted = plain(cleaned)
    return [tool for tool in tools if wanted and plain(tool.name) == wanted]


def _doubled(cleaned: str, tools: Sequence[Tool]) -> list[Tool]:
    wanted = plain(cleaned)
    return [tool for tool in tools if plain(tool.name) * 2 == wanted]


def _prefixed(cleaned: str, tools: Sequence[Tool]) -> list[Tool]:
    """Tools that differ from the name by a namespace before the last separator, or by their own."""
    if any(char.isspace() for char in cleaned):
        return []
    wanted = plain(cleaned)
    parts = _NAMESPACE.split(cleaned)
    last = plain(parts[-1])
    if len(parts) > 1 and last:
        exact = [tool for tool in tools if plain(tool.name) == last]
        if exact:
            return exact
        wanted = last
    if len(wanted) < 3:
        return []
    spaces = {space for part in parts[:-1] if (space := plain(part)) and space not in _GENERIC_NAMESPACES}
    return [tool for tool in tools if _ends_with(tool.name, wanted, spaces)]


def _ends_with(name: str, wanted: str, spaces: Collection[str] = ()) -> bool:
    """Whether the words of `name` after one of its separators are `wanted`, and those before hold all of `spaces`."""
    for mark in re.finditer(r"[\W_]+", name):
        if plain(name[mark.end() :]) == wanted:
            own = plain(name[: mark.start()])
            return all(space in own for space in spaces)
    return False


def _mistyped(cleaned: str, tools: Sequence[Tool]) -> list[Tool]:
    wanted = plain(cleaned)
    return [tool for tool in tools if min(len(wanted), len(tool.name)) >= 4 and one_edit(wanted, plain(tool.name))]


def _in_sentence(cleaned: str, tools: Sequence[Tool]) -> list[Tool]:
    if (
        not any(char.isspace() for char in cleaned)
        or any(mark in cleaned for mark in "{}=")
        or _NEGATED.search(cleaned)
        or is_echo(cleaned)
    ):
        return []
    if _HEDGED.search(cleaned):
        return []
    places = [(tool, re.search(rf"(?<![\w.-]){re.escape(tool.name)}(?![\w-])", cleaned)) for tool in tools]
    found = [(tool, cleaned[: place.start()], cleaned[place.end() :]) for tool, place in places if place]
    if len(found) != 1:
        return [tool for tool, _, _ in found]
    tool, before, after = found[0]
    used = _FILLERS.fullmatch(before) or _USE.search(before)
    return [tool] if used and not _COUNTERMANDED.search(f"{before} {after}") else []


_STEPS: tuple[tuple[str, Callable[[str, Sequence[Tool]], list[Tool]]], ...] = (
    ("name_marks", _wrapped),
    ("name_spelling", _spelled),
    ("name_doubled", _doubled),
    ("name_prefix", _prefixed),
    ("name_typo", _mistyped),
    ("name_in_sentence", _in_sentence),
)


def one_edit(left: str, right: str) -> bool:
    """Whether one letter added, left out, changed, or swapped with its neighbour makes `left` into `right`.

    Digits are no letters: `read_v1` and `read_v2` are two names.
    """
    if left == right or abs(len(left) - len(right)) > 1:
        return False
    if _DIGITS.findall(left) != _DIGITS.findall(right):
        return False
    head = 0
    while head < min(len(left), len(right)) and left[head] == right[head]:
        head += 1
    left, right = left[head:], right[head:]
    if left[1:] == right[1:] or left[1:] == right or left == right[1:]:
        return True
    return len(left) == len(right) >= 2 and left[:2] == right[1::-1] and left[2:] == right[2:]


def _most_words(cleaned: str, tools: Sequence[Tool]) -> Tool | None:
    """The only tool with the largest share of words in common with what was written."""
    wanted = _words(cleaned)
    scored = []
    for tool in tools:
        words = _words(tool.name)
        shared = len(wanted & words) / len(wanted | words) if wanted and words else 0.0
        scored.append((shared, tool))
    best = max((score for score, _ in scored), default=0.0)
    top = [tool for score, tool in scored if score == best]
    return top[0] if best > 0 and len(top) == 1 else None


def _words(name: str) -> frozenset[str]:
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return frozenset(word for word in re.split(r"[\W_]+", spaced.casefold()) if len(word) > 1)

"""Whether markup in a text is a call, or talk about calls: an explanation, an example, a quotation."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from react_text.parsing.families import CONTROL
from react_text.parsing.patterns import pattern

Standing: TypeAlias = Literal["call", "talk", "doubt"]

NEAR = 240
"""Characters before and after a call that are looked at."""

EXAMPLE = pattern(
    r"\bfor example\b|\ban example\b|\bexamples?\s*(?:calls?|of|output|usage|request|response|:|$)"
    r"|\be\.g\.|\bfor instance\b|\bsample (?:call|tool)\b"
    r"|\blooks? like\b|\bsuch as\b|\b(?:you|one|they) (?:can|could|may|might|would|should)\b|\byour own\b"
    r"|\b(?:is|are|be) (?:usually )?written\b|\b(?:host|parser|server|client|model)s? (?:expects?|writes?|emits?)\b"
    r"|\bto (?:call|invoke|use|run) (?:a|any|one) (?:tool|function)\b|\btool calls? (?:is|are|look|must|should)\b",
    re.IGNORECASE,
)
HINT = pattern(r"\b(?:like(?: this| so)?|format|syntax|style|template|written|as follows|shape)\b", re.IGNORECASE)
FIRST_PERSON = pattern(
    r"\b(?:I|I'll|I'm|I’ll|I’m|we|let me|let us|let's)\b|\b(?:calling|using|checking|saving)\b", re.IGNORECASE
)
_CALLING = r"(?:run|call|us|do|execut|invok|mak|send|issu|try|perform|writ|emit|go)\w*"
_NOT = r"\b(?:(?:will|must|should|would|can|could|shall|may|do|did) not|\w{1,8}n['’]t|cannot|never)"
_MAY_I = r"(?:so |now )?(?:shall|should|may) (?:I|we)\b[^?\n]{0,80}\?"
_DO_YOU_WANT = r"\b(?:do|would) you (?:want|like)\b[^?\n]{0,80}\?"
REFUSED = pattern(
    rf"(?:{_NOT}|\b(?:not|refuse to|refrain from|avoid))\b"
    rf"(?:\W*$|\s+(?:\w+\s+){{0,2}}?{_CALLING}\b[^,;]*$)"
    r"|\b(?:instead of|rather than)\b[^,;]*$|\b(?:previously|last time)\W*$"
    r"|\b(?:I|we) (?:\w+ )?(?:ran|called|executed|used|invoked|tried)\b[^,;]*$"
    rf"|^\W*{_MAY_I}$|{_DO_YOU_WANT}$",
    re.IGNORECASE,
)
"""An introduction that says its call is not to be made, was made before, or may be made only if the user agrees."""
NEEDED = pattern(
    r"\byet\b|\bwithout (?:an? |the |any )?(?:tools?|functions?|calling|using|more|further|it|looking|checking"
    r"|search\w*|data|information)\b",
    re.IGNORECASE,
)
"""What makes such an introduction a reason for the call."""
TAKEN_BACK = pattern(
    rf"[^\n]{{0,40}}?{_NOT} (?:\w+ )?{_CALLING} (?:it|this|that)\b|\W*{_MAY_I}|[^\n]{{0,20}}?{_DO_YOU_WANT}",
    re.IGNORECASE,
)
"""The same, said after the call."""
LAST_SENTENCE = pattern(r"(?:.*[.!?]\s)?(.*)\Z", re.DOTALL)
QUOTED_LINE = pattern(r"[ \t]*>(?!>>)[ \t]")
TOKEN = pattern(CONTROL)
LEAD_OUT = pattern(r"(?:[\s\[\]},;>)`]|json\b|</[\w:｜]{1,30}>)*")


def standing(text: str, start: int, end: int, *, since: int = 0, fenced: bool = False, markup: bool = True) -> Standing:
    """Whether what stands at `[start, end)` is meant as a call.

    An explanation introduces its example, or goes on around it; a call is introduced by its own speaker or by
    nothing. `since` is where the text before last was read as a call; `markup` says that it is a family's markup
    rather than JSON.
    """
    line = line_before(text, start, since)
    inline = bool(line)
    intro = line or _previous_line(text, start, since)
    after = text[end : end + NEAR]
    lead_out = LEAD_OUT.match(after)
    rest = after[lead_out.end() if lead_out else 0 :]
    goes_on = rest[:1].isalpha()
    introduced = _last_sentence(intro)
    refused = REFUSED.search(introduced) and not NEEDED.search(introduced)
    if refused or TAKEN_BACK.match(rest):
        return "doubt"
    if intro and not FIRST_PERSON.search(intro):
        announced = inline or intro.endswith((":", ","))
        if EXAMPLE.search(intro) and (announced or goes_on):
            return "talk"
        if HINT.search(intro) and (goes_on or (fenced and markup)):
            return "talk" if goes_on else "doubt"
        if inline and HINT.search(intro) and rest[:1] in ".,;?!" and rest[:1]:
            return "doubt"
        if intro.endswith(":") and goes_on and rest[:1].islower() and not fenced:
            return "doubt"
    if fenced and markup and intro and goes_on:
        return "talk"
    mid_sentence = (
        inline
        and line[-1:] not in ".!?:;…)>]*\"'"
        and rest[:1].islower()
        and "\n" not in after[: len(after) - len(rest)]
    )
    return "doubt" if mid_sentence else "call"


def _last_sentence(intro: str) -> str:
    last = LAST_SENTENCE.match(intro)
    return (last[1] if last else intro).strip()


def quoted(text: str, start: int) -> bool:
    """Whether a place stands inside an inline code span, or in a quoted line."""
    floor = max(0, start - NEAR)
    line = text[max(text.rfind("\n", floor, start) + 1, floor) : start]
    return line.replace("```", "").count("`") % 2 == 1 or QUOTED_LINE.match(line) is not None


def line_before(text: str, start: int, since: int = 0) -> str:
    """What stands before a place on its line, not before `since`, and without chat-template tokens."""
    floor = max(since, start - NEAR)
    line = text[max(text.rfind("\n", floor, start) + 1, floor) : start]
    return TOKEN.sub("", line).strip()


def _previous_line(text: str, start: int, since: int) -> str:
    lines = text[max(since, start - NEAR) : start].split("\n")
    return next(
        (line.strip() for line in reversed(lines[:-1]) if line.strip() and not line.strip().startswith("```")), ""
    )

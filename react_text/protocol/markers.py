"""Control markers of chat templates inside text that nobody meant as control: broken, visibly, before it is sent.

A server tokenises contents together with its template, so `<|im_end|>` in a web page would end the turn. The brackets
of a marker are replaced by look-alikes; nothing else changes. In process no text needs this: contents are tokenised
apart from the template there.
"""

from __future__ import annotations

import re

TURN_MARKERS: dict[str, tuple[str, ...]] = {
    "ChatML, Llama 3, Phi, GLM, Command R, harmony": (
        r"<\|[^|<>‹›\s]{1,48}\|>",
        r"<\|[A-Za-z_]{1,32}>",
        r"<[A-Za-z_]{1,32}\|>",
    ),
    "DeepSeek": (r"<｜[^｜<>‹›\n]{1,48}｜>",),
    "Llama 2, Mistral": (
        r"</?s>",
        r"<</?SYS>>",
        r"\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|ARGS|CALL_ID|THINK)\]",
    ),
    "Gemma": (r"<(?:start|end)_of_turn>", r"</?(?:bos|eos|pad|unk)>"),
}
"""Patterns of the markers that open or close a turn, by model family; each matches one marker, brackets included."""

CALL_MARKERS: dict[str, tuple[str, ...]] = {"Hermes, Qwen": (r"</?tool_(?:call|response)s?>",)}
"""The same for markers around calls and results, which a model may rightly have written itself."""

_LOOK_ALIKE = str.maketrans("<>[]", "‹›⟦⟧")


def _any_of(*families: dict[str, tuple[str, ...]]) -> re.Pattern[str]:
    return re.compile("|".join(pattern for family in families for patterns in family.values() for pattern in patterns))


_TURN = _any_of(TURN_MARKERS)
_TURN_OR_CALL = _any_of(TURN_MARKERS, CALL_MARKERS)


def break_markers(text: str, *, calls: bool = True) -> str:
    """`text` with every known control marker made harmless and still readable: `<|im_end|>` becomes `‹|im_end|›`.

    `calls` False leaves the markers around calls, for text that the model wrote.
    """
    pattern = _TURN_OR_CALL if calls else _TURN
    return pattern.sub(lambda marker: marker.group().translate(_LOOK_ALIKE), text)

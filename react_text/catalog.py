"""Every repair and every fault by name, one sentence each.

These names are part of the public surface: the failure-rate report counts them. A repair is something the parser
mended to read a turn; a fault is a reason why nothing of a turn may run.
"""

from __future__ import annotations

from types import MappingProxyType

REPAIRS = MappingProxyType(
    {
        "implicit_final": "Text without any label was taken as the answer.",
    }
)

FAULTS = MappingProxyType(
    {
        "invalid_arguments": "A call to a known tool has arguments that do not fit the tool's schema.",
        "truncated": "The text ends before a value is complete, so nothing of it may run.",
        "no_action": "A thought without an action or an answer.",
        "empty": "The reply holds no text.",
        "runaway": "The reply went on without a label, or repeated itself, and was stopped.",
        "copied_example": "The call repeats the values of the worked example instead of those of the question.",
    }
)

"""A dialect: one text convention, read from a file that a person can read as prose.

A dialect file opens with a sentence about itself and `key: value` lines for the labels, then holds one section per
piece of text, each under a `## name` heading. Placeholders stand in braces. This module reads such a file and fills
its placeholders; it knows nothing of models or conversations.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import MappingProxyType

from react_text.errors import DialectError

LABELS = ("thought", "action", "input", "observation", "final")
SECTIONS = MappingProxyType(
    {
        "system": frozenset({"tools", "tool_names"}),
        "call thought": frozenset({"tool"}),
        "answer thought": frozenset[str](),
        "no tool thought": frozenset[str](),
        "observation": frozenset({"content"}),
        "observation of one of several": frozenset({"tool", "arguments", "content"}),
        "correction": frozenset({"fault"}),
        "repeated": frozenset[str](),
        "answer now": frozenset[str](),
    }
)
REQUIRED = MappingProxyType(
    {
        "system": "tools",
        "observation": "content",
        "observation of one of several": "content",
        "correction": "fault",
    }
)
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True)
class Dialect:
    """One text convention: its labels, the file name of its grammar skeleton, and its pieces of text by name."""

    name: str
    thought: str
    action: str
    input: str
    observation: str
    final: str
    grammar: str | None
    sections: MappingProxyType[str, str]

    def text(self, section: str, **values: str) -> str:
        """The section with its placeholders filled; braces inside the values are left alone."""
        return _PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), self.sections[section])

    @property
    def stop(self) -> tuple[str, ...]:
        """Strings that end a reply: the model must not write an observation itself."""
        return (f"\n{self.observation}:", f"\n{self.observation} (")

    @property
    def reply_start(self) -> str:
        """What a reply is begun with."""
        return f"{self.thought}:"

    @property
    def final_start(self) -> str:
        """What a reply is begun with when only an answer is wanted."""
        return f"{self.thought}: {self.sections['answer thought']}\n{self.final}:"


def read_dialect(text: str, name: str) -> Dialect:
    """The dialect written in `text`. `name` is used in messages. Raises DialectError with what is wrong."""
    head, *parts = re.split(r"(?m)^## +", text.replace("\r\n", "\n"))
    settings = {key: value.strip() for key, value in re.findall(r"(?m)^([a-z]+): *(.+)$", head)}
    if missing := [label for label in LABELS if not settings.get(label)]:
        raise DialectError(f"Dialect {name} has no line '{missing[0]}: LABEL' before its first section; add it.")
    sections = {}
    for part in parts:
        heading, _, body = part.partition("\n")
        sections[heading.strip()] = body.strip("\n")
    for section, allowed in SECTIONS.items():
        if not sections.get(section, "").strip():
            raise DialectError(f"Dialect {name} has no section '## {section}'; add it with the text to send.")
        found = set(_PLACEHOLDER.findall(sections[section]))
        if unknown := sorted(found - allowed):
            known = ", ".join(f"{{{key}}}" for key in sorted(allowed)) or "none"
            raise DialectError(
                f"Dialect {name}, section '{section}': unknown placeholder {{{unknown[0]}}} (known here: {known})."
            )
        if (needed := REQUIRED.get(section)) and needed not in found:
            raise DialectError(f"Dialect {name}, section '{section}': the placeholder {{{needed}}} is missing.")
    if unknown := sorted(set(sections) - set(SECTIONS)):
        raise DialectError(
            f"Dialect {name} has an unknown section '{unknown[0]}'; the sections are: {', '.join(SECTIONS)}."
        )
    return Dialect(
        name=name,
        grammar=settings.get("grammar"),
        sections=MappingProxyType(sections),
        **{label: settings[label].rstrip(":") for label in LABELS},
    )

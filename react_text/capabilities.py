"""What an endpoint and its model can do: findings, each with its evidence and date.

Values only. Who asks the server is in backends/http/detection.py, who remembers is in capability_store.py. Support has
three values, and no finding at all reads as "unknown".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, cast

from react_text.errors import BackendError
from react_text.messages import Message

Support: TypeAlias = Literal["yes", "no", "unknown"]
Source: TypeAlias = Literal["detected", "learned", "set"]
"""Read off the server, shown by its answers, or given by the user: each beats the ones before it."""

FACTS = {
    "server": "which server it is",
    "tools": "whether tools reach the model and its calls come back as such (yes, no)",
    "grammar": "the parameter that takes a GBNF grammar, or none",
    "regex": "the parameter that takes a regular expression for the reply, or none",
    "json_schema": "the parameter that takes a JSON Schema for the reply, or none",
    "prefill": "how a begun reply is continued (as_is, flags), or none",
    "context_length": "how many tokens the context holds",
    "template": "whether the model has a chat template (yes, no)",
    "refused": "the parameters that the endpoint would not take",
    "refused_grammars": "digests of the sound grammars and schemas that the endpoint would not take",
    "probe": "what a probe measured",
}
"""Every fact that can be found, with one sentence each."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One fact. `date` is when it was found, UTC, to the second."""

    value: Any
    evidence: str
    source: Source = "detected"
    date: str = ""

    @property
    def age(self) -> float:
        """Seconds since it was found; infinite where the date cannot be read."""
        try:
            found = datetime.fromisoformat(self.date)
        except ValueError:
            return float("inf")
        return (datetime.now(timezone.utc) - found).total_seconds()


def finding(value: Any, evidence: str, source: Source = "detected") -> Finding:
    """A finding of this moment."""
    return Finding(value, evidence, source, datetime.now(timezone.utc).isoformat(timespec="seconds"))


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Findings by fact. What was never found is unknown."""

    findings: Mapping[str, Finding] = field(default_factory=lambda: MappingProxyType({}))

    def get(self, fact: str) -> Any:
        found = self.findings.get(fact)
        return None if found is None else found.value

    @property
    def server(self) -> str:
        return str(self.get("server") or "unknown")

    @property
    def tools(self) -> Support:
        value = self.get("tools")
        return cast(Support, value) if value in ("yes", "no") else "unknown"

    @property
    def grammar(self) -> str | None:
        """The parameter that takes a GBNF grammar, None where there is none or none is known."""
        return self._parameter("grammar")

    @property
    def regex(self) -> str | None:
        """The parameter that takes a regular expression for the whole reply, None as for `grammar`."""
        return self._parameter("regex")

    @property
    def json_schema(self) -> str | None:
        """The parameter that takes a JSON Schema for the whole reply, None as for `grammar`."""
        return self._parameter("json_schema")

    def _parameter(self, fact: str) -> str | None:
        value = self.get(fact)
        return None if value in (None, "none") or value in self.refused else str(value)

    @property
    def prefill(self) -> str | None:
        value = self.get("prefill")
        return None if value in (None, "none") else str(value)

    @property
    def context_length(self) -> int | None:
        value = self.get("context_length")
        return value if isinstance(value, int) and value > 0 else None

    @property
    def refused(self) -> frozenset[str]:
        return frozenset(self.get("refused") or ())

    def merged(self, findings: Mapping[str, Finding]) -> Capabilities:
        """These and others; where both know a fact, the one of the higher source holds, then the newer."""
        merged = dict(self.findings)
        for fact, found in findings.items():
            known = merged.get(fact)
            if known is None or _rank(found) >= _rank(known):
                merged[fact] = found
        return Capabilities(MappingProxyType(merged))


_RANKS = {"detected": 0, "learned": 1, "set": 2}


def _rank(found: Finding) -> tuple[int, str]:
    return _RANKS.get(found.source, 0), found.date


PROBED_TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "measure_tide_at_quay",
        "description": "The height of the tide at a quay.",
        "parameters": {"type": "object", "properties": {"quay": {"type": "string"}}, "required": ["quay"]},
    },
}
"""A tool nobody has: where its name shows in a rendered prompt, tools reach the model."""

PROBED_MESSAGES: Sequence[Message] = ({"role": "user", "content": "How high is the tide?"},)
PROBED_CALL: Sequence[Message] = (
    *PROBED_MESSAGES,
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {
                "id": "call_1",
                "type": "function",
                "function": {"name": "measure_tide_at_quay", "arguments": '{"quay": "Oban"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "call_1", "content": "3.4"},
)
"""The same conversation after a call of that tool and its result."""


def template_findings(render: Callable[[Sequence[Message], Iterable[dict[str, Any]]], str]) -> dict[str, Finding]:
    """Whether a model's own chat template renders tools, found by rendering one.

    `render` writes messages and tools as the prompt text, or raises BackendError; a template that fails with tools
    does not render them. That a template renders tools says nothing on how well the model calls them.
    """
    name = PROBED_TOOL["function"]["name"]
    try:
        prompt = render(PROBED_MESSAGES, [PROBED_TOOL])
    except BackendError:
        return {"tools": finding("no", "the chat template fails when it is given tools")}
    if name in prompt:
        return {"tools": finding("yes", "the chat template writes the tools into the prompt")}
    return {"tools": finding("no", "the chat template leaves the tools out of the prompt")}

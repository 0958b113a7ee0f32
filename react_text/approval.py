"""Who may run which call: a rule for each tool, a person or a callback where the rule says ask, and an audit line.

It decides and records; what a refused model is told is made here, and what asks a person is handed in.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from fnmatch import fnmatchcase
from typing import Any, Literal, TypeAlias, get_args

from react_text.execution import in_thread
from react_text.messages import Call, Observation
from react_text.observations import clean, without_secrets

Rule: TypeAlias = Literal["always", "ask", "never"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A call is not allowed, and why: `reason` is told to the model."""

    reason: str


Verdict: TypeAlias = "Literal['yes', 'no', 'stop'] | bool | Refusal"
"""Whether a call may run. "stop" ends the run; what is no verdict at all counts as "no"."""
Answer: TypeAlias = "Verdict | Literal['always', 'never']"
"""What a person answers: a verdict for this call, or a rule for the tool from here on."""
Confirm: TypeAlias = "Callable[[Call], Verdict | Awaitable[Verdict]]"
Audit: TypeAlias = Callable[[Mapping[str, Any]], None]


class Approval:
    """Decides about calls by rules; hand it to `Agent(confirm=...)`.

    Parameters
    ----------
    rules:
        "always", "ask" or "never" by the name of a tool or a pattern such as "delete_*"; the first that fits counts.
    default:
        The rule of a tool that none of them fits.
    ask:
        Asked where the rule is "ask": a function of the Call, sync or async, that answers "yes", "no", a
        `Refusal(reason)`, "stop", or "always" or "never" for the rest of the conversation. Without one such a call is
        refused.
    audit:
        Called with one record for each decision: `time` (UTC), `id`, `tool`, `arguments` (without credentials),
        `allowed` and `by` ("rule", "user", "user, earlier").

    Raises ValueError for a rule that is not known.
    """

    def __init__(
        self,
        rules: Mapping[str, Rule] | None = None,
        *,
        default: Rule = "ask",
        ask: Callable[[Call], Answer | Awaitable[Answer]] | None = None,
        audit: Audit | None = None,
    ) -> None:
        for name, rule in {**(rules or {}), "default": default}.items():
            if rule not in get_args(Rule):
                raise ValueError(f"The rule {rule!r} for {name} is not known; use 'always', 'ask' or 'never'.")
        self.rules = dict(rules or {})
        self.default: Rule = default
        self.ask = ask
        self.audit = audit
        self.answered: dict[str, Rule] = {}
        """Rules that a person gave while asked, by the name of the tool."""

    def rule(self, name: str) -> Rule:
        """The rule for a tool."""
        if name in self.answered:
            return self.answered[name]
        return next((rule for pattern, rule in self.rules.items() if fnmatchcase(name, pattern)), self.default)

    def __call__(self, call: Call) -> Verdict | Awaitable[Verdict]:
        """Whether this call may run; awaitable when the callback is async."""
        rule = self.rule(call.name)
        if rule != "ask":
            return self._decided(call, rule == "always", "user, earlier" if call.name in self.answered else "rule")
        if self.ask is None:
            return self._decided(call, Refusal("nobody is there to allow it"), "rule")
        answer = self.ask(call)
        return self._awaited(call, answer) if isinstance(answer, Awaitable) else self._answered(call, answer)

    async def _awaited(self, call: Call, answer: Awaitable[Answer]) -> Verdict:
        return self._answered(call, await answer)

    def _answered(self, call: Call, answer: Answer) -> Verdict:
        if answer == "always" or answer == "never":
            self.answered[call.name] = answer
            return self._decided(call, answer == "always", "user")
        return self._decided(call, answer, "user")

    def _decided(self, call: Call, verdict: Verdict, by: str) -> Verdict:
        if self.audit is not None:
            self.audit(
                {
                    "time": datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
                    "id": call.id,
                    "tool": call.name,
                    "arguments": without_secrets(dict(call.arguments)),
                    "allowed": allowed(verdict),
                    "by": by,
                }
            )
        return verdict


def allowed(verdict: Verdict) -> bool:
    """Whether a verdict lets the call run; anything that does not clearly say so does not."""
    return verdict is True or verdict == "yes"


def refusal(call: Call, verdict: Verdict) -> Observation:
    """What the model is told of a call that was not allowed."""
    reason = clean(verdict.reason).strip() if isinstance(verdict, Refusal) else ""
    why = f": {reason.rstrip('.')}" if reason else ""
    sentence = f"Error: the user did not allow this call of {call.name}{why}. Do without it."
    return Observation(call.id, call.name, sentence, is_error=True, denied=True)


def settled(verdict: Verdict | Awaitable[Verdict]) -> Verdict:
    """A verdict in a sync run: an awaitable one is awaited in a thread of its own."""
    return in_thread(asyncio.run, _awaited(verdict)).result() if isinstance(verdict, Awaitable) else verdict


async def _awaited(verdict: Awaitable[Verdict]) -> Verdict:
    return await verdict

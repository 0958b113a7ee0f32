"""Measuring what a model can do, through real turns in either mode: drives the battery, one sample after another.

What is asked is in probe_battery.py, how replies are judged and counted in probe_report.py. A backend that fails in one
sample does not end a probe, an endpoint that is gone does: the report then holds what was seen until then.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from react_text.agent import Agent
from react_text.backends.base import Backend, Reply, Request, Sampling
from react_text.capabilities import finding
from react_text.capability_store import CapabilityStore, Subject
from react_text.catalog import FAULTS
from react_text.data import load_dialect, load_grammar_skeleton
from react_text.errors import BackendError, EndpointError, ReactTextError, ToolsRefused
from react_text.messages import Turn, Usage
from react_text.modes import AskingMode, TextMode
from react_text.probe_battery import CASES, Case, Exchange
from react_text.probe_report import NO_TURN, Came, CaseResult, ProbeReport, Sample, Seen, combined, judge, short
from react_text.protocol.dialect import Dialect
from react_text.protocol.grammar import text_grammar
from react_text.protocol.render import Entry, step_text
from react_text.runaway import Watch
from react_text.switch import Mode, could_not_parse, refuses_tools

MAX_TOKENS = 300
"""Tokens per reply: room for a long thought and the longest call of the battery."""
GONE: Mapping[Mode, frozenset[str]] = MappingProxyType(
    {
        "text": frozenset({"unreachable", "key", "model", "address"}),
        "structured": frozenset({"unreachable", "key"}),
    }
)
"""Reasons of an EndpointError that every further request would meet too, see `endpoint_errors.REASONS`. A page that is
not found may be a way to refuse tools."""
FAILURES_IN_A_ROW = 3
"""Requests in a row that ended in an error worth retrying (timeouts, overload) before the battery ends."""


def probe(
    backend: Backend,
    *,
    modes: Sequence[Mode] = ("text", "structured"),
    samples: int = 1,
    seed: int = 0,
    temperature: float = 0.0,
    dialect: str | Dialect = "react",
    grammar: bool | None = None,
    on_case: Callable[[CaseResult], None] | None = None,
    cases: Iterable[Case] = CASES,
) -> ProbeReport:
    """Measure what a model can do.

    Each case is asked `samples` times with the seeds `seed`, `seed + 1` and so on; a seed makes other words and
    numbers and seeds the sampler. `grammar` False leaves grammars out in text mode, None takes them where the backend
    has them. `on_case` is handed each case as it ends. Never raises for what a model or an endpoint does.
    """
    if samples < 1:
        raise ValueError(f"samples must be at least 1, not {samples}.")
    if not modes or any(mode not in ("text", "structured") for mode in modes):
        raise ValueError(f"modes {tuple(modes)!r} are not known; use 'text', 'structured' or both.")
    began = time.monotonic()
    run = _Probe(backend, temperature, dialect, grammar)
    results = []
    seeds = range(seed, seed + samples)
    battery = tuple(cases)
    for mode in dict.fromkeys(modes):
        for case in battery:
            results.append(run.case(case, mode, seeds))
            if on_case is not None:
                on_case(results[-1])
    return ProbeReport(
        model=backend.name,
        seed=seed,
        samples=samples,
        temperature=temperature,
        dialect=run.dialect.name,
        cases=tuple(results),
        ended=run.ended,
        usage=run.usage,
        seconds=round(time.monotonic() - began, 3),
    )


def remember(report: ProbeReport, backend: Backend, store: CapabilityStore | None = None) -> bool:
    """Store what a probe saw, and what it proves of structured calls; False where it saw nothing.

    An endpoint's backend remembers it itself; for a model in this process it goes to `store`, by default the one in
    the user's cache folder.
    """
    if not any(sample.outcome != "error" for result in report.cases for sample in result.samples):
        return False
    found: dict[str, tuple[Any, str]] = {"probe": (report.to_dict(), report.summary)}
    support, evidence = report.tools
    if support != "unknown":
        found["tools"] = (support, evidence)
    learn = getattr(backend, "learn", None)
    if learn is not None:
        for fact, (value, words) in found.items():
            learn(fact, value, words)
    else:
        findings = {fact: finding(value, words, "learned") for fact, (value, words) in found.items()}
        (store or CapabilityStore()).write(subject_of(backend), findings)
    return True


def subject_of(backend: Backend) -> Subject:
    """What findings on a model in this process are stored under: its name, with a digest of its file's metadata."""
    metadata = getattr(backend, "metadata", None)
    text = json.dumps(dict(metadata), sort_keys=True) if metadata else ""
    size = getattr(backend, "parameter_count", "")
    digest = hashlib.sha256(f"{size} {text}".encode()).hexdigest()[:16] if text else ""
    return Subject("process://local", backend.name, digest)


def no_structured_calls(backend: Backend) -> str | None:
    """Why tools cannot reach the model of this backend at all; None where they may.

    What an endpoint says of itself is no reason: whether it is true is what a probe is for.
    """
    if getattr(backend, "api", "chat") == "completions":
        return "raw completions take no tools"
    known = getattr(backend, "capabilities", None)
    if known is not None:
        return "the model has no chat template, so no tools reach it" if known.get("template") == "no" else None
    support = getattr(backend, "tool_support", None)
    if support is None:
        return "this backend does not pass tools on to its model"
    return "the model's own chat template leaves the tools out" if support() == "no" else None


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request made for an exchange, and what it was made with."""

    request: Request
    how: str = ""


class _Probe:
    """One probe under way: what it asks with, whether it has ended, and what it has used."""

    def __init__(self, backend: Backend, temperature: float, dialect: str | Dialect, grammar: bool | None) -> None:
        self.backend = backend
        self.temperature = temperature
        self.dialect = load_dialect(dialect) if isinstance(dialect, str) else dialect
        self.grammar = grammar is not False and self.dialect.grammar is not None and backend.supports_grammar
        self.modes: dict[tuple[str, ...], Mapping[Mode, AskingMode]] = {}
        self.ended: str | None = None
        self.usage = Usage()
        self.failures = 0
        self.out_of_reach = {"text": None, "structured": no_structured_calls(backend)}

    def case(self, case: Case, mode: Mode, seeds: Iterable[int]) -> CaseResult:
        """All samples of one case in one mode, as many as can be had."""
        if reason := self.out_of_reach[mode]:
            return CaseResult(case.name, mode, "not_applicable", reason)
        if self.ended is not None:
            return CaseResult(case.name, mode, "not_asked", "the battery had ended before")
        samples: list[Sample] = []
        how = ""
        for seed in seeds:
            exchanges = case.sample(seed)
            if mode == "text" and any(one.forced for one in exchanges) and (reason := self.cannot_force()):
                return CaseResult(case.name, mode, "not_applicable", reason)
            seen: list[tuple[bool, Seen]] = []
            for exchange in exchanges:
                one, how = self.seen(exchange, mode, seed)
                seen.append((exchange.control, one))
                if one.reading in NO_TURN or (exchange.control and one.reading):
                    break
            samples.append(combined(seed, seen))
            if self.ended is not None:
                break
        return CaseResult(case.name, mode, how=how, samples=tuple(samples))

    def mode(self, exchange: Exchange, mode: Mode) -> AskingMode:
        """The mode as an agent with these tools would use it."""
        key = tuple(tool.name for tool in exchange.tools)
        if key not in self.modes:
            self.modes[key] = Agent(self.backend, exchange.tools, mode="text", dialect=self.dialect).setup.modes
        return self.modes[key][mode]

    def cannot_force(self) -> str | None:
        """Why no tool can be forced in text mode, which takes a grammar or a begun reply that is gone on from."""
        known = getattr(self.backend, "capabilities", None)
        raw = getattr(self.backend, "api", "chat") == "completions"
        if self.grammar or raw or known is None or known.prefill is not None:
            return None
        return "the endpoint takes no grammar and is not known to go on from a begun reply"

    def asked(self, exchange: Exchange, mode: AskingMode, seed: int) -> _Asked:
        """The request for one exchange."""
        request = mode.request(
            [Entry(message) for message in exchange.history],
            answer_only=False,
            max_tokens=MAX_TOKENS,
            sampling=Sampling(temperature=self.temperature, seed=seed),
            grammar=self.grammar and not exchange.several,
        )
        forced = exchange.forced
        if forced is None:
            return _Asked(request, "grammar" if request.grammar else "")
        if not isinstance(mode, TextMode):
            choice = {"type": "function", "function": {"name": forced}}
            return _Asked(replace(request, tool_choice=choice), "tool_choice")
        if request.grammar is not None and self.dialect.grammar is not None:
            only = [tool for tool in exchange.tools if tool.name == forced]
            grammar = text_grammar(load_grammar_skeleton(self.dialect.grammar), self.dialect, only, "call")
            return _Asked(replace(request, grammar=grammar.gbnf), "grammar")
        begun = step_text(self.dialect, [(forced, "")], None).rstrip()
        return _Asked(replace(request, reply_start=begun), "begun reply")

    def seen(self, exchange: Exchange, mode: Mode, seed: int) -> tuple[Seen, str]:
        """One generation, judged, and what it was asked with. A refusal or failure is a reading like any other."""
        how = ""
        try:
            asking = self.mode(exchange, mode)
            asked = self.asked(exchange, asking, seed)
            how, request = asked.how, asked.request
            single = request.grammar is not None
            watch = Watch(
                exchange.tools, request.reply_start, single=single, unlabelled="thought" if request.tools else None
            )
            reply = self.generate(replace(request, until=watch.feed))
        except ReactTextError as error:
            return self.failed(error, mode), how
        self.failures = 0
        self.usage += reply.usage
        if watch.runaway:
            return Seen("runaway", FAULTS["runaway"]), how
        turn = asking.read(reply)
        return judge(turn, exchange.wanted, _how_calls_came(turn, reply) if mode == "structured" else ""), how

    def generate(self, request: Request) -> Reply:
        for item in self.backend.stream(request):
            if isinstance(item, Reply):
                return item
        raise BackendError("The backend ended without a reply.")

    def failed(self, error: ReactTextError, mode: Mode) -> Seen:
        words = " ".join(str(error).split())
        failures, self.failures = self.failures, 0
        if mode == "structured" and (isinstance(error, ToolsRefused) or refuses_tools(words)):
            return Seen("refused", short(words))
        if mode == "structured" and could_not_parse(words):
            return Seen("unparsable", short(words))
        if isinstance(error, EndpointError) and error.reason in GONE[mode]:
            self.ended = words
        elif getattr(error, "retryable", False):
            self.failures = failures + 1
            if self.failures >= FAILURES_IN_A_ROW:
                self.ended = f"{self.failures} requests in a row failed: {words}"
        return Seen("error", short(words))


def _how_calls_came(turn: Turn, reply: Reply) -> Came:
    """How the calls of a structured turn came; where no whole messages are sent, text is the way they come."""
    message = reply.message
    if turn.kind != "action":
        return ""
    if message is None or message.get("tool_calls") or message.get("function_call"):
        return "structured"
    return "as_text"

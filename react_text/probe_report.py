"""What a probe saw, as values: each reply judged, samples counted, and no more concluded than was seen. Pure."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from react_text.capabilities import Support
from react_text.catalog import FAULTS
from react_text.messages import Call, Turn, Usage
from react_text.probe_battery import Wanted, WantedAnswer
from react_text.switch import LEAKS_IN_A_ROW, Mode

Outcome: TypeAlias = Literal["passed", "failed", "unclear", "error"]
State: TypeAlias = Literal["measured", "not_applicable", "not_asked"]
Came: TypeAlias = Literal["", "structured", "as_text"]
Pairing: TypeAlias = Literal["ids", "position", "unknown"]

READINGS: Mapping[str, str] = MappingProxyType(
    {
        "wrong_tool": "another tool was called",
        "wrong_arguments": "the right tool was called with other arguments",
        "too_few_calls": "fewer calls were made in the turn than were asked for",
        "too_many_calls": "more calls were made in the turn than were asked for",
        "no_call": "an answer was given where a call was wanted",
        "unneeded_call": "a call was made where an answer was wanted",
        "wrong_answer": "the answer does not hold the one number that was asked for",
        "by_position": "the result at the place of the other call was taken, whatever its id",
        "mixed": "the sample was asked in two ways, of which only one came out right",
        "leaked": "the right call came as text in the content and not as a structured call",
        "refused": "the endpoint refused tools",
        "unparsable": "the endpoint could not read what its own model wrote",
        "error": "the backend gave no reply",
        "control_failed": "the same without the difficulty came out wrong, so nothing is known of the difficulty",
    }
)
"""Why a sample did not pass; any other reading is the code of a fault, see `catalog.FAULTS`."""

NO_TURN = frozenset({"error", "refused", "unparsable"})
"""Readings of a request that brought no reply: the rest of the sample is not asked."""

_SHOWN = 160


@dataclass(frozen=True, slots=True)
class Seen:
    """One reply as it was judged: `reading` is "" where the reply was as wanted, else why not."""

    reading: str = ""
    detail: str = ""
    repairs: tuple[str, ...] = ()
    calls: Came = ""


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample of a case. `seed` makes its words and numbers and seeds the sampler.

    `unclear` and `error` samples speak neither for the model nor against it. `repairs` are those of all its replies;
    `calls` says how calls came in structured mode; `requests` counts the generations.
    """

    seed: int
    outcome: Outcome
    reading: str = ""
    detail: str = ""
    repairs: tuple[str, ...] = ()
    calls: Came = ""
    requests: int = 0


class Row(NamedTuple):
    """One line of the table: "2/3" passed of those that tell anything, and a note on the others."""

    case: str
    mode: str
    how: str
    passed: str
    note: str


@dataclass(frozen=True, slots=True)
class CaseResult:
    """All samples of one case in one mode. `reason` says why it does not apply or was not asked.

    `how` is what the turn was asked with beyond the plain request: "grammar", "begun reply", "tool_choice" or "".
    """

    case: str
    mode: Mode
    state: State = "measured"
    reason: str = ""
    how: str = ""
    samples: tuple[Sample, ...] = ()

    def count(self, outcome: Outcome) -> int:
        return sum(sample.outcome == outcome for sample in self.samples)

    @property
    def readings(self) -> dict[str, int]:
        """Why samples did not pass, and how many each, the most frequent first."""
        return dict(Counter(sample.reading for sample in self.samples if sample.reading).most_common())

    @property
    def row(self) -> Row:
        if self.state != "measured":
            return Row(self.case, self.mode, "", self.state.replace("_", " "), self.reason)
        notes = [f"{reading} {count}" if count > 1 else reading for reading, count in self.readings.items()]
        undecided = self.count("unclear") + self.count("error")
        if undecided:
            notes.append(f"nothing known from {undecided} of {len(self.samples)} samples")
        details = {sample.detail for sample in self.samples if sample.detail}
        if len(details) == 1:
            notes.append(details.pop())
        decided = len(self.samples) - undecided
        passed = f"{self.count('passed')}/{decided}" if decided else "unknown"
        return Row(self.case, self.mode, self.how, passed, "; ".join(notes))


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """A whole probe. `samples` per case have the seeds `seed`, `seed + 1` and so on.

    `ended` says why the battery ended early, None where it did not.
    """

    model: str
    seed: int
    samples: int
    temperature: float
    dialect: str
    cases: tuple[CaseResult, ...] = ()
    ended: str | None = None
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0

    @property
    def rows(self) -> tuple[Row, ...]:
        """The table, a row for each case and mode."""
        return tuple(result.row for result in self.cases)

    def case(self, name: str, mode: Mode) -> CaseResult | None:
        return next((result for result in self.cases if (result.case, result.mode) == (name, mode)), None)

    def pairing(self, mode: Mode) -> Pairing:
        """Whether results are taken by their ids or by their position; unknown unless every clear sample agrees."""
        result = self.case("swapped_results", mode)
        clear = [one for one in result.samples if one.outcome in ("passed", "failed")] if result else []
        if clear and all(sample.outcome == "passed" for sample in clear):
            return "ids"
        if clear and all(sample.reading == "by_position" for sample in clear):
            return "position"
        return "unknown"

    @property
    def tools(self) -> tuple[Support, str]:
        """Whether structured calls work, as far as this probe has seen it, and the evidence in words.

        "yes" when calls that nothing forced came as structured calls and none came as text or got lost, "no" when
        tools were refused throughout, or at least LEAKS_IN_A_ROW calls came as text and none otherwise. All else is
        "unknown".
        """
        results = [one for one in self.cases if one.mode == "structured"]
        asked = [sample for result in results for sample in result.samples]
        refused = sum(sample.reading == "refused" for sample in asked)
        if asked and refused == len(asked):
            return "no", f"probe: tools refused in {refused} of {len(asked)} samples"
        free = [sample for result in results if result.how != "tool_choice" for sample in result.samples]
        structured, as_text = (sum(one.calls == way for one in free) for way in ("structured", "as_text"))
        words = f"probe: structured calls came in {structured} of {len(free)} samples, calls as text in {as_text}"
        lost = sum(sample.reading == "unparsable" for sample in free)
        if structured and not as_text and not lost:
            return "yes", words
        return ("no" if as_text >= LEAKS_IN_A_ROW and not structured else "unknown"), words

    def to_dict(self) -> dict[str, Any]:
        """The whole report as plain JSON values, with the counts of each case and what was concluded."""
        cases = []
        for result in self.cases:
            counts = {outcome: result.count(outcome) for outcome in ("passed", "failed", "unclear", "error")}
            cases.append({**_plain(result), "counts": counts, "readings": result.readings})
        modes = dict.fromkeys(result.mode for result in self.cases)
        support, evidence = self.tools
        return {
            **_plain(self),
            "cases": cases,
            "pairing": {mode: self.pairing(mode) for mode in modes},
            "tools": {"support": support, "evidence": evidence} if "structured" in modes else None,
        }

    @property
    def summary(self) -> str:
        """One sentence: what passed of what was asked, by mode."""
        parts = []
        for mode in dict.fromkeys(result.mode for result in self.cases):
            results = [result for result in self.cases if result.mode == mode and result.samples]
            passed, failed, unclear, errors = (
                sum(result.count(outcome) for result in results) for outcome in get_args(Outcome)
            )
            if results:
                rest = f" and nothing known from {unclear + errors}" if unclear + errors else ""
                parts.append(f"{mode} {passed} of {passed + failed}{rest}")
        seeds = f"seed {self.seed}" if self.samples == 1 else f"seeds {self.seed} to {self.seed + self.samples - 1}"
        return f"probe: samples passed in {', '.join(parts) or 'no mode'} ({seeds})"


def judge(turn: Turn, wanted: Wanted, calls: Came = "") -> Seen:
    """A turn held against what was wanted. `calls` says how its calls came, in structured mode."""
    reading, detail = _reading(turn, wanted)
    if calls == "as_text" and not reading:
        reading, detail = "leaked", READINGS["leaked"]
    return Seen(reading, short(detail), turn.repairs, calls)


def _reading(turn: Turn, wanted: Wanted) -> tuple[str, str]:
    if turn.kind == "none":
        return (turn.fault.code, turn.fault.message) if turn.fault else ("no_action", FAULTS["no_action"])
    if isinstance(wanted, WantedAnswer):
        if turn.kind == "action":
            return "unneeded_call", _calls_text(turn.calls)
        return _answer_reading(turn.final or "", wanted)
    if turn.kind == "final":
        return "no_call", turn.final or ""
    got = [(call.name, call.arguments) for call in turn.calls]
    names = {name for name, _ in wanted.calls}
    if any(name not in names for name, _ in got):
        return "wrong_tool", _calls_text(turn.calls)
    if len(got) != len(wanted.calls):
        return ("too_few_calls" if len(got) < len(wanted.calls) else "too_many_calls"), _calls_text(turn.calls)
    open_calls = list(wanted.calls)
    for name, arguments in got:
        fits = (one for one in open_calls if one[0] == name and (wanted.any_arguments or same(one[1], arguments)))
        found = next(fits, None)
        if found is None:
            return "wrong_arguments", _calls_text(turn.calls)
        open_calls.remove(found)
    return "", ""


def _answer_reading(answer: str, wanted: WantedAnswer) -> tuple[str, str]:
    if not wanted.holds:
        return "", ""
    holds, other = _has_number(answer, wanted.holds), _has_number(answer, wanted.other)
    if holds and not other:
        return "", ""
    return (wanted.other_reading if other and not holds else "wrong_answer"), answer


def combined(seed: int, seen: Sequence[tuple[bool, Seen]]) -> Sample:
    """The sample that replies make together, each given as (is a control, how it was judged), in the order asked."""
    repairs = tuple(dict.fromkeys(name for _, one in seen for name in one.repairs))
    came = {one.calls for _, one in seen}
    calls: Came = "as_text" if "as_text" in came else "structured" if "structured" in came else ""

    def sample(outcome: Outcome, reading: str = "", detail: str = "") -> Sample:
        return Sample(seed, outcome, reading, detail, repairs, calls, len(seen))

    for control, one in seen:
        if one.reading in NO_TURN:
            return sample("error" if one.reading == "error" else "failed", one.reading, one.detail)
        if control and one.reading:
            return sample("unclear", "control_failed", f"{one.reading}: {one.detail}")
    asked = [one for control, one in seen if not control]
    failed = [one for one in asked if one.reading]
    if not failed:
        return sample("passed")
    if len(failed) < len(asked):
        return sample("failed", "mixed", f"{failed[0].reading}: {failed[0].detail}")
    return sample("failed", failed[0].reading, failed[0].detail)


def same(wanted: Any, got: Any) -> bool:
    """Whether two JSON values are equal but for case and spaces in texts and the writing of numbers."""
    if isinstance(wanted, Mapping):
        return isinstance(got, Mapping) and wanted.keys() == got.keys() and all(same(wanted[k], got[k]) for k in wanted)
    if isinstance(wanted, str):
        return isinstance(got, str) and " ".join(wanted.split()).casefold() == " ".join(got.split()).casefold()
    if isinstance(wanted, bool) or isinstance(got, bool):
        return wanted is got
    return bool(wanted == got)


def _has_number(text: str, number: str) -> bool:
    return (
        bool(number)
        and re.search(rf"(?<!\d){re.escape(number)}(?!\d)", re.sub(r"(?<=\d),(?=\d)", "", text)) is not None
    )


def _calls_text(calls: Iterable[Call]) -> str:
    return ", ".join(f"{call.name} {json.dumps(dict(call.arguments), ensure_ascii=False)}" for call in calls)


def short(text: str) -> str:
    """A text as one line that fits a table."""
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]} ..."


def _plain(value: Any) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(json.dumps(asdict(value)))
    return plain

"""How a run is judged: was the format met, was the tool right, were the arguments, is the task done. Pure.

Works on a record as it is written, so that a record can be judged again.
"""

from __future__ import annotations

import re
from calendar import month_name
from collections.abc import Mapping, Sequence
from datetime import date
from itertools import zip_longest
from typing import Any

from react_text.compare.tasks import LEFT_OUT, ExpectedCall, Task

_NUMBER = re.compile(r"(?<![\w.])[-−]?\d+(?:[,\u00a0\u202f]\d{3})*(?:\.\d+)?")
_WORDS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
]
_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_TOLERANCE = 1e-6


def outcome(task: Task, record: Mapping[str, Any]) -> dict[str, Any]:
    """The outcome of a record.

    `strict` and `read` are of the first reply. `right_tool` and `right_arguments` are of the first calls that could
    be read and were not asked for again before they ran, None where the task needs none. `declined`, for a task that
    needs no call, is an answer in words without any call; `unreadable` is a run of which nothing could be read:
    neither a call nor an answer.
    """
    steps = record["steps"]
    first = steps[0] if steps else None
    made = first_calls_made(steps)
    answered = record["stop_reason"] == "answer" or (
        task.first_call_only and any(step["kind"] == "final" for step in steps)
    )
    called = any(step["kind"] == "action" for step in steps)
    tool, arguments = first_call_right(task, made) if task.needs_call else (None, None)
    return {
        "strict": bool(first and first["strict"]),
        "read": _how_read(first),
        "right_tool": tool,
        "right_arguments": arguments,
        "solved": solved(task, record, answered, called, bool(arguments)),
        "declined": None if task.needs_call else answered and not called,
        "unreadable": not called and not answered,
    }


def first_calls_made(steps: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """The calls of the first reply that counts: one that was looked at again counts only where the next one failed."""
    for step, following in zip_longest(steps, steps[1:]):
        withdrawn = "second_look" in step.get("steered", ()) and following is not None and not following.get("fault")
        if step["kind"] == "action" and not withdrawn:
            calls: Sequence[Mapping[str, Any]] = step["calls"]
            return calls
    return ()


def _how_read(step: Mapping[str, Any] | None) -> str:
    if step is None or step["kind"] == "none":
        return "failed"
    return "strict" if step["strict"] else "repaired"


def first_call_right(task: Task, made: Sequence[Mapping[str, Any]]) -> tuple[bool, bool]:
    """Whether the first calls name the right tools, and whether their arguments are right as well."""
    if task.judge is not None:
        return task.judge(made)
    if not made:
        return False, False
    fitting = [expected for expected in task.first_calls if expected.name == made[0]["name"]]
    return bool(fitting), any(arguments_right(made[0]["arguments"], expected) for expected in fitting)


def solved(task: Task, record: Mapping[str, Any], answered: bool, called: bool, first_right: bool) -> bool:
    """Whether the task is done: the right calls ran, the state is right, and the answer holds what it must."""
    if not task.needs_call:
        return answered and not called and answer_right(record["answer"] or "", task.answer)
    if task.first_call_only:
        return first_right
    ran = [
        call
        for step in record["steps"]
        for call, observation in zip(step["calls"], step["observations"], strict=False)
        if not observation["is_error"]
    ]
    return (
        answered
        and all_made(ran, task.calls)
        and same(record["end_state"], task.state)
        and answer_right(record["answer"] or "", task.answer)
    )


def all_made(ran: Sequence[Mapping[str, Any]], expected: Sequence[ExpectedCall]) -> bool:
    """Whether each expected call was made; further calls do no harm here, since the end state is looked at as well."""
    return all(
        any(call["name"] == one.name and arguments_right(call["arguments"], one) for call in ran) for one in expected
    )


def arguments_right(given: Mapping[str, Any], expected: ExpectedCall) -> bool:
    """Whether the arguments are all there, none is too many, and each has one of its right values."""
    allowed = expected.arguments
    if any(name not in allowed for name in given):
        return False
    for name, values in allowed.items():
        if name in given:
            if not any(same(given[name], value) for value in values):
                return False
        elif LEFT_OUT not in values:
            return False
    return True


def same(given: Any, expected: Any) -> bool:
    """Equality of JSON values: numbers by value, text without case, outer blanks and final punctuation."""
    if isinstance(expected, str) and isinstance(given, str):
        return plain(given) == plain(expected)
    if isinstance(expected, bool) or isinstance(given, bool) or expected is None or given is None:
        return given is expected
    if isinstance(expected, int | float) and isinstance(given, int | float):
        return abs(given - expected) <= _TOLERANCE * max(1.0, abs(expected))
    if isinstance(expected, Mapping) and isinstance(given, Mapping):
        left = {plain(name): value for name, value in given.items()}
        right = {plain(name): value for name, value in expected.items()}
        return left.keys() == right.keys() and all(same(left[name], right[name]) for name in right)
    if isinstance(expected, list | tuple) and isinstance(given, list | tuple):
        return len(given) == len(expected) and all(map(same, given, expected))
    return False


def plain(text: str) -> str:
    return " ".join(text.split()).casefold().strip(" .!\"'")


def answer_right(answer: str, wanted: Sequence[Sequence[str]]) -> bool:
    """Whether the answer holds each wanted value in one of its spellings."""
    return all(any(holds(answer, value) for value in spellings) for spellings in wanted)


def holds(answer: str, value: str) -> bool:
    """Whether a text holds a value: a number however written, a date with the month as a number or word, else words."""
    number = _as_number(value)
    if number is not None:
        numbers = [found for match in _NUMBER.findall(answer) if (found := _as_number(match)) is not None]
        if any(abs(one - number) <= max(0.005, _TOLERANCE * abs(number)) for one in numbers):
            return True
        small = number.is_integer() and 0 <= number <= 20
        return small and re.search(rf"\b{_WORDS[int(number)]}\b", answer.casefold()) is not None
    if re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        return any(re.search(pattern, answer, re.IGNORECASE) for pattern in _date_patterns(date.fromisoformat(value)))
    return re.search(rf"(?<!\w){re.escape(plain(value))}(?!\w)", " ".join(answer.split()).casefold()) is not None


def _date_patterns(day: date) -> tuple[str, ...]:
    month, number = month_name[day.month], rf"0?{day.day}(?:st|nd|rd|th)?"
    name = rf"(?:{month}|{month[:3]}\.?)"
    return (day.isoformat(), rf"\b{name} {number}\b", rf"\b{number} (?:of )?{name}\b")


def _as_number(text: str) -> float | None:
    try:
        return float(re.sub(r"[,\u00a0\u202f]", "", text).replace("−", "-"))
    except ValueError:
        return None

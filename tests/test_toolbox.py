"""Running a model's calls: every outcome is an observation, and nothing raises."""

from __future__ import annotations

import asyncio
import contextvars
import datetime
import enum
import json
import logging
import subprocess
import sys
import textwrap
import threading
import urllib.error
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, field_validator

from react_text.errors import ToolDefinitionError, ToolFailed, ToolUnavailable
from react_text.messages import Call, Observation
from react_text.toolbox import Toolbox
from react_text.tools import Tool, tool


class Unit(enum.Enum):
    METRES = "m"
    FEET = "ft"


class Leg(BaseModel):
    start: str
    stops: list[str] = []

    @field_validator("start")
    @classmethod
    def _known(cls, start: str) -> str:
        if start == "Atlantis":
            raise ValueError("there is no such harbour")
        return start


@tool
def tide(harbour: str, hours_ahead: int = 0, unit: Unit = Unit.METRES) -> str:
    """Tide height."""
    return f"{harbour} {hours_ahead} {unit.name}"


@tool
async def echo(words: str) -> str:
    """Say it again."""
    await asyncio.sleep(0)
    return words


def arun(toolbox: Toolbox, call: Call) -> Observation:
    return asyncio.run(toolbox.arun(call))


@pytest.fixture(params=["run", "arun"])
def run(request: pytest.FixtureRequest) -> Callable[[Toolbox, Call], Observation]:
    """Both ways to run a call must answer alike."""
    return Toolbox.run if request.param == "run" else arun


Run = Callable[[Toolbox, Call], Observation]


def of(function: Callable[..., Any], **options: Any) -> Toolbox:
    return Toolbox([tool(function, name="t", **options)], backoff=0)


def test_a_toolbox_is_a_collection_of_its_tools() -> None:
    toolbox = Toolbox([tide, echo])
    assert list(toolbox) == [tide, echo]
    assert len(toolbox) == 2
    assert toolbox.names == ("tide", "echo")
    assert toolbox["echo"] is echo
    assert "tide" in toolbox
    assert "tides" not in toolbox
    assert not Toolbox()


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ToolDefinitionError, match='Two tools are called "tide"'):
        Toolbox([tide, Tool("tide")])


def test_a_tool_alone_is_no_list_of_tools() -> None:
    with pytest.raises(ToolDefinitionError, match="from a list of tools"):
        Toolbox(tide)  # type: ignore[arg-type]


def test_a_broken_schema_is_refused() -> None:
    with pytest.raises(ToolDefinitionError, match='write "object"'):
        Toolbox([{"name": "a", "parameters": {"type": "object", "properties": {"x": {"type": "dict"}}}}])


def test_a_call_gives_its_result(run: Run) -> None:
    found = run(Toolbox([tide, echo]), Call("7", "tide", {"harbour": "Oban", "hours_ahead": 3, "unit": "ft"}))
    assert found == Observation("7", "tide", "Oban 3 FEET")
    assert run(Toolbox([echo]), Call("8", "echo", {"words": "ay"})) == Observation("8", "echo", "ay")


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("tied", {}, 'There is no tool "tied"; did you mean tide? The tools are: tide, echo.'),
        ("python", {}, 'There is no tool "python". The tools are: tide, echo.'),
        (None, {}, "There is no tool null. The tools are: tide, echo."),
        ("tide", {}, 'Argument "harbour" is missing; it must be a string.'),
        ("tide", None, 'Argument "harbour" is missing; it must be a string.'),
        ("tide", "", 'Argument "harbour" is missing; it must be a string.'),
        ("tide", {"harbor": "Oban"}, 'Argument "harbor" is unknown; did you mean "harbour"?'),
        ("tide", {"harbour": "Oban", "unit": "yd"}, 'Argument "unit" must be one of "m", "ft", but got the text "yd".'),
        (
            "tide",
            {"harbour": "Oban", "hours_ahead": "x"},
            'Argument "hours_ahead" must be an integer, but got the text "x".',
        ),
        ("tide", [], "The arguments of tide must be a JSON object, but got the list []."),
        ("tide", 3, "The arguments of tide must be a JSON object, but got the number 3."),
        (
            "tide",
            '{"harbour": "Ob',
            'The arguments of tide must be a JSON object, but got the text "{\\"harbour\\": \\"Ob".',
        ),
        ("tide", object, "The arguments of tide must be a JSON object, but got the value"),
    ],
)
def test_a_call_that_cannot_be_run_is_answered_with_the_reason(run: Run, name: Any, arguments: Any, said: str) -> None:
    found = run(Toolbox([tide, echo]), Call("1", name, arguments))
    assert found.content.startswith(f"Error: {said}")
    assert found.is_error
    assert not found.unavailable
    assert (found.call_id, found.name) == ("1", name)


def test_several_wrong_arguments_are_said_at_once() -> None:
    found = Toolbox([tide]).run(Call("1", "tide", {"unit": "yd", "hours_ahead": "x"}))
    assert found.content.count("Argument") == 3


def test_without_tools_the_model_is_told_so() -> None:
    assert Toolbox().run(Call("1", "tide")).content == 'Error: There is no tool "tide"; there are no tools at all.'


def test_a_tool_that_is_only_described_is_answered(run: Run) -> None:
    found = run(Toolbox([{"name": "a"}]), Call("1", "a"))
    assert found.content == "Error: The tool a is only described here and cannot be run."


def test_arguments_are_put_right_where_nothing_is_lost(run: Run) -> None:
    assert run(Toolbox([tide]), Call("1", "tide", {"harbour": 7, "hours_ahead": "3"})).content == "7 3 METRES"
    assert run(Toolbox([tide]), Call("1", "tide", '{"harbour": "Oban"}')).content == "Oban 0 METRES"


def test_arguments_arrive_as_the_declared_types(run: Run) -> None:
    def travel(leg: Leg, on: datetime.date, units: list[Unit], back: Leg | None = None) -> str:
        return repr((type(leg), leg.stops, on, units, back))

    arguments = {"leg": {"start": "Oban", "stops": ["Mull"]}, "on": "2024-05-01", "units": ["ft"]}
    expected = repr((Leg, ["Mull"], datetime.date(2024, 5, 1), [Unit.FEET], None))
    assert run(of(travel), Call("1", "t", arguments)).content == expected


def test_what_a_type_refuses_is_said_by_argument(run: Run) -> None:
    def travel(leg: Leg, on: datetime.date) -> None: ...

    toolbox = of(travel)
    found = run(toolbox, Call("1", "t", {"leg": {"start": "Oban"}, "on": "tomorrow"}))
    assert found.content.startswith('Error: Argument "on" is not right: ')
    assert found.content.endswith('but got the text "tomorrow".')
    found = run(toolbox, Call("1", "t", {"leg": {"start": "Atlantis"}, "on": "2024-05-01"}))
    assert 'Argument "leg.start" is not right: Value error, there is no such harbour' in found.content


def test_a_json_schema_of_ones_own_passes_the_json_values(run: Run) -> None:
    def count(**kwargs: Any) -> str:
        return json.dumps(kwargs)

    parameters = {"type": "object", "properties": {"n": {"type": "integer"}, "x y": {"type": "string"}}}
    found = run(of(count, parameters=parameters), Call("1", "t", {"n": 1, "x y": "z"}))
    assert found.content == '{"n": 1, "x y": "z"}'


def test_a_tool_cannot_change_the_call(run: Run) -> None:
    def spoil(items: Any) -> str:
        items.append("spoilt")
        return "done"

    call = Call("1", "t", {"items": ["a"]})
    assert run(of(spoil), call).content == "done"
    assert call.arguments == {"items": ["a"]}


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("no such row"), "Error: t failed: ValueError: no such row"),
        (ValueError("first line\nsecond line"), "Error: t failed: ValueError: first line"),
        (ValueError(), "Error: t failed: ValueError"),
        (KeyError("x"), "Error: t failed: KeyError: 'x'"),
        (
            FileNotFoundError(2, "No such file", "/home/u/secret/notes.txt"),
            "Error: t failed: FileNotFoundError: [Errno 2] No such file: 'notes.txt'",
        ),
        (
            RuntimeError("password=hunter2 at localhost:80"),
            "Error: t failed: RuntimeError: password=<secret> at <host>",
        ),
        (SystemExit(3), "Error: t failed: SystemExit: 3"),
        (StopIteration("x"), "Error: t failed: StopIteration: x"),
        (asyncio.CancelledError(), "Error: t failed: RuntimeError: it was cancelled"),
        (RecursionError("too deep"), "Error: t failed: RecursionError: too deep"),
    ],
)
@pytest.mark.parametrize("kind", ["sync", "async", "inline"])
def test_what_a_tool_raises_is_text_for_the_model(run: Run, kind: str, error: BaseException, said: str) -> None:
    def fail() -> None:
        raise error

    async def afail() -> None:
        raise error

    if kind == "async" and isinstance(error, StopIteration):
        said = "Error: t failed: RuntimeError: coroutine raised StopIteration"
    made = tool(afail if kind == "async" else fail, name="t")
    found = run(Toolbox([made], timeout=None if kind == "inline" else 60), Call("1", "t"))
    assert found == Observation("1", "t", said, is_error=True)


def test_an_error_that_cannot_be_printed_is_still_answered(run: Run) -> None:
    class Odd(Exception):
        def __str__(self) -> str:
            raise ValueError("no")

    def fail() -> None:
        raise Odd

    assert run(of(fail), Call("1", "t")).content == "Error: t failed: Odd"


def test_a_result_that_cannot_be_turned_into_text_is_an_error(run: Run) -> None:
    class Odd:
        def __str__(self) -> str:
            raise ValueError("no text")

    assert run(of(lambda: Odd()), Call("1", "t")).content == "Error: t failed: ValueError: no text"


def test_a_long_error_message_is_cut(run: Run) -> None:
    def fail() -> None:
        raise ValueError("x" * 100_000)

    assert len(run(of(fail), Call("1", "t")).content) < 400


def test_the_traceback_goes_to_the_log_only(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise ValueError("no such row")

    with caplog.at_level(logging.WARNING, "react_text"):
        found = of(fail).run(Call("1", "t"))
    assert "Traceback" not in found.content
    (record,) = caplog.records
    assert record.name == "react_text"
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], ValueError)


@pytest.mark.parametrize("kind", ["sync", "async", "inline"])
def test_a_keyboard_interrupt_in_a_tool_passes_through(kind: str) -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    async def astop() -> None:
        raise KeyboardInterrupt

    made = tool(astop if kind == "async" else stop, name="t")
    with pytest.raises(KeyboardInterrupt):
        Toolbox([made], timeout=None if kind == "inline" else 60).run(Call("1", "t"))
    if kind == "sync":
        with pytest.raises(KeyboardInterrupt):
            arun(Toolbox([made]), Call("1", "t"))


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """What a hanging tool waits for; opened at the end, so that no thread outlives its test."""
    event = threading.Event()
    yield event
    event.set()


def test_a_sync_tool_that_overruns_is_an_ordinary_error(run: Run, gate: threading.Event) -> None:
    found = run(of(lambda: gate.wait(), timeout=0.05), Call("1", "t"))
    assert found == Observation("1", "t", "Error: t timed out after 0.05 s.", is_error=True)


def test_an_async_tool_that_overruns_is_cancelled(run: Run) -> None:
    ended = threading.Event()

    async def hang() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    found = run(of(hang, timeout=0.05), Call("1", "t"))
    assert found.content == "Error: t timed out after 0.05 s."
    assert ended.wait(5)


def test_an_async_tool_that_blocks_its_thread_does_not_block_the_run(gate: threading.Event) -> None:
    async def block() -> None:
        gate.wait()

    assert of(block, timeout=0.05).run(Call("1", "t")).content == "Error: t timed out after 0.05 s."


def test_the_toolbox_has_a_time_limit_of_its_own(run: Run, gate: threading.Event) -> None:
    toolbox = Toolbox([tool(lambda: gate.wait(), name="t")], timeout=0.05)
    assert "timed out" in run(toolbox, Call("1", "t")).content


def test_a_hanging_tool_does_not_keep_the_interpreter_alive() -> None:
    program = """
        import threading
        from react_text.messages import Call
        from react_text.toolbox import Toolbox
        from react_text.tools import tool

        toolbox = Toolbox([tool(lambda: threading.Event().wait(), name="t", timeout=0.05)])
        print(toolbox.run(Call("1", "t")).content)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "Error: t timed out after 0.05 s.\n"
    assert done.stderr == ""


def test_without_a_time_limit_a_sync_tool_runs_in_the_calling_thread() -> None:
    assert Toolbox([tool(lambda: threading.get_ident(), name="t")], timeout=None).run(Call("1", "t")).content == str(
        threading.get_ident()
    )


def test_context_variables_reach_the_tool(run: Run) -> None:
    user: contextvars.ContextVar[str] = contextvars.ContextVar("user")
    token = user.set("Ada")
    try:
        assert run(of(lambda: user.get()), Call("1", "t")).content == "Ada"
    finally:
        user.reset(token)


class Flaky:
    """Fails as often as told, then answers; counts how often it was asked."""

    def __init__(self, error: BaseException, failures: int) -> None:
        self.error, self.failures, self.asked = error, failures, 0

    def answer(self) -> str:
        self.asked += 1
        if self.asked <= self.failures:
            raise self.error
        return "up again"

    async def aanswer(self) -> str:
        return self.answer()


class FromRequests(OSError):
    pass


FromRequests.__name__ = "ConnectionError"
FromRequests.__module__ = "requests.exceptions"

DOWN = [
    ToolUnavailable("the shop is closed"),
    ConnectionRefusedError("refused"),
    TimeoutError("slow"),
    asyncio.TimeoutError("slow"),
    urllib.error.URLError(ConnectionResetError("reset")),
    FromRequests("down"),
]


@pytest.mark.parametrize("error", DOWN, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("method", ["answer", "aanswer"])
def test_a_safe_tool_whose_dependency_is_down_is_tried_again(run: Run, error: BaseException, method: str) -> None:
    flaky = Flaky(error, failures=2)
    found = run(of(getattr(flaky, method), safe=True), Call("1", "t"))
    assert found == Observation("1", "t", "up again")
    assert flaky.asked == 3


@pytest.mark.parametrize("error", DOWN, ids=lambda error: type(error).__name__)
def test_a_dependency_that_stays_down_makes_the_tool_unavailable(run: Run, error: BaseException) -> None:
    flaky = Flaky(error, failures=100)
    found = run(of(flaky.answer, safe=True), Call("1", "t"))
    assert found.unavailable
    assert found.is_error
    assert found.content.startswith("t is unavailable: ")
    assert flaky.asked == 3


def test_a_tool_that_may_have_had_an_effect_is_not_tried_again(run: Run) -> None:
    flaky = Flaky(ConnectionResetError("reset"), failures=1)
    found = run(of(flaky.answer), Call("1", "t"))
    assert found.unavailable
    assert flaky.asked == 1


def test_an_ordinary_error_is_not_tried_again(run: Run) -> None:
    flaky = Flaky(ValueError("no"), failures=1)
    assert not run(of(flaky.answer, safe=True), Call("1", "t")).unavailable
    assert flaky.asked == 1


def test_an_overrun_is_not_tried_again(gate: threading.Event) -> None:
    asked = []

    def hang() -> None:
        asked.append(1)
        gate.wait()

    assert not of(hang, safe=True, timeout=0.05).run(Call("1", "t")).unavailable
    assert asked == [1]


def test_the_number_of_retries_can_be_chosen() -> None:
    flaky = Flaky(ConnectionError("down"), failures=100)
    Toolbox([tool(flaky.answer, name="t", safe=True)], retries=0).run(Call("1", "t"))
    assert flaky.asked == 1


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (None, "The tool ran and returned nothing."),
        ("", "The tool ran and returned an empty text."),
        ({"ü": [1]}, '{"ü": [1]}'),
        ("a\x1b[31mb\x00c\r\n", "abc\n"),
    ],
)
def test_any_result_is_clean_text(run: Run, result: Any, text: str) -> None:
    assert run(of(lambda: result), Call("1", "t")).content == text


def test_a_long_result_is_cut_with_a_note(run: Run) -> None:
    found = run(of(lambda: "x" * 5000), Call("1", "t"))
    assert found.content == "x" * 4000 + "\n[1000 more characters were cut]"
    assert found.cut == 1000
    short = Toolbox([tool(lambda: "abcdef", name="t")], max_result=2).run(Call("1", "t"))
    assert (short.content, short.cut) == ("ab\n[4 more characters were cut]", 4)


def test_a_sync_function_that_returns_a_coroutine_is_awaited(run: Run) -> None:
    assert echo.function is not None
    say = echo.function
    assert run(of(lambda: say(words="ay")), Call("1", "t")).content == "ay"


def test_run_works_inside_a_running_loop() -> None:
    async def main() -> list[str]:
        return [observation.content for observation in Toolbox([echo]).run_all([Call("1", "echo", {"words": "a"})])]

    assert asyncio.run(main()) == ["a"]


def test_a_cancelled_arun_cancels_the_tool() -> None:
    async def main() -> bool:
        started, ended = asyncio.Event(), asyncio.Event()

        async def hang() -> None:
            started.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        task = asyncio.ensure_future(of(hang).arun(Call("1", "t")))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(ended.wait(), 5)
        return True

    assert asyncio.run(main())


@pytest.fixture(params=["run_all", "arun_all"])
def run_all(request: pytest.FixtureRequest) -> Callable[[Toolbox, list[Call]], list[Observation]]:
    if request.param == "run_all":
        return Toolbox.run_all
    return lambda toolbox, calls: asyncio.run(toolbox.arun_all(calls))


RunAll = Callable[[Toolbox, list[Call]], list[Observation]]


def test_safe_neighbours_run_at_the_same_time(run_all: RunAll) -> None:
    together = threading.Barrier(3, timeout=10)

    def meet(n: int) -> int:
        together.wait()
        return n

    found = run_all(of(meet, safe=True), [Call(str(n), "t", {"n": n}) for n in range(3)])
    assert [(each.call_id, each.content) for each in found] == [("0", "0"), ("1", "1"), ("2", "2")]


def test_async_safe_neighbours_run_at_the_same_time() -> None:
    async def main() -> list[str]:
        arrived: list[int] = []
        all_there = asyncio.Event()

        async def meet(n: int) -> int:
            arrived.append(n)
            if len(arrived) == 3:
                all_there.set()
            await all_there.wait()
            return n

        toolbox = of(meet, safe=True)
        return [each.content for each in await toolbox.arun_all([Call(str(n), "t", {"n": n}) for n in range(3)])]

    assert asyncio.run(main()) == ["0", "1", "2"]


def test_other_calls_run_one_after_another_in_order(run_all: RunAll) -> None:
    inside = threading.Lock()
    order: list[int] = []

    def write(n: int) -> str:
        assert inside.acquire(blocking=False)
        order.append(n)
        inside.release()
        return "ok"

    found = run_all(of(write), [Call(str(n), "t", {"n": n}) for n in range(20)])
    assert [each.content for each in found] == ["ok"] * 20
    assert order == list(range(20))


def test_a_safe_call_waits_for_an_unsafe_one_before_it(run_all: RunAll) -> None:
    log: list[str] = []
    toolbox = Toolbox(
        [
            tool(lambda: log.append("write"), name="write"),
            tool(lambda: log.append("read"), name="read", safe=True),
        ]
    )
    names = ["read", "read", "write", "read", "nothing", "write", "read"]
    found = run_all(toolbox, [Call(str(n), name) for n, name in enumerate(names)])
    assert [each.name for each in found] == names
    assert log == ["read", "read", "write", "read", "write", "read"]


def test_no_more_calls_run_at_once_than_allowed(run_all: RunAll) -> None:
    pair, lock = threading.Barrier(2, timeout=10), threading.Lock()
    inside: list[int] = []
    counts: list[int] = []

    def work(n: int) -> None:
        with lock:
            inside.append(n)
            counts.append(len(inside))
        pair.wait()
        with lock:
            inside.remove(n)

    toolbox = Toolbox([tool(work, name="t", safe=True)], concurrency=2)
    found = run_all(toolbox, [Call(str(n), "t", {"n": n}) for n in range(8)])
    assert not any(each.is_error for each in found)
    assert max(counts) == 2


def test_no_calls_give_no_observations(run_all: RunAll) -> None:
    assert run_all(Toolbox([tide]), []) == []


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
SCHEMAS = st.recursive(
    st.sampled_from(
        [
            {"type": "string"},
            {"type": "integer"},
            {"type": "number", "minimum": 0},
            {"type": "boolean"},
            {"enum": ["a", 1, None]},
            {"type": "string", "pattern": "^[a-z]+$"},
            {"type": ["string", "null"]},
            {"$ref": "#"},
            {},
            True,
            False,
        ]
    ),
    lambda inner: st.one_of(
        st.builds(lambda each: {"type": "array", "items": each}, inner),
        st.builds(lambda one, two: {"anyOf": [one, two]}, inner, inner),
        st.builds(lambda one, two: {"oneOf": [one, two]}, inner, inner),
        st.builds(lambda one, two: {"allOf": [one, two]}, inner, inner),
        st.builds(lambda each: {"not": each}, inner),
        st.builds(lambda each: {"type": "object", "properties": each}, st.dictionaries(st.text(max_size=4), inner)),
        st.builds(lambda each: {"type": "object", "additionalProperties": each}, inner),
    ),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(
    properties=st.dictionaries(st.sampled_from("abc"), SCHEMAS, max_size=3),
    required=st.lists(st.sampled_from("abc"), unique=True),
    arguments=st.dictionaries(st.sampled_from("abcd"), JSON_VALUES, max_size=3) | JSON_VALUES,
)
def test_no_schema_and_no_arguments_make_run_raise(properties: Any, required: Any, arguments: Any) -> None:
    parameters = {"type": "object", "properties": properties, "required": required}
    received: list[dict[str, Any]] = []

    def keep(**kwargs: Any) -> str:
        received.append(kwargs)
        return "ran"

    made = Tool("t", parameters=parameters, function=keep)
    found = Toolbox([made], timeout=None).run(Call("1", "t", arguments))
    found.content.encode("utf-8")
    assert (found.content == "ran") == bool(received)
    if not received:
        assert found.content.startswith("Error: ")
        assert found.is_error


@settings(max_examples=100, deadline=None)
@given(
    arguments=st.fixed_dictionaries(
        {}, optional={"leg": JSON_VALUES, "on": JSON_VALUES, "units": JSON_VALUES, "other": JSON_VALUES}
    )
)
def test_no_arguments_make_a_typed_tool_raise(arguments: dict[str, Any]) -> None:
    def travel(leg: Leg, on: datetime.date, units: list[Unit] | None = None) -> str:
        return "ran"

    found = Toolbox([tool(travel, name="t")], timeout=None).run(Call("1", "t", arguments))
    assert found.content == "ran" or found.content.startswith("Error: ")


def test_a_tool_may_say_what_went_wrong_in_its_own_words() -> None:
    @tool
    def berth(boat: str) -> str:
        raise ToolFailed(f"no berth for {boat}\nfree are: A1, A2")

    observation = Toolbox([berth]).run(Call("1", "berth", {"boat": "Emma"}))
    assert observation.content == "Error: berth failed: no berth for Emma\nfree are: A1, A2"
    assert not observation.unavailable


def test_what_the_tools_come_from_is_closed_with_the_toolbox() -> None:
    closed = []

    class Source:
        def close(self) -> None:
            closed.append(self)

    with Toolbox([], sources=[Source(), Source()]):
        assert closed == []
    assert len(closed) == 2

"""Who may run what: rules, people, callbacks, and the line that says who allowed a call."""

import asyncio

import pytest

from react_text import Agent, Scripted, tool
from react_text.approval import Approval, Refusal, allowed
from react_text.messages import Call

RAN: list[str] = []


@tool
def read_note(name: str) -> str:
    """Read a note."""
    RAN.append(f"read {name}")
    return "a note"


@tool
def delete_note(name: str) -> str:
    """Delete a note."""
    RAN.append(f"delete {name}")
    return "gone"


@pytest.fixture(autouse=True)
def _nothing_ran():
    RAN.clear()


def step(name: str, note: str) -> str:
    return f'Thought: I need it.\nAction: {name}\nAction Input: {{"name": "{note}"}}'


ANSWER = "Thought: I know.\nFinal Answer: done"


def run(confirm, *steps: str, asynchronous: bool = False):
    model = Scripted([*steps, ANSWER])
    agent = Agent(model, [read_note, delete_note], confirm=confirm)
    result = asyncio.run(agent.arun("Tidy up?")) if asynchronous else agent.run("Tidy up?")
    return result, model


def told(model) -> str:
    return model.requests[-1].messages[-1]["content"]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_tool_that_is_always_allowed_runs_and_one_that_never_is_does_not(asynchronous):
    rules = {"delete_*": "never", "*": "always"}
    result, model = run(Approval(rules), step("read_note", "a"), step("delete_note", "a"), asynchronous=asynchronous)
    assert RAN == ["read a"]
    assert result.stop_reason == "answer"
    assert told(model) == "Observation: Error: the user did not allow this call of delete_note. Do without it."


def test_the_first_rule_that_fits_counts():
    approval = Approval({"read_note": "always", "*_note": "never"}, default="ask")
    assert [approval.rule(name) for name in ("read_note", "delete_note", "other")] == ["always", "never", "ask"]


def test_a_rule_that_is_not_known_is_refused():
    with pytest.raises(ValueError, match="'sometimes' for read_note"):
        Approval({"read_note": "sometimes"})


def test_where_nobody_can_be_asked_the_call_does_not_run():
    _, model = run(Approval(default="ask"), step("delete_note", "a"))
    assert RAN == []
    assert "nobody is there to allow it" in told(model)


def test_the_model_is_told_why_a_call_was_refused():
    _, model = run(Approval(ask=lambda call: Refusal("use the archive instead.")), step("delete_note", "a"))
    assert "did not allow this call of delete_note: use the archive instead. Do without it." in told(model)


def test_a_person_is_asked_once_when_they_say_always():
    asked = []

    def ask(call: Call) -> str:
        asked.append(dict(call.arguments))
        return "always"

    run(Approval(ask=ask), step("read_note", "a"), step("read_note", "b"))
    assert asked == [{"name": "a"}]
    assert RAN == ["read a", "read b"]


def test_stop_ends_the_run():
    result, _ = run(Approval(ask=lambda call: "stop"), step("delete_note", "a"))
    assert result.stop_reason == "denied"
    assert RAN == []


@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_async_callback_is_awaited_in_both_kinds_of_run(asynchronous):
    async def ask(call: Call) -> str:
        await asyncio.sleep(0)
        return "yes" if call.name == "read_note" else "no"

    steps = step("read_note", "a"), step("delete_note", "a")
    result, _ = run(Approval(ask=ask), *steps, asynchronous=asynchronous)
    assert RAN == ["read a"]
    assert result.stop_reason == "answer"


def test_a_plain_async_function_will_do_without_rules():
    async def confirm(call: Call) -> bool:
        return call.name == "read_note"

    run(confirm, step("read_note", "a"), step("delete_note", "a"), asynchronous=True)
    assert RAN == ["read a"]


@pytest.mark.parametrize("verdict", [None, "maybe", "Yes", 1, 0, "", object()])
def test_what_is_no_clear_yes_runs_nothing(verdict):
    run(lambda call: verdict, step("delete_note", "a"))
    assert RAN == []
    assert not allowed(verdict)


def test_a_call_of_a_tool_that_does_not_exist_asks_nobody():
    asked = []
    _, model = run(lambda call: asked.append(call), step("burn_everything", "a"))
    assert asked == []
    assert "There is no tool" in told(model)


def test_there_is_an_audit_line_for_every_call_with_who_allowed_it():
    lines = []
    answers = iter(["yes", "never"])
    approval = Approval(
        {"read_note": "always"}, ask=lambda call: next(answers), audit=lambda record: lines.append(dict(record))
    )
    steps = [step("read_note", "a"), *(step("delete_note", name) for name in "bcd")]
    run(approval, *steps)
    assert [(line["tool"], line["arguments"]["name"], line["allowed"], line["by"]) for line in lines] == [
        ("read_note", "a", True, "rule"),
        ("delete_note", "b", True, "user"),
        ("delete_note", "c", False, "user"),
        ("delete_note", "d", False, "user, earlier"),
    ]
    assert all(line["time"] and line["id"] for line in lines)
    assert len({line["id"] for line in lines}) == 4


def test_each_of_several_calls_in_one_turn_is_asked_for():
    both = step("read_note", "a") + '\nAction: delete_note\nAction Input: {"name": "a"}'
    run(Approval({"read_note": "always"}, default="never"), both)
    assert RAN == ["read a"]

"""One task in one arm: what a record holds."""

from __future__ import annotations

import json
from typing import Any

import pytest
from scripted_runs import played, recorded, right_calls

from react_text.backends.scripted import Scripted
from react_text.compare.arms import Settings
from react_text.compare.builtin import builtin_tasks
from react_text.compare.tasks import ExpectedCall, Offered, Task
from react_text.errors import BackendError, TasksError
from react_text.tools import Tool

TASKS = {task.id: task for task in builtin_tasks()}
STOCK = TASKS["dev-one-04"]
TOOL = Tool(
    "book_table",
    "Book a table.",
    {"type": "object", "properties": {"people": {"type": "integer"}}, "required": ["people"]},
)
CALL = 'Thought: I book.\nAction: book_table\nAction Input: {"people": 4}'


def _first_call(needs_call: bool = True) -> Task:
    calls = (ExpectedCall("book_table", {"people": (4,)}),) if needs_call else ()
    return Task("t", "c", "A table for four?", "k", lambda e: Offered((TOOL,)), needs_call, calls, first_call_only=True)


def test_a_record_holds_every_step_as_it_was_written_and_read() -> None:
    record = played(STOCK, right_calls(STOCK), "There are 7 left.")
    assert record["key"] == "played|text|react|dev-one-04|0"
    first, last = record["steps"]
    assert first["text"].endswith('Action: stock\nAction Input: {"sku": "KT-481"}')
    assert first["calls"] == [{"name": "stock", "arguments": {"sku": "KT-481"}}]
    assert first["observations"] == [{"content": "7", "is_error": False}]
    assert (first["kind"], first["strict"], first["mode"], first["fault"]) == ("action", True, "text", None)
    assert (last["kind"], last["final"]) == ("final", "There are 7 left.")
    assert (record["answer"], record["stop_reason"]) == ("There are 7 left.", "answer")
    assert record["tokens"] == sum(step["usage"]["generated"] for step in record["steps"]) > 0
    assert record["prompt_tokens"] > 0
    assert record["tools"] == ["find_sku", "price", "stock", "reserve"]
    assert json.loads(json.dumps(record)) == record | {"steps": json.loads(json.dumps(record["steps"]))}


def test_the_prompt_hash_changes_with_what_is_asked_and_with_nothing_else() -> None:
    once, again = (played(STOCK, right_calls(STOCK), "7") for _ in range(2))
    bare = played(STOCK, right_calls(STOCK), "7", settings=Settings(examples=False))
    assert once["prompt_hash"] == again["prompt_hash"] != bare["prompt_hash"]
    assert once["steps"][0]["prompt_hash"] != once["steps"][1]["prompt_hash"]


def test_each_repair_is_kept_with_what_it_changed() -> None:
    model = Scripted(["Action: Stock\nAction Input: {'sku': 'KT-481'", "Final Answer: 7"])
    step = recorded(STOCK, model)["steps"][0]
    assert not step["strict"]
    assert [edit["name"] for edit in step["edits"]] == step["repairs"]
    quotes = next(edit for edit in step["edits"] if edit["name"] == "single_quotes")
    assert quotes["before"] != quotes["after"]


def test_a_fault_is_kept_by_its_code() -> None:
    model = Scripted(["Thought: hm", *["Thought: I look.\nFinal Answer: 7"] * 3])
    record = recorded(STOCK, model)
    assert record["steps"][0]["fault"] == "no_action"
    assert record["outcome"]["read"] == "failed"


def test_a_step_says_where_the_loop_intervened() -> None:
    call = 'Thought: I look.\nAction: stock\nAction Input: {"sku": "KT-481"}'
    record = recorded(STOCK, Scripted([call, call, "Thought: I know.\nFinal Answer: 7"]))
    assert [step["steered"] for step in record["steps"]] == [[], ["repeated_call"], []]


class _Weighing(Scripted):
    """Finds the tool that is right here the likeliest, and every way alike after a question for nothing."""

    parameter_count = 0

    def log_probabilities(
        self, messages: Any, reply_start: str, continuations: Any, *, tools: Any = ()
    ) -> tuple[float, ...]:
        if messages[-1]["content"] == "...":
            return (0.0,) * len(continuations)
        return tuple(0.0 if "stock" in one else -20.0 for one in continuations)


@pytest.mark.parametrize(("arm", "steered"), [("text", []), ("auto", ["move"])])
def test_only_what_a_user_gets_is_steered(arm: str, steered: list[str]) -> None:
    call = 'Thought: I need stock for this.\nAction: stock\nAction Input: {"sku": "KT-481"}'
    record = recorded(STOCK, _Weighing([call, "Thought: I know.\nFinal Answer: 7"]), arm)
    assert record["steps"][0]["steered"] == steered


@pytest.mark.parametrize(("parameters", "begun"), [(500_000_000, True), (2_000_000_000, False)])
def test_a_policy_that_is_off_leaves_the_others_as_the_model_has_them(parameters: int, begun: bool) -> None:
    model = _Weighing(_text_run())
    model.parameter_count = parameters
    recorded(STOCK, model, "auto", settings=Settings(agent={"policies": {"choose": False}}))
    assert model.requests[1].reply_start.endswith("Final Answer:") is begun


@pytest.mark.parametrize("arm", ["text", "structured"])
def test_calls_that_are_only_looked_at_are_not_run_and_nothing_more_is_asked(arm: str) -> None:
    model = Scripted([_sent("book_table", '{"people": 4}') if arm == "structured" else CALL, "never asked"])
    record = recorded(_first_call(), model, arm)
    assert len(model.requests) == 1
    assert record["stop_reason"] == "first_call"
    assert record["steps"][0]["observations"] == []
    assert record["outcome"]["solved"]


def test_an_unreadable_first_reply_is_not_asked_again_by_itself() -> None:
    model = Scripted(["Thought: hm", CALL])
    record = recorded(_first_call(), model)
    assert len(model.requests) == 1
    assert (record["outcome"]["read"], record["outcome"]["solved"]) == ("failed", False)


def test_a_second_look_can_be_allowed_for_first_calls() -> None:
    model = Scripted(["Thought: hm", CALL, "never asked"])
    record = recorded(_first_call(), model, settings=Settings(first_call_steps=2))
    assert len(model.requests) == 2
    assert (record["outcome"]["read"], record["outcome"]["solved"]) == ("failed", True)


def test_no_call_is_told_from_nothing_readable() -> None:
    declined = recorded(_first_call(False), Scripted(["Thought: No tool.\nFinal Answer: I cannot book."]))
    unreadable = recorded(_first_call(False), Scripted(["Thought: hm"]))
    called = recorded(_first_call(False), Scripted([CALL]))
    kinds = [(one["outcome"]["declined"], one["outcome"]["unreadable"]) for one in (declined, unreadable, called)]
    assert kinds == [(True, False), (False, True), (False, False)]
    assert declined["answer"] == "I cannot book."


def _sent(name: str, arguments: str, content: str | None = None) -> dict[str, Any]:
    calls = [{"id": "call_a", "type": "function", "function": {"name": name, "arguments": arguments}}]
    return {"role": "assistant", "content": content, "tool_calls": calls}


def test_a_json_call_in_the_content_is_structured_and_read_by_repair() -> None:
    sent = recorded(_first_call(), Scripted([_sent("book_table", '{"people": 4}')]), "structured")
    leaked = recorded(
        _first_call(),
        Scripted([{"role": "assistant", "content": '{"name": "book_table", "arguments": {"people": 4}}'}]),
        "structured",
    )
    assert (sent["outcome"]["read"], leaked["outcome"]["read"]) == ("strict", "repaired")
    assert leaked["steps"][0]["mode"] == "structured"
    assert leaked["outcome"]["solved"]


def test_the_auto_arm_records_its_changes_of_mode() -> None:
    refused = BackendError("This model does not support tools.")
    record = recorded(STOCK, Scripted([refused, *_text_run()], tools="yes"), "auto")
    assert record["mode_changes"]
    assert [step["mode"] for step in record["steps"]] == ["text", "text"]
    assert record["outcome"]["solved"]


def _text_run() -> list[str]:
    return [
        'Thought: I look.\nAction: stock\nAction Input: {"sku": "KT-481"}',
        "Thought: I know.\nFinal Answer: There are 7.",
    ]


def test_another_argument_of_the_agent_can_be_measured_under_a_name_of_its_own() -> None:
    settings = Settings(agent={"token_budget": 1}, label="short")
    record = recorded(STOCK, Scripted(_text_run()), settings=settings)
    assert record["arm"] == "text short"
    assert record["key"] == "played|text short|react|dev-one-04|0"
    assert record["stop_reason"] == "token_budget"


def test_tokens_after_the_whole_call_are_counted() -> None:
    plain = recorded(_first_call(), Scripted([CALL]))
    talking = recorded(_first_call(), Scripted([f"{CALL}\n\nThat should do it, I hope so."]))
    assert plain["tokens_after"] == 0
    assert talking["outcome"]["read"] == "repaired"
    assert 0 <= talking["tokens_after"] <= talking["tokens"]


def test_a_run_that_the_backend_ends_is_a_record_too() -> None:
    record = recorded(STOCK, Scripted([BackendError("The context is too small.")]))
    assert (record["stop_reason"], record["steps"], record["tokens"]) == ("backend_error", [], 0)
    assert record["outcome"]["unreadable"]
    assert record["prompt_hash"]


def test_a_policy_that_there_is_not_is_named_with_those_there_are() -> None:
    settings = Settings(agent={"policies": {"chose": False}}, label="x")
    with pytest.raises(TasksError, match="no policy 'chose'; there are choose,"):
        recorded(STOCK, Scripted([]), "auto", settings=settings)

"""The whole loop without a model: budgets, corrections, repeated calls, the last answer, cancelling."""

import asyncio
import threading
import time

import pytest

from react_text import Agent, Scripted, tool
from react_text.capabilities import Capabilities, finding
from react_text.errors import EndpointError, GrammarError, ToolsRefused, ToolUnavailable
from react_text.events import (
    Corrected,
    Finished,
    ModeChanged,
    Observed,
    Steered,
    StepStarted,
    TextDelta,
    TurnRead,
    event_dict,
)
from react_text.tools import Example


@tool(safe=True)
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def fail(what: str) -> str:
    """Always fails."""
    raise ValueError(f"no {what} here")


@tool
def down() -> str:
    """Its own dependency is down."""
    raise ToolUnavailable("the weather service does not answer")


def call(name: str, arguments: str, thought: str = "I need it.") -> str:
    return f"Thought: {thought}\nAction: {name}\nAction Input: {arguments}"


def final(answer: str) -> str:
    return f"Thought: I now know the answer.\nFinal Answer: {answer}"


def events(agent: Agent, question: str = "What is 2 + 3?") -> list:
    return list(agent.stream(question))


def shown(model: Scripted, request: int = -1) -> str:
    """The last turn of a request: what the model was told most recently."""
    return model.requests[request].messages[-1]["content"]


def test_an_answer_comes_from_the_observation():
    model = Scripted.plan([("add", {"a": 2, "b": 3})], "The sum is {0}.")
    result = Agent(model, [add]).run("What is 2 + 3?")
    assert (result.answer, result.stop_reason, len(result.steps)) == ("The sum is 5.", "answer", 2)
    assert result.steps[0].observations[0].content == "5"


def test_the_history_is_chat_completions_messages_with_matching_ids():
    result = Agent(Scripted.plan([("add", {"a": 2, "b": 3})], "It is {0}"), [add]).run("What is 2 + 3?")
    user, assistant, tool_message, answer = result.messages
    assert user == {"role": "user", "content": "What is 2 + 3?"}
    assert assistant["tool_calls"][0]["function"] == {"name": "add", "arguments": '{"a": 2, "b": 3}'}
    assert tool_message["tool_call_id"] == assistant["tool_calls"][0]["id"]
    assert answer == {"role": "assistant", "content": "It is 5"}


def test_cut_off_json_is_corrected_by_the_model():
    model = Scripted.plan([("add", {"a": 2, "b": 3}), ("add", {"a": 5, "b": 9})], "{0} and {1}", sloppy=True)
    seen = events(Agent(model, [add]))
    assert seen[-1].result.answer == "5 and 14"
    assert [event.fault.code for event in seen if isinstance(event, Corrected)] == ["truncated", "truncated"]


def test_events_come_in_the_order_of_the_run():
    kinds = [type(event) for event in events(Agent(Scripted.plan([("add", {"a": 2, "b": 3})]), [add]))]
    order = [kind for kind in kinds if kind is not TextDelta]
    assert order == [StepStarted, TurnRead, Observed, StepStarted, TurnRead, Finished]


def test_the_thought_and_the_answer_are_streamed_as_they_are_written():
    seen = events(Agent(Scripted([final("It is five indeed.")]), [add]))
    answer = [event.text for event in seen if isinstance(event, TextDelta) and event.section == "final"]
    thought = [event.text for event in seen if isinstance(event, TextDelta) and event.section == "thought"]
    assert "".join(answer).strip() == "It is five indeed."
    assert "".join(thought).strip() == "I now know the answer."
    assert len(answer) > 1


def test_every_event_is_plain_json():
    import json

    model = Scripted.plan([("add", {"a": 2, "b": 3}), ("fail", {"what": "luck"})], sloppy=True)
    for event in events(Agent(model, [add, fail], max_steps=5)):
        line = json.loads(json.dumps(event_dict(event)))
        assert line["event"]


def test_an_error_of_a_tool_is_shown_to_the_model():
    model = Scripted([call("fail", '{"what": "luck"}'), final("There is no luck.")])
    result = Agent(model, [fail]).run("Any luck?")
    assert result.stop_reason == "answer"
    assert shown(model).startswith("Observation: Error:")
    assert "no luck here" in shown(model)


def test_an_unknown_tool_is_answered_with_the_tools_there_are():
    model = Scripted([call("subtract_everything", "{}"), final("I cannot.")])
    Agent(model, [add, fail]).run("What is 2 + 3?")
    assert "add" in shown(model)
    assert "fail" in shown(model)


def test_arguments_that_do_not_fit_are_never_run():
    ran = []

    @tool
    def book(seats: int) -> str:
        """Book seats."""
        ran.append(seats)
        return "booked"

    model = Scripted([call("book", '{"seats": "many"}'), call("book", '{"seats": 2}'), final("Two seats.")])
    result = Agent(model, [book]).run("Book 2 seats")
    assert ran == [2]
    assert result.steps[0].turn.fault.code == "invalid_arguments"
    assert "seats" in shown(model, 1)


def test_several_calls_in_one_turn_are_all_run_and_each_result_names_its_call():
    two = 'Thought: Both.\nAction: add\nAction Input: {"a": 1, "b": 1}\nAction: add\nAction Input: {"a": 2, "b": 2}'
    model = Scripted([two, final("2 and 4")])
    result = Agent(model, [add]).run("1+1 and 2+2?")
    assert [one.content for one in result.steps[0].observations] == ["2", "4"]
    assert 'Observation (add {"a": 2, "b": 2}): 4' in shown(model)


def test_a_repeated_call_is_pointed_out_once_and_then_the_answer_is_begun():
    again = call("add", '{"a": 2, "b": 3}')
    model = Scripted([again, again, again, lambda messages: " It is 5."])
    seen = events(Agent(model, [add]))
    assert [event.reason for event in seen if isinstance(event, Steered)] == ["repeated_call", "answer_now"]
    assert (seen[-1].result.answer, seen[-1].result.stop_reason) == ("It is 5.", "answer")
    assert model.requests[-1].reply_start.endswith("Final Answer:")
    assert sum(isinstance(event, Observed) for event in seen) == 2


def test_a_model_that_gives_no_answer_even_then_is_stuck():
    again = call("add", '{"a": 2, "b": 3}')
    result = Agent(Scripted([again, again, again, ""]), [add]).run("What is 2 + 3?")
    assert result.stop_reason == "stuck"
    assert result.answer


def test_a_call_whose_result_changes_may_be_repeated():
    left = iter(["waiting", "waiting still", "ready"])

    @tool
    def status() -> str:
        """Status of the job."""
        return next(left)

    ask = call("status", "{}")
    result = Agent(Scripted([ask, ask, ask, final("It is ready.")]), [status]).run("Is it ready?")
    assert (result.answer, result.stop_reason) == ("It is ready.", "answer")


def test_the_step_limit_owes_the_user_a_sentence():
    replies = [call("add", f'{{"a": {n}, "b": 1}}') for n in range(3)]
    result = Agent(Scripted([*replies, " Around 3."]), [add], max_steps=3).run("Count")
    assert (result.stop_reason, result.answer) == ("max_steps", "Around 3.")


def test_the_step_limit_without_a_last_answer_tells_the_last_result():
    replies = [call("add", f'{{"a": {n}, "b": 1}}') for n in range(3)]
    result = Agent(Scripted([*replies, ""]), [add], max_steps=3).run("Count")
    assert result.stop_reason == "max_steps"
    assert result.answer == "Stopped after 3 steps without a final answer. The last result was: 3"


def test_the_token_budget_ends_a_run():
    replies = [call("add", f'{{"a": {n}, "b": 1}}') for n in range(9)]
    result = Agent(Scripted(replies), [add], token_budget=100).run("Count")
    assert result.stop_reason == "token_budget"
    assert "100 tokens" in result.answer


def test_the_time_budget_ends_a_run_in_the_middle_of_a_reply():
    model = Scripted([final(" ".join(f"word{n}" for n in range(200_000)))])
    result = Agent(model, [add], time_budget=0.2, max_tokens=10**6).run("Count")
    assert result.stop_reason == "time_budget"
    assert 0 < result.usage.generated < 200_000


def test_a_reply_without_a_label_is_stopped_as_a_runaway():
    ramble = "Thought: " + " ".join(f"word{n}" for n in range(5000))
    result = Agent(Scripted([ramble, final("Five.")]), [add], max_tokens=10**6).run("What is 2 + 3?")
    assert result.stop_reason == "answer"
    assert result.steps[0].turn.fault.code == "runaway"
    assert result.steps[0].usage.generated < 200


def test_a_reply_that_repeats_itself_is_stopped_as_a_runaway():
    loop = "Thought: I think.\nFinal Answer: " + "the sea is wide and " * 500
    result = Agent(Scripted([loop, final("Wide.")]), [add], max_tokens=10**6).run("How wide is the sea?")
    assert result.steps[0].turn.fault.code == "runaway"
    assert result.answer == "Wide."


def test_corrections_in_a_row_end_as_stuck_and_no_request_is_sent_twice_as_it_was():
    model = Scripted(["Thought: hm"] * 9)
    result = Agent(model, [add]).run("What is 2 + 3?")
    assert result.stop_reason == "stuck"
    asked = [(str(request.messages), request.sampling) for request in model.requests]
    assert len(set(asked)) == len(asked)


def test_an_identical_reply_after_a_correction_is_met_with_another_temperature():
    model = Scripted(["Thought: hm", "Thought: hm", final("5")])
    Agent(model, [add]).run("What is 2 + 3?")
    assert [request.sampling.temperature for request in model.requests] == [0.0, 0.0, 0.4]


def test_a_call_with_the_examples_values_is_refused_unless_the_question_holds_them():
    @tool(examples=[Example("Weather in Oslo?", {"city": "Oslo"}, "rain")])
    def weather(city: str) -> str:
        """Weather of a city."""
        return f"sun in {city}"

    replies = [call("weather", '{"city": "Oslo"}'), call("weather", '{"city": "Rome"}'), final("Sun.")]
    result = Agent(Scripted(replies), [weather]).run("Weather in Rome?")
    assert result.steps[0].turn.kind == "action"
    assert result.steps[0].observations == ()
    assert result.steps[1].observations[0].content == "sun in Rome"
    asked_for = Agent(Scripted([replies[0], final("Sun.")]), [weather]).run("Weather in Oslo?")
    assert asked_for.steps[0].observations[0].content == "sun in Oslo"


def test_a_tool_whose_dependency_is_down_ends_the_run():
    result = Agent(Scripted([call("down", "{}")]), [down]).run("Weather?")
    assert result.stop_reason == "tool_unavailable"
    assert "down" in result.answer


def test_a_model_that_does_not_answer_ends_the_run_with_its_sentence():
    result = Agent(Scripted([]), [add]).run("What is 2 + 3?")
    assert result.stop_reason == "backend_error"
    assert "no reply left" in result.answer


def test_a_refused_call_is_told_to_the_model_and_not_run():
    model = Scripted([call("add", '{"a": 2, "b": 3}'), final("I was not allowed to add.")])
    result = Agent(model, [add], confirm=lambda call: "no").run("What is 2 + 3?")
    assert result.stop_reason == "answer"
    assert "did not allow" in shown(model)


def test_a_user_can_end_the_run_instead_of_allowing_a_call():
    result = Agent(Scripted([call("add", '{"a": 2, "b": 3}')]), [add], confirm=lambda call: "stop").run("2 + 3?")
    assert result.stop_reason == "denied"
    assert result.steps[0].observations == ()


def test_cancelling_ends_the_run_within_one_token():
    model = Scripted([final("one two three four five six seven eight")])
    agent = Agent(model, [add])
    seen = []
    for event in agent.stream("Count"):
        seen.append(event)
        if isinstance(event, TextDelta) and event.section == "final":
            agent.cancel()
    assert seen[-1].result.stop_reason == "cancelled"
    assert "four" not in seen[-1].result.steps[-1].text
    assert agent.run("Count").stop_reason == "backend_error", "a later run is not cancelled by the earlier one"


def test_old_observations_are_shortened_before_the_context_overflows():
    @tool
    def page(number: int) -> str:
        """A page of the book."""
        return f"page {number}: " + "many words " * 100

    class Small(Scripted):
        context_length = 900

    replies = [call("page", f'{{"number": {n}}}') for n in range(5)]
    model = Small([*replies, final("Read.")])
    seen = events(Agent(model, [page], max_tokens=60, max_steps=9), "Read the whole book about the sea")
    assert seen[-1].result.stop_reason == "answer"
    assert any(isinstance(event, Steered) and event.reason == "history_shortened" for event in seen)
    last = model.requests[-1].messages
    assert any("characters left out" in turn["content"] for turn in last)
    assert any("Read the whole book" in turn["content"] for turn in last)
    assert model.count_tokens(last) <= 900
    kept = [message for message in seen[-1].result.messages if message["role"] == "tool"]
    assert all(len(message["content"]) > 1000 for message in kept)


def test_a_conversation_that_cannot_fit_says_what_to_do():
    class Tiny(Scripted):
        context_length = 40

    result = Agent(Tiny([final("x")]), [add]).run("What is 2 + 3?")
    assert result.stop_reason == "backend_error"
    assert "n_ctx" in result.answer


def test_examples_are_left_out_when_they_would_fill_the_context():
    class Small(Scripted):
        context_length = 200

    few = Agent(Small([]), [add, fail]).prompt("2 + 3?")
    many = Agent(Scripted([]), [add, fail]).prompt("2 + 3?")
    assert len(few) < len(many)


def test_the_opening_is_the_same_for_every_question():
    agent = Agent(Scripted([]), [add, fail])
    assert agent.prompt("One?")[:-1] == agent.prompt("Another one?")[:-1]


def test_an_empty_question_is_refused():
    with pytest.raises(ValueError, match="empty"):
        Agent(Scripted([]), [add]).run("  ")


def test_an_agent_without_tools_answers():
    assert Agent(Scripted([final("Paris.")])).run("Capital of France?").answer == "Paris."


def test_the_async_twin_does_the_same():
    @tool
    async def slow_add(a: int, b: int) -> int:
        """Add two numbers."""
        await asyncio.sleep(0)
        return a + b

    model = Scripted.plan([("slow_add", {"a": 2, "b": 3})], "The sum is {0}.", sloppy=True)
    result = asyncio.run(Agent(model, [slow_add]).arun("What is 2 + 3?"))
    assert (result.answer, result.stop_reason) == ("The sum is 5.", "answer")


def test_many_async_runs_of_one_tool_set_do_not_mix():
    async def one(number: int) -> str:
        model = Scripted.plan([("add", {"a": number, "b": 1})], "{0}")
        return (await Agent(model, [add]).arun("Next?")).answer

    async def all_of_them() -> list[str]:
        return await asyncio.gather(*(one(number) for number in range(50)))

    assert asyncio.run(all_of_them()) == [str(number + 1) for number in range(50)]


def structured(name: str, arguments: str, call_id: str = "abc123", content: str | None = None) -> dict:
    """An assistant message with one structured call."""
    function = {"name": name, "arguments": arguments}
    return {
        "role": "assistant",
        "content": content,
        "tool_calls": [{"id": call_id, "type": "function", "function": function}],
    }


def said(content: str) -> dict:
    return {"role": "assistant", "content": content}


def test_structured_calls_are_answered_with_their_own_ids_and_go_back_as_received():
    received = structured("add", '{"a": 2, "b": 3}', content="I add.")
    model = Scripted([received, said("It is 5.")], tools="yes")
    result = Agent(model, [add]).run("What is 2 + 3?")
    assert (result.answer, result.stop_reason, result.mode) == ("It is 5.", "answer", "structured")
    sent = model.requests[-1]
    assert [tool["function"]["name"] for tool in sent.tools] == ["add"]
    assert sent.messages[-2] == received
    assert sent.messages[-1] == {"role": "tool", "tool_call_id": "abc123", "content": "5"}
    assert result.steps[0].turn.thought == "I add."


def test_equal_ids_are_told_apart_before_they_go_back():
    twice = structured("add", '{"a": 1, "b": 1}', "same")
    twice["tool_calls"] += structured("add", '{"a": 2, "b": 2}', "same")["tool_calls"]
    model = Scripted([twice, said("2 and 4")], tools="yes")
    Agent(model, [add]).run("1+1 and 2+2?")
    *_, assistant, first, second = model.requests[-1].messages
    ids = [entry["id"] for entry in assistant["tool_calls"]]
    assert [first["tool_call_id"], second["tool_call_id"]] == ids
    assert len(set(ids)) == 2
    assert [first["content"], second["content"]] == ["2", "4"]


def test_broken_arguments_are_never_echoed_back():
    broken = structured("add", "{'a': 2, 'b': 3,}")
    model = Scripted([broken, said("5")], tools="yes")
    Agent(model, [add]).run("What is 2 + 3?")
    assistant = model.requests[-1].messages[-2]
    assert assistant["tool_calls"][0]["function"]["arguments"] == '{"a": 2, "b": 3}'


def test_an_endpoint_that_refuses_tools_is_asked_the_same_turn_as_text():
    refusal = ToolsRefused("m does not support tools", reason="tools", status=400)
    model = Scripted([refusal, call("add", '{"a": 2, "b": 3}'), final("5")], tools="yes")
    seen = events(Agent(model, [add]))
    result = seen[-1].result
    assert (result.answer, result.mode, len(result.steps)) == ("5", "text", 2)
    assert len(model.requests) == 3, "one extra request at most"
    assert model.requests[0].tools
    assert not model.requests[1].tools
    assert [event.after for event in seen if isinstance(event, ModeChanged)] == ["text"]


def test_an_unclear_refusal_is_tried_once_without_tools_and_then_stands():
    bad = [EndpointError("bad request", reason="other", status=400) for _ in range(2)]
    result = Agent(Scripted(bad, tools="yes"), [add]).run("What is 2 + 3?")
    assert (result.stop_reason, result.answer) == ("backend_error", "bad request")


def test_leaked_calls_are_run_and_after_repeated_leaks_the_same_history_goes_on_as_text():
    leaks = [said(f'{{"name": "add", "arguments": {{"a": {n}, "b": 1}}}}') for n in range(3)]
    model = Scripted([*leaks, final("3")], tools="yes")
    result = Agent(model, [add]).run("Count to 3")
    assert (result.answer, result.mode) == ("3", "text")
    assert "arrived as text" in result.mode_changes[0]
    turns = [turn["content"] for turn in model.requests[-1].messages]
    assert [turn for turn in turns if turn.startswith("Observation: ")][-3:] == [f"Observation: {n}" for n in (1, 2, 3)]
    assert any('Action: add\nAction Input: {"a": 2, "b": 1}' in turn for turn in turns)


def test_a_mode_that_was_chosen_is_kept():
    leaks = [said(f'{{"name": "add", "arguments": {{"a": {n}, "b": 1}}}}') for n in range(5)]
    result = Agent(Scripted([*leaks, said("5")], tools="yes"), [add], mode="structured").run("Count")
    assert (result.answer, result.mode, result.mode_changes) == ("5", "structured", ())
    text = Agent(Scripted([final("5")], tools="yes"), [add], mode="text").run("Count")
    assert text.mode == "text"


def test_an_answer_copied_from_the_example_is_refused():
    @tool(examples=[Example("Weather in Oslo?", {"city": "Oslo"}, "rain")])
    def weather(city: str) -> str:
        """Weather of a city."""
        return "sun"

    replies = [call("weather", '{"city": "Rome"}'), final("The answer is rain."), final("The answer is sun.")]
    result = Agent(Scripted(replies), [weather]).run("Weather in Rome?")
    assert (result.answer, result.stop_reason) == ("The answer is sun.", "answer")


@pytest.mark.parametrize("said", [" Thought: I know.\nFinal Answer: 42", " 42"])
def test_a_begun_answer_may_be_written_as_a_whole_step(said):
    again = call("add", '{"a": 2, "b": 3}')
    result = Agent(Scripted([again, again, again, said]), [add]).run("What is it?")
    assert (result.answer, result.stop_reason) == ("42", "answer")


def test_a_call_after_a_begun_answer_is_no_answer():
    again = call("add", '{"a": 2, "b": 3}')
    result = Agent(Scripted([again, again, again, ' Action: add\nAction Input: {"a": 2, "b": 3}']), [add]).run("Sum?")
    assert result.stop_reason == "stuck"
    assert "The last result was: 5" in result.answer


def test_only_a_call_that_was_pointed_out_is_not_run_again():
    states = iter(["waiting", "waiting still", "ready"])

    @tool
    def poll() -> str:
        """Status of the job."""
        return next(states)

    asked = call("add", '{"a": 2, "b": 3}')
    replies = [asked, call("poll", "{}"), asked, call("poll", "{}"), call("poll", "{}"), final("ready")]
    result = Agent(Scripted(replies), [add, poll]).run("Is it ready?")
    observed = [one.content for step in result.steps for one in step.observations]
    assert observed == ["5", "waiting", "5", "waiting still", "ready"]


def test_a_refused_structured_call_is_still_answered_by_its_id():
    model = Scripted([structured("add", '{"a": "two", "b": 3}'), said("5")], tools="yes")
    Agent(model, [add]).run("What is 2 + 3?")
    *_, assistant, answer = model.requests[-1].messages
    assert [entry["id"] for entry in assistant["tool_calls"]] == [answer["tool_call_id"]]
    assert answer["content"].startswith("Error: ")


def test_call_ids_of_a_run_are_all_different():
    same = structured("add", '{"a": 1, "b": 1}', "call_1")
    other = structured("add", '{"a": 2, "b": 2}', "call_1")
    leak = said('{"name": "add", "arguments": {"a": 3, "b": 3}}')
    result = Agent(Scripted([same, other, leak, said("6")], tools="yes"), [add]).run("Sums?")
    ids = [entry["id"] for message in result.messages for entry in message.get("tool_calls") or ()]
    assert len(set(ids)) == len(ids) == 3


def test_old_results_are_shortened_in_structured_mode_too():
    @tool
    def page(number: int) -> str:
        """A page of the book."""
        return f"page {number}: " + "many words " * 100

    class Small(Scripted):
        context_length = 700

    calls = [structured("page", f'{{"number": {number}}}', f"id{number}") for number in range(5)]
    model = Small([*calls, said("Read.")], tools="yes")
    result = Agent(model, [page], max_tokens=60, max_steps=9).run("Read the whole book")
    assert (result.answer, result.stop_reason) == ("Read.", "answer")
    assert model.count_tokens(model.requests[-1].messages) <= 700


def test_unknown_tools_climb_the_ladder_and_end_as_stuck():
    replies = [call(f"nothing_{number}", "{}") for number in range(9)]
    result = Agent(Scripted(replies), [add]).run("What is 2 + 3?")
    assert result.stop_reason == "stuck"
    assert len(result.steps) == 4


@pytest.mark.parametrize("way", ["cancel", "time"])
@pytest.mark.parametrize("twin", ["sync", "async"])
def test_a_tool_that_hangs_is_not_waited_for(way, twin):
    started, release = threading.Event(), threading.Event()

    @tool
    def hang() -> str:
        """Does not come back."""
        started.set()
        release.wait(30)
        return "late"

    agent = Agent(Scripted([call("hang", "{}")]), [hang], time_budget=0.3 if way == "time" else None)
    if way == "cancel":
        threading.Thread(target=lambda: (started.wait(30), agent.cancel())).start()
    began = time.monotonic()
    result = agent.run("Go") if twin == "sync" else asyncio.run(agent.arun("Go"))
    release.set()
    assert result.stop_reason == {"cancel": "cancelled", "time": "time_budget"}[way]
    assert time.monotonic() - began < 20


def test_cancelling_ends_every_run_under_way():
    agent = Agent(Scripted([final("one two three four")] * 2), [add])
    runs = [agent.stream("One?"), agent.stream("Two?")]
    for run in runs:
        next(run)
    agent.cancel()
    assert [list(run)[-1].result.stop_reason for run in runs] == ["cancelled", "cancelled"]


def test_tools_without_a_usable_grammar_are_offered_without_one(monkeypatch):
    """What a checker refuses is never handed to an engine, and the run goes on without it."""

    class Constrained(Scripted):
        supports_grammar = True

    def refuse(text):
        raise GrammarError("rule of-odd begins with itself")

    monkeypatch.setattr("react_text.asking.check_grammar", refuse)
    model = Constrained([final("5")])
    result = Agent(model, [add]).run("What is 2 + 3?")
    assert result.answer == "5"
    assert model.requests[0].grammar is None


def test_a_question_with_half_a_surrogate_pair_is_asked_all_the_same():
    assert Agent(Scripted([final("5")]), [add]).run("What is \ud800 2 + 3?").answer == "5"


def test_the_same_history_goes_on_when_the_mode_changes_after_step_2_of_4():
    steps = [structured("add", '{"a": 1, "b": 1}', "one"), structured("add", '{"a": 2, "b": 2}', "two")]
    refusal = ToolsRefused("m does not support tools", reason="tools", status=400)
    model = Scripted([*steps, refusal, call("add", '{"a": 4, "b": 4}'), final("2, 4 and 8")], tools="yes")
    result = Agent(model, [add]).run("Double from 1 to 8")
    assert (result.answer, result.mode, len(result.steps)) == ("2, 4 and 8", "text", 4)
    turns = [turn["content"] for turn in model.requests[-1].messages][-7:]
    assert turns[0] == "Double from 1 to 8"
    assert turns[1].endswith('Action: add\nAction Input: {"a": 1, "b": 1}')
    assert [turns[2], turns[4], turns[6]] == ["Observation: 2", "Observation: 4", "Observation: 8"]


@pytest.mark.parametrize(("pairing", "asked"), [("position", False), ("ids", None), ("unknown", None)])
def test_a_model_known_to_pair_by_position_is_asked_for_one_call_a_turn(pairing, asked):
    model = Scripted([said("5")], tools="yes")
    probed = finding({"pairing": {"structured": pairing}}, "a probe")
    model.capabilities = Capabilities({"probe": probed})
    Agent(model, [add]).run("What is 2 + 3?")
    assert model.requests[0].parallel_tool_calls is asked


def test_a_move_to_text_is_remembered_by_the_backend():
    learnt = []
    refusal = ToolsRefused("m does not support tools", reason="tools", status=400)
    model = Scripted([refusal, final("5")], tools="yes")
    model.learn = lambda *facts: learnt.append(facts)
    Agent(model, [add]).run("What is 2 + 3?")
    assert learnt == [("tools", "no", "the endpoint refused tools: m does not support tools")]


def test_without_tools_a_model_is_simply_asked():
    model = Scripted(["Paris is the capital of France."])
    result = Agent(model, instructions="Be brief.").run("Capital of France?")
    assert (result.answer, result.stop_reason) == ("Paris is the capital of France.", "answer")
    assert [turn["content"] for turn in model.requests[0].messages] == ["Be brief.", "Capital of France?"]
    assert model.requests[0].reply_start == ""


def test_without_tools_a_reply_that_was_cut_is_not_answered_with_how_to_call_one():
    model = Scripted(["A long tale that goes on and on and on.", "Once."])
    assert Agent(model, max_tokens=3).run("Tell me a tale.").answer == "Once."
    assert "shorter" in shown(model)
    assert "Action" not in shown(model)


@pytest.mark.parametrize(("examples", "shown_turns"), [(0, 0), (1, 4), (2, 8), (None, 8)])
def test_so_many_worked_examples_go_before_the_question(examples, shown_turns):
    turns = Agent(Scripted([]), [add, fail], examples=examples).prompt("What is 2 + 3?")
    assert len(turns) == 1 + shown_turns + 1


@pytest.mark.parametrize("examples", [-1, "few", 1.5])
def test_a_wrong_number_of_examples_is_told(examples):
    with pytest.raises(ValueError, match="or None for one"):
        Agent(Scripted([]), [add], examples=examples)

"""FallbackChat: what a client is answered for what a model writes, whole answers."""

from __future__ import annotations

import asyncio
import gc
import json
import tracemalloc

import pytest
from conversation import ADD, QUESTION, STOCK_LEVEL, TOOLS, accumulate, final, step

from react_text import FallbackChat, Scripted
from react_text.chat.turn import MOST_CORRECTIONS
from react_text.errors import BackendError, ChatError, EndpointError, GrammarError


def ask(replies, messages=(QUESTION,), **request):
    chat = FallbackChat(Scripted(replies))
    return chat.create(messages=list(messages), **{"tools": TOOLS, **request})


def message_of(answer):
    return answer["choices"][0]["message"]


def test_an_action_becomes_a_tool_call_with_the_thought_as_content():
    answer = ask([step("stock_level", {"item": "lamp"}, "I look for lamps.")])
    (choice,) = answer["choices"]
    (call,) = choice["message"]["tool_calls"]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] == "I look for lamps."
    assert call["type"] == "function"
    assert call["function"]["name"] == "stock_level"
    assert json.loads(call["function"]["arguments"]) == {"item": "lamp"}
    assert call["id"].startswith("call_")
    assert answer["x_react_text"]["strict"] is True


def test_a_call_without_a_thought_has_null_content():
    answer = ask(['Action: stock_level\nAction Input: {"item": "lamp"}'])
    assert message_of(answer)["content"] is None


def test_an_answer_is_the_content_without_the_thought():
    answer = ask([final("There are 20.")])
    assert answer["choices"][0]["finish_reason"] == "stop"
    assert message_of(answer)["content"] == "There are 20."
    assert message_of(answer)["reasoning_content"] == "I know."
    assert "tool_calls" not in message_of(answer)


def test_several_actions_in_a_row_are_parallel_calls_each_with_its_own_id():
    two = step("stock_level", {"item": "lamp"}) + '\nAction: stock_level\nAction Input: {"item": "chair"}'
    calls = message_of(ask([two]))["tool_calls"]
    assert [json.loads(call["function"]["arguments"])["item"] for call in calls] == ["lamp", "chair"]
    assert len({call["id"] for call in calls}) == 2
    assert len(message_of(ask([two], parallel_tool_calls=False))["tool_calls"]) == 1


def test_the_results_of_calls_reach_the_model_as_observations():
    model = Scripted.plan([("stock_level", {"item": "lamp"}), ("add", {"a": 14, "b": 6})], "There are {1}.")
    chat = FallbackChat(model)
    messages = [QUESTION]
    for result in ("14", "20"):
        said = message_of(chat.create(messages=messages, tools=TOOLS))
        messages += [said, {"role": "tool", "tool_call_id": said["tool_calls"][0]["id"], "content": result}]
    assert message_of(chat.create(messages=messages, tools=TOOLS))["content"] == "There are 20."


def test_a_repaired_call_names_its_repairs():
    answer = ask(["Thought: x\nAction: Stock-Level\nAction Input: {'item': 'lamp'}"])
    assert json.loads(message_of(answer)["tool_calls"][0]["function"]["arguments"]) == {"item": "lamp"}
    assert {"name_spelling", "single_quotes"} <= set(answer["x_react_text"]["repairs"])


def test_arguments_that_do_not_fit_never_become_a_call():
    wrong = step("add", {"a": "two", "b": 3})
    answer = ask([wrong] * (MOST_CORRECTIONS + 1))
    assert "tool_calls" not in message_of(answer)
    assert answer["choices"][0]["finish_reason"] == "stop"
    assert "two" in message_of(answer)["content"]
    assert {fault["code"] for fault in answer["x_react_text"]["faults"]} == {"invalid_arguments"}


def test_the_model_is_told_what_was_wrong_and_asked_again_within_the_same_request():
    model = Scripted([step("add", {"a": "two", "b": 3}), step("add", {"a": 2, "b": 3})])
    answer = FallbackChat(model).create(messages=[QUESTION], tools=TOOLS)
    assert json.loads(message_of(answer)["tool_calls"][0]["function"]["arguments"]) == {"a": 2, "b": 3}
    assert answer["x_react_text"]["attempts"] == 2
    assert "whole number" in model.requests[1].messages[-1]["content"] or "integer" in str(model.requests[1].messages)
    assert answer["usage"]["completion_tokens"] > 10, "both replies are counted"


def test_an_unknown_tool_is_no_call():
    answer = ask([step("delete_all", {}), final("I cannot.")])
    assert message_of(answer)["content"] == "I cannot."
    assert [fault["code"] for fault in answer["x_react_text"]["faults"]] == ["unknown_tool"]


def test_a_reply_cut_by_the_token_limit_ends_as_length_without_a_call():
    answer = ask([step("stock_level", {"item": "lamp with a very long name indeed"})], max_tokens=8)
    assert answer["choices"][0]["finish_reason"] == "length"
    assert "tool_calls" not in message_of(answer)


def test_a_copied_example_is_not_handed_on():
    model = Scripted([step("add", {"a": 7, "b": 7}), step("add", {"a": 14, "b": 6})])
    answer = FallbackChat(model).create(messages=[QUESTION], tools=[ADD])
    assert json.loads(message_of(answer)["tool_calls"][0]["function"]["arguments"]) == {"a": 14, "b": 6}


def test_tool_choice_none_gives_an_answer():
    assert message_of(ask(["Hello."], tool_choice="none"))["content"] == "Hello."


def test_tool_choice_none_after_results_begins_the_answer():
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1, "b": 2}'}}
    history = [QUESTION, {"role": "assistant", "content": None, "tool_calls": [call]}]
    history.append({"role": "tool", "tool_call_id": "c1", "content": "3"})
    model = Scripted([" It is 3."])
    answer = FallbackChat(model).create(messages=history, tools=TOOLS, tool_choice="none")
    assert message_of(answer)["content"] == "It is 3."
    assert "Observation: 3" in model.requests[0].messages[-1]["content"]


def test_tool_choice_required_asks_again_until_there_is_a_call():
    answer = ask([final("No idea."), ' stock_level\nAction Input: {"item": "lamp"}'], tool_choice="required")
    assert message_of(answer)["tool_calls"][0]["function"]["name"] == "stock_level"


def test_a_named_tool_choice_leaves_the_model_only_the_arguments():
    model = Scripted([' {"a": 14, "b": 6}'])
    choice = {"type": "function", "function": {"name": "add"}}
    answer = FallbackChat(model).create(messages=[QUESTION], tools=TOOLS, tool_choice=choice)
    assert model.requests[0].reply_start.endswith("Action: add\nAction Input:")
    assert message_of(answer)["tool_calls"][0]["function"]["name"] == "add"


def test_allowed_tools_are_the_only_ones():
    choice = {
        "type": "allowed_tools",
        "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "add"}}]},
    }
    replies = [step("stock_level", {"item": "lamp"}), step("add", {"a": 14, "b": 6})]
    assert message_of(ask(replies, tool_choice=choice))["tool_calls"][0]["function"]["name"] == "add"


def test_stop_strings_end_the_answer_and_not_the_protocol():
    answer = ask([final("one\ntwo END three")], stop=["END", "\n\n"])
    assert message_of(answer)["content"] == "one\ntwo "


def test_without_tools_the_reply_is_the_content_to_the_letter():
    text = 'Thought: of the sea\n{"name": "x", "arguments": {}} <tool_call>'
    model = Scripted([text])
    chat = FallbackChat(model)
    answer = chat.create(messages=[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}])
    assert message_of(answer)["content"] == text
    assert model.requests[0].messages == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
    ]


def test_earlier_answers_of_a_plain_conversation_stay_plain():
    model = Scripted(["Fine."])
    messages = [QUESTION, {"role": "assistant", "content": "Twenty."}, {"role": "user", "content": "Sure?"}]
    FallbackChat(model).create(messages=messages)
    assert [one["content"] for one in model.requests[0].messages] == [QUESTION["content"], "Twenty.", "Sure?"]


def test_the_model_sees_its_own_words_again():
    """What it wrote around an answer is not part of the content, but stands in the next prompt."""
    model = Scripted([final("It is 20.", "Fourteen and six."), final("Yes.")])
    chat = FallbackChat(model)
    said = message_of(chat.create(messages=[QUESTION], tools=TOOLS))
    follow = [QUESTION, said, {"role": "user", "content": "Sure?"}]
    chat.create(messages=follow, tools=TOOLS)
    assert "Fourteen and six." in model.requests[1].messages[-2]["content"]


def test_the_words_of_one_conversation_never_show_in_another():
    model = Scripted([final("It is 20.", "A secret."), final("Yes.")])
    chat = FallbackChat(model)
    said = message_of(chat.create(messages=[QUESTION], tools=TOOLS))
    other = [{"role": "user", "content": "Else?"}, {"role": "assistant", "content": said["content"]}, QUESTION]
    chat.create(messages=other, tools=TOOLS)
    assert "secret" not in str(model.requests[1].messages)


def test_the_answer_to_a_json_format_is_checked_and_asked_for_again():
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    wanted = {"type": "json_schema", "json_schema": {"name": "count", "schema": schema}}
    model = Scripted(['{"n": "many"}', '```json\n{"n": 20}\n```'])
    answer = FallbackChat(model).create(messages=[QUESTION], response_format=wanted)
    assert json.loads(message_of(answer)["content"]) == {"n": 20}
    assert [fault["code"] for fault in answer["x_react_text"]["faults"]] == ["invalid_answer"]
    with_tools = ask([final("twenty"), final('{"n": 20}')], response_format=wanted)
    assert json.loads(message_of(with_tools)["content"]) == {"n": 20}


def test_parameters_without_effect_are_named():
    answer = ask([final("x")], frequency_penalty=0.5, presence_penalty=0, user="u", logit_bias={})
    assert answer["x_react_text"]["ignored"] == ["frequency_penalty"]


def test_sampling_parameters_reach_the_model():
    model = Scripted([final("x")])
    FallbackChat(model).create(messages=[QUESTION], tools=TOOLS, temperature=0.7, top_p=0.5, seed=3, max_tokens=9)
    (request,) = model.requests
    assert (request.sampling.temperature, request.sampling.top_p, request.sampling.seed) == (0.7, 0.5, 3)
    assert request.max_tokens == 9


def structured(name, arguments, call_id="abc"):
    function = {"name": name, "arguments": arguments}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": call_id, "function": function}]}


def test_an_endpoint_with_tool_calls_is_asked_for_them():
    model = Scripted([structured("add", '{"a": 2, "b": 3}')], tools="yes")
    answer = FallbackChat(model).create(messages=[QUESTION], tools=TOOLS, tool_choice="required")
    assert model.requests[0].tool_choice == "required"
    assert message_of(answer)["tool_calls"][0]["id"] == "abc"
    assert answer["x_react_text"]["mode"] == "structured"


def test_an_endpoint_that_refuses_tools_is_asked_as_text_and_stays_so():
    refusal = EndpointError("this model does not support tools", reason="tools", status=400)
    model = Scripted([refusal, step("stock_level", {"item": "lamp"}), final("x")], tools="yes")
    chat = FallbackChat(model)
    answer = chat.create(messages=[QUESTION], tools=TOOLS)
    assert message_of(answer)["tool_calls"][0]["function"]["name"] == "stock_level"
    assert answer["x_react_text"]["mode"] == "text"
    assert len(answer["x_react_text"]["mode_changes"]) == 1
    assert chat.create(messages=[QUESTION], tools=TOOLS)["x_react_text"]["mode_changes"] == []
    assert model.requests[-1].tools == ()


def test_a_broken_structured_call_is_refused_to_the_model_and_asked_for_again():
    model = Scripted([structured("add", '{"a": "x"}'), structured("add", '{"a": 2, "b": 3}')], tools="yes")
    answer = FallbackChat(model).create(messages=[QUESTION], tools=TOOLS)
    assert json.loads(message_of(answer)["tool_calls"][0]["function"]["arguments"]) == {"a": 2, "b": 3}
    assert model.requests[1].messages[-1]["role"] == "tool"


def test_a_model_that_does_not_answer_is_an_error():
    with pytest.raises(BackendError):
        ask([])


def test_a_wrong_request_is_an_error_that_names_the_parameter():
    with pytest.raises(ChatError) as caught:
        ask([], temperature="hot")
    assert caught.value.to_dict()["error"]["param"] == "temperature"
    assert caught.value.status == 400


def test_the_time_limit_ends_an_answer_with_what_there_is():
    model = Scripted([final("word " * 2000)])
    answer = FallbackChat(model, seconds=1e-9).create(messages=[QUESTION], tools=[STOCK_LEVEL])
    assert answer["choices"][0]["finish_reason"] == "length"


def test_acreate_answers_as_create_does():
    chat = FallbackChat(Scripted([step("add", {"a": 2, "b": 3})]))
    answer = asyncio.run(chat.acreate(messages=[QUESTION], tools=TOOLS))
    assert message_of(answer)["tool_calls"][0]["function"]["name"] == "add"


class Constrained(Scripted):
    """A scripted model whose backend takes grammars."""

    supports_grammar = True


def grammar_of(reply, **request):
    model = Constrained([reply])
    FallbackChat(model).create(messages=[QUESTION], **{"tools": TOOLS, **request})
    return model.requests[0].grammar


def test_what_must_be_called_is_said_in_the_grammar():
    call = step("add", {"a": 14, "b": 6})
    named = {"type": "function", "function": {"name": "add"}}
    free, forced, one = (grammar_of(call, tool_choice=choice) for choice in ("auto", "required", named))
    assert "Final Answer" in free
    assert "Final Answer" not in forced
    assert "stock_level" in forced
    assert "stock_level" not in one
    assert grammar_of("Hi.", tool_choice="none") is None


@pytest.mark.parametrize("stream", [False, True])
def test_a_grammar_that_leads_nowhere_is_left_out(stream):
    class Refusing(Constrained):
        def stream(self, request):
            if request.grammar is not None:
                raise GrammarError("No token can continue the grammar here.")
            return super().stream(request)

    chat = FallbackChat(Refusing([step("add", {"a": 14, "b": 6})]))
    answer = chat.create(messages=[QUESTION], tools=TOOLS, stream=stream)
    message = accumulate(list(answer))[0] if stream else message_of(answer)
    assert message["tool_calls"][0]["function"]["arguments"] == '{"a": 14, "b": 6}'


def test_several_calls_under_a_grammar_are_for_those_who_ask_for_them():
    call = step("add", {"a": 14, "b": 6})
    assert grammar_of(call, parallel_tool_calls=True) != grammar_of(call) == grammar_of(call, parallel_tool_calls=False)


def test_a_json_format_is_held_to_its_schema_by_the_grammar():
    schema = {"type": "object", "properties": {"pieces": {"type": "integer"}}, "required": ["pieces"]}
    wanted = {"type": "json_schema", "json_schema": {"name": "count", "schema": schema}}
    assert "pieces" in grammar_of('{"pieces": 20}', tools=[], response_format=wanted)
    with_tools = grammar_of(final('{"pieces": 20}'), response_format=wanted)
    assert "pieces" in with_tools
    assert "Action: add" in with_tools


def test_memory_does_not_grow_with_the_conversations():
    chat = FallbackChat(Scripted(final(f"Number {number}.") for number in range(400)))

    def some(numbers):
        for number in numbers:
            chat.create(messages=[{"role": "system", "content": f"{number}"}, QUESTION], tools=TOOLS)
        chat.backend.requests.clear()

    some(range(150))
    tracemalloc.start()
    some(range(150, 200))
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    some(range(200, 400))
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert after - before < 2**20


@pytest.mark.model
def test_a_real_model_is_held_to_a_tool_and_reuses_what_it_has_read(smollm2):
    smollm2.reset()
    chat = FallbackChat(smollm2)
    named = {"type": "function", "function": {"name": "stock_level"}}
    first = chat.create(messages=[QUESTION], tools=TOOLS, tool_choice=named, max_tokens=60)
    said = message_of(first)
    (call,) = said["tool_calls"]
    assert call["function"]["name"] == "stock_level"
    assert isinstance(json.loads(call["function"]["arguments"])["item"], str)
    history = [QUESTION, said, {"role": "tool", "tool_call_id": call["id"], "content": "14"}]
    chunks = list(
        chat.create(
            messages=history,
            tools=TOOLS,
            tool_choice="none",
            max_tokens=20,
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    usage = chunks[-1]["usage"]
    assert usage["prompt_tokens_details"]["cached_tokens"] > 0.8 * usage["prompt_tokens"]
    assert "".join(one["choices"][0]["delta"].get("content") or "" for one in chunks[:-1]).strip()


@pytest.mark.model
def test_a_real_model_answers_in_the_json_that_is_asked_for(smollm2):
    schema = {"type": "object", "properties": {"colour": {"enum": ["red", "blue"]}}, "required": ["colour"]}
    wanted = {"type": "json_schema", "json_schema": {"name": "colour", "schema": schema}}
    answer = FallbackChat(smollm2).create(
        messages=[{"role": "user", "content": "The colour of the sea?"}], response_format=wanted, max_tokens=30
    )
    assert json.loads(message_of(answer)["content"])["colour"] in ("red", "blue")

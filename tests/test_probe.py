"""What a probe measures: every kind of model is told apart, and nothing is claimed that was not seen."""

import json
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from react_text import Call, Fault, Scripted, Turn
from react_text.backends.openai import OpenAICompatible
from react_text.capability_store import CapabilityStore
from react_text.catalog import FAULTS
from react_text.errors import BackendError, EndpointError, ToolsRefused
from react_text.probe import probe, remember, subject_of
from react_text.probe_battery import CASES, SPECIAL_TEXT, WantedAnswer, WantedCalls
from react_text.probe_report import READINGS, judge, same
from react_text.schema import first_problem

sys.path.insert(0, str(Path(__file__).parent / "servers"))
from standin import StandIn, chat, events

CASE = {case.name: case for case in CASES}
SWAPPED = [CASE["swapped_results"]]
SINGLE = [CASE["single_call"]]


def wanted_calls(exchange):
    """The calls a perfect model makes; where the arguments are open, some that fit."""
    return [(name, arguments or {"item": "lamp"}) for name, arguments in exchange.wanted.calls]


def as_text(exchange):
    if isinstance(exchange.wanted, WantedAnswer):
        return f"Thought: I now know the answer.\nFinal Answer: {exchange.wanted.holds or 'Good morning!'}"
    lines = [f"Action: {name}\nAction Input: {json.dumps(arguments)}" for name, arguments in wanted_calls(exchange)]
    name = exchange.wanted.calls[0][0]
    return "\n".join([f"Thought: I need {name} for this.", *lines])


def as_message(exchange):
    if isinstance(exchange.wanted, WantedAnswer):
        return {"role": "assistant", "content": exchange.wanted.holds or "Good morning!"}
    calls = [
        {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for number, (name, arguments) in enumerate(wanted_calls(exchange))
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def leaked(exchange):
    if isinstance(exchange.wanted, WantedAnswer):
        return as_message(exchange)
    objects = [json.dumps({"name": name, "arguments": arguments}) for name, arguments in wanted_calls(exchange)]
    return {"role": "assistant", "content": "\n".join(f"<tool_call>\n{one}\n</tool_call>" for one in objects)}


def played(write, seeds=(0,), cases=CASES):
    """The replies of a model that knows what is wanted, written in one way."""
    return [write(exchange) for case in cases for seed in seeds for exchange in case.sample(seed)]


def refused(messages):
    return ToolsRefused("m does not support tools", reason="tools", status=400)


def gone(messages):
    return EndpointError("Nothing answers at http://127.0.0.1:9.", reason="unreachable", retryable=True)


def unparsable(messages):
    return EndpointError("500: Failed to parse input at pos 0: <tool", reason="unparsable", status=500)


def late(messages):
    return EndpointError("No answer within 5 s.", reason="timeout", retryable=True)


def test_a_model_that_does_all_as_wanted_passes_every_sample_in_both_modes():
    model = Scripted([*played(as_text, (7, 8)), *played(as_message, (7, 8))])
    report = probe(model, samples=2, seed=7)
    assert [(row.case, row.passed) for row in report.rows] == [(case.name, "2/2") for case in CASES] * 2
    assert [[sample.seed for sample in result.samples] for result in report.cases] == [[7, 8]] * 2 * len(CASES)
    assert report.pairing("text") == report.pairing("structured") == "ids"
    assert report.tools[0] == "yes"
    assert report.ended is None


def test_calls_that_come_as_text_in_the_content_count_as_leaked():
    report = probe(Scripted(played(leaked)), modes=["structured"])
    assert {result.case for result in report.cases if "leaked" in result.readings} == {
        "single_call",
        "two_calls",
        "nested_argument",
        "enum",
        "forced_choice",
        "error_correction",
    }
    assert report.case("no_call", "structured").count("passed") == 1
    assert report.tools[0] == "no"


def test_a_refusal_of_tools_leaves_text_mode_measured():
    model = Scripted([*[refused] * len(CASES), *played(as_text)])
    report = probe(model, modes=["structured", "text"])
    structured, text = report.cases[: len(CASES)], report.cases[len(CASES) :]
    assert {tuple(result.readings) for result in structured} == {("refused",)}
    assert all(result.row.passed == "1/1" for result in text)
    assert report.ended is None
    assert report.tools == ("no", f"probe: tools refused in {len(CASES)} of {len(CASES)} samples")


FORCED = [CASE["forced_choice"]]


@pytest.mark.parametrize(
    ("cases", "replies", "tools"),
    [
        (SINGLE, played(as_message, cases=SINGLE), "yes"),
        (SINGLE, [*played(as_message, (0, 1), SINGLE), refused], "yes"),
        (SINGLE, [*played(as_message, (0, 1), SINGLE), *played(leaked, (2,), SINGLE)], "unknown"),
        (SINGLE, [*played(as_message, (0, 1), SINGLE), unparsable], "unknown"),
        (SINGLE, played(leaked, (0, 1), SINGLE), "unknown"),
        (SINGLE, played(leaked, (0, 1, 2), SINGLE), "no"),
        (SINGLE, [refused] * 2, "no"),
        (SINGLE, [refused, "It is 4."], "unknown"),
        (SINGLE, ["It is 4."] * 3, "unknown"),
        (FORCED, played(as_message, (0, 1), FORCED), "unknown"),
    ],
)
def test_structured_calls_are_only_said_to_work_or_not_on_evidence(cases, replies, tools):
    report = probe(Scripted(replies), modes=["structured"], samples=len(replies), cases=cases)
    assert report.tools[0] == tools


def asked_item(messages):
    question = next(one["content"] for one in reversed(messages) if "How many" in str(one["content"]))
    return re.search(r"How many pieces of the item (\w+)", question)[1]


def numbers(messages):
    return [one["content"] for one in messages if one["role"] == "tool"]


def items(messages):
    calls = next(one["tool_calls"] for one in messages if one.get("tool_calls"))
    return {call["id"]: json.loads(call["function"]["arguments"])["item"] for call in calls}


def follows_ids(messages):
    item = {name: call_id for call_id, name in items(messages).items()}[asked_item(messages)]
    return next(one["content"] for one in messages if one.get("tool_call_id") == item)


def follows_position(messages):
    return dict(zip(items(messages).values(), numbers(messages), strict=True))[asked_item(messages)]


def takes_the_first(messages):
    return numbers(messages)[0]


def takes_the_larger(messages):
    return max(numbers(messages))


def takes_the_first_when_swapped(messages):
    answered = [one["tool_call_id"] for one in messages if one["role"] == "tool"]
    return takes_the_first(messages) if answered != list(items(messages)) else follows_ids(messages)


def tells_both(messages):
    return " and ".join(numbers(messages))


@pytest.mark.parametrize(
    ("way", "pairing", "passed", "reading"),
    [
        (follows_ids, "ids", "3/3", None),
        (follows_position, "position", "0/3", "by_position"),
        (takes_the_first, "unknown", "unknown", "control_failed"),
        (takes_the_larger, "unknown", "unknown", "control_failed"),
        (takes_the_first_when_swapped, "unknown", "0/3", "mixed"),
        (tells_both, "unknown", "unknown", "control_failed"),
    ],
)
def test_swapped_results_show_how_a_model_pairs_and_nothing_else(way, pairing, passed, reading):
    def model(messages):
        return {"role": "assistant", "content": f"There are {way(messages)} in stock."}

    report = probe(Scripted([model] * 12), modes=["structured"], samples=3, cases=SWAPPED)
    assert report.pairing("structured") == pairing
    assert report.rows[0].passed == passed
    assert list(report.cases[0].readings) == ([reading] if reading else [])


@pytest.mark.parametrize(("by_name", "pairing"), [(True, "ids"), (False, "position")])
def test_in_text_mode_swapped_results_show_whether_the_named_call_is_followed(by_name, pairing):
    def model(messages):
        found = re.findall(r'\{"item": "(\w+)"\}\): (\d+)', messages[-1]["content"])
        called = re.findall(r'"item": "(\w+)"', messages[-2]["content"])
        results = dict(found if by_name else zip(called, [number for _, number in found], strict=True))
        return f"Thought: I now know the answer.\nFinal Answer: {results[asked_item(messages[:-1])]}"

    report = probe(Scripted([model] * 8), modes=["text"], samples=2, cases=SWAPPED)
    assert report.pairing("text") == pairing


def test_a_model_that_stops_at_control_markers_fails_only_there():
    def model(messages):
        shown = messages[-1]["content"]
        return {"role": "assistant", "content": re.split(r"<\|im_end\|>", shown)[0] or "The note is empty."}

    scripted = Scripted([model] * 2)
    report = probe(scripted, modes=["structured"], cases=[CASE["special_text"]])
    assert report.cases[0].readings == {"wrong_answer": 1}
    assert scripted.requests[1].messages[-1]["content"].startswith(SPECIAL_TEXT)


def test_a_failing_sample_does_not_end_the_battery():
    replies = played(as_text)
    replies[0] = BackendError("The prompt is too long.")
    report = probe(Scripted(replies), modes=["text"])
    first, *others = report.cases
    assert first.row.passed == "unknown"
    assert "The prompt is too long." in first.row.note
    assert f"text {len(others)} of {len(others)} and nothing known from 1" in report.summary
    assert [result.row.passed for result in others] == ["1/1"] * len(others)
    assert report.ended is None


def test_an_endpoint_that_is_gone_ends_the_battery_with_what_was_seen():
    report = probe(Scripted([*played(as_text)[:2], gone]))
    assert [result.state for result in report.cases[:4]] == ["measured"] * 3 + ["not_asked"]
    assert [row.passed for row in report.rows[:3]] == ["1/1", "1/1", "unknown"]
    assert {row.passed for row in report.rows[3:]} == {"not asked"}
    assert report.ended == "Nothing answers at http://127.0.0.1:9."


@pytest.mark.parametrize(("mode", "ended"), [("text", True), ("structured", False)])
def test_a_page_that_is_not_found_may_be_a_refusal_of_tools(mode, ended):
    def not_found(messages):
        return EndpointError("There is no such page.", reason="address", status=404)

    report = probe(Scripted([not_found] * len(CASES)), modes=[mode])
    assert (report.ended is not None) == ended
    assert all(row.passed in ("unknown", "not asked") for row in report.rows)


def test_what_the_endpoint_could_not_read_of_its_model_is_a_failure():
    report = probe(Scripted([unparsable]), modes=["structured"], cases=SINGLE)
    assert report.cases[0].readings == {"unparsable": 1}
    assert report.rows[0].passed == "0/1"


def test_three_timeouts_in_a_row_end_the_battery_two_do_not():
    rest = played(as_text)[2:]
    assert probe(Scripted([late, late, *rest]), modes=["text"]).ended is None
    report = probe(Scripted([late, late, late, *rest]), modes=["text"])
    assert "3 requests in a row failed" in report.ended
    assert sum(len(result.samples) for result in report.cases) == 3


def test_a_model_that_is_never_given_tools_has_no_structured_cases():
    report = probe(Scripted(played(as_text), tools="no"))
    structured = [result for result in report.cases if result.mode == "structured"]
    assert {result.state for result in structured} == {"not_applicable"}
    assert all("template" in result.row.note for result in structured)
    assert report.tools[0] == "unknown"
    assert report.pairing("structured") == "unknown"


def test_a_tool_is_forced_as_each_mode_can():
    class WithGrammar(Scripted):
        supports_grammar = True

    forced = [CASE["forced_choice"]]
    plain, constrained, structured = (
        model([write(exchange) for case in forced for exchange in case.sample(0)])
        for model, write in ((Scripted, as_text), (WithGrammar, as_text), (Scripted, as_message))
    )
    reports = [
        probe(plain, modes=["text"], cases=forced),
        probe(constrained, modes=["text"], cases=forced),
        probe(structured, modes=["structured"], cases=forced),
    ]
    assert [report.cases[0].how for report in reports] == ["begun reply", "grammar", "tool_choice"]
    assert [report.rows[0].passed for report in reports] == ["1/1"] * 3
    assert plain.requests[0].reply_start.endswith("Action: price_of\nAction Input:")
    assert "price_of" in constrained.requests[0].grammar
    assert "stock_level" not in constrained.requests[0].grammar
    assert structured.requests[0].tool_choice == {"type": "function", "function": {"name": "price_of"}}


def test_no_grammar_stands_in_the_way_of_two_calls():
    class WithGrammar(Scripted):
        supports_grammar = True

    cases = [CASE["single_call"], CASE["two_calls"]]
    model = WithGrammar(played(as_text, cases=cases))
    report = probe(model, modes=["text"], cases=cases)
    assert [request.grammar is None for request in model.requests] == [False, True]
    assert [row.passed for row in report.rows] == ["1/1", "1/1"]


def test_a_reply_that_repeats_itself_is_stopped_and_counted_as_such():
    report = probe(Scripted(["Thought: " + "again and again " * 80]), modes=["text"], cases=SINGLE)
    assert report.cases[0].readings == {"runaway": 1}


LAMP = WantedCalls((("stock_level", {"item": "lamp"}),))
BOTH = WantedCalls((("stock_level", {"item": "lamp"}), ("stock_level", {"item": "desk"})))


def calls(*made):
    return Turn("action", tuple(Call(f"c{n}", name, arguments) for n, (name, arguments) in enumerate(made)))


@pytest.mark.parametrize(
    ("turn", "wanted", "reading"),
    [
        (calls(("stock_level", {"item": " Lamp"})), LAMP, ""),
        (calls(("stock_level", {"item": "lamps"})), LAMP, "wrong_arguments"),
        (calls(("stock_level", {"item": "lamp", "unit": "piece"})), LAMP, "wrong_arguments"),
        (calls(("price_of", {"item": "lamp"})), LAMP, "wrong_tool"),
        (calls(("stock_level", {"item": "desk"}), ("stock_level", {"item": "lamp"})), BOTH, ""),
        (calls(("stock_level", {"item": "lamp"}), ("stock_level", {"item": "lamp"})), BOTH, "wrong_arguments"),
        (calls(("stock_level", {"item": "lamp"})), BOTH, "too_few_calls"),
        (calls(("stock_level", {"item": "lamp"}), ("stock_level", {"item": "desk"})), LAMP, "too_many_calls"),
        (Turn("final", final="14"), LAMP, "no_call"),
        (calls(("stock_level", {})), WantedAnswer(), "unneeded_call"),
        (Turn("final", final="Good morning!"), WantedAnswer(), ""),
        (Turn("final", final="There are 1,234 lamps."), WantedAnswer("1234"), ""),
        (Turn("final", final="There are 11234 lamps."), WantedAnswer("1234"), "wrong_answer"),
        (Turn("final", final="14 or 20"), WantedAnswer("14", "20", "by_position"), "wrong_answer"),
        (Turn("final", final="20"), WantedAnswer("14", "20", "by_position"), "by_position"),
        (Turn("none", fault=Fault("truncated", "cut")), LAMP, "truncated"),
        (Turn("none"), WantedAnswer(), "no_action"),
    ],
)
def test_each_way_to_miss_has_its_reading(turn, wanted, reading):
    seen = judge(turn, wanted)
    assert seen.reading == reading
    assert not reading or reading in READINGS or reading in FAULTS
    assert bool(seen.detail) == bool(reading)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_arguments_are_the_same_as_themselves_and_as_no_others(value):
    assert same(value, json.loads(json.dumps(value)))
    assert not same({"a": value}, {"a": [value]})
    assert not same({"a": value}, {"a": value, "b": value})


def test_a_seed_asks_the_same_again_and_another_seed_asks_something_else():
    def asked(seed):
        model = Scripted(played(as_text, (seed,)))
        probe(model, modes=["text"], seed=seed)
        assert {request.sampling.seed for request in model.requests} == {seed}
        return [request.messages[-1]["content"] for request in model.requests]

    assert asked(3) == asked(3)
    assert sum(one == other for one, other in zip(asked(3), asked(4), strict=True)) < len(CASES) / 2


def test_the_report_is_plain_json_with_counts_seeds_and_repairs():
    item = SINGLE[0].sample(4)[0].wanted.calls[0][1]["item"]
    sloppy = f"Thought: x\nAction: stock_level\nAction Input: {{'item': '{item}',}}"
    report = probe(Scripted([sloppy, "Final Answer: none"]), modes=["text"], samples=2, seed=4, cases=SINGLE)
    plain = json.loads(json.dumps(report.to_dict()))
    assert (plain["seed"], plain["samples"], plain["temperature"]) == (4, 2, 0.0)
    (case,) = plain["cases"]
    assert case["counts"] == {"passed": 1, "failed": 1, "unclear": 0, "error": 0}
    assert case["readings"] == {"no_call": 1}
    assert [sample["seed"] for sample in case["samples"]] == [4, 5]
    assert "trailing_comma" in case["samples"][0]["repairs"]
    assert plain["tools"] is None
    assert "1 of 2" in report.summary
    assert "seeds 4 to 5" in report.summary


@pytest.mark.parametrize("case", CASES, ids=list(CASE))
def test_every_sample_of_a_case_can_be_passed_and_every_call_of_its_history_is_answered(case):
    for seed in range(60):
        for exchange in case.sample(seed):
            offered = {tool.name: tool for tool in exchange.tools}
            if isinstance(exchange.wanted, WantedCalls):
                for name, arguments in wanted_calls(exchange):
                    assert first_problem(arguments, offered[name].parameters) is None
            else:
                results = " ".join(numbers(exchange.history))
                assert exchange.wanted.holds in results
                assert not exchange.wanted.other or exchange.wanted.other != exchange.wanted.holds
            made = [call["id"] for one in exchange.history for call in one.get("tool_calls", ())]
            answered = [one["tool_call_id"] for one in exchange.history if one["role"] == "tool"]
            assert sorted(made) == sorted(answered)
            assert all(re.fullmatch(r"[A-Za-z0-9]{9}", call_id) for call_id in made)


def test_each_case_is_told_as_it_ends():
    heard = []
    report = probe(Scripted(played(as_text)), modes=["text"], on_case=heard.append)
    assert tuple(heard) == report.cases


@pytest.mark.parametrize("wrong", [{"samples": 0}, {"modes": []}, {"modes": ["auto"]}])
def test_a_probe_of_nothing_is_refused(wrong):
    with pytest.raises(ValueError, match=r"samples|modes"):
        probe(Scripted([]), **wrong)


def test_what_was_seen_of_a_model_in_this_process_is_remembered(tmp_path):
    store = CapabilityStore(tmp_path)
    model = Scripted(played(leaked, (0, 1, 2), SINGLE), name="m")
    report = probe(model, modes=["structured"], samples=3, cases=SINGLE)
    assert remember(report, model, store)
    known = store.read(subject_of(model))
    assert known.get("probe") == report.to_dict()
    assert known.findings["probe"].evidence == "probe: samples passed in structured 0 of 3 (seeds 0 to 2)"
    assert known.tools == "no"


@pytest.mark.parametrize(("replies", "tools"), [([], "no"), ([gone], "yes")])
def test_a_probe_that_saw_nothing_is_not_remembered(tmp_path, replies, tools):
    store = CapabilityStore(tmp_path)
    model = Scripted(replies, tools=tools)
    assert not remember(probe(model, modes=["structured"]), model, store)
    assert store.read(subject_of(model)).findings == {}


def test_what_was_seen_of_an_endpoint_holds_for_the_next_run(tmp_path):
    """Over HTTP: tools are refused text works, and the next backend knows both."""
    answers = iter(played(as_text, cases=SINGLE))

    def endpoint(wire):
        if wire.received.body.get("tools"):
            wire.json(400, {"error": {"message": "m does not support tools"}})
        else:
            wire.stream(events(next(answers)))

    store = CapabilityStore(tmp_path)
    with StandIn(chat(endpoint)).running() as server:
        with OpenAICompatible(f"{server.url}/v1", store=store) as backend:
            report = probe(backend, cases=SINGLE)
            assert [row.passed for row in report.rows] == ["1/1", "0/1"]
            assert report.cases[1].readings == {"refused": 1}
            assert remember(report, backend)
        with OpenAICompatible(f"{server.url}/v1", model="m", store=store) as later:
            assert later.capabilities.tools == "no"
            assert later.capabilities.get("probe")["cases"][0]["counts"]["passed"] == 1


def test_where_no_reply_can_be_begun_or_constrained_no_tool_is_forced(tmp_path):
    forced = [CASE["forced_choice"]]
    with StandIn(chat(lambda wire: wire.json(500, {}))).running() as server:
        backend = OpenAICompatible(f"{server.url}/v1", store=CapabilityStore(tmp_path), known={"prefill": "none"})
        with backend:
            (result,) = probe(backend, modes=["text"], cases=forced).cases
    assert result.state == "not_applicable"
    assert "begun reply" in result.reason


@pytest.mark.model
def test_the_real_model_is_measured_the_same_twice(smollm2):
    cases = [CASE["single_call"], CASE["forced_choice"]]
    first, second = [], []
    for found in (first, second):
        smollm2.reset()
        found.append(probe(smollm2, modes=["text"], cases=cases, seed=1))
    assert first[0].cases == second[0].cases
    single, forced = first[0].cases
    assert [len(result.samples) for result in (single, forced)] == [1, 1]
    assert single.how == "grammar"
    assert set(single.readings) <= {"wrong_tool", "wrong_arguments", "no_call", "runaway", "truncated"}
    assert forced.row.passed == "1/1", "the grammar leaves nothing but the forced tool"
    assert first[0].usage.generated > 0

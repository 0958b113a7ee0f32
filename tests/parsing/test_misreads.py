"""What must not be run or changed in silence: half a value, a call that is only spoken of, one name for another."""

from __future__ import annotations

import pytest

from react_text import Tool, parse
from react_text.parsing.names import resolve_name
from react_text.parsing.stream import StreamEvent, StreamReader

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}


def _tool(name: str, **properties: object) -> Tool:
    return Tool(name, parameters={"type": "object", "properties": properties, "required": list(properties)})


TIDE, DELETE = _tool("get_tide", city=TEXT), _tool("delete_file", path=TEXT)
MAIL = _tool("send_email", to=TEXT, subject=TEXT, body=TEXT)
CODE = _tool("run_python", code=TEXT)
FIND = _tool("find", query=TEXT, limit=WHOLE)
SOME = Tool("find", parameters={"type": "object", "properties": {"query": TEXT, "limit": WHOLE}, "required": ["query"]})
TOOLS = (TIDE, DELETE, MAIL, CODE, FIND)
HERMES = '<tool_call>{"name": "delete_file", "arguments": {"path": "/"}}</tool_call>'
BARE = '{"name": "delete_file", "arguments": {"path": "/"}}'
TAGGED = '<function=delete_file>{"path": "/"}</function>'
STEP = 'Action: get_tide\nAction Input: {"city": "Bath"}'
BATH = [("get_tide", {"city": "Bath"})]


def _calls(text: str, finish_reason: str | None = None, tools: tuple[Tool, ...] = TOOLS) -> list[tuple[str, object]]:
    return [(call.name, call.arguments) for call in parse(text, tools, finish_reason=finish_reason).calls]


def _fault(text: str, finish_reason: str | None = None, tools: tuple[Tool, ...] = TOOLS) -> str:
    turn = parse(text, tools, finish_reason=finish_reason)
    assert not turn.calls
    return turn.fault.code if turn.fault else ""


@pytest.mark.parametrize(
    "step",
    [
        "send_email\nAction Input: to: a@b.c, subject: Hi, body: Dear al",
        "find\nAction Input: query=abc, limit=1",
        "delete_file\nAction Input: path: /home/us",
        'find\nAction Input: {"query": "x", "limit": 3}\nAct',
        'find\nAction Input: {"query": "x", "limit": 3}\n**Action In',
    ],
)
def test_a_step_that_hit_the_limit_does_not_run(step: str) -> None:
    assert _fault(f"Thought: t\nAction: {step}", "length") == "truncated"


def test_a_marked_call_that_hit_the_limit_in_a_further_argument_does_not_run() -> None:
    text = "<function=find>\n<parameter=query>\nx\n</parameter>\n<parameter=lim"
    assert _fault(text, "length", (SOME,)) == "truncated"
    assert _calls(text.partition("<parameter=lim")[0] + "</function>", "stop", (SOME,)) == [("find", {"query": "x"})]


@pytest.mark.parametrize("code", ['"""\nimport os\nos.remove("', "'''import os\nprint('a", "'''import os\nprint('a')"])
def test_code_in_triple_quotes_that_never_close_is_cut(code: str) -> None:
    assert _fault(f"Thought: t\nAction: run_python\nAction Input: {code}") == "truncated"


def test_code_in_triple_quotes_that_close_is_the_code() -> None:
    text = 'Thought: t\nAction: run_python\nAction Input: """\nprint("a")\n"""'
    assert _calls(text) == [("run_python", {"code": 'print("a")'})]


@pytest.mark.parametrize(
    "text",
    [
        '<function=run_python>\n<parameter=code>\nprint("</parameter>")\nif a < b:\n    x()\n</parameter>\n</function>',
        '<tool_call>run_python\n<arg_key>code</arg_key>\n<arg_value>print("</arg_value>")</arg_value>\n</tool_call>',
        '<invoke name="run_python"><parameter name="code">print("</parameter>")</parameter></invoke>',
        '<invoke name="run_python"><parameter name="code">print("</parameter></invoke>")</parameter></invoke>',
    ],
)
def test_a_marked_value_is_never_run_up_to_a_mark_inside_it(text: str) -> None:
    assert all(arguments != {"code": 'print("'} for _, arguments in _calls(text))


@pytest.mark.parametrize("thought", [f"never do {TAGGED}", f"I should not, {HERMES}", f"not {TAGGED}, but ask"])
def test_a_call_within_a_sentence_of_the_thought_is_not_the_step(thought: str) -> None:
    assert _calls(f"Thought: {thought}\n{STEP}") == BATH
    turn = parse(f"Thought: {thought}\nFinal Answer: no", TOOLS)
    assert (turn.kind, turn.final) == ("final", "no")


@pytest.mark.parametrize(
    "text",
    [
        f"I will not run this: {HERMES}",
        f"I won't call\n{HERMES}",
        f"I must not do:\n{HERMES}",
        f"It is late. Never do this:\n{TAGGED}",
        f"Instead of {HERMES}",
        f"Previously I ran:\n{HERMES}",
        f"Shall I run this?\n{HERMES}",
        f"{HERMES}\nShall I run this?",
        f"{HERMES} but I will not do it.",
        'In Mistral format it is [TOOL_CALLS][{"name": "delete_file", "arguments": {"path": "/"}}].',
    ],
)
def test_a_call_that_is_refused_told_of_or_asked_about_does_not_run(text: str) -> None:
    assert _fault(text) == "quoted_call"


@pytest.mark.parametrize(
    "intro",
    [
        "I do not know the path, so I look:\n",
        "I cannot see it yet. Deleting:\n",
        "I called the wrong tool before, now the right one:\n",
        "What should I do? Delete it.\n",
        "I already have the path.\n",
        "I can't do this without a tool:\n",
        "<think>I should not call it twice</think>\n",
        "<think>\nShall I call it?\n</think>\n\n",
    ],
)
def test_a_call_after_a_sentence_about_something_else_runs(intro: str) -> None:
    assert _calls(intro + HERMES) == [("delete_file", {"path": "/"})]


def test_a_step_inside_reasoning_that_goes_on_or_was_cut_does_not_run() -> None:
    assert _calls(f"<think>\nThought: t\n{STEP}") == BATH
    assert _fault(f"<think>\nThought: t\n{STEP}\nNo wait, that would be wrong.") == "truncated"
    assert _fault(f"<think>\nThought: t\n{STEP}", "length") == "truncated"


@pytest.mark.parametrize(
    "written",
    ["refrain from delete_file", "cancel delete_file", "ask the user before I run delete_file", "delete_file failed",
     "postpone the delete_file call", "wait until delete_file is approved"],
)  # fmt: skip
def test_a_sentence_that_does_not_ask_for_its_tool_stays_as_written(written: str) -> None:
    assert resolve_name(written, TOOLS).tool is None


@pytest.mark.parametrize("written", ["I should use delete_file now", "the delete_file tool", "Ich benutze delete_file"])
def test_a_sentence_that_asks_for_its_tool_names_it(written: str) -> None:
    assert resolve_name(written, TOOLS).tool is DELETE


def test_another_number_or_another_namespace_is_another_tool() -> None:
    tools = [_tool("read_v1"), _tool("camera1_off"), _tool("prod.delete_file")]
    assert resolve_name("read_v2", tools).tool is None
    assert resolve_name("camera2_off", tools).tool is None
    assert resolve_name("sandbox.delete_file", tools).tool is None
    assert resolve_name("functions.delete_file", tools).name == "prod.delete_file"
    assert resolve_name("delete_file", tools).name == "prod.delete_file"


@pytest.mark.parametrize("after", ["\nObservation\n3\n", "\n  Observation  \n", "\nObservation\r\n"])
def test_the_word_observation_alone_on_its_line_ends_the_step(after: str) -> None:
    assert _calls(f"Thought: t\n{STEP}{after}Action: delete_file\nAction Input: {{}}") == BATH


@pytest.mark.parametrize(
    "beside", ['"result": "3"', '"status": "done"', '"timestamp": 1', '"description": "Deletes a file."']
)
def test_a_record_of_a_call_is_data(beside: str) -> None:
    assert _calls(f'{{"name": "delete_file", "arguments": {{"path": "/"}}, {beside}}}') == []
    assert _calls('{"name": "delete_file", "arguments": {"path": "/"}}') == [("delete_file", {"path": "/"})]


@pytest.mark.parametrize(
    ("written", "query"),
    [
        ("{query: a # b, limit: 3}", "a # b"),
        ("{query: 7 // 2, limit: 3}", "7 // 2"),
        ("{query: 7 /* 2 */, limit: 3}", "7 /* 2 */"),
        ("{query: a # the first\n, limit: 3}", "a"),
        ("{query: a, // the {first}\n limit: 3 // the last\n}", "a"),
        ("{query: a /* the first */, limit: 3}", "a"),
        ("{'query': +441234, 'limit': 3}", "+441234"),
        ('{"query": 0x1F, "limit": 3}', "0x1F"),
        ('{"query": 1_000, "limit": 0x3}', "1_000"),
    ],
)
def test_a_text_value_keeps_its_spelling(written: str, query: str) -> None:
    assert _calls(f"Thought: t\nAction: find\nAction Input: {written}") == [("find", {"query": query, "limit": 3})]


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ('{"query": "2024-" + "01", "limit": 3}', "unreadable_arguments"),
        ('{"query": "a", "limit": "1.000"}', "invalid_arguments"),
        ('{"query": "a", "limit": 3, "query": "b"}', "ambiguous_arguments"),
        ("{'query': 'a', 'limit': 3, 'query': 'b'}", "ambiguous_arguments"),
        (
            '```json\n{"query": "a", "limit": 3}\n```\n```json\n{"query": "b", "limit": 3}\n```',
            "ambiguous_arguments",
        ),
    ],
)
def test_arguments_that_can_be_meant_in_two_ways_are_refused(written: str, code: str) -> None:
    assert _fault(f"Thought: t\nAction: find\nAction Input: {written}") == code


def test_a_key_given_twice_with_one_value_is_no_doubt() -> None:
    text = 'Thought: t\nAction: find\nAction Input: {"query": "a", "limit": 3, "query": "a"}'
    assert _calls(text) == [("find", {"query": "a", "limit": 3})]


@pytest.mark.parametrize("head", ["", "Final Answer: ", "Thought: x\nFinal Answer: "])
def test_a_closing_tag_spoken_of_is_part_of_the_answer(head: str) -> None:
    assert parse(f"{head}The tag </think> closes the block.", TOOLS).final == "The tag </think> closes the block."


@pytest.mark.parametrize("result", ["Observation: 3", "Observation\n3", "<tool_response>3"])
def test_a_closing_tag_after_a_written_result_changes_nothing_before_it(result: str) -> None:
    assert _calls(f"Thought: t\n{STEP}\n{result}\n</think>\nFinal Answer: 7") == BATH


def test_a_step_right_after_an_empty_thought_is_the_step() -> None:
    assert _calls(f"Thought: {STEP}") == BATH


@pytest.mark.parametrize(
    "text", [f"{HERMES}\n{STEP}", f"Thought: t\n{STEP}\n{HERMES}", f"{STEP}\nThought: and\n{HERMES}", f"{BARE}\n{STEP}"]
)
def test_different_calls_in_two_formats_are_refused(text: str) -> None:
    assert _fault(text) == "mixed_formats"


def test_the_same_call_in_two_formats_is_one() -> None:
    same = '<tool_call>{"name": "get_tide", "arguments": {"city": "Bath"}}</tool_call>'
    assert _calls(f"Thought: t\n{STEP}\n{same}") == BATH
    assert _calls(f"{same}\n{STEP}") == BATH
    assert _calls(f'{{"name": "get_tide", "arguments": {{"city": "Bath"}}}}\n{STEP}') == BATH


def _streamed(text: str, size: int, *, single: bool = False) -> tuple[StreamReader, list[StreamEvent]]:
    reader = StreamReader(TOOLS, single=single)
    return reader, [event for at in range(0, len(text), size) for event in reader.feed(text[at : at + size])]


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize(
    "end", ["\nObservation from x: 3", "\nObservation [x]: 3", "\nObservation\n", "[INST]", " [/INST]"]
)
def test_a_stream_is_done_at_every_spelling_of_a_result(end: str, size: int) -> None:
    reader, events = _streamed(f"Thought: t\n{STEP}{end}", size)
    assert reader.done
    assert events[-1].kind == "done"


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("single", [False, True])
def test_no_call_is_announced_from_inside_reasoning(size: int, single: bool) -> None:
    reader, events = _streamed(f"<think>\nThought: t\n{STEP}\n</think>\nFinal Answer: 7\n", size, single=single)
    assert {event.kind for event in events} == {"thought", "final"}
    assert reader.finish().final == "7"


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("after", ["Action: get_tide\n", "Thought: x\n", "Final Answer: 4\n", "Tool: get_tide\n"])
def test_no_label_is_shown_as_part_of_an_answer(after: str, size: int) -> None:
    reader, events = _streamed(f"Final Answer: 3\n{after}", size)
    assert "".join(event.text for event in events if event.kind == "final") == "3"
    assert reader.finish().final == "3"


def test_a_line_of_an_answer_that_only_looks_like_a_label_is_shown() -> None:
    _, events = _streamed("Final Answer: 3\nAction: call the doctor\nSoon.\n", 5)
    shown = "".join(event.text for event in events if event.kind == "final")
    assert shown == "3\nAction: call the doctor\nSoon."

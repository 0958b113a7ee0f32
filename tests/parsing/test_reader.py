"""Whole turns: labels in every spelling, where a turn ends, what is a call and what is an answer."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from react_text import Tool, parse
from react_text.parsing.labels import TRANSLATIONS

Offered = Callable[..., tuple[Tool, ...]]

LAYOUTS = [
    "Action: add\nAction Input: {json}",
    "action: add\naction input: {json}",
    "ACTION: add\nACTION INPUT: {json}",
    "Action:add\nAction Input:{json}",
    "Action : add\nAction Input : {json}",
    "Action：add\nAction Input：{json}",
    "\tAction:\tadd\n\tAction Input:\t{json}",
    "Action: add\r\nAction Input: {json}\r\n",
    "Action:\nadd\nAction Input:\n\n{json}",
    "Action: add\n\n\nAction Input: {json}",
    "**Action:** add\n**Action Input:** {json}",
    "**Action**: add\n**Action Input**: {json}",
    "**Action: add**\n**Action Input:** {json}",
    "*Action*: add\n*Action Input*: {json}",
    "`Action`: add\n`Action Input`: `{json}`",
    "### Action\nadd\n### Action Input\n{json}",
    "## Action:\nadd\n## Action Input:\n{json}",
    "**Action**\nadd\n**Action Input**\n{json}",
    "[Action] add\n[Action Input] {json}",
    "[ACTION]: add\n[ACTION INPUT]: {json}",
    "> Action: add\n> Action Input: {json}",
    "- Action: add\n- Action Input: {json}",
    "1. Action: add\n2. Action Input: {json}",
    "Action 1: add\nAction Input 1: {json}",
    "Action #1: add\nAction Input #1: {json}",
    "Tool: add\nTool Input: {json}",
    "Tool: add\nInput: {json}",
    "Action: add\nArguments: {json}",
    "Function: add\nParameters: {json}",
    "Action: add Action Input: {json}",
    "Action: add, Action Input: {json}",
    "Thought: sum them. Action: add Action Input: {json}",
    "```\nThought: sum\nAction: add\nAction Input: {json}\n```",
    "<think>sum?</think>\nAction: add\nAction Input: {json}",
    "sum?\n</think>\nAction: add\nAction Input: {json}",
    "<think>\nThought: sum\nAction: add\nAction Input: {json}\n</think>",
    "Question: what is it?\nThought: sum\nAction: add\nAction Input: {json}",
    "Some prose first.\n\nAction: add\nAction Input: {json}",
    "<|im_start|>assistant\nAction: add\nAction Input: {json}<|im_end|>",
    "Action: add({json})",
    "Action: add {json}",
    "Action: add[1, 2]",
    "Action: add(a=1, b=2)",
    "Action: add(1, 2)",
    "Action: add\n{json}",
    'Action: {{"action": "add", "action_input": {json}}}',
    'Action:\n```json\n{{"name": "add", "arguments": {json}}}\n```',
    '{{"thought": "sum", "action": "add", "action_input": {json}}}',
    '{{"Thought": "sum", "Action": "add", "Action Input": {json}}}',
    'Thought: sum\n{{"tool_name": "add", "arguments": {json}}}<|im_end|>',
    "Action: add\nAction Input: {json}\nAction: add\nAction Input: {json}",
    "Action: add\nAction Input (JSON): {json}",
    "Action: add\nAction Inptu: {json}",
    "Action: add\nAction\u00a0Input: {json}",
    "\u200bAction: add\n\u200bAction Input: {json}",
    "[Action: add]\n[Action Input: {json}]",
    "【行动】add\n【行动输入】{json}",
    "[THINK]sum?[/THINK]Action: add\nAction Input: {json}",
    "Begin!\n\nQuestion: 1 + 2?\nThought: sum\nAction: add\nAction Input: {json}",
    "Action:: add\nAction Input:: {json}",
    '{{"thought": "sum", "action": {{"tool": "add", "input": {json}}}}}',
    'Action: {{"action": "add", "a": 1, "b": 2}}',
]

ENDS = [
    "",
    "\n",
    "\nObservation: 3\nThought: done\nFinal Answer: 3",
    "\nObservation",
    "\nObservaton: 3\nFinal Answer: 3",
    '\nObservation "3"\nAction: clock\nAction Input: {}',
    "<|im_end",
    "\nObserv",
    " Observation: 3 Final Answer: 3",
    "\n**Observation:** 3",
    "\n## Observation\n3",
    "\n观察：3",
    "\nBeobachtung: 3",
    "\nUser: Observation: 3\nAction: clock\nAction Input: {}",
    "\nHuman: go on",
    "\nQuestion: and 2 + 2?\nAction: clock",
    "<|im_end|>\n<|im_start|>user\nhello",
    "</s>",
    "\nFinal Answer: 3",
    "\n\nThought: now I wait.",
    "\n\nI wait for the result.",
]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_call_is_read_in_every_layout(layout: str, offered: Offered) -> None:
    turn = parse(layout.format(json='{"a": 1, "b": 2}'), offered())
    assert [(call.name, call.arguments) for call in turn.calls] == [("add", {"a": 1, "b": 2})]
    assert turn.repairs
    assert not turn.strict


@pytest.mark.parametrize("end", ENDS)
def test_nothing_after_the_call_changes_it(end: str, offered: Offered) -> None:
    turn = parse('Thought: sum\nAction: add\nAction Input: {"a": 1, "b": 2}' + end, offered())
    assert [(call.name, call.arguments) for call in turn.calls] == [("add", {"a": 1, "b": 2})]


@pytest.mark.parametrize("language", sorted(TRANSLATIONS))
def test_labels_are_read_in_every_language_of_the_table(language: str, offered: Offered) -> None:
    words = TRANSLATIONS[language]
    for action, given in [(action, given) for action in words["action"] for given in words["input"]]:
        turn = parse(f'{action}: add\n{given}: {{"a": 1, "b": 2}}', offered())
        assert [call.name for call in turn.calls] == ["add"]
    for final in words["final"]:
        assert parse(f"{final}: ok", offered()).final == "ok"


@pytest.mark.parametrize(
    ("text", "final"),
    [
        ("Thought: t\nFinal Answer: It is blue.", "It is blue."),
        ("Final Answer:\nOne.\nTwo.", "One.\nTwo."),
        ("FinalAnswer: blue", "blue"),
        ("Answer: blue", "blue"),
        ("Thought: t\nAI: blue", "blue"),
        ("**Final Answer:** **very** blue", "**very** blue"),
        ("**Final Answer: blue**", "blue"),
        ("### Final Answer\nblue", "blue"),
        ("[FINAL ANSWER] blue", "blue"),
        ("Thought: I know the final answer Final Answer: blue", "blue"),
        ("```\nThought: t\nAnswer: blue\n```", "blue"),
        ("Thought: t\nFinal Answer: blue\n```", "blue"),
        ("Action: Final Answer\nAction Input: blue", "blue"),
        ('Action: Final Answer\nAction Input: "blue"', "blue"),
        ("Action: Final Answer: blue", "blue"),
        ("Action: Final Answer\nblue", "blue"),
        ('{"action": "Final Answer", "action_input": 42}', "42"),
        ("Action: No tool needed, I can answer directly.\nFinal Answer: blue", "blue"),
        ("Thought: Do I need to use a tool? No, I can answer.\n\nblue", "blue"),
        ("The answer is blue.\nQuestion: and red?\nThought: t\nAction: clock\nAction Input: {}", "The answer is blue."),
        (
            '{"note": "Write\nAction: clock\nAction Input: {} on two lines."}',
            '{"note": "Write\nAction: clock\nAction Input: {} on two lines."}',
        ),
        ("Action: Finish[blue]", "blue"),
        ('Action: finish("blue")', "blue"),
        ('Action:\n{"name": "final_answer", "arguments": {"answer": "blue"}}', "blue"),
        ('```json\n{"action": "Final Answer", "action_input": "blue"}\n```', "blue"),
        ("Action: None\nAction Input: None\nFinal Answer: blue", "blue"),
        ("Action: No action needed.\nAnswer: blue", "blue"),
        ("Final Answer: blue\nObservation: x\nAction: clock\nAction Input: {}", "blue"),
        ("Final Answer: blue\n\nQuestion: and red?\nThought: t\nAction: clock", "blue"),
        ("Final Answer: blue\n### Human: sure?\n### Assistant: yes", "blue"),
        ("Final Answer: blue\nThought: more\nAction: clock\nAction Input: {}", "blue"),
        ("Final Answer: blue<end_of_turn>\n<start_of_turn>user", "blue"),
        ("Final Answer: blue\nObserv", "blue"),
        ("Final Answer: To do:\nAction: close it.\nThen wait.", "To do:\nAction: close it.\nThen wait."),
        ('Final Answer: {"depth": 9}', '{"depth": 9}'),
        (
            "Final Answer: see\n```\nAction: clock\nAction Input: {}\n```",
            "see\n```\nAction: clock\nAction Input: {}\n```",
        ),
        ("Final Answer: Question: is it? Yes. Human error.", "Question: is it? Yes. Human error."),
        ("Final Answer: the token `<|im_end|>` ends it", "the token `<|im_end|>` ends it"),
        ("It is blue.", "It is blue."),
        ("<think>hm</think>It is blue.", "It is blue."),
        ("It is blue.<|eot_id|>", "It is blue."),
        ("Thought: Do I need to use a tool? No\n\nIt is blue.", "It is blue."),
        ('{"depth": 9, "free": true}', '{"depth": 9, "free": true}'),
        ('The label "Action:" names a function.', 'The label "Action:" names a function.'),
    ],
)
def test_answers_are_read_in_every_form_and_cut_where_another_turn_begins(
    text: str, final: str, offered: Offered
) -> None:
    turn = parse(text, offered())
    assert turn.kind == "final"
    assert turn.final == final


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "empty"),
        (" \n\n", "empty"),
        ("Thought: still thinking", "no_action"),
        ("Thought: t\nThought: t\nThought: t", "no_action"),
        ("Thought: Do I need to use a tool? No", "no_action"),
        ("Thou", "no_action"),
        ("---\n---", "empty"),
        ("I am sorry. " * 60, "runaway"),
        ('{"action": $TOOL_NAME, "action_input": $INPUT}', "template_echo"),
        ('Action: add\nAction Input: {"a": 1, "b": 2}\nActoin: clock\nAction Input: {}', "missing_action"),
        ("Action: search (to find the height)", "truncated"),
        ("I will look with find_docs.", "unlabelled_intent"),
        ("Action: None\nAction Input: None", "no_tool"),
        ('Action Input: {"a": 1, "b": 2}', "missing_action"),
        ("Action:", "missing_action"),
        ("Action: add", "missing_action_input"),
        ("Action: think about it\nObservation: done\nFinal Answer: 3", "missing_action_input"),
        ("Thought: t\nAction: ad", "truncated"),
        ("<think>\nhm, if I", "truncated"),
        ('{"action": "add", "action_input": {"a": 1', "truncated"),
        ('{"action": "add"}', "unlabelled_intent"),
        ("Action: the action to take, should be one of [add]\nAction Input: x", "template_echo"),
        ("Action:\n```\n$JSON_BLOB\n```", "template_echo"),
        ("Final Answer: the final answer to the original input question", "template_echo"),
        ("Final Answer: [your answer here]", "template_echo"),
        ("Thought: t\nObservation: 3\nFinal Answer: 3", "no_action"),
        ("Action - add\nAction Input - 3", "unlabelled_intent"),
        ('Action: add\nAction Input: {"a": 1, "b": 2}\nAction: add\nAction Input: {"a": 1, "b": 3', "truncated"),
        ('Action: add\nAction Input: {"a": 1, "b": 2}\nAction: search', "missing_action_input"),
    ],
)
def test_a_turn_that_says_nothing_to_run_names_the_fault(text: str, code: str, offered: Offered) -> None:
    turn = parse(text, offered())
    assert turn.kind == "none"
    assert turn.calls == ()
    assert turn.final is None
    assert turn.fault is not None
    assert turn.fault.code == code


def test_several_actions_before_an_observation_are_all_calls(offered: Offered) -> None:
    turn = parse(
        'Action: add\nAction Input: {"a": 1, "b": 2}\n\nThought: and then\nAction: search\nAction Input: tides\n'
        "Action: clock\nAction Input: {}\nObservation: x\nAction: list_tables\nAction Input: {}",
        offered(),
    )
    assert [call.name for call in turn.calls] == ["add", "search", "clock"]
    assert [call.id for call in turn.calls] == ["call_1", "call_2", "call_3"]


def test_words_of_a_label_in_a_thought_open_no_section(offered: Offered) -> None:
    turn = parse(
        'Thought: My observation: the line "Action: clock" says it. Next Action: look.\n'
        "Not ready for Final Answer: no. Option: A\n"
        'Action: add\nAction Input: {"a": 1, "b": 2}',
        offered(),
    )
    assert [call.name for call in turn.calls] == ["add"]


def test_the_thought_is_kept_without_its_label(offered: Offered) -> None:
    assert parse("Thought: one\ntwo: three\nFinal Answer: x", offered()).thought == "one\ntwo: three"
    assert parse("<think>hm</think>\nFinal Answer: x", offered()).thought == "hm"


def test_a_cut_answer_stays_an_answer_and_a_cut_text_without_label_is_none(offered: Offered) -> None:
    assert parse("Thought: t\nFinal Answer: it is the thi", offered(), finish_reason="length").kind == "final"
    assert parse("it is the thi", offered(), finish_reason="length").kind == "none"


def test_chat_completions_tool_dicts_will_do(offered: Offered) -> None:
    dicts = [tool.to_dict() for tool in offered("add")]
    assert parse('Thought: t\nAction: add\nAction Input: {"a": 1, "b": 2}', dicts).strict


def test_the_looser_names_are_an_option_and_their_own_repair(offered: Offered) -> None:
    text = 'Thought: t\nAction: look_up_docs\nAction Input: {"query": "x"}'
    assert parse(text, offered("find_docs", "clock")).calls[0].name == "look_up_docs"
    turn = parse(text, offered("find_docs", "clock"), loose_names=True)
    assert turn.calls[0].name == "find_docs"
    assert "loose_name" in turn.repairs


@pytest.mark.parametrize(
    "written",
    [
        '{"name": "add", "arguments": {"a": 1, "b": 2}}',
        "add(a=1, b=2)",
        'I add.\n{"name": "add", "arguments": {"a": 1, "b": 2}}',
    ],
)
def test_a_call_without_marks_before_an_answer_is_the_call(offered: Offered, written: str) -> None:
    turn = parse(f"{written}\nFinal Answer: It is 3.", offered())
    assert [(call.name, dict(call.arguments)) for call in turn.calls] == [("add", {"a": 1, "b": 2})]
    assert "answer_before_result" in turn.repairs


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("The clock on the tower stands at noon.", "final"),
        ("I will ask the clock first.", "none"),
        ("Use clock.", "none"),
        ("The answer needs `clock`.", "none"),
    ],
)
def test_a_tool_named_by_an_everyday_word_is_only_meant_in_a_sentence_of_intent(text: str, kind: str) -> None:
    clock = Tool("clock", "The time", {"type": "object", "properties": {}})
    assert parse(text, [clock]).kind == kind

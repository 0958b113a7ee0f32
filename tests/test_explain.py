"""A reading explained, and many read from JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterator

from react_text import Tool
from react_text.explain import explain, parse_lines

TOOLS = [
    Tool("search", parameters={"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]})
]


def test_sections_repairs_and_what_was_ignored_are_shown() -> None:
    text = "Thought: look\nAction: Search\nAction Input: {'query': 'tides'}\nObservation: made up"
    explanation = explain(text, TOOLS)
    assert [(label, text[start:end].strip()) for label, start, end in explanation.sections] == [
        ("Thought", "look"),
        ("Action", "Search"),
        ("Action Input", "{'query': 'tides'}"),
    ]
    changed = {repair.name: (repair.before, repair.after, sentence) for repair, sentence in explanation.repairs}
    assert changed["name_spelling"][:2] == ("Search", "search")
    assert changed["single_quotes"][1] == '"query"'
    assert all(sentence for _, _, sentence in changed.values())
    assert explanation.ignored is not None
    assert text[slice(*explanation.ignored)].strip() == "Observation: made up"
    assert explanation.fault is None


def test_the_sections_of_a_turn_in_a_fence_are_seen() -> None:
    text = "```\nThought: look\nFinal Answer: x\n```"
    assert [label for label, _, _ in explain(text, TOOLS).sections] == ["Thought", "Final Answer"]


def test_a_fault_points_at_the_step_it_stands_in() -> None:
    text = "Thought: t\nAction: search\nAction Input: {broken"
    fault = explain(text, TOOLS).turn.fault
    assert fault is not None
    assert fault.span is not None
    assert text[slice(*fault.span)] == " search\nAction Input: {broken"


def test_a_fault_comes_with_the_sentence_for_the_model_and_its_meaning() -> None:
    explanation = explain("Thought: t\nAction: search", TOOLS)
    assert explanation.fault is not None
    assert "Action Input" in explanation.fault
    assert explanation.fault_meaning is not None


def test_json_lines_give_one_record_each_and_bad_lines_do_not_stop_it() -> None:
    lines = [
        json.dumps({"id": 7, "output": 'Thought: t\nAction: search\nAction Input: {"query": "x"}'}),
        "",
        json.dumps("Final Answer: y"),
        "{broken",
        json.dumps(["no"]),
        json.dumps({"id": 8}),
        json.dumps({"message": {"role": "assistant", "content": "Final Answer: z"}}),
        json.dumps({"output": "Final Answer: cut", "tools": "none"}),
        json.dumps({"output": "x", "tools": [{"no": "name"}]}),
    ]
    records = list(parse_lines(lines, TOOLS))
    assert [record["line"] for record in records] == [1, 3, 4, 5, 6, 7, 8, 9]
    assert records[0]["id"] == 7
    assert records[0]["calls"][0]["arguments"] == {"query": "x"}
    assert [record.get("final") for record in records] == [None, "y", None, None, None, "z", "cut", None]
    assert ["error" in record for record in records] == [False, False, True, True, True, False, False, True]


def test_lines_are_read_one_by_one() -> None:
    def endless() -> Iterator[str]:
        while True:
            yield json.dumps("Final Answer: y")

    records = parse_lines(endless())
    assert [next(records)["line"] for _ in range(3)] == [1, 2, 3]

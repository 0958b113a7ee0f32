"""The published format, to the letter: what is accepted, and what is left to the tolerant reading."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from react_text import Tool, parse
from react_text.parsing.strict import read_strict

Offered = Callable[..., tuple[Tool, ...]]
PAIR = 'Action: weather\nAction Input: {"city": "Bled"}'


def test_a_thought_an_action_and_its_json_are_a_call(offered: Offered) -> None:
    turn = read_strict(f"Thought: look it up\n{PAIR}", offered())
    assert turn is not None
    assert turn.strict
    assert turn.repairs == ()
    assert turn.thought == "look it up"
    assert [(call.id, call.name, call.arguments) for call in turn.calls] == [("call_1", "weather", {"city": "Bled"})]


def test_several_pairs_in_a_row_are_several_calls(offered: Offered) -> None:
    turn = read_strict(f"Thought: both\n{PAIR}\nAction: clock\nAction Input: {{}}\n", offered())
    assert turn is not None
    assert [call.name for call in turn.calls] == ["weather", "clock"]


def test_a_thought_and_an_answer_are_final_to_the_end_of_the_text(offered: Offered) -> None:
    turn = read_strict("Thought: known\nFinal Answer: 1. close it\n2. wait: five minutes\n\nDone.", offered())
    assert turn is not None
    assert turn.final == "1. close it\n2. wait: five minutes\n\nDone."


def test_arguments_that_do_not_fit_are_a_strict_turn_with_a_fault(offered: Offered) -> None:
    turn = read_strict('Thought: t\nAction: weather\nAction Input: {"days": 3}', offered())
    assert turn is not None
    assert turn.kind == "none"
    assert turn.strict
    assert turn.fault is not None
    assert turn.fault.code == "invalid_arguments"
    assert turn.fault.call is not None
    assert turn.fault.call.arguments == {"days": 3}
    assert 'Action Input: {"city": "<string>"}' in turn.fault.message


@pytest.mark.parametrize(
    "text",
    [
        PAIR,
        f" Thought: t\n{PAIR}",
        f"thought: t\n{PAIR}",
        f"Thought: t\n\n{PAIR}",
        "Thought: t\nAction: weather\nAction Input: Bled",
        "Thought: t\nAction: weather\nAction Input: {'city': 'Bled'}",
        'Thought: t\nAction: weather\nAction Input: {"city": "Bled"}}',
        f"Thought: t\n{PAIR}\nObservation: sunny",
        f"Thought: t\n{PAIR}\nFinal Answer: sunny",
        f"Thought: t\n{PAIR}\n{PAIR}",
        'Thought: t\nAction: Weather\nAction Input: {"city": "Bled"}',
        'Thought: t\nAction: weather\nAction Input: {"City": "Bled"}',
        'Thought: t\nAction: weather\nAction Input: {"city": "Bled", "days": "3"}',
        "Thought: t\nAction: None\nAction Input: {}",
        "Thought: t\nAction: weather",
        "Thought: t",
        "Final Answer: sunny",
        "Thought: t\nFinal Answer: sunny\nQuestion: and then?",
        "Thought: t\nFinal Answer: sunny<|im_end|>",
        "Thought: t\nFinal Answer:",
        "",
    ],
)
def test_anything_else_is_not_strict(text: str, offered: Offered) -> None:
    assert read_strict(text, offered()) is None


@given(
    st.dictionaries(
        st.text(min_size=1),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
            max_leaves=6,
        ),
        max_size=4,
    )
)
def test_valid_json_for_an_unknown_tool_comes_out_as_json_reads_it(arguments: dict[str, object]) -> None:
    import json

    written = json.dumps(arguments)
    turn = parse(f"Thought: t\nAction: elsewhere\nAction Input: {written}")
    assert turn.calls[0].arguments == json.loads(written)
    assert turn.repairs == ()

"""How a reply is begun in each mode."""

from dataclasses import replace

import pytest

from react_text import tool
from react_text.backends.base import Request, Sampling
from react_text.modes import StructuredMode
from react_text.protocol.render import Entry, structured_opening
from react_text.steering import Move


@tool
def tide(harbor: str) -> str:
    """Height of the next high tide."""
    return "3.4"


MODE = StructuredMode((tide,), grammars={"any": 'root ::= "a"', "answer": 'root ::= "b"'}, call_format="bare")
ASKED = Request([{"role": "user", "content": "How high?"}], grammar='root ::= "a"')


@pytest.mark.parametrize(
    ("move", "looked_up", "start", "grammar"),
    [
        (Move("answer"), True, "The answer is", None),
        (Move("answer", said="The answer is 3.4"), True, "The answer is 3.4", None),
    ],
)
def test_an_answer_after_a_result_is_begun_in_words_so_that_it_can_be_no_call(move, looked_up, start, grammar):
    request = MODE.begun(ASKED, move, looked_up=looked_up)
    assert (request.reply_start, request.grammar) == (start, grammar)


def test_where_no_tool_fits_the_question_is_asked_without_tools_and_their_examples():
    mode = replace(MODE, opening=structured_opening([tide], "Be brief.", None))
    asked = mode.request([Entry(ASKED.messages[0])], answer_only=False, max_tokens=9, sampling=Sampling(), grammar=True)
    assert (len(asked.messages), len(asked.tools)) == (6, 1)
    plain = mode.begun(asked, Move("answer"), looked_up=False)
    assert plain.messages == [{"role": "system", "content": "Be brief."}, ASKED.messages[0]]
    assert (plain.tools, plain.grammar, plain.reply_start) == ((), None, "")


def test_a_call_is_begun_up_to_its_arguments():
    assert MODE.begun(ASKED, Move("call", tide), looked_up=False).reply_start == '{"name": "tide", "arguments":'

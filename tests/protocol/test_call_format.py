"""Calls in a model's own format: what is written is read back, and the format is known again."""

import pytest

from react_text.errors import GrammarError
from react_text.parsing import parse
from react_text.protocol.call_format import call_format, call_text, reasoning_in
from react_text.protocol.native_grammar import FORMATS
from react_text.tools import Tool

TIDE = Tool("tide", "Height of the tide", {"type": "object", "properties": {"harbor": {"type": "string"}}})
OBAN = {"harbor": "Öban"}


@pytest.mark.parametrize("family", FORMATS)
def test_a_written_call_is_read_as_that_call(family):
    turn = parse(call_text(family, "tide", OBAN), [TIDE])
    assert [(call.name, dict(call.arguments)) for call in turn.calls] == [("tide", OBAN)]


@pytest.mark.parametrize("family", FORMATS)
def test_the_format_of_a_rendered_call_is_known_again(family):
    """Marks may be those of several families; the one that is found writes the call in the same letters."""
    rendered = f"<|assistant|>\n{call_text(family, 'tide', OBAN)}\n<|end|>"
    found = call_format(rendered, "tide", OBAN)
    assert found is not None
    assert call_text(found, "tide", OBAN) in rendered


def test_a_call_in_no_known_format_has_none():
    assert call_format("tide(harbor='Öban')", "tide", OBAN) is None


@pytest.mark.parametrize(
    ("end", "template", "found"),
    [
        ("<|im_start|>assistant\n", "{{ content.split('</think>')[-1] }}", "shown"),
        ("<|im_start|>assistant\n<think>\n", "<think>", "begun"),
        ("<|im_start|>assistant\n<think>\n\n</think>\n\n", "<think>\n\n</think>", None),
        ("<|im_start|>assistant\n", "{{ content }}", None),
    ],
)
def test_a_template_that_shows_or_begins_reasoning_is_known_by_it(end, template, found):
    said = "<|im_start|>user\nWhat does <think> mean?<|im_end|>\n"
    assert reasoning_in("hermes", said + end, template) == found


def test_an_unknown_family_is_refused_with_the_known_ones():
    with pytest.raises(GrammarError, match="hermes"):
        call_text("klingon", "tide", OBAN)


def test_a_template_that_writes_an_id_at_the_end_of_a_call_has_the_format_all_the_same():
    rendered = '[TOOL_CALLS] [{"name": "tide", "arguments": {"harbor": "Öban"}, "id": "call00000"}]</s>'
    assert call_format(rendered, "tide", OBAN) == "mistral_list"

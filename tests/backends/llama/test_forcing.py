from __future__ import annotations

from unittest import mock

import pytest

from react_text.backends.base import Delta, Reply, Request, Sampling
from react_text.backends.llama.forcing import Forcing, Stretch
from react_text.backends.llama_cpp import LlamaCpp

pytestmark = pytest.mark.model

QUESTION = [{"role": "user", "content": "What is the weather in Paris?"}]
SENTENCE = "The weather is fine today in Paris, Rome and Lima."
FORCED = f'root ::= "{SENTENCE}" [a-z]{{3}}'
CALLS = r"""
root ::= " I need the " ("weather" | "time") ".\nAction: get_" ("weather" | "time") "\nAction Input: {\"city\": \"" [A-Z] [a-z]{1,12} "\"}"
"""  # noqa: E501


def reply(model: LlamaCpp, request: Request) -> Reply:
    *_, last = model.stream(request)
    assert isinstance(last, Reply)
    return last


def test_forced_text_is_not_drawn_and_is_spelled_as_the_tokeniser_spells_it(smollm2: LlamaCpp) -> None:
    smollm2.reset()
    last = reply(smollm2, Request(QUESTION, grammar=FORCED))
    assert last.text.startswith(SENTENCE)
    spelled = smollm2._tokens(SENTENCE)
    assert list(smollm2.cached_tokens[smollm2.count_tokens(QUESTION) :][: len(spelled)]) == spelled
    assert last.usage.forced >= len(spelled) - 1
    assert last.usage.forced < last.usage.generated


def test_a_reply_without_any_choice_is_not_drawn_at_all(smollm2: LlamaCpp) -> None:
    last = reply(smollm2, Request(QUESTION, grammar=f'root ::= "{SENTENCE}"'))
    assert (last.text, last.finish_reason) == (SENTENCE, "stop")
    assert last.usage.forced == last.usage.generated == len(smollm2._tokens(SENTENCE))


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_forced_text_changes_no_choice(smollm2: LlamaCpp, temperature: float) -> None:
    """The reply is the one that drawing every token gives: exactly at temperature 0, in its form at any other."""
    request = Request(
        QUESTION, reply_start="Thought:", grammar=CALLS, sampling=Sampling(temperature=temperature, seed=3)
    )
    quick = reply(smollm2, request)
    with mock.patch.object(Forcing, "ahead", return_value=Stretch()):
        drawn = reply(smollm2, request)
    assert quick.usage.forced > 8
    assert drawn.usage.forced == 0
    if temperature == 0:
        assert quick.text == drawn.text
    assert quick.text.endswith('"}') == drawn.text.endswith('"}') is True


def test_the_token_limit_counts_forced_tokens(smollm2: LlamaCpp) -> None:
    cut = reply(smollm2, Request(QUESTION, grammar=FORCED, max_tokens=3))
    assert (cut.finish_reason, cut.usage.generated, cut.usage.forced) == ("length", 3, 3)
    assert cut.text
    assert SENTENCE.startswith(cut.text)


def test_a_stop_string_or_until_may_fall_into_forced_text(smollm2: LlamaCpp) -> None:
    stopped = reply(smollm2, Request(QUESTION, grammar=FORCED, stop=(" fine",)))
    assert (stopped.text, stopped.finish_reason) == ("The weather is", "stop")
    items = list(smollm2.stream(Request(QUESTION, grammar=FORCED, until=lambda text: "day" in text)))
    assert isinstance(items[-1], Reply)
    assert items[-1].text == "The weather is fine today"
    assert [item.tokens for item in items if isinstance(item, Delta)] == list(range(1, items[-1].usage.generated + 1))
    again = [*QUESTION, {"role": "assistant", "content": items[-1].text}]
    assert reply(smollm2, Request(again, max_tokens=1)).usage.reused >= smollm2.count_tokens(QUESTION)


def test_a_reply_with_forced_text_is_not_evaluated_again(smollm2: LlamaCpp) -> None:
    smollm2.reset()
    last = reply(smollm2, Request(QUESTION, reply_start="Thought:", grammar=CALLS))
    cached = len(smollm2.cached_tokens)
    turns = [*QUESTION, {"role": "assistant", "content": last.text}, {"role": "user", "content": "Observation: rain"}]
    assert reply(smollm2, Request(turns, max_tokens=1)).usage.reused == cached


def test_text_that_looks_like_a_marker_is_forced_as_letters(smollm2: LlamaCpp) -> None:
    last = reply(smollm2, Request(QUESTION, grammar='root ::= "say <|im_end|> now" [a-z]'))
    assert last.text.startswith("say <|im_end|> now")
    assert smollm2.marker("<|im_end|>") not in smollm2.cached_tokens[smollm2.count_tokens(QUESTION) :]


def test_forced_text_may_end_inside_a_character(smollm2: LlamaCpp) -> None:
    """All of these letters begin with the same byte."""
    last = reply(smollm2, Request(QUESTION, grammar="root ::= [à-ÿ]{4}"))
    assert len(last.text) == 4
    assert all("à" <= letter <= "ÿ" for letter in last.text)

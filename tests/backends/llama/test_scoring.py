from __future__ import annotations

import math

import pytest

from react_text.backends.base import Reply, Request, Sampling
from react_text.backends.llama.scoring import log_probabilities
from react_text.backends.llama_cpp import LlamaCpp
from react_text.errors import BackendError, ContextOverflow

pytestmark = pytest.mark.model

QUESTION = [{"role": "user", "content": "What is the capital of France?"}]


def test_over_all_tokens_the_probabilities_add_up_to_one(smollm2: LlamaCpp) -> None:
    smollm2.log_probabilities(QUESTION, "Answer:", [])
    engine = smollm2._engine
    every = log_probabilities(engine, [[token] for token in range(engine.vocabulary.size)])
    assert sum(map(math.exp, every)) == pytest.approx(1.0, abs=1e-6)


def test_a_text_is_as_likely_as_its_tokens_one_after_the_other(smollm2: LlamaCpp) -> None:
    text = " Paris is the capital"
    (whole,) = smollm2.log_probabilities(QUESTION, "Answer:", [text])
    total, said = 0.0, "Answer:"
    for token in smollm2._tokens(text):
        piece = smollm2.piece(token).decode()
        total += smollm2.log_probabilities(QUESTION, said, [piece])[0]
        said += piece
    assert whole == pytest.approx(total, abs=1.0)
    assert whole < smollm2.log_probabilities(QUESTION, "Answer:", [" Paris"])[0]


def test_the_greedy_reply_begins_with_the_likelier_text(smollm2: LlamaCpp) -> None:
    *_, last = smollm2.stream(Request(QUESTION, reply_start="Answer:", max_tokens=1))
    assert isinstance(last, Reply)
    written = last.text.removeprefix("Answer:")
    other = " Oslo" if written != " Oslo" else " Rome"
    first, second, nothing = smollm2.log_probabilities(QUESTION, "Answer:", [written, other, ""])
    assert second < first < nothing == 0.0


def test_reading_probabilities_leaves_the_prompt_in_the_cache(smollm2: LlamaCpp) -> None:
    smollm2.reset()
    smollm2.log_probabilities(QUESTION, "Answer:", [" Paris", " The capital of France", " x" * 150])
    assert list(smollm2.cached_tokens) == smollm2.prompt_tokens(QUESTION, "Answer:")
    *_, last = smollm2.stream(Request(QUESTION, reply_start="Answer:", max_tokens=1))
    assert isinstance(last, Reply)
    assert last.usage.reused == smollm2.count_tokens(QUESTION, "Answer:") - 1


def test_after_a_reply_its_own_tokens_are_read_on_from(smollm2: LlamaCpp) -> None:
    """Where a thought ends, the next words are asked about without evaluating the thought again."""
    smollm2.reset()
    wild = Sampling(temperature=5, seed=5)
    *_, last = smollm2.stream(Request(QUESTION, grammar="root ::= [b-df-hj-np-tv-xz]{9}", sampling=wild))
    assert isinstance(last, Reply)
    before, twice = len(smollm2.cached_tokens), smollm2.reevaluated
    smollm2.log_probabilities(QUESTION, last.text, [" is"])
    assert smollm2.reevaluated == twice
    assert len(smollm2.cached_tokens) in (before, before + 1)


def test_what_does_not_fit_the_context_is_told_in_numbers(smollm2: LlamaCpp) -> None:
    with pytest.raises(ContextOverflow):
        smollm2.log_probabilities(QUESTION, "", [" word" * 3000])


def test_probabilities_cannot_be_read_while_a_reply_is_being_written(smollm2: LlamaCpp) -> None:
    stream = smollm2.stream(Request(QUESTION, max_tokens=4))
    next(stream)
    with pytest.raises(BackendError, match="already generating"):
        smollm2.log_probabilities(QUESTION, "", ["x"])
    stream.close()  # type: ignore[attr-defined]


def test_what_was_weighed_counts_with_the_next_request(smollm2: LlamaCpp) -> None:
    question = [{"role": "user", "content": "What is the capital of Norway?"}]
    smollm2.reset()
    list(smollm2.stream(Request(question, max_tokens=1)))
    smollm2.reset()
    smollm2.log_probabilities(question, "", ["Oslo is the capital", "Bergen"])
    reply = list(smollm2.stream(Request(question, max_tokens=1)))[-1]
    assert isinstance(reply, Reply)
    assert reply.usage.evaluated > smollm2.count_tokens(question)
    again = list(smollm2.stream(Request(question, max_tokens=1)))[-1]
    assert isinstance(again, Reply)
    assert again.usage.prompt_tokens == smollm2.count_tokens(question)


def test_many_texts_at_once_are_as_likely_as_each_alone(smollm2: LlamaCpp) -> None:
    """More than one evaluation holds, some with a common beginning, one longer than an evaluation, one empty."""
    numbers = [f' {{"name": "tool_{one}", "arguments": ' for one in range(40)]
    texts = [" Paris", *numbers, "", " x" * 150, " The capital of France", " The capital"]
    before = len(smollm2.prompt_tokens(QUESTION, "Answer:"))
    together = smollm2.log_probabilities(QUESTION, "Answer:", texts)
    assert len(smollm2.cached_tokens) == before
    alone = [smollm2.log_probabilities(QUESTION, "Answer:", [text])[0] for text in texts]
    assert together == pytest.approx(alone, abs=0.05)


def test_common_beginnings_are_evaluated_once(smollm2: LlamaCpp) -> None:
    texts = [f" The capital of France, as everybody knows, is {name}" for name in ("Paris", "Lyons", "Metz", "Nancy")]
    smollm2.log_probabilities(QUESTION, "Answer:", [])
    before = smollm2._engine.evaluated
    smollm2.log_probabilities(QUESTION, "Answer:", texts)
    longest = max(len(smollm2._tokens(text)) for text in texts)
    assert smollm2._engine.evaluated - before < 2 * longest


COUNT = [{"role": "user", "content": "Count to twenty."}]


def test_a_model_tells_what_it_is_sure_of_and_nothing_where_it_doubts(smollm2: LlamaCpp) -> None:
    assert (smollm2.sure_text(COUNT, "1, 2, 3, 4, 5, 6, 7, 8, 9,") or "").startswith("10, 11, ")
    assert smollm2.sure_text(COUNT, "My favourite word of all is") is None
    assert list(smollm2.cached_tokens) == smollm2.prompt_tokens(COUNT, "My favourite word of all is")


def test_what_a_model_is_sure_of_ends_with_its_sentence(smollm2: LlamaCpp) -> None:
    said = smollm2.sure_text(COUNT, "8. 9. 10. 11. 12. 13. 14. 15. 16.")
    assert said is not None
    assert said.count(".") <= 1


def test_what_is_asked_for_beyond_the_context_is_told(smollm2: LlamaCpp) -> None:
    with pytest.raises(ContextOverflow):
        smollm2.sure_text(COUNT, " word" * 5000)

from __future__ import annotations

import threading

import pytest

from react_text.backends.base import Reply, Request
from react_text.backends.llama.slots import Choice, Slot, choose
from react_text.backends.llama_cpp import LlamaCpp
from react_text.errors import BackendError
from react_text.messages import Message, Usage
from react_text.models import resolve_model

SYSTEM = {"role": "system", "content": "You answer in one short sentence and never ask back. " * 4}


def test_a_conversation_goes_on_where_it_was() -> None:
    slots = [Slot([1, 2, 3, 9], given=3, used=1), Slot([1, 2, 4, 8], given=3, used=2)]
    assert choose(slots, [1, 2, 3, 9, 5]) == Choice(slots[0], 4, True)
    assert choose(slots, [1, 2, 4, 8, 5]) == Choice(slots[1], 4, True)


def test_a_reply_that_is_asked_for_again_takes_the_place_of_the_old_one() -> None:
    slots = [Slot([1, 2, 3, 7, 7, 7], given=3, used=1), Slot()]
    assert choose(slots, [1, 2, 3]) == Choice(slots[0], 3, True)
    assert choose(slots, [1, 2, 3, 6]) == Choice(slots[0], 3, True)


def test_a_prompt_that_differs_earlier_is_another_conversation() -> None:
    slots = [Slot([1, 2, 3, 7], given=3, used=1), Slot([1], given=1, used=2)]
    assert choose(slots, [1, 2, 4]) == Choice(slots[0], 2, False)


def ask(model: LlamaCpp, turns: list[Message], number: int, max_tokens: int = 6) -> Usage:
    """One question and its reply appended to the conversation."""
    turns.append({"role": "user", "content": f"Question {number}: name a colour that you like."})
    *_, last = model.stream(Request(turns, max_tokens=max_tokens))
    assert isinstance(last, Reply)
    turns.append({"role": "assistant", "content": last.text})
    return last.usage


def conversation(topic: str) -> list[Message]:
    return [SYSTEM, {"role": "user", "content": f"We talk about {topic}, and only about {topic}. " * 3}]


@pytest.mark.model
def test_interleaved_conversations_do_not_evaluate_each_other_again() -> None:
    with LlamaCpp(resolve_model("smollm2"), n_ctx=1024) as model:
        left, right = conversation("ships"), conversation("trains")
        first = ask(model, left, 0)
        second = ask(model, right, 0)
        assert second.reused >= model.count_tokens([SYSTEM]) - 8
        assert second.evaluated < first.evaluated
        twice = model.reevaluated
        for number in range(1, 3):
            for turns in (left, right):
                before = model.count_tokens(turns)
                usage = ask(model, turns, number)
                # the question, what closes the reply before it, and the last sampled token, never evaluated before
                assert usage.evaluated <= usage.prompt_tokens - before + 8
        assert model.reevaluated == twice


@pytest.mark.model
def test_interleaving_gives_the_replies_that_each_conversation_gives_alone() -> None:
    with LlamaCpp(resolve_model("smollm2"), n_ctx=1024) as model:

        def alone(topic: str) -> list[Message]:
            model.reset()
            turns = conversation(topic)
            for number in range(2):
                ask(model, turns, number)
            return turns

        wanted = [alone("ships")]
        model.reset()
        left, right = conversation("ships"), conversation("trains")
        for number in range(2):
            ask(model, left, number)
            ask(model, right, number)
        assert [left] == wanted


@pytest.mark.model
def test_the_conversation_that_waited_longest_is_forgotten_first() -> None:
    with LlamaCpp(resolve_model("smollm2"), n_ctx=512, slots=2) as model:
        talks = [conversation(topic) for topic in ("ships", "trains", "kites")]
        for turns in talks:
            ask(model, turns, 0, max_tokens=2)
        assert ask(model, talks[1], 1, max_tokens=2).evaluated < 40
        assert ask(model, talks[0], 1, max_tokens=2).evaluated > 60


@pytest.mark.model
def test_what_is_put_aside_is_never_larger_than_the_context() -> None:
    with LlamaCpp(resolve_model("smollm2"), n_ctx=256, slots=8) as model:
        for topic in ("ships", "trains", "kites", "stones"):
            ask(model, conversation(topic), 0, max_tokens=1)
        aside = model._engine.slots._aside
        assert 0 < sum(len(slot.tokens) for slot in aside) <= 256


@pytest.mark.model
def test_one_slot_is_enough_for_one_conversation() -> None:
    with LlamaCpp(resolve_model("smollm2"), n_ctx=512, slots=1) as model:
        turns = conversation("ships")
        ask(model, turns, 0)
        assert ask(model, turns, 1).evaluated < 40
    with pytest.raises(BackendError, match="slots is 0"):
        LlamaCpp(resolve_model("smollm2"), n_ctx=64, slots=0)


@pytest.mark.model
def test_many_threads_at_once_each_keep_their_conversation() -> None:
    with LlamaCpp(resolve_model("smollm2"), n_ctx=1024, slots=4) as model:
        usages: dict[str, list[Usage]] = {}

        def talk(topic: str) -> None:
            turns = conversation(topic)
            usages[topic] = [ask(model, turns, number, max_tokens=3) for number in range(3)]

        threads = [threading.Thread(target=talk, args=(topic,)) for topic in ("ships", "trains", "kites")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        later = [usage for each in usages.values() for usage in each[1:]]
        assert len(later) == 6
        assert all(usage.evaluated < 40 for usage in later)

"""Long histories made to fit: the oldest observations first, only as many as needed, their messages untouched."""

import pytest

from react_text.backends.base import Request
from react_text.errors import BackendError, ContextOverflow
from react_text.fitting import SHORTENED_TO, fitted, overflows, shortened_after, text_length
from react_text.messages import Observation
from react_text.protocol.render import Entry, observation_message, user_message


def history(*lengths):
    observed = (Entry(observation_message(Observation(str(at), "read", "x" * one))) for at, one in enumerate(lengths))
    return [Entry(user_message("What do the pages say?")), *observed]


def shown(entries):
    return [{"role": "user", "content": one.written or one.message["content"]} for one in entries]


def characters(messages, reply_start, tools):
    return text_length(messages)


def fit(entries, context_length, count=characters, max_tokens=400):
    return fitted(Request(shown(entries), max_tokens=max_tokens), entries, shown, count, context_length)


def test_a_request_that_fits_keeps_its_history_and_takes_what_is_left_for_the_reply():
    entries = history(300)
    fit_one = fit(entries, 500)
    assert (fit_one.history, fit_one.shortened) == (entries, 0)
    assert fit_one.request.max_tokens == 500 - text_length(shown(entries))


def test_the_oldest_observation_is_shortened_first_and_only_as_many_as_needed():
    entries = history(1000, 1000, 1000)
    made = fit(entries, 3000)
    assert made.shortened == 1
    assert [one.written is None for one in made.history] == [True, False, True, True]
    assert made.history[1].written.startswith("x" * SHORTENED_TO + " [800 characters left out")
    assert made.request.messages == shown(made.history)


def test_the_messages_of_a_shortened_history_keep_their_text():
    entries = history(1000, 1000)
    assert [one.message for one in fit(entries, 1500).history] == [one.message for one in entries]
    assert all(one.written is None for one in entries)


def test_what_cannot_be_shortened_enough_is_refused_with_the_next_step():
    with pytest.raises(BackendError, match="Use a larger n_ctx"):
        fit(history(1000), 200)


@pytest.mark.parametrize(("context_length", "count"), [(None, characters), (10, lambda *prompt: None)])
def test_where_lengths_are_not_known_the_request_stays_as_it_is(context_length, count):
    entries = history(1000)
    assert fit(entries, context_length, count).request.messages == shown(entries)


def test_a_refused_prompt_loses_as_much_as_is_too_much_and_half_where_nobody_says_how_much():
    entries = history(1000, 1000, 1000, 1000)
    request = Request(shown(entries), max_tokens=10)
    assert shortened_after(ContextOverflow(4000, 3900), request, entries, shown)[1] == 1
    assert shortened_after(BackendError("too long"), request, entries, shown)[1] == 3
    assert shortened_after(BackendError("too long"), request, history(100), shown)[1] == 0


def test_an_overflow_is_told_from_other_errors():
    assert overflows(ContextOverflow(10, 5))
    assert not overflows(BackendError("down"))

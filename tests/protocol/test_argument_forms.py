"""Arguments outside JSON objects: what the grammar makes is read as it fits, what fits can be made."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from react_text.backends.base import Request
from react_text.backends.gbnf import check_grammar
from react_text.parsing import parse
from react_text.protocol.call_format import call_format, call_text
from react_text.protocol.native_grammar import FORMATS, native_grammar
from react_text.schema import first_problem
from react_text.tools import Tool

SHARED = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80)
FAMILIES = sorted(family for family, form in FORMATS.items() if form.arguments or family == "harmony")
BARE_TEXT = sorted(family for family in FAMILIES if FORMATS[family].arguments and FORMATS[family].arguments.marks)
SEND = Tool(
    "send_mail",
    "",
    {
        "type": "object",
        "properties": {
            "to": {"type": "string", "format": "email"},
            "body": {"type": "string"},
            "copies": {"type": "integer", "minimum": 1, "maximum": 12},
            "urgent": {"type": "boolean"},
            "folder": {"enum": ["inbox", "sent items"]},
            "reply_to": {"type": ["string", "null"], "minLength": 1},
            "size": {"anyOf": [{"type": "number"}, {"type": "null"}]},
            "code": {"type": "string", "pattern": "^[A-Z]{3}-[0-9]{2}$"},
            "subject": {"type": "string", "minLength": 2},
            "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
            "place": {
                "type": "object",
                "properties": {"x": {"type": "integer"}, "note": {"type": "string"}},
                "required": ["x"],
            },
        },
        "required": ["to", "body", "copies"],
    },
)
NOW = Tool("now", "", {"type": "object", "properties": {}})
RUN = Tool(
    "run", "", {"type": "object", "properties": {"code": {"$ref": "#/$defs/c"}}, "$defs": {"c": {"minLength": 1}}}
)
TOOLS = [SEND, NOW, RUN]

LETTERS = st.sampled_from("aZ09 _-.,:;!?\"'\\/<>()[]{}=&%\n\té中😀")
WORDS = st.lists(LETTERS, max_size=14).map("".join)
VALUES = st.fixed_dictionaries(
    {"to": st.just("ann@example.org"), "body": WORDS, "copies": st.integers(1, 12)},
    optional={
        "urgent": st.booleans(),
        "folder": st.sampled_from(["inbox", "sent items"]),
        "size": st.one_of(st.none(), st.integers(-5, 5), st.sampled_from([0.5, -2.25])),
        "code": st.just("ABC-07"),
        "tags": st.lists(st.sampled_from(["red", "a b", "é"]), max_size=3),
        "place": st.tuples(st.integers(-3, 3), st.sampled_from([{}, {"note": ""}, {"note": "by the quay"}])).map(
            lambda drawn: {"x": drawn[0], **drawn[1]}
        ),
    },
)


def in_order(arguments):
    return {name: arguments[name] for name in SEND.parameters["properties"] if name in arguments}


@given(st.sampled_from(FAMILIES), st.booleans(), st.integers(0, 2**32))
@SHARED
def test_every_call_of_the_grammar_is_read_as_arguments_that_fit(sentence, family, parallel, seed):
    text = sentence(native_grammar(family, TOOLS, "call", parallel=parallel).gbnf, seed)
    turn = parse(text, TOOLS, finish_reason="stop")
    if turn.fault is not None and turn.fault.code == "placeholder_arguments":
        return
    assert turn.kind == "action", (text, turn.fault)
    for call in turn.calls:
        tool = next(tool for tool in TOOLS if tool.name == call.name)
        assert first_problem(dict(call.arguments), tool.parameters) is None, text


@given(st.sampled_from(FAMILIES), VALUES)
@SHARED
def test_what_is_written_is_read_back_to_the_letter(family, values):
    """A bare text that ends in a line break is the one that marks without a frame cannot tell from none."""
    form = FORMATS[family].arguments
    arguments = in_order(values)
    if form is not None and form.marks and not form.framed:
        arguments["body"] = arguments["body"].strip("\n")
    turn = parse(call_text(family, "send_mail", arguments), TOOLS, finish_reason="stop")
    assert turn.kind == "action", turn.fault
    assert [dict(call.arguments) for call in turn.calls] == [arguments]


@pytest.mark.model
@given(st.sampled_from(FAMILIES), VALUES)
@settings(SHARED, max_examples=40)
def test_what_fits_can_be_written_under_the_grammar(accepts, family, values):
    form = FORMATS[family].arguments
    arguments = in_order(values)
    if form is not None and form.marks and not form.framed:
        arguments["body"] = arguments["body"].strip("\n")
    grammar = native_grammar(family, TOOLS, "call").gbnf
    check_grammar(grammar)
    assert accepts(grammar, call_text(family, "send_mail", arguments))


@pytest.mark.model
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    "wrong", [{"copies": 13}, {"folder": "outbox"}, {"code": "abc"}, {"subject": "x"}, {"urgent": "maybe"}, {"more": 1}]
)
def test_what_does_not_fit_cannot_be_written(accepts, family, wrong):
    right = {"to": "ann@example.org", "body": "Hello.\nAnn", "copies": 2}
    names = [*SEND.parameters["properties"], "more"]
    arguments = {name: {**right, **wrong}[name] for name in names if name in {**right, **wrong}}
    grammar = native_grammar(family, TOOLS, "call").gbnf
    assert accepts(grammar, call_text(family, "send_mail", right))
    assert not accepts(grammar, call_text(family, "send_mail", arguments))


@pytest.mark.model
@pytest.mark.parametrize("family", BARE_TEXT)
def test_a_bare_text_holds_markup_and_code_but_no_mark_of_its_own(accepts, family):
    form = FORMATS[family].arguments
    grammar = native_grammar(family, TOOLS, "call").gbnf
    for body in (
        "<p>Dear <b>Ann</b>,</p>",
        "if a << 2 < b:\n    cat <<EOF",
        'say "no" \\ {x}',
        "<pa<par>",
        "a <",
        "b </ar",
    ):
        assert accepts(grammar, call_text(family, "run", {"code": body})), body
    for mark in form.marks:
        assert not accepts(grammar, call_text(family, "run", {"code": f"x {mark} y"})), mark


@pytest.mark.parametrize("family", FAMILIES)
def test_what_the_form_cannot_say_is_named(family):
    title = Tool("title", "", {"type": "object", "properties": {"text": {"type": "string", "maxLength": 20}}})
    said = native_grammar(family, [title, SEND], "call").loosened
    assert said == (("title.text: maxLength",) if family in BARE_TEXT else ())
    odd = Tool("odd", "", {"type": "object", "properties": {"a b": {"type": "integer"}}})
    assert native_grammar(family, [odd], "call").loosened == (
        () if FORMATS[family].arguments is None else ("odd.a b: name",)
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_the_format_of_a_rendered_call_with_several_types_is_known_again(family):
    arguments = {"to": "ann@example.org", "copies": 2, "urgent": True}
    rendered = f"<|assistant|>\n{call_text(family, 'send_mail', arguments)}\n<|end|>"
    assert call_format(rendered, "send_mail", arguments) == family


def test_an_earlier_call_of_harmony_is_known_though_it_is_written_the_other_way_round():
    rendered = "<|start|>assistant to=functions.now<|channel|>commentary json<|message|>{}<|call|>"
    assert call_format(rendered, "now", {}) == "harmony"


@pytest.mark.model
@pytest.mark.parametrize("thought", ["", "The user wants the time, so < call it.\n"])
def test_harmony_thinks_in_its_own_channel_and_answers_in_another(accepts, thought):
    grammar = native_grammar("harmony", TOOLS, reasoning="shown").gbnf
    call = call_text("harmony", "now", {})
    for reply in (call, "<|channel|>final<|message|>It is noon.", "It is noon."):
        assert accepts(grammar, f"<|channel|>analysis<|message|>{thought}<|end|><|start|>assistant{reply}")
    turn = parse(f"<|channel|>analysis<|message|>{thought}<|end|><|start|>assistant{call}", TOOLS)
    assert [one.name for one in turn.calls] == ["now"]


@pytest.mark.model
@pytest.mark.parametrize("family", FAMILIES)
def test_a_model_that_never_saw_the_format_writes_a_right_call_in_it(smollm2, family):
    tide = Tool(
        "get_tide",
        "",
        {
            "type": "object",
            "properties": {
                "harbor": {"type": "string", "pattern": "^[A-Z][a-z]{2,9}$"},
                "hours": {"type": "integer", "minimum": 1, "maximum": 24},
                "unit": {"enum": ["m", "ft"]},
            },
            "required": ["harbor", "hours", "unit"],
        },
    )
    question = [{"role": "user", "content": "How high is the tide in Oban in the next 6 hours, in m?"}]
    *_, reply = smollm2.stream(Request(question, max_tokens=90, grammar=native_grammar(family, [tide], "call").gbnf))
    (call,) = parse(reply.text, [tide], finish_reason=reply.finish_reason).calls
    assert first_problem(dict(call.arguments), tide.parameters) is None
    assert list(call.arguments) == ["harbor", "hours", "unit"]

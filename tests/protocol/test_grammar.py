import json
import random
import re
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from react_text.backends.gbnf import check_grammar
from react_text.backends.llama.grammar import TokenGrammar
from react_text.data import load_dialect, load_grammar_skeleton
from react_text.parsing import parse
from react_text.protocol.examples import example_of
from react_text.protocol.grammar import text_grammar
from react_text.schema import first_problem
from react_text.tools import Tool

REACT = load_dialect("react")
SKELETON = load_grammar_skeleton("react.gbnf")

LEAVES = st.sampled_from(
    [
        {"type": "string"},
        {"type": "string", "minLength": 2, "maxLength": 5},
        {"type": "integer"},
        {"type": "integer", "minimum": 0},
        {"type": "number"},
        {"type": "boolean"},
        {"type": "null"},
        {"enum": ["a b", 'quo"te', "back\\slash", "é", 3, None]},
        {"const": "on"},
        {"type": ["integer", "null"]},
        {"$ref": "#/$defs/point"},
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"type": "object", "additionalProperties": True},
    ]
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(
            lambda items, low: {"type": "array", "items": items, "minItems": low, "maxItems": low + 2},
            inner,
            st.integers(0, 2),
        ),
        st.builds(lambda options: {"anyOf": options}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(
            lambda properties, count: {
                "type": "object",
                "properties": properties,
                "required": list(properties)[:count],
                "additionalProperties": False,
            },
            st.dictionaries(st.sampled_from(["x", "y y", 'z"z']), inner, min_size=1, max_size=3),
            st.integers(0, 3),
        ),
    ),
    max_leaves=5,
)
POINT = {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"], "additionalProperties": False}


def tool_of(properties: dict, required: list[str], name: str = "use_it") -> Tool:
    parameters = {
        "type": "object",
        "properties": properties,
        "required": required,
        "$defs": {"point": POINT},
        "additionalProperties": False,
    }
    return Tool(name, "Use it.", parameters)


TOOLS = st.builds(
    lambda properties, count: tool_of(properties, list(properties)[:count]),
    st.dictionaries(st.sampled_from(["one", "two", "three", "four"]), VALUES, max_size=4),
    st.integers(0, 4),
)


@cache
def bytes_of(model) -> dict[int, int]:
    """Token id by the single byte it stands for."""
    vocabulary = model._engine.vocabulary
    pieces = (vocabulary.piece(token) for token in range(vocabulary.size))
    return {piece[0]: token for token, piece in enumerate(pieces) if len(piece) == 1}


def accepts(model, grammar: str, text: str) -> bool:
    """Whether llama.cpp's own engine takes `text`, byte by byte, as a whole sentence of the grammar."""
    import numpy as np

    tokens = bytes_of(model)
    walk = TokenGrammar(model._engine, grammar)
    try:
        for byte in text.encode():
            if byte not in tokens:
                raise LookupError(f"the model has no token for byte {byte}")
            if not walk.allowed(np.array([tokens[byte]], np.int32))[0]:
                return False
            walk.accept(tokens[byte])
        return bool(walk.allowed(np.fromiter(model._engine.vocabulary.end_ids, np.int32)).any())
    finally:
        walk.close()


def sentence(model, grammar: str, seed: int, most: int = 3000) -> str | None:
    """A random sentence of the grammar, drawn byte by byte from what the engine allows; None when it gets too long."""
    import numpy as np

    tokens = bytes_of(model)
    by_token = {token: byte for byte, token in tokens.items()}
    ids = np.fromiter((token for byte, token in tokens.items() if byte < 128), np.int32)
    closers = [tokens[ord(one)] for one in '\n"]}']
    ends = np.fromiter(model._engine.vocabulary.end_ids, np.int32)
    draw = random.Random(seed)
    walk = TokenGrammar(model._engine, grammar)
    written = bytearray()
    try:
        while len(written) < most:
            if walk.allowed(ends).any():
                return written.decode()
            fits = [int(token) for token in ids[walk.allowed(ids)]]
            closing = [token for token in closers if token in fits]
            token = draw.choice(closing if closing and draw.random() < 0.25 else fits)
            walk.accept(token)
            written.append(by_token[token])
        return None
    finally:
        walk.close()


@given(TOOLS)
@settings(deadline=None)
def test_every_grammar_made_from_a_schema_is_sound(tool):
    """No undefined rule, no left recursion: what would end an engine's process never leaves this package."""
    check_grammar(text_grammar(SKELETON, REACT, [tool]).gbnf)


@pytest.mark.model
@given(TOOLS, st.integers(0, 2**32))
@settings(max_examples=40, deadline=None)
def test_every_sentence_with_a_call_parses_strictly_and_fits_the_schema(smollm2, tool, seed):
    grammar = text_grammar(SKELETON, REACT, [tool], "call")
    text = sentence(smollm2, grammar.gbnf, seed)
    if text is None:
        return
    turn = parse(f"Thought:{text}", [tool])
    written = json.loads(text.partition("Action Input: ")[2])
    assert turn.strict, text
    assert [(call.name, dict(call.arguments)) for call in turn.calls] == [("use_it", written)]
    assert first_problem(written, tool.parameters) is None


@pytest.mark.model
@given(TOOLS)
@settings(max_examples=40, deadline=None)
def test_the_strict_form_of_a_valid_call_is_accepted_by_the_engine(smollm2, tool):
    example = example_of(tool)
    if example is None:
        return
    arguments = json.dumps(dict(example.arguments), ensure_ascii=False)
    text = f" I need it.\nAction: use_it\nAction Input: {arguments}"
    assert accepts(smollm2, text_grammar(SKELETON, REACT, [tool]).gbnf, text)


@pytest.mark.model
@pytest.mark.parametrize(
    "text",
    [
        " Hm.\nAction: use_them\nAction Input: {}",
        ' Hm.\nAction: use_it\nAction Input: {"other": 1}',
        ' Hm.\nAction: use_it\nAction Input: {"one": "1"}',
        " Hm.\nAction: use_it\nAction Input: {}",
        " Hm.\nObservation: 3",
        ' Hm.\nAction: use_it\nAction Input: {"one": 1}\nFinal Answer: 1',
    ],
)
def test_what_is_no_right_call_is_not_accepted(smollm2, text):
    grammar = text_grammar(SKELETON, REACT, [tool_of({"one": {"type": "integer"}}, ["one"])]).gbnf
    assert accepts(smollm2, grammar, ' Hm.\nAction: use_it\nAction Input: {"one": 1}')
    assert not accepts(smollm2, grammar, text)


@pytest.mark.model
def test_optional_keys_can_be_left_out_in_any_combination(smollm2):
    tool = tool_of({name: {"type": "integer"} for name in ("a", "b", "c")}, ["b"])
    grammar = text_grammar(SKELETON, REACT, [tool]).gbnf
    for keys, right in [("b", True), ("ab", True), ("bc", True), ("abc", True), ("ac", False), ("", False)]:
        arguments = json.dumps(dict.fromkeys(keys, 1))
        assert accepts(smollm2, grammar, f" Hm.\nAction: use_it\nAction Input: {arguments}") is right, keys


@pytest.mark.model
def test_only_what_is_wanted_is_possible(smollm2):
    tool = tool_of({}, [])
    call, answer = " Hm.\nAction: use_it\nAction Input: {}", " Hm.\nFinal Answer: Done.\nAll of it."
    for wanted, takes_call, takes_answer in [("any", True, True), ("call", True, False), ("answer", False, True)]:
        grammar = text_grammar(SKELETON, REACT, [tool], wanted).gbnf
        check_grammar(grammar)
        assert accepts(smollm2, grammar, call) is takes_call
        assert accepts(smollm2, grammar, answer) is takes_answer


def test_without_tools_only_an_answer_is_possible():
    grammar = text_grammar(SKELETON, REACT, []).gbnf
    check_grammar(grammar)
    assert re.search(r"^step +::= answer$", grammar, re.MULTILINE)
    assert "Action" not in grammar


def test_what_gbnf_was_not_told_is_named():
    tool = tool_of({"day": {"type": "string", "format": "date"}, "n": {"type": "integer", "maximum": 9}}, ["day"])
    assert text_grammar(SKELETON, REACT, [tool]).loosened == ("use_it day: format", "use_it n: maximum")


@pytest.mark.model
def test_a_schema_that_refers_to_itself_has_a_grammar(smollm2):
    node = {"type": "object", "properties": {"v": {"type": "integer"}, "next": {"$ref": "#/$defs/node"}}}
    parameters = {
        "type": "object",
        "properties": {"list": {"$ref": "#/$defs/node"}},
        "required": ["list"],
        "$defs": {"node": node | {"required": ["v"]}},
    }
    grammar = text_grammar(SKELETON, REACT, [Tool("walk", "", parameters)]).gbnf
    text = ' Hm.\nAction: walk\nAction Input: {"list": {"v": 1, "next": {"v": 2}}}'
    assert accepts(smollm2, grammar, text)


@pytest.mark.model
@pytest.mark.parametrize(
    ("parameters", "right", "wrong"),
    [
        (
            {
                "type": "object",
                "anyOf": [
                    {"properties": {"city": {"type": "string"}}, "required": ["city"]},
                    {"properties": {"zip": {"type": "integer"}}, "required": ["zip"]},
                ],
            },
            ['{"city": "Oslo"}', '{"zip": 150}'],
            ["{}"],
        ),
        (
            {"$ref": "#/$defs/a", "$defs": {"a": {"type": "object", "properties": {"n": {"type": "integer"}}}}},
            ['{"n": 1}'],
            ['{"m": 1}'],
        ),
        (
            {"type": "object", "properties": {"headers": {"type": "object"}}, "required": ["headers"]},
            ['{"headers": {"a": "b"}}'],
            [],
        ),
        (
            {"type": "object", "properties": {"flag": {"enum": ["\U0001f3f4\U000e0067 Wales"]}}, "required": ["flag"]},
            ['{"flag": "\U0001f3f4\U000e0067 Wales"}'],
            [],
        ),
        (
            {"type": "object", "properties": {"n": {"type": "integer", "nullable": True}}, "required": ["n"]},
            ['{"n": null}', '{"n": 2}'],
            [],
        ),
        ({"type": "object", "properties": {"n": {"enum": []}}, "required": ["n"]}, ['{"n": 2}'], ['{"n": }']),
    ],
)
def test_odd_schemas_allow_their_right_values(smollm2, parameters, right, wrong):
    grammar = text_grammar(SKELETON, REACT, [Tool("use_it", "", parameters)]).gbnf
    check_grammar(grammar)
    for arguments in right:
        assert accepts(smollm2, grammar, f" Hm.\nAction: use_it\nAction Input: {arguments}"), arguments
    for arguments in wrong:
        assert not accepts(smollm2, grammar, f" Hm.\nAction: use_it\nAction Input: {arguments}"), arguments


@pytest.mark.model
@pytest.mark.parametrize("thought", ["<think>", "x</s>", "[INST]", "Final Answer: 5", "Action: use_it", "x\x07"])
def test_a_thought_cannot_hold_what_would_be_read_as_something_else(smollm2, thought):
    grammar = text_grammar(SKELETON, REACT, [tool_of({}, [])]).gbnf
    assert accepts(smollm2, grammar, " Hm.\nAction: use_it\nAction Input: {}")
    assert not accepts(smollm2, grammar, f" {thought}\nAction: use_it\nAction Input: {{}}")

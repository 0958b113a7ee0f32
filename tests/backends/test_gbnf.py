from __future__ import annotations

import pytest

from react_text.backends.gbnf import check_grammar
from react_text.errors import GrammarError

GOOD = [
    'root ::= "a"',
    'root ::= "Yes" | "No" " " [a-z]{3,5}',
    'root ::= char\nchar ::= [^"\\\\\\x7F\\x00-\\x1F] | "\\\\" (["\\\\bfnrt] | "u" [0-9a-fA-F]{4})',
    'root ::= (\n  "a"\n  | "b"\n)* # a comment\n\nblank ::= [ \\t\\n]{0,20}',
    'root ::= "a" |\n  "b"',
    "root ::= [\\]\\[]",
    'root ::= "" | "a" root',
    'root ::= "a"{2} "b"{3,} "c"{ 1 , 2 } "é" .',
    'root ::= (item | blank)* "."\nitem ::= "x"\nblank ::= [ ]*',
    'root ::= "(" (root | [a-z])* ")"',
    'root ::= item root | item\nitem ::= "x"+',
    'root ::= "a" # the last line ends here',
]

BAD = [
    ("", "empty"),
    (" \n", "empty"),
    ('root = "a"', "line 1"),
    ('root ::= "a', "line 1"),
    ('root ::= "b"\nitem ::= [a-z', "line 2"),
    ('root ::= ("a"', "closing parenthesis"),
    ('root ::= "a")', "cannot read"),
    ('root ::= "\\q"', "escape"),
    ("root ::= *", "nothing to repeat"),
    ('root ::= ""*', "nothing to repeat"),
    ('root ::= "a"{3,1}', "wrong way round"),
    ('root ::= "a"{5000}', "2000 times"),
    ('root ::= (("a"{100}){100}){100}', "2000 times"),
    ("root ::= " + "(" * 5000 + '"a"' + ")" * 5000, "deeper"),
    ("root ::= other", "'other', which is not defined"),
    ('start ::= "a"', "no rule named root"),
    ('root ::= "a"\nroot ::= "b"', "twice"),
    ('root ::= "a" other ::= "b"', "line break"),
    ('root ::= root "a" | "b"', "left-recursive"),
    ('root ::= one\none ::= two "x" | "y"\ntwo ::= one', "left-recursive"),
    ('root ::= blank root "x" | "y"\nblank ::= space space\nspace ::= " "?', "left-recursive"),
    ('root ::= blank{100} "x"\nblank ::= [ ]*', "may be empty"),
    ('root ::= "q"?{100} "x"', "may be empty"),
    ('root ::= "a" root* | "b"', "end in itself several times"),
    ('root ::= [a-z] rest\nrest ::= "," root root?', "end in itself several times"),
    ("root ::= <[3]>", "cannot read"),
    ('root ::= "\0"', "NUL"),
    ('root ::= "\ud800"', "surrogate"),
]


@pytest.mark.parametrize("text", GOOD)
def test_a_good_grammar_passes(text: str) -> None:
    check_grammar(text)


@pytest.mark.parametrize(("text", "wanted"), BAD)
def test_a_bad_grammar_is_refused_with_its_place_or_rule(text: str, wanted: str) -> None:
    with pytest.raises(GrammarError, match=wanted):
        check_grammar(text)


def test_a_grammar_whose_beginnings_explode_is_refused_at_once() -> None:
    doubling = "\n".join(f'r{level} ::= r{level + 1} "x" | r{level + 1} "y"' for level in range(60))
    with pytest.raises(GrammarError, match="too many ways"):
        check_grammar(f'root ::= r0\n{doubling}\nr60 ::= "z"')

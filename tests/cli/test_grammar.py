from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from react_text.backends.gbnf import check_grammar
from react_text.cli import main

TOOLS = """
def get_weather(city: str, days: int = 3) -> str:
    "The weather of a city."
    return ""

def now() -> str:
    "The time."
    return ""
"""


@pytest.fixture
def grammar(tmp_path: Path):
    path = tmp_path / "tools.py"
    path.write_text(TOOLS)

    def run(*options: str) -> Result:
        return CliRunner().invoke(main, ["grammar", "--tools", str(path), *options])

    return run


@pytest.mark.parametrize("options", [(), ("--native", "hermes"), ("--native", "mistral", "--parallel")])
@pytest.mark.parametrize("choice", ["any", "call", "answer", "now"])
def test_every_choice_prints_a_sound_grammar(grammar, options, choice):
    outcome = grammar(*options, "--choice", choice)
    assert outcome.exit_code == 0, outcome.output
    check_grammar(outcome.stdout)
    assert ("get_weather" in outcome.stdout) is (choice in ("any", "call"))
    assert outcome.stderr == ""


def test_other_forms_are_printed_alone_on_stdout(grammar):
    schema = json.loads(grammar("--form", "json-schema", "--choice", "now").stdout)
    assert schema["properties"]["name"] == {"const": "now"}
    tag = json.loads(grammar("--form", "structural-tag", "--native", "hermes").stdout)
    assert tag["format"]["triggers"] == ["<tool_call>"]
    expression = grammar("--form", "regex", "--choice", "now").stdout.rstrip("\n")
    assert re.fullmatch(expression, " Hm.\nAction: now\nAction Input: {}")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--choice", "later"), "the tools are: get_weather, now"),
        (("--native", "klingon"), "the families are: hermes"),
        (("--form", "structural-tag"), "add --native FAMILY"),
        (("--form", "structural-tag", "--native", "bare"), "begin with no mark"),
        (("--form", "regex", "--native", "hermes"), "send the GBNF"),
    ],
)
def test_what_cannot_be_printed_is_said_in_one_sentence(grammar, options, said):
    outcome = grammar(*options)
    assert outcome.exit_code == 2
    assert said in outcome.stderr
    assert outcome.stdout == ""

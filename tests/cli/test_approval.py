"""The question before a call, as a person sees it in the terminal, and the options that decide who is asked."""

import io
import os
import signal

import click
import pytest

from react_text.approval import Refusal
from react_text.cli.approval import Terminal, approval_of
from react_text.messages import Call


def approval(*rules: str, confirm: bool = False, audit=None):
    return approval_of({"confirm": confirm, "rules": rules}, audit)


@pytest.fixture
def answers(monkeypatch):
    def give(text: str) -> Terminal:
        monkeypatch.setattr("sys.stdin", io.StringIO(text))
        return Terminal()

    return give


CALL = Call("call_1", "delete_note", {"name": "diary", "force": True})


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("y\n", "yes"),
        ("YES\n", "yes"),
        ("n\n", "no"),
        ("a\n", "always"),
        ("never\n", "never"),
        ("q\n", "stop"),
        ("\n", "no"),
        ("", "stop"),
        ("keep it, please\n", Refusal("keep it, please")),
    ],
)
def test_what_a_person_types_is_their_answer(answers, typed, meant):
    assert answers(typed).ask(CALL) == meant


def test_the_arguments_are_shown_before_anything_runs(answers, capsys):
    answers("y\n").ask(CALL)
    assert 'Run delete_note {"name": "diary", "force": true}? [y/n/q] ' in capsys.readouterr().err


def test_the_keys_are_explained_once(answers, capsys):
    terminal = answers("y\ny\n")
    terminal.ask(CALL)
    terminal.ask(CALL)
    assert capsys.readouterr().err.count("q: end the run") == 1


@pytest.mark.parametrize("trick", ["\u202e", "\x1b[2K", "\r", "\u200b", "\x9b"])
def test_nothing_in_an_argument_can_hide_what_would_run(answers, capsys, trick):
    answers("n\n").ask(Call("1", "delete_note", {"name": f"harmless{trick}all"}))
    shown = capsys.readouterr().err
    assert trick not in shown
    assert "harmless" in shown
    assert "all" in shown


def test_letters_of_other_alphabets_stay_readable(answers, capsys):
    answers("n\n").ask(Call("1", "delete_note", {"name": "Käse 漢字"}))
    assert "Käse 漢字" in capsys.readouterr().err


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_ctrl_c_at_the_question_ends_the_run(monkeypatch):
    class Interrupting(io.StringIO):
        def readline(self, *_):
            os.kill(os.getpid(), signal.SIGINT)
            return "y\n"

    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr("sys.stdin", Interrupting())
    assert Terminal().ask(CALL) == "stop"
    assert signal.getsignal(signal.SIGINT) is before


def test_without_options_nobody_is_asked():
    assert approval() is None


def test_a_rule_names_a_tool_or_a_pattern_and_the_others_run():
    made = approval("delete_*=never", "send=ask")
    assert [made.rule(name) for name in ("delete_note", "send", "read_note")] == ["never", "ask", "always"]


def test_confirm_asks_for_every_tool_without_a_rule():
    made = approval("read_note=always", confirm=True)
    assert [made.rule(name) for name in ("read_note", "delete_note")] == ["always", "ask"]


def test_a_trace_has_a_line_for_every_call_even_where_nobody_is_asked():
    lines = []
    assert approval(audit=lines.append)(CALL) is True
    assert [(line["tool"], line["allowed"], line["by"]) for line in lines] == [("delete_note", True, "rule")]


@pytest.mark.parametrize("rule", ["delete_note", "delete_note=perhaps", "=ask", ""])
def test_a_rule_that_is_not_understood_is_one_sentence(rule):
    with pytest.raises(click.UsageError, match="write TOOL=always, TOOL=ask or TOOL=never"):
        approval(rule)

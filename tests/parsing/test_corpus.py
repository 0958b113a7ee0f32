"""Every line of the ReAct corpus: real, publicly reported failures, reworded."""

from __future__ import annotations

from collections import Counter
from typing import Any

from react_text import parse
from react_text.catalog import FAULTS, REPAIRS


def test_each_case_is_read_as_a_fair_reader_would(react_case: dict[str, Any]) -> None:
    expect = react_case["expect"]
    turn = parse(react_case["output"], react_case["tools"])
    calls = [{"name": call.name, "arguments": dict(call.arguments)} for call in turn.calls]
    assert (turn.kind, calls, turn.final) == (expect["kind"], expect["calls"], expect["final"])


def test_every_turn_names_what_was_mended_and_what_is_wrong(text_case: dict[str, Any]) -> None:
    turn = parse(text_case["output"], text_case["tools"])
    assert set(turn.repairs) <= set(REPAIRS)
    assert turn.strict == (turn.kind != "none" and not turn.repairs) or turn.fault is not None
    if turn.kind == "none":
        assert turn.fault is not None
        assert turn.fault.code in FAULTS
        assert turn.fault.message.strip()
    else:
        assert turn.fault is None


def test_well_formed_text_is_never_changed(react_case: dict[str, Any]) -> None:
    """The lines of that kind whose note says so; the others hold a bare text in place of JSON."""
    if "No repair is needed" in react_case["note"]:
        turn = parse(react_case["output"], react_case["tools"])
        assert turn.repairs == ()
        assert turn.strict


def test_nothing_of_the_corpus_is_silently_read_wrong(react_cases: list[dict[str, Any]]) -> None:
    """Prints the score (`pytest -s -k silently tests/parsing/test_corpus.py`); a refusal is no wrong reading."""
    verdicts: Counter[str] = Counter()
    for case in react_cases:
        expect = case["expect"]
        turn = parse(case["output"], case["tools"])
        calls = [{"name": call.name, "arguments": dict(call.arguments)} for call in turn.calls]
        right = (turn.kind, calls, turn.final) == (expect["kind"], expect["calls"], expect["final"])
        verdicts["right" if right else "too cautious" if turn.kind == "none" else "silently wrong"] += 1
    print("\n" + ", ".join(f"{verdict} {count}" for verdict, count in verdicts.items()))
    assert not verdicts["silently wrong"]

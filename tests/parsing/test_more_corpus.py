"""Further cases, written from the rules alone by somebody who had not seen the parser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from react_text.backends.ollama import to_choice
from react_text.backends.openai import assemble
from react_text.messages import Turn
from react_text.parsing import parse, parse_message

CORPUS = Path(__file__).parent.parent / "corpus"
NOT_YET = {
    "more-format-documentation-05": "a chat token named in a sentence ends the text",
    "more-format-documentation-04": "refused as a plan: it names a tool in a code span",
    "more-format-documentation-07": "refused as a plan: it names a tool in a code span",
    "more-json-data-not-a-call-02": "refused as a plan: it is only a tool's name in JSON",
    "more-harmony-answer-after-call-01": "refused: the call is followed by a result the model wrote itself",
}


def _cases() -> list[Any]:
    cases = []
    for name in ("react.more.jsonl", "structured.more.jsonl"):
        for line in (CORPUS / name).read_text(encoding="utf-8").splitlines():
            case = json.loads(line)
            reason = NOT_YET.get(case["id"])
            marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
            cases.append(pytest.param(case, id=case["id"], marks=marks))
    return cases


def _read(case: dict[str, Any]) -> Turn:
    output, tools = case["output"], case["tools"]
    match case["format"]:
        case "openai-message":
            choice = json.loads(output)
        case "openai-stream":
            choice = assemble(output.splitlines())
        case "ollama-message":
            choice = to_choice(json.loads(output))
        case _:
            return parse(output, tools)
    return parse_message(choice["message"], tools, finish_reason=choice.get("finish_reason"))


@pytest.mark.parametrize("case", _cases())
def test_each_case_is_read_as_the_rules_say(case: dict[str, Any]) -> None:
    turn, expect = _read(case), case["expect"]
    calls = [{"name": call.name, "arguments": dict(call.arguments)} for call in turn.calls]
    assert (turn.kind, calls, turn.final) == (expect["kind"], expect["calls"], expect["final"])

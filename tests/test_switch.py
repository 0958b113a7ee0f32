import pytest

from react_text.messages import Call, Fault, Turn
from react_text.switch import (
    FAULTS_IN_A_ROW,
    LEAKS_IN_A_ROW,
    Switch,
    after_error,
    after_turn,
    could_not_parse,
    refuses_tools,
    start,
)

STRUCTURED = start("auto", "yes")
ACTION = Turn("action", (Call("c", "add"),))
NONE = Turn("none", fault=Fault("truncated", "cut"))
FINAL = Turn("final", final="5")
WITH_CALLS = {"role": "assistant", "content": None, "tool_calls": [{"id": "c"}]}
WITHOUT = {"role": "assistant", "content": '{"name": "add"}'}

REFUSALS = [
    ("llama-server without jinja", 500, "tools param requires --jinja flag"),
    ("llama-server without jinja, forced", 500, "tool_choice param requires --jinja flag"),
    ("llama-server before 2025", 500, "Unsupported param: tools"),
    ("Ollama", 400, "registry.ollama.ai/library/gemma3:270m does not support tools"),
    (
        "vLLM without a parser",
        400,
        '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
    ),
    ("OpenRouter", 404, "No endpoints found that support tool use. To learn more about provider routing, visit: ..."),
    (
        "LiteLLM",
        400,
        "litellm.UnsupportedParamsError: replicate does not support parameters: ['tools', 'tool_choice'], for model=x",
    ),
    ("OpenAI", 400, "tools is not supported in this model. For a list of supported models, refer to ..."),
    ("Azure, old versions", 404, "Unrecognized request argument supplied: tools"),
]


@pytest.mark.parametrize(("server", "status", "error"), REFUSALS, ids=[one[0] for one in REFUSALS])
def test_every_known_refusal_moves_to_text_at_once_and_for_good(server, status, error):
    after = after_error(STRUCTURED, error, status)
    assert after is not None
    assert (after.mode, after.support, after.trial) == ("text", "no", False)
    assert error[:30] in after.changes[-1].reason


@pytest.mark.parametrize(
    "error",
    [
        "Unsupported parameter: 'stop' is not supported with this model.",
        "This model's maximum context length is 4096 tokens",
        "the request exceeds the available context size",
        "Cannot use custom grammar constraints with tools.",
        "model 'gpt-oss' not found",
        "Internal Server Error",
        "Incorrect API key provided",
        "We support tools since version 3",
    ],
)
def test_other_errors_are_not_taken_for_a_refusal(error):
    assert not refuses_tools(error)


@pytest.mark.parametrize(
    "error",
    [
        "Failed to parse input at pos 17: <tool_call>{",
        "error parsing tool call: raw='{\"a', err=unexpected end of JSON input",
        "The model produced output that does not match the expected peg-native format",
        "Failed to parse tool call arguments as JSON",
    ],
)
def test_a_tool_parser_that_failed_moves_to_text_without_proof_against_tools(error):
    assert could_not_parse(error)
    after = after_error(STRUCTURED, error, 500)
    assert after is not None
    assert (after.mode, after.support) == ("text", "yes")


def test_an_unclear_refusal_is_proven_by_one_try_without_tools():
    tried = after_error(STRUCTURED, "bad request", 400)
    assert tried is not None
    assert (tried.mode, tried.trial, tried.support) == ("text", True, "yes")
    assert after_error(tried, "bad request", 400) is None
    proven = after_turn(tried, FINAL, None)
    assert (proven.mode, proven.support, proven.trial) == ("text", "no", False)


@pytest.mark.parametrize("status", [401, 403, 408, 429, 500, 503, None])
def test_an_error_that_says_nothing_of_tools_stands(status):
    assert after_error(STRUCTURED, "something else", status) is None


@pytest.mark.parametrize(("support", "mode"), [("yes", "structured"), ("no", "text"), ("unknown", "text")])
def test_a_run_starts_in_the_mode_that_the_evidence_speaks_for(support, mode):
    assert start("auto", support).mode == mode


@pytest.mark.parametrize("wanted", ["text", "structured"])
@pytest.mark.parametrize("support", ["yes", "no", "unknown"])
def test_a_chosen_mode_never_changes_by_itself(wanted, support):
    switch = start(wanted, support)
    assert switch.mode == wanted
    assert after_error(switch, "model does not support tools", 400) is None
    for turn, message in [(ACTION, WITHOUT), (NONE, WITHOUT), (FINAL, WITHOUT)] * 5:
        switch = after_turn(switch, turn, message)
    assert (switch.mode, switch.changes) == (wanted, ())


def test_leaked_calls_in_a_row_move_to_text():
    switch = STRUCTURED
    for _ in range(LEAKS_IN_A_ROW - 1):
        switch = after_turn(switch, ACTION, WITHOUT)
    assert switch.mode == "structured"
    switch = after_turn(switch, ACTION, WITHOUT)
    assert switch.mode == "text"
    assert "arrived as text" in switch.changes[-1].reason


def test_a_structured_call_in_between_forgives_leaks_and_faults():
    switch = STRUCTURED
    for _ in range(5):
        switch = after_turn(switch, ACTION, WITHOUT)
        switch = after_turn(switch, NONE, WITHOUT)
        switch = after_turn(switch, ACTION, WITH_CALLS)
    assert (switch.mode, switch.leaks, switch.faults) == ("structured", 0, 0)


def test_unreadable_replies_in_a_row_move_to_text():
    switch = STRUCTURED
    for _ in range(FAULTS_IN_A_ROW):
        switch = after_turn(switch, NONE, WITHOUT)
    assert switch.mode == "text"


def test_once_in_text_nothing_moves_back():
    switch = Switch("auto", "text", "no")
    for turn in (ACTION, FINAL, NONE) * 3:
        switch = after_turn(switch, turn, None)
    assert switch == Switch("auto", "text", "no")


def test_answers_alone_are_no_reason_to_change():
    switch = STRUCTURED
    for _ in range(10):
        switch = after_turn(switch, FINAL, {"role": "assistant", "content": "5"})
    assert switch.mode == "structured"

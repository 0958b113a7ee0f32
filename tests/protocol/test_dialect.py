import pytest

from react_text.data import dialect_names, load_dialect
from react_text.errors import DialectError
from react_text.parsing import parse
from react_text.protocol.dialect import LABELS, SECTIONS, read_dialect
from react_text.protocol.render import final_text, step_text
from react_text.tools import Tool

TOOL = Tool("add", "Add two numbers", {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})


SETTINGS = {label: label.title() for label in LABELS} | {"input": "Action Input", "final": "Final Answer"}
BODIES = {
    "system": "Tools: {tools}",
    "call thought": "I use {tool}.",
    "answer thought": "I know.",
    "no tool thought": "I know without.",
    "observation": "Observation: {content}",
    "observation of one of several": "Observation of {tool}: {content}",
    "correction": "Wrong: {fault}",
    "repeated": "Again.",
    "answer now": "Answer.",
}


def written(settings: dict[str, str] = SETTINGS, bodies: dict[str, str] = BODIES) -> str:
    """A whole dialect file."""
    head = [f"{key}: {value}" for key, value in settings.items()]
    return "\n".join([*head, "", *(f"## {key}\n\n{body}" for key, body in bodies.items())])


def without(whole: dict[str, str], key: str) -> dict[str, str]:
    return {name: value for name, value in whole.items() if name != key}


@pytest.mark.parametrize("name", dialect_names())
def test_what_a_dialect_writes_is_read_back_strictly(name):
    """An example turn in the dialect meets the published format, so that a model which copies it does too."""
    dialect = load_dialect(name)
    step = parse(step_text(dialect, [("add", '{"a": 1}')], None), [TOOL])
    assert (step.kind, step.strict, dict(step.calls[0].arguments)) == ("action", True, {"a": 1})
    final = parse(final_text(dialect, "It is 2."), [TOOL])
    assert (final.kind, final.strict, final.final) == ("final", True, "It is 2.")


@pytest.mark.parametrize("name", dialect_names())
def test_a_reply_stops_before_an_observation_in_every_form_the_dialect_writes(name):
    dialect = load_dialect(name)
    single = dialect.text("observation", content="x")
    several = dialect.text("observation of one of several", tool="add", arguments="{}", content="x")
    for text in (single, several):
        assert any(f"\n{text}".startswith(stop) for stop in dialect.stop)


def test_braces_in_a_value_are_not_taken_for_placeholders():
    dialect = read_dialect(written(), "own")
    assert dialect.text("observation", content='{"content": "{fault}"}') == 'Observation: {"content": "{fault}"}'


@pytest.mark.parametrize("section", SECTIONS)
def test_a_missing_section_is_named(section):
    with pytest.raises(DialectError, match=f"no section '## {section}'"):
        read_dialect(written(bodies=without(BODIES, section)), "own")


@pytest.mark.parametrize("label", LABELS)
def test_a_missing_label_is_named(label):
    with pytest.raises(DialectError, match=f"no line '{label}: LABEL'"):
        read_dialect(written(settings=without(SETTINGS, label)), "own")


@pytest.mark.parametrize(
    ("section", "body", "message"),
    [
        ("system", "Tools: {toolz} {tools}", r"unknown placeholder \{toolz\}"),
        ("system", "No tools here", r"\{tools\} is missing"),
        ("observation", "Observation:", r"\{content\} is missing"),
    ],
)
def test_a_wrong_placeholder_is_named(section, body, message):
    with pytest.raises(DialectError, match=message):
        read_dialect(written(bodies=BODIES | {section: body}), "own")


def test_an_unknown_section_is_named():
    with pytest.raises(DialectError, match="unknown section 'extra'"):
        read_dialect(written() + "\n## extra\n\nwords\n", "own")


def test_a_name_that_is_no_dialect_lists_the_dialects():
    with pytest.raises(DialectError, match="brief, react"):
        load_dialect("nonsense")

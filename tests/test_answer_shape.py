"""An answer in a shape: constrained where there is a grammar, checked always, and asked for only after the tools."""

import json

import pytest
from pydantic import BaseModel

from react_text import Agent, Scripted, tool
from react_text.answer_shape import AnswerShape
from react_text.events import Corrected


class Tide(BaseModel):
    harbor: str
    metres: float


@tool(safe=True)
def tide(harbor: str) -> float:
    """Height of the next high tide."""
    return {"oban": 3.4}[harbor.lower()]


CALL = 'Thought: I need tide for this.\nAction: tide\nAction Input: {"harbor": "Oban"}'


def final(text):
    return f"Thought: The observation answers the question.\nFinal Answer: {text}"


def test_tools_are_used_first_and_the_answer_is_then_asked_for_in_its_shape():
    model = Scripted([CALL, final("It is 3.4 m."), final('{"harbor": "Oban", "metres": 3.4}')])
    result = Agent(model, [tide]).run("How high is the tide in Oban?", output_type=Tide)
    assert result.output == Tide(harbor="Oban", metres=3.4)
    assert result.stop_reason == "answer"
    assert json.loads(result.answer) == {"harbor": "Oban", "metres": 3.4}
    assert "metres" not in str(model.requests[0].messages)


def test_an_answer_that_fits_already_is_not_asked_for_again():
    model = Scripted([final('{"harbor": "Oban", "metres": 3.4}')])
    assert Agent(model, [tide]).run("Tide in Oban?", output_type=Tide).output.metres == 3.4
    assert len(model.requests) == 1


def test_an_answer_that_does_not_fit_is_told_what_is_wrong():
    model = Scripted([final("high"), final('{"harbor": "Oban"}'), final('{"harbor": "Oban", "metres": 3.4}')])
    events = list(Agent(model, [tide]).stream("Tide in Oban?", output_type=Tide))
    assert events[-1].result.output == Tide(harbor="Oban", metres=3.4)
    (told,) = (event.fault for event in events if isinstance(event, Corrected))
    assert told.code == "invalid_answer"
    assert "metres" in told.message
    assert "metres" in model.requests[-1].messages[-1]["content"]


def test_an_answer_that_never_fits_ends_as_stuck_with_the_reason():
    result = Agent(Scripted([final("high")] * 9), [tide]).run("Tide in Oban?", output_type=Tide)
    assert result.stop_reason == "stuck"
    assert "shape" in result.answer
    assert result.output is None


@pytest.mark.parametrize(
    ("wanted", "answer", "value"),
    [
        (Tide, 'The tide: ```json\n{"harbor": "Oban", "metres": "3.4"}\n```', Tide(harbor="Oban", metres=3.4)),
        ({"type": "array", "items": {"type": "integer"}}, "[1, 2, 3]", [1, 2, 3]),
        (list[int], "[1, 2, 3,]", [1, 2, 3]),
        ({"type": "integer"}, "42", 42),
        ({"enum": ["low", "high"]}, '"high"', "high"),
    ],
)
def test_answers_are_read_without_loss(wanted, answer, value):
    assert AnswerShape.of(wanted).read(answer) == (value, None)


@pytest.mark.parametrize("answer", ["", "I do not know.", '{"harbor": 3', '{"harbor": "Oban", "metres": "deep"}', "[]"])
def test_what_does_not_fit_is_one_sentence(answer):
    value, problem = AnswerShape.of(Tide).read(answer)
    assert value is None
    assert problem


def test_what_the_schema_cannot_say_is_checked_too():
    from pydantic import field_validator

    class Even(BaseModel):
        number: int

        @field_validator("number")
        @classmethod
        def even(cls, number):
            if number % 2:
                raise ValueError("must be even")
            return number

    assert "even" in AnswerShape.of(Even).read('{"number": 3}')[1]


def test_a_type_without_a_schema_is_refused_with_what_to_give_instead():
    class Plain:
        pass

    with pytest.raises(ValueError, match="give a pydantic model, a type or a JSON Schema"):
        Agent(Scripted([]), [tide]).run("Tide?", output_type=Plain)


@pytest.mark.model
def test_smollm2_answers_in_a_shape_under_the_grammar(smollm2):
    result = Agent(smollm2, [tide]).run("How high is the tide in Oban?", output_type=Tide)
    assert isinstance(result.output, Tide)
    assert any(step.observations for step in result.steps)


SELF = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "inner": {"type": "array", "items": {"$ref": "#"}}},
    "required": ["name"],
}
DEFINED = {"definitions": {"metres": {"type": "number"}}, "type": "array", "items": {"$ref": "#/definitions/metres"}}


@pytest.mark.parametrize(
    ("schema", "fits", "does_not"),
    [
        (SELF, '{"name": "a", "inner": [{"name": "b"}]}', '{"name": "a", "inner": [{"inner": []}]}'),
        (DEFINED, "[3.4]", '["deep"]'),
        (
            {"type": "object", "properties": {"$ref": {"const": {"$ref": "#"}}}},
            '{"$ref": {"$ref": "#"}}',
            '{"$ref": 1}',
        ),
    ],
)
def test_references_in_a_schema_hold_wherever_they_point(schema, fits, does_not):
    assert AnswerShape.of(schema).read(fits) == (json.loads(fits), None)
    assert AnswerShape.of(schema).read(does_not)[1]


@pytest.mark.parametrize("schema", [{"type": "strin"}, {"pattern": "("}, {"$ref": "#/$defs/None"}, {"enum": [{1}]}])
def test_a_schema_that_could_not_be_checked_is_refused_before_the_run(schema):
    with pytest.raises(ValueError, match="no JSON Schema"):
        Agent(Scripted([]), [tide]).run("Tide?", output_type=schema)


@pytest.mark.parametrize(
    "answer",
    [
        'As said in [1], {"harbor": "Oban", "metres": 3.4}',
        'From {"tide": 3.4} follows: {"harbor": "Oban", "metres": 3.4}',
        '```json\n{"tide": 3.4}\n```\nso\n```json\n{"harbor": "Oban", "metres": 3.4}\n```',
        '{"harbor": "Oban", "metres": 3.4} or, as text, {"harbor": "Oban", "metres": "3.4"}',
    ],
)
def test_of_several_values_in_an_answer_the_one_that_fits_is_taken(answer):
    assert AnswerShape.of(Tide).read(answer) == (Tide(harbor="Oban", metres=3.4), None)


def test_two_values_that_fit_and_differ_are_no_answer():
    value, problem = AnswerShape.of(Tide).read('{"harbor": "Oban", "metres": 3} {"harbor": "Oban", "metres": 4}')
    assert value is None
    assert "give one" in problem


def test_strict_types_take_what_json_writes_for_them():
    import datetime

    from pydantic import ConfigDict

    class Due(BaseModel):
        model_config = ConfigDict(strict=True)
        day: datetime.date
        span: tuple[int, int]

    due = AnswerShape.of(Due).read('{"day": "2024-01-02", "span": [1, 2]}')
    assert due == (Due(day=datetime.date(2024, 1, 2), span=(1, 2)), None)

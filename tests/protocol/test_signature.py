import pytest

from react_text.protocol.signature import tool_lines, type_text
from react_text.tools import Tool


def test_a_tool_is_shown_with_types_defaults_and_descriptions():
    parameters = {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "the city's\n  name"},
            "unit": {"enum": ["c", "f"], "default": "c"},
            "days": {"type": "integer"},
        },
        "required": ["city"],
    }
    shown = tool_lines([Tool("weather", "Weather of a city.", parameters)])
    assert shown.splitlines() == [
        'weather(city: string, unit?: "c" | "f" = "c", days?: integer) - Weather of a city.',
        "  city: the city's name",
    ]


def test_a_tool_without_arguments_is_shown_with_empty_brackets():
    assert tool_lines([Tool("now")]) == "now()"


@pytest.mark.parametrize(
    ("schema", "shown"),
    [
        ({"type": "array", "items": {"type": "string"}}, "string[]"),
        ({"type": "array", "items": {"enum": [1, 2]}}, "(1 | 2)[]"),
        ({"type": ["string", "null"]}, "string | null"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "integer | null"),
        ({"$ref": "#/$defs/point"}, "{x: number, y?: number}"),
        ({"type": "string", "format": "date"}, "string (date)"),
        ({"const": "on"}, '"on"'),
        ({"type": "object"}, "object"),
        (True, "any"),
    ],
)
def test_a_type_reads_as_in_a_typed_language(schema, shown):
    point = {"type": "object", "properties": {"x": {"type": "number"}, "y": {"type": "number"}}, "required": ["x"]}
    assert type_text(schema, {"$defs": {"point": point}}) == shown


def test_a_schema_that_refers_to_itself_ends():
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}
    assert "object" in type_text({"$ref": "#/$defs/node"}, {"$defs": {"node": node}})

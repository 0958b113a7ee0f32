"""JSON Schema: from a typed function, for checking the arguments of a call, and for putting them right without loss.

It knows nothing of tools, turns or how a call was written, and needs jsonschema and pydantic only when they are used.
"""

from react_text.schema.arguments import first_problem, problems
from react_text.schema.coercion import coerce
from react_text.schema.shape import declared_properties, resolve_ref, types_of
from react_text.schema.validator import check_schema
from react_text.schema.words import expected, nearest

__all__ = [
    "check_schema",
    "coerce",
    "declared_properties",
    "expected",
    "first_problem",
    "nearest",
    "problems",
    "resolve_ref",
    "types_of",
]

"""Values and arguments out of text: the one place other rooms take them from."""

from react_text.parsing.arguments import ArgumentsRead, read_arguments
from react_text.parsing.json_text import ValueRead
from react_text.parsing.jsonish import read_value

__all__ = ["ArgumentsRead", "ValueRead", "read_arguments", "read_value"]

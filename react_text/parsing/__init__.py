"""Model output, read: text or chat-completions messages in, one Turn out."""

from react_text.parsing.message import parse_message
from react_text.parsing.reader import parse
from react_text.parsing.stream import StreamEvent, StreamReader

__all__ = ["StreamEvent", "StreamReader", "parse", "parse_message"]

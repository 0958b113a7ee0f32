"""Model output, read: text or chat-completions messages in, one Turn out.

Every pattern here is bounded by construction: reading a text costs time in proportion to its length, whatever it
holds, so none needs a time limit. Readers that not every text needs are imported when one does.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from react_text.parsing.message import parse_message
    from react_text.parsing.reader import parse
    from react_text.parsing.stream import StreamEvent, StreamReader

__all__ = ["StreamEvent", "StreamReader", "parse", "parse_message"]
_HOMES = {"StreamEvent": "stream", "StreamReader": "stream", "parse": "reader", "parse_message": "message"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value

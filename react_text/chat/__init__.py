"""The fallback backend: chat completions in, chat completions out, in front of any model.

One `create` is one turn of the model, never a run of an agent: the caller's own code runs the tools.
"""

from react_text.chat.fallback import FallbackChat

__all__ = ["FallbackChat"]

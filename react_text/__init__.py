"""Tools for language models that have none.

`Agent` answers questions with a model and tools; `tool` makes a tool of a typed function; `parse` and `parse_message`
read what a model wrote; `FallbackChat` answers chat completions, with tool calls, in front of any model. Backends:
`LlamaCpp` (a GGUF in process), `OpenAICompatible` and `Ollama` (endpoints over HTTP) and `Scripted` (a model played by
a script).

Each name is loaded from its module when it is first used, so that importing the package costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from react_text.agent import Agent
    from react_text.backends.llama_cpp import LlamaCpp
    from react_text.backends.ollama import Ollama
    from react_text.backends.openai import OpenAICompatible
    from react_text.backends.scripted import Scripted
    from react_text.chat import FallbackChat
    from react_text.messages import Call, Fault, Observation, Turn, Usage
    from react_text.parsing import parse, parse_message
    from react_text.toolbox import Toolbox
    from react_text.tools import Example, Tool, tool

__version__ = "0.1.0"
__all__ = [
    "Agent",
    "Call",
    "Example",
    "FallbackChat",
    "Fault",
    "LlamaCpp",
    "Observation",
    "Ollama",
    "OpenAICompatible",
    "Scripted",
    "Tool",
    "Toolbox",
    "Turn",
    "Usage",
    "parse",
    "parse_message",
    "tool",
]
_HOMES = {
    "Agent": "agent",
    "LlamaCpp": "backends.llama_cpp",
    "Ollama": "backends.ollama",
    "OpenAICompatible": "backends.openai",
    "Scripted": "backends.scripted",
    "FallbackChat": "chat",
    "Call": "messages",
    "Fault": "messages",
    "Observation": "messages",
    "Turn": "messages",
    "Usage": "messages",
    "parse": "parsing",
    "parse_message": "parsing",
    "Toolbox": "toolbox",
    "Example": "tools",
    "Tool": "tools",
    "tool": "tools",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'react_text' has no attribute {name!r}")
    value = getattr(import_module(f"react_text.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])

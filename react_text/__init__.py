"""Tools for language models that have none.

`Agent` answers questions with a model and tools; `tool` makes a tool of a typed function; `parse` and `parse_message`
read what a model wrote. Backends: `LlamaCpp` (a GGUF in process) and `Scripted` (a model played by a script).
"""

from react_text.agent import Agent
from react_text.backends.llama_cpp import LlamaCpp
from react_text.backends.scripted import Scripted
from react_text.messages import Call, Fault, Observation, Turn, Usage
from react_text.parsing import parse, parse_message
from react_text.toolbox import Toolbox
from react_text.tools import Example, Tool, tool

__version__ = "0.1.0"
__all__ = [
    "Agent",
    "Call",
    "Example",
    "Fault",
    "LlamaCpp",
    "Observation",
    "Scripted",
    "Tool",
    "Toolbox",
    "Turn",
    "Usage",
    "parse",
    "parse_message",
    "tool",
]

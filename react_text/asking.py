"""How a backend is asked with some tools: its modes with their openings and grammars, and what it knows of tool calls.

The agent and the chat-completions faces set themselves up with these. It asks a backend what it can do, and generates
nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Literal

from react_text.backends.base import Backend
from react_text.backends.gbnf import check_grammar
from react_text.backends.llama_cpp import LlamaCpp
from react_text.capabilities import Support
from react_text.data import load_grammar_skeleton
from react_text.errors import GrammarError
from react_text.models import resolve_model
from react_text.modes import AskingMode, StructuredMode, TextMode
from react_text.profiles import profile_for
from react_text.protocol.dialect import Dialect
from react_text.protocol.examples import examples_of
from react_text.protocol.grammar import Wanted as GrammarWanted
from react_text.protocol.grammar import text_grammar, value_grammar
from react_text.protocol.grammar_forms import json_schema_form
from react_text.protocol.native_grammar import format_of, native_grammar
from react_text.protocol.render import Entry, opening, structured_opening, to_text
from react_text.steering import Policies
from react_text.switch import Mode, Wanted
from react_text.tools import Tool

_log = logging.getLogger("react_text")

EXAMPLES_SHARE = 0.4
"""The share of the context that the opening may take before worked examples are left out."""


def as_backend(model: Backend | str) -> Backend:
    """A backend as it is; a GGUF path or the word of a packaged model as a backend in process."""
    return LlamaCpp(resolve_model(model)) if isinstance(model, str) else model


def asking_modes(
    backend: Backend,
    dialect: Dialect,
    tools: tuple[Tool, ...],
    instructions: str = "",
    examples: int | None = None,
    *,
    steered: bool = False,
) -> dict[Mode, AskingMode]:
    """The ways to ask this backend with these tools. `instructions` is the caller's own text for the system turn.

    `examples` is how many worked examples are shown at most, None for one of each tool. In structured mode they are
    only made where the model is `steered` and has to choose between tools: else it copies a made answer, and leaves out
    what it leaves out.
    """
    made = grammar_of(backend, dialect, tools)
    schema = reply_schema_of(backend, tools) if made is None else None
    return {
        "text": TextMode(
            dialect,
            tools,
            fitted_opening(backend, dialect, tools, instructions, examples),
            {"any": made} if made else {},
            {"any": schema} if schema else {},
        ),
        "structured": _structured(backend, tools, instructions, examples, made=steered and len(tools) > 1),
    }


def _structured(
    backend: Backend, tools: tuple[Tool, ...], instructions: str, examples: int | None, *, made: bool
) -> StructuredMode:
    """Structured mode; in process with worked examples, and grammars where the model's call format is known.

    Without `made` only the tools' own examples are shown.
    """
    find_out = getattr(backend, "call_format", None)
    if find_out is None or tool_support(backend, "auto") != "yes" or not tools:
        return StructuredMode(tools, structured_opening(tools, instructions), pairs_by_position(backend))
    offered = [tool.to_dict() for tool in tools]
    exemplary = tools if made else tuple(tool for tool in tools if tool.examples)
    entries = _longest(
        backend,
        _most_examples(exemplary, examples),
        lambda count: structured_opening(exemplary, instructions, count),
        lambda shown: backend.count_tokens([entry.message for entry in shown], tools=offered),
    )
    wanted: tuple[GrammarWanted, ...] = ("any", "answer")
    grammars: dict[str, str] = {
        one: found for one in wanted if (found := call_grammar_of(backend, tools, one)) is not None
    }
    family = find_out()
    think = getattr(backend, "reasoning", None)
    begun = think is not None and think() == "begun"
    end = f"{format_of(family).thinks[1]}\n\n" if begun and family else ""
    return StructuredMode(tools, entries, pairs_by_position(backend), grammars, family, end)


def policies_for(backend: Backend) -> Policies | None:
    """How a model is steered by default: in process, by its profile."""
    if not hasattr(backend, "log_probabilities"):
        return None
    profile = profile_for(getattr(backend, "architecture", ""), getattr(backend, "parameter_count", 0))
    return None if profile is None else profile.policies


def tool_support(backend: Backend, mode: Wanted) -> Support:
    """What the backend knows of real tool calls; asked only where it decides."""
    find_out = getattr(backend, "tool_support", None)
    support: Support = find_out() if find_out is not None and mode == "auto" else "unknown"
    return support


def pairs_by_position(backend: Backend) -> bool:
    """Whether a probe saw this model take results by their place instead of by their id."""
    capabilities = getattr(backend, "capabilities", None)
    probed = capabilities.get("probe") if capabilities is not None else None
    return isinstance(probed, Mapping) and probed.get("pairing", {}).get("structured") == "position"


def learn_text(backend: Backend, reason: str) -> None:
    """Let the backend remember a move to text for good, so that the next run starts there."""
    learn = getattr(backend, "learn", None)
    if learn is not None:
        learn("tools", "no", reason)


def fitted_opening(
    backend: Backend, dialect: Dialect, tools: tuple[Tool, ...], instructions: str, examples: int | None = None
) -> list[Entry]:
    """The longest opening that leaves room for the conversation."""
    return _longest(
        backend,
        _most_examples(tools, examples),
        lambda count: opening(dialect, tools, instructions, count),
        lambda made: backend.count_tokens(to_text(made, dialect)),
    )


def _most_examples(tools: tuple[Tool, ...], examples: int | None) -> int:
    made = len(examples_of(tools))
    return made if examples is None else min(made, examples)


def _longest(
    backend: Backend,
    most: int,
    make: Callable[[int], list[Entry]],
    length: Callable[[list[Entry]], int | None],
) -> list[Entry]:
    """Of the openings with `most` worked examples and fewer, the first that takes no more than EXAMPLES_SHARE."""
    context = backend.context_length
    entries: list[Entry] = []
    for count in range(most, -1, -1):
        entries = make(count)
        tokens = length(entries) if entries and context is not None else None
        if tokens is None or context is None or tokens <= EXAMPLES_SHARE * context:
            break
    return entries


def grammar_of(
    backend: Backend,
    dialect: Dialect,
    tools: tuple[Tool, ...],
    wanted: GrammarWanted = "any",
    *,
    parallel: bool = False,
    answer_schema: Any = None,
) -> str | None:
    """The grammar of one reply, or None where the backend, the dialect or the tools allow none."""
    if not backend.supports_grammar or dialect.grammar is None:
        return None
    skeleton = load_grammar_skeleton(dialect.grammar)
    made = text_grammar(skeleton, dialect, tools, wanted, parallel=parallel, answer_schema=answer_schema).gbnf
    takes = getattr(backend, "takes_grammar", None)
    return made if _usable(made) and (takes is None or takes(made)) else None


def reply_schema_of(backend: Backend, tools: tuple[Tool, ...], wanted: GrammarWanted = "any") -> dict[str, Any] | None:
    """The JSON Schema of a reply that is a call object, for where no grammar is taken; None where neither is."""
    if not tools or not takes_json_schema(backend):
        return None
    return json_schema_form(tools, wanted)


def takes_json_schema(backend: Backend) -> bool:
    """Whether a backend can hold a reply to a JSON Schema."""
    return bool(getattr(backend, "takes_json_schema", False))


def grammar_use_for(backend: Backend) -> Literal["always", "ladder", "never"]:
    """When replies are held to a grammar by default: from the start where the published format can be held.

    A backend that takes only a JSON Schema makes of a reply another thing than it was told to write, and of its
    thought nothing: that is for when it has failed to write it.
    """
    if backend.supports_grammar:
        return "always"
    return "ladder" if takes_json_schema(backend) else "never"


def call_grammar_of(
    backend: Backend, tools: tuple[Tool, ...], wanted: GrammarWanted, answer_schema: Any = None
) -> str | None:
    """The grammar of a reply in the model's own call format, or None where there is none or it is not known."""
    find_out = getattr(backend, "call_format", None)
    family = find_out() if find_out is not None and backend.supports_grammar else None
    if family is None:
        return None
    think = getattr(backend, "reasoning", None)
    reasoning = think() if think is not None else None
    made = native_grammar(family, tools, wanted, reasoning=reasoning, answer_schema=answer_schema).gbnf
    return made if _usable(made) else None


def value_grammar_of(backend: Backend, schema: Any) -> str | None:
    """The grammar of a bare JSON value, or None where the backend takes none."""
    made = value_grammar(schema).gbnf if backend.supports_grammar else None
    return made if made is not None and _usable(made) else None


def _usable(grammar: str) -> bool:
    try:
        check_grammar(grammar)
    except GrammarError as error:
        _log.warning("No grammar for these tools, replies are only read and checked: %s", error)
        return False
    return True

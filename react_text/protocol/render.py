"""The canonical history as a text model reads it: plain system, user and assistant turns.

The history is a list of chat-completions messages and stays canonical, so that a run could go on in another mode.
Conversations only grow: a rendered turn never changes when later turns are added, so a KV cache stays valid.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from react_text.messages import Call, Message, Observation
from react_text.protocol.dialect import Dialect
from react_text.protocol.examples import answer_of, examples_of
from react_text.protocol.signature import tool_lines
from react_text.tools import Example, Tool


@dataclass(frozen=True, slots=True)
class Entry:
    """One message of the history, and `written`, the text that a text model is shown instead of it where they differ.

    That is an assistant turn as the model wrote it, or the shortened content of a tool message.
    """

    message: Message
    written: str | None = None


def system_text(dialect: Dialect, tools: Sequence[Tool], instructions: str = "") -> str:
    """The system turn: the dialect's rules with the tools in them, then the user's own instructions.

    It depends on nothing else, so it stays the same byte for byte from question to question. Without tools there are no
    rules.
    """
    if not tools:
        return instructions.strip()
    rules = dialect.text("system", tools=tool_lines(tools), tool_names=", ".join(tool.name for tool in tools))
    return f"{rules}\n\n{instructions.strip()}" if instructions.strip() else rules


def user_message(text: str) -> Message:
    """A user turn."""
    return {"role": "user", "content": text}


def call_message(calls: Sequence[Call], thought: str | None = None) -> Message:
    """An assistant turn that asks for calls; the thought stands in `content`."""
    return {
        "role": "assistant",
        "content": thought or "",
        "tool_calls": [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(dict(call.arguments), ensure_ascii=False)},
            }
            for call in calls
        ],
    }


def observation_message(observation: Observation) -> Message:
    """What a call gave back, as a tool message."""
    return {"role": "tool", "tool_call_id": observation.call_id, "content": observation.content}


def answer_message(answer: str) -> Message:
    """An assistant turn that answers."""
    return {"role": "assistant", "content": answer}


def example_messages(tool: Tool, example: Example, call_id: str) -> list[Message]:
    """One worked example as real chat turns: question, call, observation, answer."""
    call = Call(call_id, tool.name, example.arguments)
    return [
        user_message(example.question),
        call_message([call]),
        observation_message(Observation(call_id, tool.name, example.result)),
        answer_message(answer_of(example)),
    ]


def opening(
    dialect: Dialect, tools: Sequence[Tool], instructions: str = "", examples: int | None = None
) -> list[Entry]:
    """Everything before the first question: the system turn and the worked examples of the first `examples` tools."""
    system = system_text(dialect, tools, instructions)
    return [*_system_entry(system), *example_entries(tools, examples)]


def structured_opening(tools: Sequence[Tool], instructions: str = "", examples: int | None = 0) -> list[Entry]:
    """The same for a model whose own template shows the tools: no rules, the user's instructions and the examples."""
    return [*_system_entry(instructions.strip()), *example_entries(tools, examples)]


def example_entries(tools: Sequence[Tool], examples: int | None = None) -> list[Entry]:
    """The worked examples of the first `examples` tools, one after the other."""
    chosen = examples_of(tuple(tools))[:examples]
    return [
        Entry(message)
        for number, (tool, example) in enumerate(chosen, 1)
        for message in example_messages(tool, example, f"example_{number}")
    ]


def _system_entry(text: str) -> list[Entry]:
    return [Entry({"role": "system", "content": text})] if text else []


def to_text(entries: Iterable[Entry], dialect: Dialect) -> list[Message]:
    """The history as plain turns of `role` and `content` in this dialect; results go back as user turns."""
    turns: list[Message] = []
    calls: dict[str, tuple[str, str, bool]] = {}
    joins = False
    for entry in entries:
        message = entry.message
        role = message["role"]
        if role == "tool":
            text = _observation_text(entry, calls, dialect)
            if joins:
                turns[-1] = {"role": "user", "content": f"{turns[-1]['content']}\n{text}"}
            else:
                turns.append({"role": "user", "content": text})
        elif role == "assistant":
            several = len(message.get("tool_calls") or ()) > 1
            for call in message.get("tool_calls") or ():
                calls[call["id"]] = (call["function"]["name"], call["function"]["arguments"], several)
            text = entry.written if entry.written is not None else _assistant_text(message, dialect)
            turns.append({"role": "assistant", "content": text})
        else:
            turns.append({"role": role, "content": message["content"]})
        joins = role == "tool"
    return turns


def step_text(dialect: Dialect, calls: Iterable[tuple[str, str]], thought: str | None) -> str:
    """An assistant turn with calls (name, arguments as JSON text) in the dialect's strict form."""
    calls = list(calls)
    lines = [f"{dialect.thought}: {thought or dialect.text('call thought', tool=calls[0][0])}"]
    for name, arguments in calls:
        lines += [f"{dialect.action}: {name}", f"{dialect.input}: {arguments}"]
    return "\n".join(lines)


def final_text(dialect: Dialect, answer: str, thought: str | None = None) -> str:
    """An assistant turn with an answer in the dialect's strict form."""
    return f"{dialect.thought}: {thought or dialect.sections['answer thought']}\n{dialect.final}: {answer}"


def _assistant_text(message: Mapping[str, Any], dialect: Dialect) -> str:
    content = message.get("content") or ""
    if calls := message.get("tool_calls"):
        pairs = [(call["function"]["name"], call["function"]["arguments"]) for call in calls]
        return step_text(dialect, pairs, content)
    return final_text(dialect, content)


def _observation_text(entry: Entry, calls: Mapping[str, tuple[str, str, bool]], dialect: Dialect) -> str:
    name, arguments, several = calls.get(entry.message.get("tool_call_id", ""), ("", "", False))
    content = entry.message["content"] if entry.written is None else entry.written
    if several:
        return dialect.text("observation of one of several", tool=name, arguments=arguments, content=content)
    return dialect.text("observation", content=content)

"""Messages as a model's own chat template writes them, with the contents kept apart from the markers.

The template is rendered with unguessable sentinels in place of contents, so that whoever tokenises the pieces can let
markers be control tokens and contents never. Knows Jinja and messages; knows no tokens and no engine.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from react_text.errors import BackendError
from react_text.messages import Message

if TYPE_CHECKING:
    from jinja2.sandbox import ImmutableSandboxedEnvironment

JOINT = "\n\n"
"""Between two contents that share one turn."""

RAW_LABELS = {"system": "", "user": "User:\n", "assistant": "Assistant:\n", "tool": "Tool:\n"}
RAW_STOPS = ("\nUser:\n", "\nTool:\n", "\nAssistant:\n")
"""Where a model without a template begins to write the next turn itself."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a prompt. `special` pieces are the template's own and may hold control tokens.

    `reply` marks the content of an assistant message: text that the model itself may have written.
    """

    text: str
    special: bool
    reply: bool = False


@dataclass(frozen=True, slots=True)
class _Part:
    """One content and the sentinel that stands for it while the template is rendered."""

    sentinel: str
    text: str
    reply: bool


Turn = tuple[str, tuple[_Part, ...]]
Adaptation = Callable[[list[Turn]], list[Turn]]


class ChatTemplate:
    """A compiled chat template.

    `options` are further names the template can read, such as `enable_thinking`. Raises BackendError when the source
    does not compile.
    """

    def __init__(self, source: str, *, bos: str = "", eos: str = "", options: Mapping[str, Any] | None = None) -> None:
        from jinja2 import TemplateError

        try:
            self._template = _environment().from_string(source)
        except TemplateError as error:
            raise BackendError(
                f"The model's chat template does not compile: {error}.",
                hint="Pass chat_template= with a working template.",
            ) from error
        self._names = {"bos_token": bos, "eos_token": eos, "tools": None, "documents": None, **(options or {})}

    def render(self, messages: Sequence[Message]) -> tuple[Piece, ...]:
        """The prompt that opens the assistant's next turn.

        Where the template refuses or drops messages as they stand, the nearest shape it takes is used: turns of the
        same role joined, the system text put in front of the first user turn, tool results as user turns. Contents are
        never altered. Raises BackendError when no shape works.
        """
        turns = [_turn(message) for message in messages]
        refusal = ""
        for adaptations in SHAPES:
            shaped = turns
            for adapt in adaptations:
                shaped = adapt(shaped)
            try:
                text = self._render_text(shaped)
            except _Refused as error:
                refusal = refusal or str(error)
                continue
            parts = [part for _, contents in shaped for part in contents]
            dropped = [part for part in parts if part.text and part.sentinel not in text]
            if not dropped:
                return _split(text, parts)
            refusal = refusal or "it leaves out the content of a message"
        raise BackendError(
            f"The model's chat template cannot render this conversation: {refusal}.",
            hint="Pass chat_template= with a working template.",
        )

    def _render_text(self, turns: Sequence[Turn]) -> str:
        from jinja2 import TemplateError

        messages = [{"role": role, "content": JOINT.join(part.sentinel for part in parts)} for role, parts in turns]
        try:
            return self._template.render(messages=messages, add_generation_prompt=True, **self._names)
        except (TemplateError, TypeError, ValueError, KeyError, IndexError, AttributeError, ArithmeticError) as error:
            raise _Refused(str(error).rstrip(".")) from error
        except (RecursionError, MemoryError) as error:
            raise _Refused("it does not end") from error


def render_raw(messages: Sequence[Message]) -> tuple[Piece, ...]:
    """Messages for a model without a template: labelled turns with blank lines between, ending where it shall go on."""
    pieces: list[Piece] = []
    for message in messages:
        role, parts = _turn(message)
        pieces.append(Piece(("\n\n" if pieces else "") + RAW_LABELS.get(role, f"{role.capitalize()}:\n"), False))
        pieces += [Piece(part.text, False, part.reply) for part in parts]
    pieces.append(Piece(("\n\n" if pieces else "") + RAW_LABELS["assistant"], False))
    return tuple(piece for piece in pieces if piece.text)


def content_text(message: Message) -> str:
    """The text of a message: its content, the text parts of a list of parts joined, or "" for null."""
    content = message.get("content")
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    raise BackendError(f"A message's content is {type(content).__name__}, wanted text.")


class _Refused(Exception):
    """The template would not render the messages in this shape."""


def _turn(message: Message) -> Turn:
    role = message.get("role")
    if not isinstance(role, str) or not re.fullmatch(r"[a-z_]+", role):
        raise BackendError(f"A message has the role {role!r}, wanted system, user, assistant or tool.")
    # digits alone survive whatever a template does to letters and to blanks at the ends
    sentinel = f"9{secrets.randbelow(10**40):040d}9"
    return role, (_Part(sentinel, content_text(message), role == "assistant"),)


def _split(text: str, parts: Sequence[_Part]) -> tuple[Piece, ...]:
    by_sentinel = {part.sentinel: part for part in parts}
    if not by_sentinel:
        return (Piece(text, True),) if text else ()
    pieces = []
    for index, stretch in enumerate(re.split("(" + "|".join(by_sentinel) + ")", text)):
        if index % 2:
            part = by_sentinel[stretch]
            pieces.append(Piece(part.text, False, part.reply))
        else:
            pieces.append(Piece(stretch, True))
    return tuple(piece for piece in pieces if piece.text)


def _joined(turns: list[Turn]) -> list[Turn]:
    """Turns of the same role in a row as one turn."""
    joined: list[Turn] = []
    for role, parts in turns:
        if joined and joined[-1][0] == role:
            joined[-1] = (role, joined[-1][1] + parts)
        else:
            joined.append((role, parts))
    return joined


def _system_in_user(turns: list[Turn]) -> list[Turn]:
    """System contents in front of those of the first user turn."""
    system = tuple(part for role, parts in turns if role == "system" for part in parts)
    rest = [(role, parts) for role, parts in turns if role != "system"]
    for index, (role, parts) in enumerate(rest):
        if role == "user":
            rest[index] = (role, system + parts)
            return rest
    return [("user", system), *rest] if system else rest


def _tool_as_user(turns: list[Turn]) -> list[Turn]:
    return [("user" if role == "tool" else role, parts) for role, parts in turns]


SHAPES: tuple[tuple[Adaptation, ...], ...] = (
    (),
    (_joined,),
    (_tool_as_user,),
    (_tool_as_user, _joined),
    (_system_in_user,),
    (_system_in_user, _joined),
    (_system_in_user, _tool_as_user, _joined),
)
"""The shapes a conversation is offered to a template in, from the least changed on. The order keeps a growing
conversation's earlier turns as they were: a shape that fails once fails for every longer conversation too."""


@lru_cache(maxsize=1)
def _environment() -> ImmutableSandboxedEnvironment:
    """Jinja as chat templates expect it: the settings and names that transformers gives them."""
    from jinja2 import nodes
    from jinja2.ext import Extension, loopcontrols
    from jinja2.parser import Parser
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Generation(Extension):
        """`{% generation %}` marks what a model was trained to write; for rendering it is nothing but its contents."""

        tags = {"generation"}  # noqa: RUF012

        def parse(self, parser: Parser) -> list[nodes.Node]:
            next(parser.stream)
            return parser.parse_statements(("name:endgeneration",), drop_needle=True)

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, Generation]
    )
    environment.filters["tojson"] = _to_json
    environment.globals |= {"raise_exception": _raise, "strftime_now": _now}
    return environment


def _to_json(value: Any, indent: int | None = None, **_options: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _raise(message: str) -> None:
    raise _Refused(message.rstrip("."))


def _now(form: str) -> str:
    from datetime import datetime

    return datetime.now().strftime(form)

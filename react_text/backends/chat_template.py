"""Messages as a model's own chat template writes them, with the contents kept apart from the markers.

The template is rendered with unguessable sentinels in place of contents, so that whoever tokenises the pieces can let
markers be control tokens and contents never. Knows Jinja and messages; knows no tokens and no engine.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from react_text.errors import BackendError, ToolsRefused
from react_text.messages import Message

if TYPE_CHECKING:
    from jinja2.sandbox import ImmutableSandboxedEnvironment

NO_TOOLS = "The model's chat template does not support tools."
TEXT_INSTEAD = "Use mode text, or auto."
JOINT = "\n\n"
"""Between two contents that share one turn."""

RAW_LABELS = {"system": "", "user": "User:\n", "assistant": "Assistant:\n", "tool": "Tool:\n"}
_HARMLESS = re.compile(r"[\w\s.,:;()'/-]*")
"""Texts in which no marker of any template can hide."""
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


@dataclass(frozen=True, slots=True)
class Turn:
    """One message on its way into a template: who speaks, what is said, the calls asked for, the call answered.

    Of `calls`, what was written by others stands behind sentinels, which are among `hidden`.
    """

    role: str
    contents: tuple[_Part, ...]
    calls: tuple[dict[str, Any], ...] = ()
    hidden: tuple[_Part, ...] = ()
    answers: Mapping[str, str] = field(default_factory=dict)


Adaptation = Callable[[list[Turn]], list[Turn]]


class ChatTemplate:
    """A compiled chat template.

    `options` are further names the template can read, such as `enable_thinking`. Raises BackendError when the source
    does not compile.
    """

    def __init__(self, source: str, *, bos: str = "", eos: str = "", options: Mapping[str, Any] | None = None) -> None:
        from jinja2 import TemplateError

        self.source = source
        try:
            self._template = _environment().from_string(source)
        except TemplateError as error:
            raise BackendError(
                f"The model's chat template does not compile: {error}.",
                hint="Pass chat_template= with a working template.",
            ) from error
        self._names = {"bos_token": bos, "eos_token": eos, "tools": None, "documents": None, **(options or {})}

    def render(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()) -> tuple[Piece, ...]:
        """The prompt that opens the assistant's next turn, with `tools` as chat-completions dicts.

        Where the template refuses or drops messages as they stand, the nearest shape it takes is used: turns of the
        same role joined, the system text put in front of the first user turn, tool results as user turns, calls as
        JSON text, an empty user turn before an assistant that speaks first. Contents are never altered, only escaped
        where the template puts them into a JSON string. Raises ToolsRefused when it leaves the tools out of every
        shape, BackendError when no shape works.
        """
        turns = _turns(messages)
        offered, shown = _behind_sentinels(list(tools))
        refusal = ""
        left_out = False
        for adaptations in SHAPES:
            shaped = turns
            for adapt in adaptations:
                shaped = adapt(shaped)
            try:
                text = self._render_text(shaped, offered)
            except _Refused as error:
                refusal = refusal or str(error)
                continue
            parts = [part for turn in shaped for part in (*turn.contents, *turn.hidden)]
            dropped = [part for part in parts if part.text and part.sentinel not in text]
            if dropped:
                refusal = refusal or "it leaves out the content of a message"
            # contents are still sentinels here, so that a name in a question does not count
            elif all(str(tool["function"]["name"]) in text for tool in offered):
                return _split(text, [*parts, *shown])
            else:
                left_out = True
        if left_out:
            raise ToolsRefused(NO_TOOLS, reason="tools", hint=TEXT_INSTEAD)
        raise BackendError(
            f"The model's chat template cannot render this conversation: {refusal}.",
            hint="Pass chat_template= with a working template.",
        )

    def _render_text(self, turns: Sequence[Turn], tools: list[Any]) -> str:
        from jinja2 import TemplateError

        names = {**self._names, "tools": tools} if tools else self._names
        try:
            return self._template.render(messages=[_plain(turn) for turn in turns], add_generation_prompt=True, **names)
        except (TemplateError, TypeError, ValueError, KeyError, IndexError, AttributeError, ArithmeticError) as error:
            raise _Refused(str(error).rstrip(".")) from error
        except (RecursionError, MemoryError) as error:
            raise _Refused("it does not end") from error


def render_raw(messages: Sequence[Message]) -> tuple[Piece, ...]:
    """Messages for a model without a template: labelled turns with blank lines between, ending where it shall go on."""
    pieces: list[Piece] = []
    for turn in _calls_as_text(_turns(messages)):
        label = RAW_LABELS.get(turn.role, f"{turn.role.capitalize()}:\n")
        pieces.append(Piece(("\n\n" if pieces else "") + label, False))
        pieces += [Piece(part.text, False, part.reply) for part in turn.contents]
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


def _turns(messages: Sequence[Message]) -> list[Turn]:
    """The messages with sentinels for contents.

    Ids are numbered anew, since some templates want them to have nine characters.
    """
    turns: list[Turn] = []
    known: dict[str, dict[str, str]] = {}
    for message in messages:
        role = message.get("role")
        if not isinstance(role, str) or not re.fullmatch(r"[a-z_]+", role):
            raise BackendError(f"A message has the role {role!r}, wanted system, user, assistant or tool.")
        calls: list[dict[str, Any]] = []
        hidden: list[_Part] = []
        for call in message.get("tool_calls") or ():
            try:
                function = call["function"]
                asked = [function["name"], _arguments(function["arguments"])]
            except (KeyError, TypeError):
                raise BackendError("A message has a call without a function's name and arguments.") from None
            (name, arguments), parts = _behind_sentinels(asked, all_of_it=True)
            number = f"call{len(known):05d}"
            known[str(call.get("id"))] = {"tool_call_id": number, "name": name}
            calls.append({"id": number, "type": "function", "function": {"name": name, "arguments": arguments}})
            hidden += parts
        text = content_text(message)
        # an empty content beside calls stays empty: templates ask whether there is one
        contents = () if calls and not text else (_Part(_sentinel(), text, role == "assistant"),)
        answers = known.get(str(message.get("tool_call_id")), {}) if role == "tool" else {}
        turns.append(Turn(role, contents, tuple(calls), tuple(hidden), answers))
    return turns


def _plain(turn: Turn) -> dict[str, Any]:
    """The message as a template reads it."""
    message = {"role": turn.role, "content": JOINT.join(part.sentinel for part in turn.contents), **turn.answers}
    return {**message, "tool_calls": list(turn.calls)} if turn.calls else message


def _sentinel() -> str:
    # digits alone survive whatever a template does to letters and to blanks at the ends
    return f"9{secrets.randbelow(10**40):040d}9"


def _arguments(written: Any) -> Any:
    """The arguments of a call as the object that templates expect, or as they are where they are none."""
    if not isinstance(written, str):
        return written
    try:
        read = json.loads(written)
    except ValueError:
        return written
    return read if isinstance(read, dict) else written


def _behind_sentinels(value: Any, *, all_of_it: bool = False) -> tuple[Any, list[_Part]]:
    """A JSON value with sentinels for its texts (by default only those that could hold a marker), and their parts."""
    parts: list[_Part] = []

    def hide(one: Any) -> Any:
        if isinstance(one, str):
            if not all_of_it and _HARMLESS.fullmatch(one):
                return one
            parts.append(_Part(_sentinel(), one, False))
            return parts[-1].sentinel
        if isinstance(one, Mapping):
            return {key if _HARMLESS.fullmatch(key) else hide(key): hide(item) for key, item in one.items()}
        return [hide(item) for item in one] if isinstance(one, list | tuple) else one

    return hide(value), parts


def _split(text: str, parts: Sequence[_Part]) -> tuple[Piece, ...]:
    by_sentinel = {part.sentinel: part for part in parts}
    stretches = re.split("(" + "|".join(by_sentinel) + ")", text) if by_sentinel else [text]
    pieces = []
    for index, stretch in enumerate(stretches):
        if index % 2:
            part = by_sentinel[stretch]
            written = _written(part.text, stretches[index - 1], stretches[index + 1])
            pieces.append(Piece(written, False, part.reply))
        else:
            pieces.append(Piece(stretch, True))
    return tuple(piece for piece in pieces if piece.text)


def _written(text: str, before: str, after: str) -> str:
    """A content as it stands in the prompt: escaped where the template has put it between the quotes of JSON."""
    for quote in ('\\"', '"'):
        if before.endswith(quote) and after.startswith(quote):
            for _ in quote:
                text = json.dumps(text, ensure_ascii=False)[1:-1]
            break
    return text


def _joined(turns: list[Turn]) -> list[Turn]:
    """Turns of the same role in a row as one turn."""
    joined: list[Turn] = []
    for turn in turns:
        if joined and joined[-1].role == turn.role and not (joined[-1].calls or turn.calls or turn.answers):
            joined[-1] = replace(joined[-1], contents=joined[-1].contents + turn.contents)
        else:
            joined.append(turn)
    return joined


def _system_in_user(turns: list[Turn]) -> list[Turn]:
    """System contents in front of those of the first user turn."""
    system = tuple(part for turn in turns if turn.role == "system" for part in turn.contents)
    rest = [turn for turn in turns if turn.role != "system"]
    for index, turn in enumerate(rest):
        if turn.role == "user":
            rest[index] = replace(turn, contents=system + turn.contents)
            return rest
    return [Turn("user", system), *rest] if system else rest


def _user_first(turns: list[Turn]) -> list[Turn]:
    """An empty user turn before an assistant that speaks first."""
    first = next((index for index, turn in enumerate(turns) if turn.role != "system"), None)
    if first is None or turns[first].role != "assistant":
        return turns
    return [*turns[:first], Turn("user", ()), *turns[first:]]


def _tool_as_user(turns: list[Turn]) -> list[Turn]:
    return [Turn("user", turn.contents) if turn.role == "tool" else turn for turn in turns]


def _calls_as_text(turns: list[Turn]) -> list[Turn]:
    """Calls written into the content, one JSON object a line."""
    return [replace(turn, contents=_call_texts(turn), calls=(), hidden=()) if turn.calls else turn for turn in turns]


def _call_texts(turn: Turn) -> tuple[_Part, ...]:
    by_sentinel = {part.sentinel: part.text for part in turn.hidden}

    def shown(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {shown(key): shown(item) for key, item in value.items()}
        if isinstance(value, list):
            return [shown(item) for item in value]
        return by_sentinel.get(value, value) if isinstance(value, str) else value

    lines = [json.dumps(shown(call["function"]), ensure_ascii=False) for call in turn.calls]
    return (*turn.contents, _Part(_sentinel(), "\n".join(lines), True))


def _arguments_as_text(turns: list[Turn]) -> list[Turn]:
    """The arguments of calls as the JSON text that endpoints send, for templates that expect it."""

    def rewritten(call: dict[str, Any]) -> dict[str, Any]:
        written = call["function"]["arguments"]
        text = written if isinstance(written, str) else _to_json(written)
        return {**call, "function": {**call["function"], "arguments": text}}

    return [replace(turn, calls=tuple(map(rewritten, turn.calls))) for turn in turns]


SHAPES: tuple[tuple[Adaptation, ...], ...] = (
    (),
    (_joined,),
    (_tool_as_user,),
    (_tool_as_user, _joined),
    (_system_in_user,),
    (_system_in_user, _joined),
    (_system_in_user, _tool_as_user, _joined),
    (_arguments_as_text,),
    (_arguments_as_text, _system_in_user, _joined),
    (_calls_as_text, _tool_as_user, _joined),
    (_calls_as_text, _system_in_user, _tool_as_user, _joined),
    (_calls_as_text, _user_first, _tool_as_user, _joined),
    (_calls_as_text, _user_first, _system_in_user, _tool_as_user, _joined),
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

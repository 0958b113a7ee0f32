"""A plugin for the command-line tool `llm`: its models `react-text/NAME` have tools whatever the GGUF can do.

`llm` runs the tools and keeps the log; each of its requests is one turn of a `FallbackChat`. This module is loaded
whenever `llm` starts, so that nothing heavy is imported before a model is asked.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import llm
from pydantic import Field

if TYPE_CHECKING:
    from llm.parts import Message, StreamEvent, ToolResultPart

    from react_text.chat import FallbackChat

PREFIX = "react-text/"


@llm.hookimpl
def register_models(register: Any) -> None:
    try:
        import llm.parts  # noqa: F401
    except ImportError:
        click.echo("The models of react-text need llm 0.36 or newer: pip install -U 'llm>=0.36'", err=True)
        return
    for name, source in known_models().items():
        register(ReactText(PREFIX + name, source), AsyncReactText(PREFIX + name, source))


@llm.hookimpl
def register_commands(cli: click.Group) -> None:
    @cli.group(name="react-text")
    def group() -> None:
        """Models that get their tools through react-text."""

    @group.command()
    @click.argument("name")
    @click.argument("model")
    @click.option("--base-url", metavar="URL", help="MODEL is the name of a model served there.")
    @click.option("--n-ctx", type=click.IntRange(min=64), help="Context length in tokens of a GGUF.")
    def add(name: str, model: str, base_url: str | None, n_ctx: int | None) -> None:
        """Call a GGUF file or a served model react-text/NAME."""
        if base_url is None:
            from react_text.errors import ReactTextError
            from react_text.models import resolve_model

            try:
                model = str(resolve_model(model).resolve())
            except ReactTextError as error:
                raise click.ClickException(str(error)) from None
        given = {"model": model, "base_url": base_url, "n_ctx": n_ctx}
        _store(_stored() | {name: {key: value for key, value in given.items() if value is not None}})
        click.echo(f'llm -m {PREFIX}{name} -T llm_time "What time is it?"')

    @group.command()
    @click.argument("name")
    def remove(name: str) -> None:
        """Forget react-text/NAME."""
        models = _stored()
        if models.pop(name, None) is None:
            raise click.ClickException(f"There is no {name}; added are: {', '.join(models) or 'none'}.")
        _store(models)

    @group.command(name="list")
    def list_models() -> None:
        """The models and where they come from."""
        for name, source in known_models().items():
            click.echo(f"{PREFIX}{name}  {source.get('base_url', '')} {source['model']}")


class Options(llm.Model.Options):
    temperature: float | None = Field(description="0 is greedy, the default", ge=0, default=None)
    top_p: float | None = Field(description="Only the most likely tokens of this share", ge=0, le=1, default=None)
    seed: int | None = Field(description="Fixes the draws at a temperature above 0", default=None)
    max_tokens: int | None = Field(description="Tokens per reply", ge=1, default=None)


class _Model:
    can_stream = True
    supports_tools = True
    supports_schema = True

    def __init__(self, model_id: str, source: Mapping[str, Any]) -> None:
        self.model_id = model_id
        self.source = source

    @property
    def chat(self) -> FallbackChat:
        return _chat(json.dumps(self.source, sort_keys=True))

    def request(self, prompt: Any) -> dict[str, Any]:
        """The prompt as chat-completions parameters."""
        given = {name: value for name, value in prompt.options.model_dump().items() if value is not None}
        if prompt.tools:
            given["tools"] = [_tool_dict(tool) for tool in prompt.tools]
        if prompt.schema:
            schema = {"name": "answer", "schema": prompt.schema}
            given["response_format"] = {"type": "json_schema", "json_schema": schema}
        options = {"stream": True, "stream_options": {"include_usage": True}}
        return {"messages": list(messages_of(prompt.messages)), **given, **options}


class ReactText(_Model, llm.Model):
    """One model of `llm`, sync."""

    Options = Options

    def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any) -> Iterator[StreamEvent]:
        reading = _Reading(prompt, response)
        for chunk in self.chat.create(**self.request(prompt)):
            yield from reading.events(chunk)
        reading.finish()


class AsyncReactText(_Model, llm.AsyncModel):
    """The same, async."""

    Options = Options

    async def execute(
        self, prompt: Any, stream: bool, response: Any, conversation: Any
    ) -> AsyncGenerator[str | StreamEvent, None]:
        reading = _Reading(prompt, response)
        async for chunk in await self.chat.acreate(**self.request(prompt)):
            for event in reading.events(chunk):
                yield event
        reading.finish()


class _Reading:
    """The chunks of one answer as the events of `llm`; its calls and its tokens go into the response."""

    def __init__(self, prompt: Any, response: Any) -> None:
        self.response = response
        self.hide_reasoning = prompt.hide_reasoning
        self.thought = ""
        self.calls: list[dict[str, str]] = []

    def events(self, chunk: Mapping[str, Any]) -> Iterator[StreamEvent]:
        from llm.parts import StreamEvent

        if usage := chunk.get("usage"):
            cached = usage["prompt_tokens_details"]["cached_tokens"]
            details = {"prompt_tokens_details": {"cached_tokens": cached}} if cached else None
            self.response.set_usage(input=usage["prompt_tokens"], output=usage["completion_tokens"], details=details)
        if extra := chunk.get("x_react_text"):
            self.response.response_json = extra
        for choice in chunk["choices"]:
            delta = choice["delta"]
            thought, text = delta.get("reasoning_content"), delta.get("content")
            if thought:
                self.thought += thought
                if not self.hide_reasoning:
                    yield StreamEvent(type="reasoning", chunk=thought)
            if text and text.strip() != self.thought.strip():  # before a call the thought comes once more as content
                yield StreamEvent(type="text", chunk=text)
            for part in delta.get("tool_calls") or ():
                yield from self._call(part)

    def _call(self, part: Mapping[str, Any]) -> Iterator[StreamEvent]:
        from llm.parts import StreamEvent

        function = part["function"]
        if part["index"] == len(self.calls):
            self.calls.append({"id": part["id"], "name": function["name"], "arguments": ""})
            yield StreamEvent(type="tool_call_name", chunk=function["name"], tool_call_id=part["id"])
        call = self.calls[part["index"]]
        if text := function.get("arguments"):
            call["arguments"] += text
            yield StreamEvent(type="tool_call_args", chunk=text, tool_call_id=call["id"])

    def finish(self) -> None:
        """Hand the calls over; `llm` runs them."""
        for call in self.calls:
            arguments = json.loads(call["arguments"] or "{}")
            self.response.add_tool_call(llm.ToolCall(call["name"], arguments, call["id"]))


def messages_of(messages: Iterable[Message]) -> Iterator[dict[str, Any]]:
    """Messages of `llm` as chat-completions messages. Raises ValueError for an attachment."""
    from llm.parts import AttachmentPart, ReasoningPart, TextPart, ToolCallPart, ToolResultPart

    unnamed = 0
    waiting: list[str] = []
    for message in messages:
        text = "".join(part.text for part in message.parts if isinstance(part, TextPart))
        if any(isinstance(part, AttachmentPart) for part in message.parts):
            raise ValueError("Attachments are not read: the models behind react-text take text only.")
        if message.role == "tool":
            for part in message.parts:
                if isinstance(part, ToolResultPart):
                    call_id = part.tool_call_id or (waiting[0] if waiting else "")
                    waiting = [one for one in waiting if one != call_id]
                    yield {"role": "tool", "tool_call_id": call_id, "content": _result(part)}
            continue
        thought = "".join(part.text for part in message.parts if isinstance(part, ReasoningPart))
        calling = any(isinstance(part, ToolCallPart) for part in message.parts)
        made: dict[str, Any] = {"role": message.role, "content": text or (thought if calling else "")}
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                unnamed += 1
                call_id = part.tool_call_id or f"call_{unnamed}"
                waiting.append(call_id)
                function = {"name": part.name, "arguments": json.dumps(part.arguments, ensure_ascii=False)}
                made.setdefault("tool_calls", []).append({"id": call_id, "type": "function", "function": function})
        yield made


def _result(part: ToolResultPart) -> str:
    if part.exception and not part.output.startswith("Error"):
        return f"Error: {part.exception}"
    return part.output


def _tool_dict(tool: Any) -> dict[str, Any]:
    parameters = tool.input_schema or {"type": "object", "properties": {}}
    function = {"name": tool.name, "description": tool.description or "", "parameters": parameters}
    return {"type": "function", "function": function}


def known_models() -> dict[str, dict[str, Any]]:
    """What each NAME stands for: the packaged model where it is installed, and what was added."""
    from react_text.models import PACKAGED_MODELS

    found: dict[str, dict[str, Any]] = {}
    for word, (distribution, _) in PACKAGED_MODELS.items():
        try:
            metadata.version(distribution)
        except metadata.PackageNotFoundError:
            continue
        found[word] = {"model": word}
    return found | _stored()


@cache
def _chat(source: str) -> FallbackChat:
    """The chat for a source, made when it is first asked and kept."""
    from react_text.chat import FallbackChat

    read = json.loads(source)
    if base_url := read.get("base_url"):
        from react_text.backends.openai import OpenAICompatible

        served: Any = OpenAICompatible(base_url, model=read["model"])
        return FallbackChat(served)
    from react_text.backends.llama_cpp import LlamaCpp
    from react_text.models import resolve_model

    given = {"n_ctx": read["n_ctx"]} if "n_ctx" in read else {}
    return FallbackChat(LlamaCpp(resolve_model(read["model"]), **given))


def _place() -> Path:
    return Path(llm.user_dir()) / "react-text.json"  # type: ignore[no-untyped-call]


def _stored() -> dict[str, dict[str, Any]]:
    try:
        read: dict[str, dict[str, Any]] = json.loads(_place().read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError:
        raise click.ClickException(f"{_place()} is not JSON; mend it, or delete it and add the models again.") from None
    return read


def _store(models: Mapping[str, Any]) -> None:
    _place().write_text(json.dumps(models, indent=2) + "\n", encoding="utf-8")

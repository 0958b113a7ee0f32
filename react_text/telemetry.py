"""OpenTelemetry spans of a run, by the semantic conventions for generative AI.

An `invoke_agent` span for a run, in it a `chat` span for each reply of the model and an `execute_tool` span for each
call, and inside these what the libraries that they use report of themselves. Nothing of OpenTelemetry is imported
before it is asked for. https://opentelemetry.io/docs/specs/semconv/gen-ai/
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator, Mapping, Sequence
from contextlib import aclosing, closing, contextmanager
from typing import TYPE_CHECKING, Any

from react_text.agent import Agent
from react_text.backends.base import Backend, Delta, Reply, Request, StreamItem
from react_text.errors import MissingExtra
from react_text.events import Event, Finished, Result
from react_text.messages import Call, Message, Observation
from react_text.observations import without_secrets
from react_text.toolbox import Toolbox

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider as SdkProvider
    from opentelemetry.trace import Span, Tracer, TracerProvider

CONTENTS = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""The environment variable that other instrumentations of models read too: `true` puts texts into the spans."""
_FAILURES = ("backend_error", "tool_unavailable")
_UNKNOWN_TOOL = "(unknown)"


def traced(
    agent: Agent,
    *,
    name: str = "react-text",
    provider: TracerProvider | None = None,
    contents: bool | None = None,
) -> Agent:
    """The agent with spans around its runs, its model and its tools; the one given stays as it was.

    `name` is what the spans call it. `provider` is the global one by default. With `contents` questions, replies,
    arguments and results are in the spans, without credentials; None asks the environment variable CONTENTS. Raises
    MissingExtra.
    """
    try:
        from opentelemetry import trace
    except ImportError as error:
        raise MissingExtra("otel", "Spans of a run") from error
    if contents is None:
        contents = os.environ.get(CONTENTS, "").strip().lower() == "true"
    return _TracedAgent(agent, _Spans(trace.get_tracer("react_text", tracer_provider=provider), contents), name)


def otlp_provider() -> SdkProvider:
    """A provider that sends spans by OTLP over HTTP to where the OTEL_EXPORTER_OTLP_* variables say. To be shut down.

    Without them that is a collector on this machine, http://localhost:4318. Raises MissingExtra.
    """
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise MissingExtra("otel", "Sending spans") from error
    service = os.environ.get("OTEL_SERVICE_NAME", "react-text")
    provider = TracerProvider(resource=Resource.create({"service.name": service}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


class _Spans:
    """Opens spans: the tracer, and whether texts are recorded."""

    def __init__(self, tracer: Tracer, contents: bool) -> None:
        self.tracer = tracer
        self.contents = contents

    def open(self, operation: str, subject: str, attributes: Mapping[str, Any], *, remote: bool = False) -> Span:
        from opentelemetry.trace import SpanKind

        kind = SpanKind.CLIENT if remote else SpanKind.INTERNAL
        known = {key: value for key, value in attributes.items() if value is not None}
        return self.tracer.start_span(
            f"{operation} {subject}", kind=kind, attributes={"gen_ai.operation.name": operation, **known}
        )

    def put(self, span: Span, key: str, value: Any) -> None:
        """Record a text, or messages, where contents are wanted."""
        if self.contents:
            kept = without_secrets(value)
            span.set_attribute(
                key, kept if isinstance(kept, str) else json.dumps(kept, ensure_ascii=False, default=str)
            )


class _TracedAgent(Agent):
    def __init__(self, agent: Agent, spans: _Spans, name: str) -> None:
        self.__dict__.update(agent.__dict__)
        self.backend = _TracedBackend(agent.backend, spans)
        self.toolbox = _TracedToolbox(agent.toolbox, spans)
        self._spans = spans
        self._name = name

    def stream(
        self, question: str | None, history: Sequence[Message] = (), *, output_type: Any = None
    ) -> Iterator[Event]:
        scope = _Scope(self._begin(question))
        with closing(scope.items(super().stream(question, history, output_type=output_type))) as events:
            for event in events:
                self._end(scope.span, event)
                yield event

    async def astream(
        self, question: str | None, history: Sequence[Message] = (), *, output_type: Any = None
    ) -> AsyncIterator[Event]:
        scope = _Scope(self._begin(question))
        async with aclosing(scope.aitems(super().astream(question, history, output_type=output_type))) as events:
            async for event in events:
                self._end(scope.span, event)
                yield event

    def _begin(self, question: str | None) -> Span:
        attributes = {"gen_ai.agent.name": self._name, **_model(self.backend)}
        span = self._spans.open("invoke_agent", self._name, attributes)
        if question is not None:
            self._spans.put(span, "gen_ai.input.messages", [_message({"role": "user", "content": question})])
        return span

    def _end(self, span: Span, event: Event) -> None:
        if not isinstance(event, Finished):
            return
        result: Result = event.result
        span.set_attribute("gen_ai.usage.input_tokens", result.usage.prompt_tokens)
        span.set_attribute("gen_ai.usage.output_tokens", result.usage.generated)
        span.set_attribute("react_text.stop_reason", result.stop_reason)
        span.set_attribute("react_text.steps", len(result.steps))
        self._spans.put(span, "gen_ai.output.messages", [_message({"role": "assistant", "content": result.answer})])
        if result.stop_reason in _FAILURES:
            _failed(span, result.stop_reason)


class _TracedBackend:
    """A backend with a span for each reply; what else the backend can do is reached as before."""

    name: str
    context_length: int | None
    supports_grammar: bool

    def __init__(self, backend: Backend, spans: _Spans) -> None:
        self._backend = backend
        self._spans = spans

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)

    def count_tokens(
        self, messages: Sequence[Message], reply_start: str = "", tools: Sequence[Mapping[str, Any]] = ()
    ) -> int | None:
        return self._backend.count_tokens(messages, reply_start, tools)

    def close(self) -> None:
        self._backend.close()

    def stream(self, request: Request) -> Iterator[StreamItem]:
        reading = _Reading(self._spans, self._begin(request))
        with closing(reading.scope.items(self._backend.stream(request))) as items:
            for item in items:
                reading.saw(item)
                yield item

    async def astream(self, request: Request) -> AsyncIterator[StreamItem]:
        reading = _Reading(self._spans, self._begin(request))
        async with aclosing(reading.scope.aitems(self._backend.astream(request))) as items:
            async for item in items:
                reading.saw(item)
                yield item

    def _begin(self, request: Request) -> Span:
        sampling = request.sampling
        attributes = {
            **_model(self._backend),
            "gen_ai.request.max_tokens": request.max_tokens,
            "gen_ai.request.temperature": sampling.temperature,
            "gen_ai.request.top_p": sampling.top_p,
            "gen_ai.request.seed": sampling.seed,
            "gen_ai.request.stop_sequences": list(request.stop) or None,
            "gen_ai.request.stream": True,
        }
        remote = hasattr(self._backend, "address")
        span = self._spans.open("chat", self._backend.name, attributes, remote=remote)
        self._spans.put(span, "gen_ai.input.messages", [_message(one) for one in request.messages])
        return span


class _Reading:
    """What the items of one reply put into its span."""

    def __init__(self, spans: _Spans, span: Span) -> None:
        self.spans = spans
        self.scope = _Scope(span)
        self.began = time.monotonic()
        self.begun = False

    def saw(self, item: StreamItem) -> None:
        span = self.scope.span
        if isinstance(item, Delta) and not self.begun:
            self.begun = True
            span.set_attribute("gen_ai.response.time_to_first_chunk", time.monotonic() - self.began)
        elif isinstance(item, Reply):
            span.set_attribute("gen_ai.response.finish_reasons", [item.finish_reason])
            span.set_attribute("gen_ai.usage.input_tokens", item.usage.prompt_tokens)
            span.set_attribute("gen_ai.usage.cache_read.input_tokens", item.usage.reused)
            span.set_attribute("gen_ai.usage.output_tokens", item.usage.generated)
            said = _message(item.message or {"role": "assistant", "content": item.text})
            self.spans.put(span, "gen_ai.output.messages", [said | {"finish_reason": item.finish_reason}])


class _TracedToolbox(Toolbox):
    def __init__(self, toolbox: Toolbox, spans: _Spans) -> None:
        self.__dict__.update(toolbox.__dict__)
        self._spans = spans

    def run(self, call: Call) -> Observation:
        with self._call(call) as span:
            return self._observed(span, super().run(call))

    async def arun(self, call: Call) -> Observation:
        with self._call(call) as span:
            return self._observed(span, await super().arun(call))

    @contextmanager
    def _call(self, call: Call) -> Iterator[Span]:
        known = call.name in self
        name = call.name if known else _UNKNOWN_TOOL
        attributes = {
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.id": call.id,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.description": (self[name].description or None) if known else None,
        }
        scope = _Scope(self._spans.open("execute_tool", name, attributes))
        self._spans.put(scope.span, "gen_ai.tool.call.arguments", dict(call.arguments))
        try:
            with scope:
                yield scope.span
        finally:
            scope.span.end()

    def _observed(self, span: Span, observation: Observation) -> Observation:
        self._spans.put(span, "gen_ai.tool.call.result", observation.content)
        if observation.is_error:
            _failed(span, "unavailable" if observation.unavailable else "tool_error")
        return observation


class _Scope:
    """A span that is the current one only while its own work is done, and that ends with it.

    An exception that leaves is its error, by its type alone: what it says may be anybody's text.
    """

    def __init__(self, span: Span) -> None:
        from opentelemetry.trace import set_span_in_context

        self.span = span
        self._context = set_span_in_context(span)

    def items(self, items: Any) -> Generator[Any, None, None]:
        """The items of an iterator, each made inside the span."""
        try:
            while True:
                with self:
                    item = next(items, None)
                if item is None:
                    return
                yield item
        finally:
            with self:
                items.close()
            self.span.end()

    async def aitems(self, items: Any) -> AsyncGenerator[Any, None]:
        """The async twin of `items`."""
        try:
            while True:
                with self:
                    item = await anext(items, None)
                if item is None:
                    return
                yield item
        finally:
            with self:
                await items.aclose()
            self.span.end()

    def __enter__(self) -> None:
        from opentelemetry.context import attach

        self._token = attach(self._context)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        from opentelemetry.context import detach

        detach(self._token)
        if kind is not None and issubclass(kind, Exception):
            _failed(self.span, kind.__name__)


def _failed(span: Span, kind: str) -> None:
    from opentelemetry.trace import Status, StatusCode

    span.set_attribute("error.type", kind)
    span.set_status(Status(StatusCode.ERROR))


def _model(backend: Any) -> dict[str, Any]:
    inner = getattr(backend, "_backend", backend)
    return {
        "gen_ai.provider.name": type(inner).__module__.rpartition(".")[2],
        "gen_ai.request.model": inner.name,
    }


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    """A chat-completions message as the conventions write it."""
    content = message.get("content") or ""
    if message["role"] == "tool":
        part = {"type": "tool_call_response", "id": message.get("tool_call_id"), "response": content}
        return {"role": "tool", "parts": [part]}
    parts = [{"type": "text", "content": content}] if content else []
    for call in message.get("tool_calls") or ():
        inner = call["function"]
        parts.append(
            {"type": "tool_call", "id": call.get("id"), "name": inner["name"], "arguments": inner["arguments"]}
        )
    return {"role": message["role"], "parts": parts}

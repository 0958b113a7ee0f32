"""The chat-completions backend: any OpenAI-compatible endpoint over HTTP, streaming, with and without tools.

Renders nothing itself except for raw completions: the server does. What the endpoint is and can do is detected on
first use, corrected by what its answers show, and remembered. httpx is imported when the first request is made.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Generator, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, Literal

from react_text.backends.base import Request, StreamItem
from react_text.backends.gbnf import check_grammar
from react_text.backends.http.address import ApiKey, read_address
from react_text.backends.http.assemble import assemble
from react_text.backends.http.chat_body import chat_body, completion_body, continues
from react_text.backends.http.chat_events import ChatReader
from react_text.backends.http.connection import Answer, Ask, Connection
from react_text.backends.http.detection import detect
from react_text.backends.http.endpoint_errors import ErrorBody, refused_parameter, salvaged
from react_text.backends.http.exchange import adrive, drive
from react_text.backends.http.knowledge import Knowledge
from react_text.capabilities import PROBED_MESSAGES, PROBED_TOOL, Capabilities, Support, finding
from react_text.capability_store import CapabilityStore
from react_text.errors import BackendError, EndpointError
from react_text.messages import Message

__all__ = ["OpenAICompatible", "assemble"]

MOST_ADAPTATIONS = 8
"""How often one request is asked again in another form because the endpoint would not take it as it was."""

_OPTIONAL = frozenset(
    (
        "stop",
        "stream",
        "stream_options",
        "max_tokens",
        "temperature",
        "parallel_tool_calls",
        "top_p",
        "top_k",
        "min_p",
        "seed",
        "repeat_penalty",
        "repetition_penalty",
        "grammar",
        "structured_outputs",
        "guided_grammar",
        "ebnf",
        "grammar_string",
        "continue_final_message",
        "add_generation_prompt",
    )
)
"""Parameters that an endpoint may refuse: the request is then made without them."""


class OpenAICompatible:
    """A model behind an OpenAI-compatible endpoint.

    Parameters
    ----------
    base_url:
        Where the API is, usually with /v1 at its end. None takes OPENAI_BASE_URL.
    model:
        The model's name there; None takes the first that the endpoint lists.
    api_key:
        None takes OPENAI_API_KEY. It is never shown, logged or part of an error.
    api:
        "chat", or "completions" for raw completions: old endpoints and models without a chat template.
    timeout:
        The longest silence in seconds; reading a long prompt on a CPU can take minutes.
    connect_timeout, max_connections, retries, backoff:
        See `http.connection.Connection`.
    known:
        Facts of `capabilities.FACTS` that the caller knows better than any detection, such as {"tools": "yes"}.
    store:
        Where findings are remembered; None is the user's cache folder.
    fresh:
        Forget what was remembered about this endpoint and model.
    headers, body:
        Further HTTP headers, and further fields of every request.

    Failures are `EndpointError`s, `ToolsRefused` and `ContextOverflow`. Safe to use from many threads and tasks. In an
    event loop, `await acapabilities()` before anything reads a property that would ask the server and wait.
    """

    def __init__(
        self,
        base_url: str | None = None,
        *,
        model: str | None = None,
        api_key: str | None = None,
        api: Literal["chat", "completions"] = "chat",
        timeout: float = 300.0,
        connect_timeout: float = 5.0,
        max_connections: int = 16,
        retries: int = 2,
        backoff: float = 0.5,
        known: Mapping[str, Any] | None = None,
        store: CapabilityStore | None = None,
        fresh: bool = False,
        headers: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> None:
        url = base_url or os.environ.get("OPENAI_BASE_URL", "")
        if not url.strip():
            raise BackendError("No endpoint was given.", hint="Pass base_url= (--base-url) or set OPENAI_BASE_URL.")
        if api not in ("chat", "completions"):
            raise ValueError(f"api {api!r} is not known; use 'chat' or 'completions'.")
        self.address = read_address(url)
        self.api = api
        self._extra = dict(body or {})
        self._refused_grammars: set[str] = set()
        """Sound grammars that the server could not take: each is sent once."""
        self._connection = Connection(
            self.address,
            ApiKey(
                os.environ.get("OPENAI_API_KEY") if api_key is None else api_key,
                (*(headers or {}).values(), self.address.password),
            ),
            timeout=timeout,
            connect_timeout=connect_timeout,
            max_connections=max_connections,
            retries=retries,
            backoff=backoff,
            headers=headers,
        )
        self._knowledge = Knowledge(
            self._connection,
            model or "",
            lambda name: detect(self.address, name),
            known=known,
            store=store,
            fresh=fresh,
        )

    def __repr__(self) -> str:
        return f"OpenAICompatible({self.address.base!r}, model={self._knowledge.model!r})"

    @property
    def name(self) -> str:
        return self._knowledge.model or self.address.base

    @property
    def base_url(self) -> str:
        return self.address.base

    @property
    def capabilities(self) -> Capabilities:
        """What is known of the endpoint and model; asks the server the first time, a few GETs and no generation."""
        return self._knowledge.get()

    async def acapabilities(self) -> Capabilities:
        """The async twin of `capabilities`."""
        return await self._knowledge.aget()

    @property
    def context_length(self) -> int | None:
        return self.capabilities.context_length

    @property
    def supports_grammar(self) -> bool:
        return self.capabilities.grammar is not None

    def tool_support(self) -> Support:
        """Whether tools reach the model and its calls come back as such, as far as is known; spends no generation."""
        return "no" if self.api == "completions" else self.capabilities.tools

    def learn(self, fact: str, value: Any, evidence: str) -> Capabilities:
        """Remember what an answer has shown: a fact of `capabilities.FACTS` with a sentence of evidence."""
        return self._knowledge.learn(fact, value, evidence)

    def measure_tools(self) -> Support:
        """Whether tools reach the prompt, by comparing the prompt tokens of two one-token generations."""
        return self._measured(self._connection.drive(self._token_counts(self.capabilities)))

    async def ameasure_tools(self) -> Support:
        """The async twin of `measure_tools`."""
        known = await self.acapabilities()
        return self._measured(await self._connection.adrive(self._token_counts(known)))

    def _token_counts(self, known: Capabilities) -> Generator[Ask, Answer | None, list[Any]]:
        counts = []
        tools: tuple[dict[str, Any], ...]
        for tools in ((), (PROBED_TOOL,)):
            request = Request(PROBED_MESSAGES, max_tokens=1, tools=tools)
            body = chat_body(request, self._knowledge.model, known, stream=False, extra=self._extra)
            answer = yield Ask("POST", f"{self.address.base}/chat/completions", body)
            usage = answer.value.get("usage") if answer and isinstance(answer.value, Mapping) else None
            counts.append(usage.get("prompt_tokens") if isinstance(usage, Mapping) else None)
        return counts

    def _measured(self, counts: Sequence[Any]) -> Support:
        without, with_tools = counts
        if not (isinstance(without, int) and isinstance(with_tools, int)):
            return "unknown"
        support: Support = "yes" if with_tools > without else "no"
        self.learn("tools", support, f"prompt tokens without and with a tool: {without}, {with_tools}")
        return support

    def stream(self, request: Request) -> Iterator[StreamItem]:
        """Generate one reply: Delta items, one Reply. Closing the iterator closes the connection."""
        yield from drive(self._connection, _Exchange(self, request, self.capabilities))

    async def astream(self, request: Request) -> AsyncIterator[StreamItem]:
        """The async twin of `stream`. Cancelling the task closes the connection."""
        items = adrive(self._connection, _Exchange(self, request, await self.acapabilities()))
        try:
            async for item in items:
                yield item
        finally:
            await items.aclose()  # type: ignore[attr-defined]

    def count_tokens(self, messages: Sequence[Message], reply_start: str = "") -> int | None:
        """None: only the server could tell."""
        return None

    def close(self) -> None:
        """Close the connections."""
        self._connection.close()

    async def aclose(self) -> None:
        """Close the connections, those of the running event loop too."""
        await self._connection.aclose()

    def __enter__(self) -> OpenAICompatible:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    async def __aenter__(self) -> OpenAICompatible:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.aclose()


class _Exchange:
    """One request and its answer, in as many forms as the endpoint makes necessary."""

    def __init__(self, backend: OpenAICompatible, request: Request, known: Capabilities) -> None:
        if request.grammar is not None and not request.tools:
            check_grammar(request.grammar)
        self.open = True
        self._backend = backend
        self._request = request
        self._known = known
        self._raw = backend.api == "completions" or known.get("template") == "no"
        self._streamed = "stream" not in known.refused
        self._sent: list[str] = []
        self._adaptations = 0
        self.reader = self._reader()

    @property
    def seconds(self) -> float | None:
        return self._request.seconds

    @property
    def url(self) -> str:
        return f"{self._backend.address.base}/{'completions' if self._raw else 'chat/completions'}"

    def body(self) -> dict[str, Any]:
        self.reader = self._reader()
        backend, known = self._backend, self._known
        if self._grammar_refused:
            known = Capabilities(MappingProxyType({**known.findings, "grammar": finding("none", "refused")}))
        build = completion_body if self._raw else chat_body
        body = build(self._request, backend._knowledge.model, known, stream=self._streamed, extra=backend._extra)
        self._sent = [name for name in body if name in _OPTIONAL and name not in backend._extra]
        return body

    @property
    def _grammar_refused(self) -> bool:
        return self._request.grammar in self._backend._refused_grammars

    def _reader(self) -> ChatReader:
        continued = self._raw or continues(self._request, self._known)
        error = partial(self._backend._connection.error, sent_tools=bool(self._request.tools))
        return ChatReader(self._request, error, continued=continued, raw=self._raw)

    def ended(self) -> Iterator[StreamItem]:
        """The end of an answer: the Reply, or another attempt where a stream held nothing."""
        if self.reader.empty and self._streamed:
            # some servers begin a stream before they know that they cannot answer, and only say why without one
            self._streamed = False
            return
        try:
            items = list(self.reader.end())
        except EndpointError as error:
            yield from self.failed(error)
            return
        self.open = False
        yield from items

    def failed(self, error: EndpointError) -> Iterator[StreamItem]:
        """What can still be made of a failed answer: its end, the model's text out of the error, or another form."""
        if self.reader.finished and error.reason in ("disconnected", "timeout"):
            yield from self.ended()
            return
        body = error.body if isinstance(error.body, ErrorBody) else ErrorBody()
        text = salvaged(body)
        if text is not None:
            self.open = False
            yield from self.reader.salvage(text)
            return
        if not self.reader.started and self._adapts(error, body):
            return
        error.partial = self.reader.text.text
        raise error

    def _adapts(self, error: EndpointError, body: ErrorBody) -> bool:
        """Change the form of the request after a refusal, and remember why; False where nothing can be changed."""
        self._adaptations += 1
        if self._adaptations > MOST_ADAPTATIONS:
            return False
        evidence = f"HTTP {error.status}: {body.message[:200]}"
        if error.reason == "tools":
            self._learn("tools", "no", evidence)
            return False
        if error.reason == "grammar" and self._request.grammar is not None and not self._grammar_refused:
            self._backend._refused_grammars.add(self._request.grammar)
            return True
        if error.reason == "prefill" and self._known.prefill is not None:
            self._learn("prefill", "none", evidence)
            return True
        if error.reason == "template" and not self._raw and not self._request.tools:
            self._raw = True
            self._learn("template", "no", evidence)
            return True
        name = refused_parameter(body, self._sent) if error.reason in ("request", "grammar") else None
        if name is None:
            return False
        if name == "stream":
            self._streamed = False
        if name in ("continue_final_message", "add_generation_prompt"):
            self._learn("prefill", "none", evidence)
        self._learn("refused", sorted(self._known.refused | {name}), evidence)
        return True

    def _learn(self, fact: str, value: Any, evidence: str) -> None:
        self._known = self._backend.learn(fact, value, evidence)

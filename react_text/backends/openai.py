"""The chat-completions backend: any OpenAI-compatible endpoint over HTTP, streaming, with and without tools.

Renders nothing itself except for raw completions: the server does. What the endpoint is and can do is detected on
first use, corrected by what its answers show, and remembered. httpx is imported when the first request is made.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Generator, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal

from react_text.backends.base import Request, StreamItem
from react_text.backends.http.address import read_address
from react_text.backends.http.assemble import assemble
from react_text.backends.http.chat_body import chat_body, completion_body
from react_text.backends.http.chat_exchange import ChatExchange
from react_text.backends.http.connection import Answer, Ask
from react_text.backends.http.constraint import constraint_of
from react_text.backends.http.detection import detect
from react_text.backends.http.endpoint import Endpoint
from react_text.backends.http.reply_text import prompt_bytes
from react_text.backends.http.token_counts import TokenCounts, can_count
from react_text.capabilities import PROBED_MESSAGES, PROBED_TOOL, Capabilities, Support
from react_text.capability_store import CapabilityStore
from react_text.errors import BackendError
from react_text.messages import Message

__all__ = ["OpenAICompatible", "assemble"]

COUNTED_FROM = 0.25
"""The share of the context from which on a conversation's tokens are counted by the server. A token is at least a byte
long, so that a shorter conversation leaves room whatever its tokens are."""


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

    Token counts are the server's. Where a reply is ended on this side before the server told any, a piece counts as a
    generated token and the prompt is estimated at four bytes a token. A server that does not answer the first question
    within ten seconds is asked nothing more but generations.

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
        self._endpoint = Endpoint(
            self.address,
            model or "",
            lambda name: detect(self.address, name),
            key=os.environ.get("OPENAI_API_KEY", "") if api_key is None else api_key,
            headers=headers,
            connecting={
                "timeout": timeout,
                "connect_timeout": connect_timeout,
                "max_connections": max_connections,
                "retries": retries,
                "backoff": backoff,
            },
            known=known,
            store=store,
            fresh=fresh,
        )
        self._counts = TokenCounts(self._endpoint.connection)

    def __repr__(self) -> str:
        return f"OpenAICompatible({self.address.base!r}, model={self._endpoint.model!r})"

    @property
    def name(self) -> str:
        return self._endpoint.model or self.address.base

    @property
    def base_url(self) -> str:
        return self.address.base

    @property
    def capabilities(self) -> Capabilities:
        """What is known of the endpoint and model; asks the server the first time, a few GETs and no generation."""
        return self._endpoint.knowledge.get()

    async def acapabilities(self) -> Capabilities:
        """The async twin of `capabilities`."""
        return await self._endpoint.knowledge.aget()

    @property
    def context_length(self) -> int | None:
        return self.capabilities.context_length

    @property
    def supports_grammar(self) -> bool:
        """Whether a text reply can be held to a grammar: as GBNF, or as a regular expression that says the same."""
        known = self.capabilities
        return known.grammar is not None or (self.api == "chat" and known.regex is not None)

    def takes_grammar(self, grammar: str) -> bool:
        """Whether this very grammar can go out: it was not refused, and is no overlong regular expression."""
        request = Request((), grammar=grammar)
        return constraint_of(request, self.capabilities, raw=self.api == "completions") is not None

    @property
    def takes_json_schema(self) -> bool:
        """Whether a reply can be held to a JSON Schema."""
        return self.api == "chat" and self.capabilities.json_schema is not None

    def tool_support(self) -> Support:
        """Whether tools reach the model and its calls come back as such, as far as is known; spends no generation."""
        return "no" if self.api == "completions" else self.capabilities.tools

    def learn(self, fact: str, value: Any, evidence: str) -> Capabilities:
        """Remember what an answer has shown: a fact of `capabilities.FACTS` with a sentence of evidence."""
        return self._endpoint.knowledge.learn(fact, value, evidence)

    def measure_tools(self) -> Support:
        """Whether tools reach the prompt, by comparing the prompt tokens of two one-token generations."""
        return self._measured(self._endpoint.connection.drive(self._token_counts(self.capabilities)))

    async def ameasure_tools(self) -> Support:
        """The async twin of `measure_tools`."""
        known = await self.acapabilities()
        return self._measured(await self._endpoint.connection.adrive(self._token_counts(known)))

    def _token_counts(self, known: Capabilities) -> Generator[Ask, Answer | None, list[Any]]:
        counts = []
        tools: tuple[dict[str, Any], ...]
        for tools in ((), (PROBED_TOOL,)):
            request = Request(PROBED_MESSAGES, max_tokens=1, tools=tools)
            body = chat_body(request, self._endpoint.model, known, stream=False, extra=self._extra)
            answer = yield Ask("POST", f"{self.address.base}/chat/completions", body, patient=True)
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
        return self._endpoint.stream(partial(self._exchange, request))

    def astream(self, request: Request) -> AsyncIterator[StreamItem]:
        """The async twin of `stream`. Cancelling the task closes the connection."""
        return self._endpoint.astream(partial(self._exchange, request))

    def _exchange(self, request: Request, known: Capabilities) -> ChatExchange:
        return ChatExchange(self._endpoint, request, known, raw=self.api == "completions", extra=self._extra)

    def count_tokens(
        self, messages: Sequence[Message], reply_start: str = "", tools: Sequence[Mapping[str, Any]] = ()
    ) -> int | None:
        """Tokens of the rendered prompt, None where the server cannot count them (llama-server and vLLM can).

        A conversation that is short beside the context is not sent to be counted: its bytes are given, which are more
        than its tokens. In an event loop nothing is asked, as that would hold up everything else in it.
        """
        known = self.capabilities
        context = known.context_length
        if context is None or not can_count(known.server):
            return None
        request = Request(messages, reply_start, tools=tuple(dict(tool) for tool in tools))
        most = prompt_bytes(request)
        if most <= COUNTED_FROM * context:
            return most
        raw = self.api == "completions" or known.get("template") == "no"
        body = (completion_body if raw else chat_body)(request, self._endpoint.model, known, extra=self._extra)
        return self._counts.of(known.server, body)

    def close(self) -> None:
        """Close the connections."""
        self._endpoint.connection.close()

    async def aclose(self) -> None:
        """Close the connections, those of the running event loop too."""
        await self._endpoint.connection.aclose()

    def __enter__(self) -> OpenAICompatible:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    async def __aenter__(self) -> OpenAICompatible:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.aclose()

"""The Ollama backend: its own `/api/chat`, where arguments are objects and results name their tool.

The server renders the chat template. What it can do is read from /api/show. httpx is imported when the first request
is made.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Generator, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from react_text.backends.base import Request, StreamItem
from react_text.backends.http.address import read_address
from react_text.backends.http.chat_body import harmless
from react_text.backends.http.connection import Answer, Ask
from react_text.backends.http.constraint import Constraint, constraint_of, with_refused
from react_text.backends.http.detection import KNOWN_SERVERS, Detected, Questions, ollama_details
from react_text.backends.http.endpoint import Endpoint
from react_text.backends.http.endpoint_errors import ErrorBody
from react_text.backends.http.ollama_answer import to_choice
from react_text.backends.http.ollama_events import OllamaReader
from react_text.capabilities import Capabilities, Support, finding
from react_text.capability_store import CapabilityStore
from react_text.errors import EndpointError
from react_text.messages import Message

__all__ = ["Ollama", "to_choice"]

DEFAULT_URL = "http://127.0.0.1:11434"
DEFAULT_CONTEXT = 8192


class Ollama:
    """A model served by Ollama.

    Parameters
    ----------
    base_url:
        Where the server is. None takes OLLAMA_HOST, or this machine.
    model:
        The model's name there, such as "qwen3:0.6b"; None takes the first that the server lists.
    num_ctx:
        The context length in tokens, sent with each request: left to itself the server takes a size of its own. At
        most what the model was trained for is used. A longer prompt is an error; a server older than 0.12.6 drops its
        beginning without a word.
    api_key:
        For a server behind a proxy that wants one; None takes OLLAMA_API_KEY. It is never shown.
    timeout, connect_timeout, max_connections, retries, backoff:
        See `http.connection.Connection`.
    known, store, fresh:
        See `OpenAICompatible`.
    headers, body:
        Further HTTP headers, and further fields of every request, such as {"think": False}.

    The server tells its token counts at the end of a reply only: those of a reply ended on this side are estimates, as
    in `OpenAICompatible`.

    Failures are `EndpointError`s, `ToolsRefused` and `ContextOverflow`. A `tool_choice` that names a tool sends only
    that tool, "none" sends none; Ollama cannot be made to call one. Safe to use from many threads and tasks.
    """

    def __init__(
        self,
        base_url: str | None = None,
        *,
        model: str | None = None,
        num_ctx: int = DEFAULT_CONTEXT,
        api_key: str | None = None,
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
        if num_ctx < 1:
            raise ValueError(f"num_ctx is {num_ctx}, wanted at least 1.")
        self.address = read_address(base_url or _host())
        self.num_ctx = num_ctx
        self._extra = dict(body or {})
        hints = {
            "key": "Give the right api_key, or set OLLAMA_API_KEY.",
            "model": f"Get it with: ollama pull {model}",
            "address": f"Is there an Ollama server at {self.address.root}?",
            "unreachable": "Ollama is expected there; start it with: ollama serve",
        }
        self._endpoint = Endpoint(
            self.address,
            model or "",
            self._questions,
            key=os.environ.get("OLLAMA_API_KEY", "") if api_key is None else api_key,
            headers=headers,
            connecting={
                "timeout": timeout,
                "connect_timeout": connect_timeout,
                "max_connections": max_connections,
                "retries": retries,
                "backoff": backoff,
                "hints": hints,
            },
            known=known,
            store=store,
            fresh=fresh,
        )

    supports_grammar = False

    @property
    def takes_json_schema(self) -> bool:
        """Whether a reply can be held to a JSON Schema."""
        return self.capabilities.json_schema is not None

    def __repr__(self) -> str:
        return f"Ollama({self.address.root!r}, model={self._endpoint.model!r})"

    @property
    def name(self) -> str:
        return self._endpoint.model or self.address.root

    @property
    def base_url(self) -> str:
        return self.address.root

    @property
    def capabilities(self) -> Capabilities:
        """What is known of the server and model; asks the server the first time, and never generates."""
        return self._endpoint.knowledge.get()

    async def acapabilities(self) -> Capabilities:
        """The async twin of `capabilities`."""
        return await self._endpoint.knowledge.aget()

    @property
    def context_length(self) -> int | None:
        return min(self.num_ctx, self.capabilities.context_length or self.num_ctx)

    def tool_support(self) -> Support:
        """Whether tools reach the model and its calls come back as such, as far as is known; spends no generation."""
        return self.capabilities.tools

    def learn(self, fact: str, value: Any, evidence: str) -> Capabilities:
        """Remember what an answer has shown: a fact of `capabilities.FACTS` with a sentence of evidence."""
        return self._endpoint.knowledge.learn(fact, value, evidence)

    def stream(self, request: Request) -> Iterator[StreamItem]:
        """Generate one reply: Delta items, one Reply. Closing the iterator closes the connection."""
        return self._endpoint.stream(partial(self._exchange, request))

    def astream(self, request: Request) -> AsyncIterator[StreamItem]:
        """The async twin of `stream`. Cancelling the task closes the connection."""
        return self._endpoint.astream(partial(self._exchange, request))

    def _exchange(self, request: Request, known: Capabilities) -> _Exchange:
        return _Exchange(self._endpoint, request, known, num_ctx=self.num_ctx, extra=self._extra)

    def count_tokens(
        self, messages: Sequence[Message], reply_start: str = "", tools: Sequence[Mapping[str, Any]] = ()
    ) -> int | None:
        """None: only the server could tell."""
        return None

    def close(self) -> None:
        """Close the connections."""
        self._endpoint.connection.close()

    async def aclose(self) -> None:
        """Close the connections, those of the running event loop too."""
        await self._endpoint.connection.aclose()

    def __enter__(self) -> Ollama:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    async def __aenter__(self) -> Ollama:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.aclose()

    def _questions(self, model: str) -> Questions:
        if not model:
            model = yield from self._first_model()
        version = yield Ask("GET", f"{self.address.root}/api/version")
        if version is None:
            return Detected(reached=False)
        details, digest = yield from ollama_details(self.address, model)
        found = {fact: finding(*known) for fact, known in KNOWN_SERVERS["ollama"].items()} | details
        found["json_schema"] = finding("format", "Ollama takes a JSON Schema as format")
        found["server"] = finding("ollama", "the server's own answers")
        return Detected("ollama", model, digest, True, found)

    def _first_model(self) -> Generator[Ask, Answer | None, str]:
        answer = yield Ask("GET", f"{self.address.root}/api/tags")
        value = answer.value if answer and isinstance(answer.value, Mapping) else {}
        models = value.get("models")
        first = models[0] if isinstance(models, list) and models else {}
        return str(first.get("name") or "") if isinstance(first, Mapping) else ""


def native_messages(messages: Sequence[Message]) -> list[Message]:
    """Chat-completions messages as /api/chat takes them: arguments as objects, results with the name of their tool.

    The name is looked up from the result backwards, since ids may repeat.
    """
    changed: list[Message] = []
    for index, message in enumerate(harmless(messages)):
        native = {name: value for name, value in message.items() if name in ("role", "content", "images")}
        native["content"] = native.get("content") or ""
        if message.get("reasoning_content"):
            native["thinking"] = message["reasoning_content"]
        if message.get("tool_calls"):
            native["tool_calls"] = [_native_call(call) for call in message["tool_calls"]]
        if message.get("role") == "tool":
            name = message.get("name") or _tool_name(messages[:index], message.get("tool_call_id"))
            if name:
                native["tool_name"] = name
        changed.append(native)
    return changed


def native_body(request: Request, model: str, num_ctx: int, extra: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The body of a request to /api/chat."""
    sampling = request.sampling
    options: dict[str, Any] = {
        "num_ctx": num_ctx,
        "num_predict": max(1, request.max_tokens),
        "temperature": sampling.temperature,
        "top_k": 0,
        "top_p": sampling.top_p,
        "min_p": sampling.min_p,
        "repeat_penalty": sampling.repeat_penalty,
    }
    if sampling.seed is not None:
        options["seed"] = sampling.seed
    if stops := list(dict.fromkeys(stop for stop in request.stop if stop)):
        options["stop"] = stops
    messages = native_messages(request.messages)
    # left to itself the server drops the beginning of a prompt that is too long; since 0.12.6 it can refuse instead
    body: dict[str, Any] = {"model": model, "messages": messages, "stream": True, "truncate": False}
    if tools := _offered(request):
        body["tools"] = tools
    more = dict(extra or {})
    body["options"] = options | dict(more.pop("options", {}))
    return body | more


def _offered(request: Request) -> list[dict[str, Any]]:
    """The tools, narrowed as far as a tool choice can be kept that way."""
    choice = request.tool_choice
    if choice == "none":
        return []
    if isinstance(choice, Mapping):
        name = (choice.get("function") or choice).get("name")
        return [tool for tool in request.tools if tool.get("function", {}).get("name") == name] or list(request.tools)
    return list(request.tools)


def _native_call(call: Mapping[str, Any]) -> dict[str, Any]:
    function = call.get("function") or {}
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except (ValueError, RecursionError):
            arguments = None
    # broken arguments would be refused with every further request
    return {
        "function": {"name": function.get("name", ""), "arguments": arguments if isinstance(arguments, dict) else {}}
    }


def _tool_name(earlier: Sequence[Message], call_id: Any) -> str | None:
    for message in reversed(earlier):
        for call in message.get("tool_calls") or ():
            if call.get("id") == call_id:
                name = (call.get("function") or {}).get("name")
                return name if isinstance(name, str) else None
    return None


class _Exchange:
    """One request to /api/chat and its answer."""

    def __init__(
        self, endpoint: Endpoint, request: Request, known: Capabilities, *, num_ctx: int, extra: Mapping[str, Any]
    ) -> None:
        self.open = True
        self.url = f"{endpoint.address.root}/api/chat"
        self._endpoint = endpoint
        self._request = request
        self._known = known
        self._extra = extra
        self._held: Constraint | None = None
        self._suspicion = ""
        """Why the schema is left out, where it is not certain that it was refused."""
        self._num_ctx = min(num_ctx, known.context_length or num_ctx)
        self.reader = self._reader()

    @property
    def seconds(self) -> float | None:
        return self._request.seconds

    def _reader(self) -> OllamaReader:
        error = partial(self._endpoint.connection.failures.error, sent_tools=bool(self._request.tools))
        return OllamaReader(self._request, error)

    def body(self) -> dict[str, Any]:
        self.reader = self._reader()
        self._held = self._held if self._suspicion else constraint_of(self._request, self._known)
        held = self._held.fields("ollama") if self._held is not None and not self._suspicion else {}
        return native_body(self._request, self._endpoint.model, self._num_ctx, held | dict(self._extra))

    def ended(self) -> Sequence[StreamItem]:
        items = self.reader.end()
        self.open = False
        if self._suspicion:
            self._refuse_schema(self._suspicion)
        return items

    def failed(self, error: EndpointError) -> Sequence[StreamItem] | None:
        said = error.body.message[:200] if isinstance(error.body, ErrorBody) else ""
        evidence = f"HTTP {error.status}: {said}"
        if error.reason == "tools":
            self._endpoint.knowledge.learn("tools", "no", evidence)
        elif self._held is None or self._suspicion or self.reader.text.started:
            return None
        elif error.reason == "grammar":
            self._refuse_schema(evidence)
            return ()
        elif error.reason in ("request", "server"):
            # it may be the schema, which the answer without it will prove
            self._suspicion = evidence
            return ()
        return None

    def _refuse_schema(self, evidence: str) -> None:
        assert self._held is not None
        refused = with_refused(self._known, self._held)
        self._known = self._endpoint.knowledge.learn("refused_grammars", refused, evidence)


def _host() -> str:
    """The server's address in OLLAMA_HOST, which may be one to listen at, or this machine's default."""
    host = os.environ.get("OLLAMA_HOST", "").strip()
    if not host:
        return DEFAULT_URL
    host = host.replace("0.0.0.0", "127.0.0.1")
    scheme, _, rest = host.rpartition("://")
    return f"{scheme or 'http'}://{rest if ':' in rest or scheme else f'{rest}:11434'}"

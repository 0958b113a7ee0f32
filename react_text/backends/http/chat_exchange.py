"""One chat completion or raw completion, in as many forms as the endpoint makes necessary.

Each refusal says which form comes next and is learned, so that the next request begins with what the endpoint takes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from react_text.backends.base import Request, StreamItem
from react_text.backends.gbnf import check_grammar
from react_text.backends.http.chat_body import chat_body, completion_body
from react_text.backends.http.chat_events import ChatReader
from react_text.backends.http.constraint import Constraint, constraint_of, continues, with_refused
from react_text.backends.http.endpoint import Endpoint
from react_text.backends.http.endpoint_errors import ErrorBody, refused_parameter
from react_text.capabilities import Capabilities
from react_text.errors import EndpointError

MOST_ADAPTATIONS = 8
"""How often one request is asked again in another form because the endpoint would not take it as it was."""

OPTIONAL = frozenset(
    (
        "stop",
        "stream",
        "stream_options",
        "timings_per_token",
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
        "regex",
        "regex_pattern",
        "json_schema",
        "response_format",
        "continue_final_message",
        "add_generation_prompt",
    )
)
"""Parameters that an endpoint may refuse: the request is then made without them."""


class ChatExchange:
    """One request and its answer. `raw` asks for a raw completion, `extra` are further fields of the body.

    Raises GrammarError for a grammar that is not sound: some servers end with a bad one.
    """

    def __init__(
        self, endpoint: Endpoint, request: Request, known: Capabilities, *, raw: bool, extra: Mapping[str, Any]
    ) -> None:
        if request.grammar is not None and not request.tools:
            check_grammar(request.grammar)
        self.open = True
        self._endpoint = endpoint
        self._request = request
        self._known = known
        self._extra = extra
        self._raw = raw or known.get("template") == "no"
        self._streamed = "stream" not in known.refused
        self._suspicion = ""
        """Why the constraint is left out, where it is not certain that it was refused."""
        self._held: Constraint | None = None
        self._sent: list[str] = []
        self._adaptations = 0
        self.reader = self._reader()

    @property
    def seconds(self) -> float | None:
        return self._request.seconds

    @property
    def url(self) -> str:
        return f"{self._endpoint.address.base}/{'completions' if self._raw else 'chat/completions'}"

    def body(self) -> dict[str, Any]:
        self.reader = self._reader()
        request = self._asked()
        if not self._suspicion:
            self._held = constraint_of(request, self._known, raw=self._raw)
        build = completion_body if self._raw else chat_body
        body = build(request, self._endpoint.model, self._known, stream=self._streamed, extra=self._extra)
        self._sent = [name for name in body if name in OPTIONAL and name not in self._extra]
        return body

    def ended(self) -> Sequence[StreamItem]:
        if self.reader.empty and self._streamed:
            # some servers begin a stream before they know that they cannot answer, and only say why without one
            self._streamed = False
            return ()
        items = self.reader.end()
        self.open = False
        if self._suspicion:
            self._refuse_grammar(self._suspicion)
        return items

    def failed(self, error: EndpointError) -> Sequence[StreamItem] | None:
        if self.reader.finished and error.reason in ("disconnected", "timeout"):
            return self.ended()
        if not self.reader.text.started and self._adapts(error):
            return ()
        return None

    def _asked(self) -> Request:
        return replace(self._request, grammar=None, reply_schema=None) if self._suspicion else self._request

    def _reader(self) -> ChatReader:
        continued = self._raw or continues(self._asked(), self._known)
        error = partial(self._endpoint.connection.failures.error, sent_tools=bool(self._request.tools))
        return ChatReader(self._request, error, continued=continued, raw=self._raw)

    def _adapts(self, error: EndpointError) -> bool:
        """Change the form of the request after a refusal, and remember why; False where nothing can be changed."""
        self._adaptations += 1
        if self._adaptations > MOST_ADAPTATIONS:
            return False
        body = error.body if isinstance(error.body, ErrorBody) else ErrorBody()
        evidence = f"HTTP {error.status}: {body.message[:200]}"
        if error.reason == "tools":
            self._learn("tools", "no", evidence)
            return False
        if error.reason == "grammar" and self._sent_grammar:
            self._refuse_grammar(evidence)
            return True
        if error.reason == "prefill" and self._known.prefill is not None:
            self._learn("prefill", "none", evidence)
            return True
        if error.reason == "template" and not self._raw and not self._request.tools:
            self._raw = True
            self._learn("template", "no", evidence)
            return True
        if name := refused_parameter(body, self._sent) if error.reason in ("request", "grammar") else None:
            self._refuse(name, evidence)
            return True
        if error.reason in ("request", "server") and self._sent_grammar:
            # nothing says what is wrong: it may be the grammar, which the answer without it will prove
            self._suspicion = evidence
            return True
        return False

    @property
    def _sent_grammar(self) -> bool:
        return not self._suspicion and self._held is not None and self._held.parameter in self._sent

    def _refuse(self, name: str, evidence: str) -> None:
        if name == "stream":
            self._streamed = False
        if name in ("continue_final_message", "add_generation_prompt"):
            self._learn("prefill", "none", evidence)
        self._learn("refused", sorted(self._known.refused | {name}), evidence)

    def _refuse_grammar(self, evidence: str) -> None:
        assert self._held is not None
        self._learn("refused_grammars", with_refused(self._known, self._held), evidence)

    def _learn(self, fact: str, value: Any, evidence: str) -> None:
        self._known = self._endpoint.knowledge.learn(fact, value, evidence)

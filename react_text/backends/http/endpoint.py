"""One endpoint as a backend holds it: its address, its connections and what is known of it.

What both HTTP backends are composed of. Knows nothing of messages or replies: an exchange brings those.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any, TypeAlias

from react_text.backends.base import StreamItem
from react_text.backends.http.address import Address, ApiKey
from react_text.backends.http.connection import Connection
from react_text.backends.http.detection import Questions
from react_text.backends.http.exchange import Exchange, adrive, drive
from react_text.backends.http.knowledge import Knowledge
from react_text.capabilities import Capabilities
from react_text.capability_store import CapabilityStore

MakeExchange: TypeAlias = Callable[[Capabilities], Exchange]
"""Makes the exchange for one request, given what is known of the endpoint."""


class Endpoint:
    """Connections to one endpoint and the knowledge of it.

    `model` "" becomes the one that the endpoint lists first. `questions` makes the detection for a model's name,
    `key` is the API key or "", `connecting` holds the options of `Connection`, and `known`, `store` and `fresh` are as
    in `Knowledge`.
    """

    def __init__(
        self,
        address: Address,
        model: str,
        questions: Callable[[str], Questions],
        *,
        key: str,
        headers: Mapping[str, str] | None,
        connecting: Mapping[str, Any],
        known: Mapping[str, Any] | None,
        store: CapabilityStore | None,
        fresh: bool,
    ) -> None:
        self.address = address
        secrets = (*(headers or {}).values(), address.password)
        self.connection = Connection(address, ApiKey(key, secrets), headers=headers, **connecting)
        # a name from a command line may hold bytes that are no text
        model = model.encode("utf-8", "replace").decode()
        self.knowledge = Knowledge(self.connection, model, questions, known=known, store=store, fresh=fresh)

    @property
    def model(self) -> str:
        return self.knowledge.model

    def stream(self, make: MakeExchange) -> Iterator[StreamItem]:
        """All items of one exchange. Closing the iterator closes its connection."""
        yield from drive(self.connection, make(self.knowledge.get()))

    async def astream(self, make: MakeExchange) -> AsyncIterator[StreamItem]:
        """The async twin of `stream`. Cancelling the task closes the connection."""
        items = adrive(self.connection, make(await self.knowledge.aget()))
        try:
            async for item in items:
                yield item
        finally:
            await items.aclose()  # type: ignore[attr-defined]

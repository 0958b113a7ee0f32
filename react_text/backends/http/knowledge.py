"""What a backend knows of its endpoint: set by the caller, learned from answers, detected, remembered between runs.

Holds the one state that several threads and tasks of a backend share.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable, Generator, Mapping
from typing import Any

from react_text.backends.http.connection import Answer, Ask, Connection
from react_text.backends.http.detection import Detected, Questions
from react_text.capabilities import Capabilities, Finding, Source, finding
from react_text.capability_store import CapabilityStore, Subject

ASKED_EACH_TIME = frozenset({"llama.cpp", "ollama", "tgi", "unknown"})
"""Servers that tell exactly what they serve, for nothing. The others are believed to be what they were, for a while."""


class Knowledge:
    """Capabilities of one endpoint and model. `model` "" becomes the one the endpoint lists first.

    `questions` makes the detection for a model's name, `known` are facts the caller gives, `fresh` forgets what was
    remembered.
    """

    def __init__(
        self,
        connection: Connection,
        model: str,
        questions: Callable[[str], Questions],
        *,
        known: Mapping[str, Any] | None,
        store: CapabilityStore | None,
        fresh: bool,
    ) -> None:
        self.model = model
        self._connection = connection
        self._questions = questions
        self._set = {fact: finding(value, "given by the caller", "set") for fact, value in (known or {}).items()}
        self._learned: dict[str, Finding] = {}
        self._store = store or CapabilityStore()
        self._fresh = fresh
        self._digest = ""
        self._found: Capabilities | None = None
        self._lock = threading.Lock()
        self._alocks: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = weakref.WeakKeyDictionary()

    @property
    def subject(self) -> Subject:
        """What findings are remembered under."""
        return Subject(self._connection.address.base, self.model, self._digest)

    def get(self) -> Capabilities:
        """What is known; asks the server the first time."""
        with self._lock:
            if self._found is None:
                return self._take(self._connection.drive(self._detection()))
            return self._found

    async def aget(self) -> Capabilities:
        """The async twin of `get`."""
        lock = self._alocks.setdefault(asyncio.get_running_loop(), asyncio.Lock())
        async with lock:
            if self._found is None:
                return self._take(await self._connection.adrive(self._detection()))
            return self._found

    def learn(self, fact: str, value: Any, evidence: str, source: Source = "learned") -> Capabilities:
        """Take in a fact and remember it; gives all that is known then. Asks the server first if nothing has yet."""
        findings = {fact: finding(value, self._connection.key.hide(evidence), source)}
        known = self.get()
        with self._lock:
            self._learned |= findings
            known = (self._found or known).merged(self._learned).merged(self._set)
            if self._found is not None:
                self._found = known
        self._store.write(self.subject, findings)
        return known

    def _detection(self) -> Generator[Ask, Answer | None, Detected]:
        if self._fresh:
            self._store.forget(self.subject)
            self._fresh = False
        remembered = self._store.read(self.subject)
        if self.model and remembered.server not in ASKED_EACH_TIME:
            return Detected(remembered.server, self.model)
        return (yield from self._questions(self.model))

    def _take(self, seen: Detected) -> Capabilities:
        if not seen.reached:
            # asked again at the next use: the server may only be starting
            return Capabilities().merged(self._learned).merged(self._set)
        self.model = self.model or seen.model
        self._digest = seen.digest
        found = self._store.read(self.subject).merged(seen.findings)
        detected = {fact: one for fact, one in seen.findings.items() if found.findings[fact] is one}
        if detected:
            self._store.write(self.subject, detected)
        self._found = found.merged(self._learned).merged(self._set)
        return self._found

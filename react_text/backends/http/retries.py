"""When a request is tried again and how long is waited before: tenacity's terms for this package's errors."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator
from typing import Any

from react_text.errors import EndpointError

LONGEST_WAIT = 60.0
"""Seconds of a Retry-After that are waited; an endpoint that asks for more is an error at once."""
LOADING_PATIENCE = 60.0
"""Seconds that a server may go on saying that it is still loading its model."""

_log = logging.getLogger("react_text.http")


class RetryPolicy:
    """Further attempts after errors that are `retryable`: `retries` of them, `backoff` seconds before the first."""

    def __init__(self, retries: int, backoff: float, base: str) -> None:
        self._retries = retries
        self._backoff = backoff
        self._base = base

    def pauses(self) -> Iterator[float]:
        """The waits between attempts that are not made by tenacity itself."""
        for attempt in range(self._retries):
            yield random.uniform(0, min(LONGEST_WAIT, self._backoff * 2**attempt))

    def options(self) -> dict[str, Any]:
        import tenacity

        self._spread = tenacity.wait_random_exponential(multiplier=self._backoff, max=LONGEST_WAIT)
        return {
            "retry": tenacity.retry_if_exception(lambda error: isinstance(error, EndpointError) and error.retryable),
            "stop": self._stop,
            "wait": self._wait,
            "before_sleep": self._tell,
            "reraise": True,
        }

    def _stop(self, state: Any) -> bool:
        error = state.outcome.exception()
        if self._retries and isinstance(error, EndpointError) and error.reason == "loading":
            return bool(state.seconds_since_start > LOADING_PATIENCE)
        return bool(state.attempt_number > self._retries)

    def _wait(self, state: Any) -> float:
        error = state.outcome.exception()
        if isinstance(error, EndpointError) and error.retry_after is not None:
            return error.retry_after
        if isinstance(error, EndpointError) and error.reason == "loading":
            return self._backoff
        return float(self._spread(state))

    def _tell(self, state: Any) -> None:
        error = state.outcome.exception()
        reason = error.reason if isinstance(error, EndpointError) else ""
        _log.info("%s: %s, trying again (attempt %d)", self._base, reason, state.attempt_number + 1)

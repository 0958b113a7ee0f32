"""So many at once and so many waiting in order of arrival; one more is told when to come back. For one event loop."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from react_text.errors import ChatError

LONGEST_WAIT = 60
_WEIGHT = 0.2


class Gate:
    """Lets `most` in at once; `queue` more wait for their turn."""

    def __init__(self, most: int, queue: int) -> None:
        self.most = most
        self.queue = queue
        self.running = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._usual = 1.0

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def retry_after(self) -> int:
        """Seconds after which a place is likely to be free."""
        return max(1, min(LONGEST_WAIT, math.ceil(self._usual * (self.waiting + 1) / self.most)))

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[float]:
        """A place among those running; gives the seconds that were waited. Raises ChatError 429 when all are taken."""
        began = time.monotonic()
        if self.running < self.most and not self._waiting:
            self.running += 1
        elif self.waiting >= self.queue:
            raise ChatError(
                f"{self.running} requests are running and {self.waiting} are waiting; try again later.",
                status=429,
                type="rate_limit_error",
                code="rate_limit_exceeded",
                retry_after=self.retry_after,
            )
        else:
            await self._wait()
        entered = time.monotonic()
        try:
            yield entered - began
        finally:
            self._usual += _WEIGHT * (time.monotonic() - entered - self._usual)
            self._leave()

    async def _wait(self) -> None:
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self._leave()  # the place was given at the very moment of hanging up
            else:
                self._waiting.remove(place)
            raise

    def _leave(self) -> None:
        """Hand the place to who waits longest, or give it up."""
        if self._waiting:
            self._waiting.popleft().set_result(None)
        else:
            self.running -= 1

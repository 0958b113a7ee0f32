"""Who may use a model next: one at a time, in the order in which they asked."""

from __future__ import annotations

import threading
from collections import deque


class Turns:
    """A lock that is handed on in the order of asking, so that no thread waits for ever behind quicker ones."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken = False
        self._waiting: deque[threading.Lock] = deque()

    def acquire(self) -> None:
        """Wait for the turn."""
        with self._lock:
            if not self._taken:
                self._taken = True
                return
            mine = threading.Lock()
            mine.acquire()
            self._waiting.append(mine)
        try:
            mine.acquire()
        except BaseException:
            with self._lock:
                given = mine not in self._waiting
                if not given:
                    self._waiting.remove(mine)
            if given:
                self.release()
            raise

    def release(self) -> None:
        """Hand the turn to whoever waited longest."""
        with self._lock:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._taken = False

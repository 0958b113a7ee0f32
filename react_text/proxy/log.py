"""One JSON line per request on the logger `react_text.serve`: figures and names, contents only where asked for."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from react_text.chat.turn import Outcome

LOGGER = logging.getLogger("react_text.serve")


class RequestLog:
    """Writes the lines. `contents` adds the messages of a request and what was answered."""

    def __init__(self, contents: bool = False) -> None:
        self._contents = contents

    def request(
        self,
        *,
        status: int,
        seconds: float,
        waited: float,
        first: float | None,
        stream: bool,
        hung_up: bool,
        outcome: Outcome | None,
        body: Mapping[str, Any] | None,
    ) -> None:
        """One request and how it ended. Times are logged in milliseconds."""
        if not LOGGER.isEnabledFor(logging.INFO):
            return
        line: dict[str, Any] = {
            "time": datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
            "event": "chat.completion",
            "status": status,
            "ms": round(seconds * 1000, 1),
            "queue_ms": round(waited * 1000, 1),
            "stream": stream,
        }
        if first is not None:
            line["first_chunk_ms"] = round(first * 1000, 1)
        if hung_up:
            line["hung_up"] = True
        if outcome is not None:
            line |= {
                "mode": outcome.mode,
                "finish_reason": outcome.finish_reason,
                "attempts": outcome.attempts,
                "evaluated": outcome.usage.evaluated,
                "reused": outcome.usage.reused,
                "generated": outcome.usage.generated,
                "calls": len(outcome.calls),
                "repairs": list(outcome.repairs),
                "faults": [fault.code for fault in outcome.faults],
            }
        if self._contents:
            line["messages"] = (body or {}).get("messages")
            if outcome is not None:
                line["content"] = outcome.content
                line["tool_calls"] = [[call.name, dict(call.arguments)] for call in outcome.calls]
        LOGGER.info(json.dumps(line, ensure_ascii=False, default=str))

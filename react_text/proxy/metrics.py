"""What the server counts, as Prometheus text. Names and numbers only, never contents."""

from __future__ import annotations

from react_text.chat.turn import Outcome
from react_text.errors import MissingExtra
from react_text.proxy.gate import Gate

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)


class Metrics:
    """Counters of one server, in a registry of their own."""

    def __init__(self, gate: Gate) -> None:
        try:
            from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
        except ImportError as error:
            raise MissingExtra("serve", "The server") from error
        self.registry = registry = CollectorRegistry()
        self.requests = Counter(
            "react_text_requests", "Requests by path and HTTP status.", ("path", "status"), registry=registry
        )
        self.seconds = Histogram(
            "react_text_request_seconds", "Seconds of chat completions.", buckets=_SECONDS, registry=registry
        )
        self.first = Histogram(
            "react_text_first_chunk_seconds",
            "Seconds to the first chunk of a stream.",
            buckets=_SECONDS,
            registry=registry,
        )
        self.waited = Histogram(
            "react_text_queue_seconds", "Seconds waited for a place.", buckets=_SECONDS, registry=registry
        )
        self.tokens = Counter(
            "react_text_tokens", "Tokens: of prompts (evaluated, reused) and generated.", ("kind",), registry=registry
        )
        self.turns = Counter(
            "react_text_turns", "Turns by mode and finish reason.", ("mode", "finish_reason"), registry=registry
        )
        self.repairs = Counter("react_text_repairs", "Repairs by name.", ("name",), registry=registry)
        self.faults = Counter("react_text_faults", "Faults by name.", ("name",), registry=registry)
        self.hung_up = Counter("react_text_hung_up", "Requests whose client went away.", registry=registry)
        Gauge("react_text_running", "Requests under way.", registry=registry).set_function(lambda: gate.running)
        Gauge("react_text_waiting", "Requests waiting.", registry=registry).set_function(lambda: gate.waiting)

    def turn(self, outcome: Outcome) -> None:
        """Count a turn."""
        usage = outcome.usage
        self.tokens.labels("evaluated").inc(usage.evaluated)
        self.tokens.labels("reused").inc(usage.reused)
        self.tokens.labels("generated").inc(usage.generated)
        self.turns.labels(outcome.mode, outcome.finish_reason).inc()
        for name in outcome.repairs:
            self.repairs.labels(name).inc()
        for fault in outcome.faults:
            self.faults.labels(fault.code).inc()

    def text(self) -> tuple[bytes, str]:
        """All of it as Prometheus reads it, and its content type."""
        from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

        return generate_latest(self.registry), CONTENT_TYPE_LATEST

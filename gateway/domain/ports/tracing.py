"""Following one request across services. Spec: W3C Trace Context §3."""

from typing import Protocol


class RequestTrace(Protocol):
    """One request's part of a trace."""

    @property
    def trace_id(self) -> str | None:
        """Return the trace's id in hex, None without a trace."""

    def end(self, status: int) -> None:
        """End it with the response's status."""


class Tracer(Protocol):
    """Begins the gateway's part of a trace that a caller may have begun."""

    def begin(self, name: str, traceparent: str | None) -> RequestTrace:
        """Continue the caller's trace; a malformed `traceparent` is ignored."""

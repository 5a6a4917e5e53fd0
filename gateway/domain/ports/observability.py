"""Counters and traces. Labels are bounded: never a client id, a user or a path of the caller.

Spec: W3C Trace Context §3
"""

from typing import Final, Literal, Protocol, get_args

SecurityEvent = Literal[
    "failed_login",
    "temporary_lockout",
    "permanent_lockout",
    "address_lockout",
    "untrusted_certificate_header",
    "untrusted_proxy_headers",
    "malformed_proxy_headers",
    "user_event_dropped",
]
SECURITY_EVENTS: Final[tuple[SecurityEvent, ...]] = get_args(SecurityEvent)


class Metrics(Protocol):
    """Counters and timings of one process; an implementation must be cheap on the hot path."""

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count one answered request; `route` is the pattern of the routing table."""

    def token_grant(self, realm: str, grant_type: str, outcome: str) -> None:
        """Count one token request; outcome is `issued` or the OAuth error code."""

    def security_event(self, kind: SecurityEvent) -> None:
        """Count one security event."""


class RequestTrace(Protocol):
    """One request's part of a trace."""

    @property
    def trace_id(self) -> str:
        """Return the trace's id in hex."""

    def end(self, status: int) -> None:
        """End it with the response's status."""


class Tracer(Protocol):
    """Begins the gateway's part of a trace that a caller may have begun."""

    def begin(self, name: str, traceparent: str | None) -> RequestTrace | None:
        """Continue the caller's trace, if well-formed; None where nothing is recorded."""

"""One trace through caller, proxy and gateway: `traceparent` is read, and named in the log.

Without OpenTelemetry the caller's trace is only carried. With it (`REALMGATE_TRACING`, the extra
`tracing`) each request becomes a span of it. Spec: W3C Trace Context §3.2
"""

import re
from dataclasses import dataclass

_TRACEPARENT = re.compile(
    r"(?P<version>[0-9a-f]{2})-(?P<trace>[0-9a-f]{32})-(?P<span>[0-9a-f]{16})"
    r"-(?P<flags>[0-9a-f]{2})(?P<more>-.*)?",
    re.ASCII,
)
_LONGEST = 512


@dataclass(frozen=True, slots=True)
class TraceParent:
    """The trace a request belongs to, and the span that caused it."""

    trace_id: str
    span_id: str
    sampled: bool


def parse_traceparent(value: str | None) -> TraceParent | None:
    """Parse the header; None for a malformed one."""
    match = _TRACEPARENT.fullmatch(value) if value and len(value) <= _LONGEST else None
    if match is None or match["version"] == "ff" or (match["version"] == "00" and match["more"]):
        return None
    if not int(match["trace"], 16) or not int(match["span"], 16):
        return None
    return TraceParent(match["trace"], match["span"], sampled=bool(int(match["flags"], 16) & 1))


@dataclass(frozen=True, slots=True)
class _CarriedTrace:
    trace_id: str

    def end(self, status: int) -> None:
        """Record nothing."""


class CarriedTraces:
    """Implements `domain.ports.observability.Tracer` without recording anything."""

    def begin(self, name: str, traceparent: str | None) -> _CarriedTrace | None:  # noqa: ARG002 - the port's signature
        parent = parse_traceparent(traceparent) if traceparent else None
        return _CarriedTrace(parent.trace_id) if parent else None

"""One trace through caller, proxy and gateway: `traceparent` is read, and named in the log.

Without OpenTelemetry the caller's trace is only carried. With it (`REALMGATE_TRACING`, the extra
`tracing`) each request becomes a span of it. Spec: W3C Trace Context §3.2

OpenTelemetry spans of requests; imported only where `REALMGATE_TRACING` is on.

Sent by OTLP over HTTP as OpenTelemetry's own OTEL_ variables say. Addresses, queries and headers
are not recorded, since they may contain secrets.
"""

import re
from dataclasses import dataclass
from http import HTTPStatus

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.trace import (
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    StatusCode,
    TraceFlags,
)

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
    trace_id: str | None

    def end(self, status: int) -> None:
        """Record nothing."""


class CarriedTraces:
    """Implements `domain.ports.observability.Tracer` without recording anything."""

    def begin(self, name: str, traceparent: str | None) -> _CarriedTrace:  # noqa: ARG002 - the port's signature
        parent = parse_traceparent(traceparent) if traceparent else None
        return _CarriedTrace(parent.trace_id if parent else None)


class _RecordedTrace:
    def __init__(self, span: Span) -> None:
        self._span = span

    @property
    def trace_id(self) -> str:
        return f"{self._span.get_span_context().trace_id:032x}"

    def end(self, status: int) -> None:
        self._span.set_attribute("http.response.status_code", status)
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            self._span.set_status(StatusCode.ERROR)
        self._span.end()


class RecordedTraces:
    """Implements `domain.ports.observability.Tracer` with a server span for each request."""

    def __init__(self, exporter: SpanExporter | None = None) -> None:
        """Send spans to `exporter`, by OTLP where none is given."""
        self._provider = TracerProvider(resource=Resource.create({"service.name": "realmgate"}))
        self._provider.add_span_processor(BatchSpanProcessor(exporter or OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer("gateway")

    def begin(self, name: str, traceparent: str | None) -> _RecordedTrace:
        parent = _context(parse_traceparent(traceparent))
        return _RecordedTrace(self._tracer.start_span(name, parent, SpanKind.SERVER))

    def close(self) -> None:
        self._provider.shutdown()


def _context(parent: TraceParent | None) -> Context | None:
    if parent is None:
        return None
    remote = SpanContext(
        int(parent.trace_id, 16),
        int(parent.span_id, 16),
        is_remote=True,
        trace_flags=TraceFlags(TraceFlags.SAMPLED if parent.sampled else TraceFlags.DEFAULT),
    )
    return trace.set_span_in_context(NonRecordingSpan(remote))

"""OpenTelemetry spans of requests; imported only where `REALMGATE_TRACING` is on.

Sent by OTLP over HTTP as OpenTelemetry's own OTEL_ variables say. Addresses, queries and headers
are not recorded, since they may contain secrets.
"""

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

from gateway.observability.tracing import TraceParent, parse_traceparent


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

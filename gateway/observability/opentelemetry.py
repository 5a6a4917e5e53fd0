"""OpenTelemetry spans of requests; imported only where `REALMGATE_TRACING` is on.

The exporter is OTLP over HTTP, configured by OpenTelemetry's own OTEL_ variables. Paths are not
recorded, for they may carry what must not be kept.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, TraceFlags

from gateway.observability.tracing import Scope, TraceParent


class RecordedSpans:
    """Makes a server span for each request."""

    def __init__(self, exporter: SpanExporter | None = None) -> None:
        """Send spans to `exporter`, OTLP where none is given."""
        self._provider = TracerProvider(resource=Resource.create({"service.name": "realmgate"}))
        self._provider.add_span_processor(BatchSpanProcessor(exporter or OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer("gateway")

    @contextmanager
    def request(self, scope: Scope, parent: TraceParent | None) -> Iterator[TraceParent | None]:
        """Record the request as a child of the caller's span."""
        method = scope["method"]
        with self._tracer.start_as_current_span(
            str(method),
            context=_context(parent),
            kind=SpanKind.SERVER,
            attributes={"http.request.method": method},
        ) as span:
            context = span.get_span_context()
            yield TraceParent(
                f"{context.trace_id:032x}", f"{context.span_id:016x}", context.trace_flags.sampled
            )

    def close(self) -> None:
        """Send what is still held."""
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

"""A request's trace is taken from `traceparent` and carried. Spec: W3C Trace Context §3.2."""

import subprocess
import sys

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from gateway.observability.opentelemetry import RecordedTraces
from gateway.observability.tracing import CarriedTraces, TraceParent, parse_traceparent

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN = "00f067aa0ba902b7"
HEADER = f"00-{TRACE}-{SPAN}-01"


def test_a_traceparent_names_trace_span_and_sampling() -> None:
    assert parse_traceparent(HEADER) == TraceParent(TRACE, SPAN, sampled=True)
    assert parse_traceparent(HEADER[:-2] + "00") == TraceParent(TRACE, SPAN, sampled=False)


def test_a_future_version_with_more_fields_is_read() -> None:
    assert parse_traceparent("cc" + HEADER[2:] + "-what-comes") is not None


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        HEADER.upper(),
        HEADER[:-1],
        HEADER + "-more",
        HEADER + "\n",
        "ff" + HEADER[2:],
        HEADER.replace(TRACE, "0" * 32),
        HEADER.replace(SPAN, "0" * 16),
        "cc" + HEADER[2:] + "-" + "x" * 600,
    ],
)
def test_a_malformed_traceparent_is_as_if_none_was_sent(value: str | None) -> None:
    assert parse_traceparent(value) is None
    assert CarriedTraces().begin("GET", value) is None


def test_the_callers_trace_is_carried_where_nothing_is_recorded() -> None:
    trace = CarriedTraces().begin("GET", HEADER)
    assert trace is not None
    trace.end(200)
    assert trace.trace_id == TRACE


@pytest.mark.parametrize(("status", "failed"), [(200, False), (401, False), (503, True)])
def test_with_opentelemetry_requests_are_spans_of_the_callers(status: int, *, failed: bool) -> None:
    exporter = InMemorySpanExporter()
    traces = RecordedTraces(exporter)
    trace = traces.begin("POST", HEADER)
    trace.end(status)
    traces.close()
    (span,) = exporter.get_finished_spans()
    assert span.parent is not None
    assert (f"{span.parent.trace_id:032x}", f"{span.parent.span_id:016x}") == (TRACE, SPAN)
    assert trace.trace_id == TRACE
    assert span.attributes == {"http.response.status_code": status}
    assert (not span.status.is_ok) is failed


def test_without_the_setting_no_span_recorder_is_imported() -> None:
    code = (
        "import sys, gateway.bootstrap.applications;"
        "sys.exit(any(name.startswith('opentelemetry.exporter') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=30).returncode == 0

"""One trace through proxy, gateway and caller: `traceparent` is read, kept and shown in logs.

Without OpenTelemetry the incoming trace id is only carried. With it (`REALMGATE_TRACING`, extra
`tracing`) each request becomes a span. Spec: W3C Trace Context §3.2.
"""

import re
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

from structlog.contextvars import bound_contextvars

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

_TRACEPARENT = re.compile(
    rb"(?P<version>[0-9a-f]{2})-(?P<trace>[0-9a-f]{32})-(?P<span>[0-9a-f]{16})-(?P<flags>[0-9a-f]{2})"
    rb"(?P<rest>-.*)?"
)
_LONGEST = 512


@dataclass(frozen=True, slots=True)
class TraceParent:
    """Which trace a request belongs to, and the span that caused it."""

    trace_id: str
    span_id: str
    sampled: bool

    def __str__(self) -> str:
        """Write the header's value."""
        return f"00-{self.trace_id}-{self.span_id}-{'01' if self.sampled else '00'}"

    def child(self) -> "TraceParent":
        """Return a new span of the same trace."""
        return TraceParent(self.trace_id, secrets.token_hex(8), self.sampled)


def parse_traceparent(value: bytes) -> TraceParent | None:
    """Read the header; anything malformed is as if none was sent."""
    match = _TRACEPARENT.fullmatch(value) if len(value) <= _LONGEST else None
    if match is None or match["version"] == b"ff" or (match["version"] == b"00" and match["rest"]):
        return None
    trace, span = match["trace"].decode(), match["span"].decode()
    if not int(trace, 16) or not int(span, 16):
        return None
    return TraceParent(trace, span, sampled=bool(int(match["flags"], 16) & 1))


class Spans(Protocol):
    """Records what a request did."""

    def request(
        self, scope: Scope, parent: TraceParent | None
    ) -> AbstractContextManager[TraceParent | None]:
        """Enter the request; yields the trace it belongs to."""
        ...


class CarriedTraces:
    """Carries the caller's trace without recording anything."""

    def request(
        self,
        scope: Scope,  # noqa: ARG002 - the port's signature
        parent: TraceParent | None,
    ) -> AbstractContextManager[TraceParent | None]:
        """Continue the caller's trace under a span id of our own."""
        return nullcontext(parent.child() if parent else None)


class TracingMiddleware:
    """Finds the trace of each request and binds `trace_id` for every log line of it.

    `scope["state"]["traceparent"]` holds the value to send with calls made for the request.
    """

    def __init__(self, app: Application, spans: Spans) -> None:
        """Wrap `app`."""
        self._app = app
        self._spans = spans

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request inside its trace."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        with self._spans.request(scope, _incoming(scope)) as trace:
            if trace is None:
                await self._app(scope, receive, send)
                return
            scope.setdefault("state", {})["traceparent"] = str(trace)
            with bound_contextvars(trace_id=trace.trace_id):
                await self._app(scope, receive, send)


def _incoming(scope: Scope) -> TraceParent | None:
    values = [value for name, value in scope["headers"] if name == b"traceparent"]
    return parse_traceparent(values[0]) if len(values) == 1 else None

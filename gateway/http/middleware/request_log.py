"""One line, one count and one span for each request.

The line contains realm, client, certificate thumbprint and token id, never a secret, a token, a
certificate or the query. The outermost layer: it also logs requests that raise.
"""

from time import perf_counter

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.typing import FilteringBoundLogger

from gateway.domain.ports.metrics import Metrics
from gateway.domain.ports.tracing import Tracer
from gateway.http.exchange import Exchange, attach

_TRACEPARENT = b"traceparent"


class RequestLog:
    """Logs and counts each request when its response is complete."""

    def __init__(
        self, app: ASGIApp, log: FilteringBoundLogger, metrics: Metrics, tracer: Tracer
    ) -> None:
        self._app = app
        self._log = log
        self._metrics = metrics
        self._tracer = tracer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = perf_counter()
        exchange = Exchange()
        attach(scope, exchange)
        trace = self._tracer.begin(scope["method"], _traceparent(scope))
        status = 0

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = int(message["status"])  # a plain number: the log need not look into it
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            trace.end(status)
            self._write(scope, exchange, status, perf_counter() - started, trace.trace_id)

    def _write(
        self, scope: Scope, exchange: Exchange, status: int, seconds: float, trace_id: str | None
    ) -> None:
        self._metrics.request(exchange.route, scope["method"], status, seconds)
        if not self._log.is_enabled_for(exchange.log_level):
            return
        fields = exchange.log.known()
        if trace_id is not None:
            fields["trace_id"] = trace_id
        edge = exchange.edge
        if edge is not None:
            fields["remote_address"] = edge.remote_address
            if edge.certificate is not None:
                fields["certificate"] = edge.certificate.leaf.thumbprint
        self._log.log(
            exchange.log_level,
            "request",
            request_id=exchange.request_id,
            method=scope["method"],
            route=exchange.route,
            status=status,
            milliseconds=round(seconds * 1000, 3),
            **fields,
        )


def _traceparent(scope: Scope) -> str | None:
    for name, value in scope["headers"]:
        if name == _TRACEPARENT:
            return bytes(value).decode("latin-1")
    return None

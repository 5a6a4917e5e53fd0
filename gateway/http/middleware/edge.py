"""The edge in front of every endpoint: facts from the proxy, or 400."""

from starlette.types import ASGIApp, Receive, Scope, Send
from structlog.typing import FilteringBoundLogger

from gateway.domain.limits.fair_share import caller_address
from gateway.domain.ports.metrics import Metrics
from gateway.http.edge.facts import Edge, EdgeFacts, EdgeRefusal
from gateway.http.errors import reply_for
from gateway.http.exchange import Exchange, exchange_of
from gateway.http.replies import send_reply


class EdgeMiddleware:
    """Reads the facts of each request once and attaches them to its exchange."""

    def __init__(
        self, app: ASGIApp, edge: Edge, metrics: Metrics, log: FilteringBoundLogger
    ) -> None:
        self._app = app
        self._edge = edge
        self._metrics = metrics
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Call the application with the facts; 400 where the headers contradict each other."""
        exchange = exchange_of(scope)
        try:
            facts = self._edge.facts(scope)
        except EdgeRefusal as error:
            self._security_event("malformed_proxy_headers", exchange, str(error))
            await send_reply(reply_for(error, exchange, self._log), send)
            return
        exchange.edge = facts
        caller_address.set(facts.remote_address)
        if facts.request_id is not None:
            exchange.request_id = facts.request_id
        if facts.ignored is not None:
            self._report_ignored_headers(facts, exchange)
        await self._app(scope, receive, send)

    def _report_ignored_headers(self, facts: EdgeFacts, exchange: Exchange) -> None:
        certificate = facts.forged_certificate
        what = "the certificate header" if certificate else "the proxy headers"
        self._security_event(
            "untrusted_certificate_header" if certificate else "untrusted_proxy_headers",
            exchange,
            f"ignored {what} from {facts.remote_address}: {facts.ignored}",
        )

    def _security_event(self, kind: str, exchange: Exchange, reason: str) -> None:
        self._metrics.security_event(kind)
        self._log.warning("security", kind=kind, reason=reason, request_id=exchange.request_id)

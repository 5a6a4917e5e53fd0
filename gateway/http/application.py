"""The public ASGI application: endpoints, and the layers in front of them in their order."""

from collections.abc import Sequence
from http import HTTPStatus

from starlette.routing import BaseRoute, Router
from starlette.types import ASGIApp, Receive, Scope, Send
from structlog.typing import FilteringBoundLogger

from gateway.domain.ports.lookups import Directory
from gateway.domain.ports.observability import Metrics, Tracer
from gateway.forward_auth.bearer_tokens import AudienceWarnings
from gateway.forward_auth.decisions import Decisions
from gateway.forward_auth.identity_headers import ServiceTokens
from gateway.http.edge import Edge
from gateway.http.errors import UNMATCHED
from gateway.http.forward_auth.endpoint import DecisionEndpoint
from gateway.http.forward_auth.refusals import RefusalPages
from gateway.http.middleware import (
    EdgeMiddleware,
    PlainPath,
    RequestLog,
    SecurityHeadersMiddleware,
    UnreadBody,
    complete_lifespan,
)
from gateway.http.replies import prose_error, send_reply


def build_http_application(
    routes: Sequence[BaseRoute],
    *,
    directory: Directory,
    edge: Edge,
    metrics: Metrics,
    tracer: Tracer,
    log: FilteringBoundLogger,
    decisions: Decisions,
    service_tokens: ServiceTokens,
    refusal_pages: RefusalPages,
    audience_warnings: AudienceWarnings,
) -> ASGIApp:
    """Return the application that runs behind the proxy."""
    router = Router(routes, redirect_slashes=False, default=_unmatched)
    behind_edge = EdgeMiddleware(PlainPath(router, _unmatched), edge, metrics, log)
    with_headers = SecurityHeadersMiddleware(behind_edge, directory)
    with_decisions = DecisionEndpoint(
        with_headers,
        edge,
        decisions,
        service_tokens,
        pages=refusal_pages,
        warnings=audience_warnings,
        log=log,
    )
    return RequestLog(UnreadBody(with_decisions), log, metrics, tracer)


async def _unmatched(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        await complete_lifespan(receive, send)
        return
    await send_reply(prose_error(HTTPStatus.NOT_FOUND, UNMATCHED), send)

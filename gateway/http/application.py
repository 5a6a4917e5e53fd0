"""The public ASGI application: endpoints, and the layers in front of them in their order."""

from collections.abc import Sequence
from functools import partial
from http import HTTPStatus

from starlette.routing import BaseRoute, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.http.errors import UNMATCHED
from gateway.http.late_routes import LateRoutes
from gateway.http.lifespan import complete_lifespan
from gateway.http.middleware.auth_prefix import AuthPrefix
from gateway.http.middleware.edge import EdgeMiddleware
from gateway.http.middleware.printable_path import PrintablePath
from gateway.http.middleware.request_log import RequestLog
from gateway.http.middleware.security_headers import SecurityHeadersMiddleware
from gateway.http.middleware.unread_body import UnreadBody
from gateway.http.parts import HttpParts, grant_services, realm_context
from gateway.http.replies import prose_error, send_reply
from gateway.http.routes import build_routes


def build_http_application(parts: HttpParts) -> ASGIApp:
    """Return the application that stands behind the proxy."""
    router = Router(application_routes(parts), redirect_slashes=False, default=_unmatched)
    printable = PrintablePath(AuthPrefix(router), _unmatched)
    behind_edge = EdgeMiddleware(printable, parts.edge, parts.metrics, parts.log)
    with_headers = SecurityHeadersMiddleware(behind_edge, parts.directory)
    return RequestLog(UnreadBody(with_headers), parts.log, parts.metrics, parts.tracer)


def application_routes(parts: HttpParts) -> list[BaseRoute]:
    """Return every route of the application; the late ones are built on their first request."""
    return [
        *build_routes(realm_context(parts), grant_services(parts), parts.metrics),
        LateRoutes(_is_administration, partial(_administration, parts), _unmatched),
    ]


def _is_administration(path: str) -> bool:
    return path.startswith("/admin") or "/clients-registrations" in path


def _administration(parts: HttpParts) -> Sequence[BaseRoute]:
    from gateway.http.administration import administration_routes  # noqa: PLC0415 - see LateRoutes

    return administration_routes(parts)


async def _unmatched(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        await complete_lifespan(receive, send)
        return
    await send_reply(prose_error(HTTPStatus.NOT_FOUND, UNMATCHED), send)

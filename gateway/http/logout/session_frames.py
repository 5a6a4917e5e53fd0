"""The frames that pages of clients load to watch the session, or to try third-party cookies.

They may be framed by any page, so they have headers of their own: their only content is a script
of the gateway. The check of the page's origin is in `init`. Keycloak: 12.6;
Spec: OpenID Connect Session Management §3.2
"""

from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Final

from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope

from gateway.domain.errors import RealmNotFound
from gateway.domain.ports.directory import RealmEntry
from gateway.domain.realm import SecurityHeaders
from gateway.http.errors import MethodNotAllowed
from gateway.http.exchange import Exchange
from gateway.http.form import parse_form
from gateway.http.guarded_endpoint import GuardedEndpoint
from gateway.http.pages import ResourceUrls
from gateway.http.realm_endpoint import RealmContext
from gateway.http.replies import Reply
from gateway.http.sign_in.cookies import CookieName, read_cookies
from gateway.protocol.logout.login_status import LoginStatus, login_status
from gateway.protocol.parameters import Parameters

_PROTOCOL: Final = "/realms/{realm}/protocol/openid-connect"
LOGIN_STATUS_FRAME: Final = f"{_PROTOCOL}/login-status-iframe.html"
_THIRD_PARTY_COOKIES: Final = f"{_PROTOCOL}/3p-cookies"
_METHODS: Final = ("GET", "HEAD")
_NOT_KEPT: Final = (b"cache-control", b"no-store, must-revalidate, max-age=0")
_POLICY: Final = (
    b"content-security-policy",
    (
        b"default-src 'none'; script-src 'self'; connect-src 'self'; base-uri 'none';"
        b" form-action 'none'"
    ),
)
_HTML: Final = (b"content-type", b"text/html;charset=utf-8")
_PAGE: Final = (
    '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{title}</title>\n'
    '<script src="{script}"></script></head>\n<body></body>\n</html>\n'
)
_STATUS: Final = {
    LoginStatus.UNCHANGED: HTTPStatus.NO_CONTENT,
    LoginStatus.CHANGED: HTTPStatus.CONFLICT,
    LoginStatus.REFUSED: HTTPStatus.FORBIDDEN,
}


@dataclass(frozen=True, slots=True)
class _Frame:
    path: str
    title: str
    script: str


_FRAMES: Final = (
    _Frame(LOGIN_STATUS_FRAME, "Login status", "login-status.js"),
    _Frame(f"{_THIRD_PARTY_COOKIES}/step1.html", "Cookies", "third-party-cookies.js"),
    _Frame(f"{_THIRD_PARTY_COOKIES}/step2.html", "Cookies", "third-party-cookies.js"),
)


class _FrameEndpoint(GuardedEndpoint):
    """Serves one frame."""

    def __init__(self, frame: _Frame, context: RealmContext, urls: ResourceUrls) -> None:
        super().__init__(frame.path, context.directory, context.log, methods=_METHODS)
        page = _PAGE.format(title=frame.title, script=urls.built_in(frame.script))
        self._body = page.encode()

    async def _answer(
        self,
        scope: Scope,
        receive: Receive,  # noqa: ARG002 - a GET has no body
        exchange: Exchange,
        entry: RealmEntry | None,
    ) -> Reply:
        _require_method(scope)
        if entry is not None:
            exchange.security_headers = _framed_by_any_page(entry.realm.security_headers)
        return Reply(HTTPStatus.OK, (_HTML, _NOT_KEPT, _POLICY), self._body)


class _StatusEndpoint(GuardedEndpoint):
    """Answers the script of the frame: 204 unchanged, 409 changed, 403 no answer for this page."""

    def __init__(self, context: RealmContext) -> None:
        path = f"{LOGIN_STATUS_FRAME}/init"
        super().__init__(path, context.directory, context.log, methods=_METHODS)
        self._context = context

    async def _answer(
        self,
        scope: Scope,
        receive: Receive,  # noqa: ARG002 - a GET has no body
        exchange: Exchange,
        entry: RealmEntry | None,
    ) -> Reply:
        _require_method(scope)
        if entry is None:
            raise RealmNotFound("the path names no realm")
        parameters = Parameters.of(parse_form(scope["query_string"]))
        request = await self._context.request(entry, exchange.facts, parameters)
        cookies = read_cookies(exchange.facts.headers.text(b"cookie"))
        found = await login_status(
            request,
            self._context.directory,
            self._context.origins,
            cookies.get(CookieName.SESSION, ()),
        )
        return Reply(_STATUS[found], (_NOT_KEPT,))


def build_session_frame_routes(context: RealmContext, urls: ResourceUrls) -> list[BaseRoute]:
    """Return the URLs of the frames."""
    status = _StatusEndpoint(context)
    frames = [Route(frame.path, _FrameEndpoint(frame, context, urls)) for frame in _FRAMES]
    return [Route(status.route, status), *frames]


def _require_method(scope: Scope) -> None:
    if scope["method"] not in _METHODS:
        raise MethodNotAllowed(_METHODS)


def _framed_by_any_page(headers: SecurityHeaders) -> SecurityHeaders:
    kept = tuple(pair for pair in headers.values if pair[0] != "xFrameOptions")
    return replace(headers, values=kept)

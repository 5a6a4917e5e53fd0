"""What every endpoint of a realm shares: method, realm, the realm's headers, errors as replies.

The realm is looked up first: 404, then 405, then what is wrong with the body. Keycloak: 0.3, 1.1
"""

from collections.abc import Awaitable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Protocol
from urllib.parse import quote

from starlette.types import Receive, Scope, Send
from structlog.typing import FilteringBoundLogger

from gateway.domain.clock import Clock
from gateway.domain.errors import RealmNotFound
from gateway.domain.ports.directory import Directory, RealmEntry
from gateway.domain.realm import SecurityHeaders
from gateway.http import security_headers
from gateway.http.errors import MethodNotAllowed, allow_header, answered
from gateway.http.exchange import Exchange, exchange_of
from gateway.http.form import parse_form, query_names, read_body, require_form_type
from gateway.http.replies import Headers, Reply, send_reply
from gateway.protocol.errors import OAuthError
from gateway.protocol.event_recording import EventRecording
from gateway.protocol.parameters import Parameters
from gateway.protocol.requests import ProtocolRequest

_MAX_REALM_NAME = 255
_DEFAULT_HEADERS = SecurityHeaders()


@dataclass(frozen=True, slots=True)
class RealmContext:
    """What endpoints of realms are made with. URLs have no trailing slash."""

    directory: Directory
    clock: Clock
    log: FilteringBoundLogger
    public_url: str
    mtls_public_url: str | None
    events: EventRecording

    def issuer(self, realm_name: str) -> str:
        """Return the realm's issuer, from the configured URL."""
        return _realm_url(self.public_url, realm_name)

    def mtls_issuer(self, realm_name: str) -> str | None:
        """Return the realm's address on the listener for client certificates."""
        return _realm_url(self.mtls_public_url, realm_name) if self.mtls_public_url else None


def _realm_url(base: str, realm_name: str) -> str:
    return f"{base}/realms/{quote(realm_name, safe='')}"


class ProtocolHandler(Protocol):
    """Answers one parsed request."""

    def __call__(self, request: ProtocolRequest, exchange: Exchange) -> Awaitable[Reply]:
        """Return the reply, or raise what `http/errors.py` knows."""
        ...


class RealmEndpoint:
    """An ASGI endpoint below /realms/{realm}."""

    def __init__(
        self,
        route: str,
        handler: ProtocolHandler,
        context: RealmContext,
        *,
        methods: tuple[str, ...] = ("GET", "HEAD"),
        always: Headers = (),
    ) -> None:
        """Answer `methods` by `handler`; `always` are headers of every reply, errors included."""
        self._route = route
        self._handler = handler
        self._context = context
        self._methods = methods
        self._always = always

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request."""
        exchange = exchange_of(scope)
        exchange.route = self._route
        found: list[RealmEntry] = []
        reply = await answered(
            self._answer(scope, receive, exchange, found), exchange, self._context.log
        )
        values = found[0].realm.security_headers if found else _DEFAULT_HEADERS
        realm_headers = (
            security_headers.for_document(values)
            if reply.body or _is_application(exchange)
            else security_headers.for_nothing(values)
        )
        headers = (*reply.headers, *self._always, *realm_headers)
        await send_reply(Reply(reply.status, headers, reply.body), send)

    async def _answer(
        self, scope: Scope, receive: Receive, exchange: Exchange, found: list[RealmEntry]
    ) -> Reply:
        entry = await self._realm(scope["path_params"]["realm"], exchange)
        found.append(entry)
        if scope["method"] == "OPTIONS":
            return Reply(HTTPStatus.OK, (allow_header(self._methods),))
        if scope["method"] not in self._methods:
            raise MethodNotAllowed(self._methods)
        facts = exchange.facts
        request = ProtocolRequest(
            realm=entry,
            issuer=self._context.issuer(entry.realm.name),
            parameters=await self._parameters(scope, receive, exchange),
            authorization=facts.headers.text(b"authorization"),
            certificate=facts.certificate,
            remote_address=facts.remote_address,
            secure=facts.secure,
            now=self._context.clock.now(),
        )
        try:
            reply = await self._reply(request, exchange, scope, receive)
        except OAuthError as refusal:
            self._context.events.refused(request, refusal)
            raise
        self._context.events.answered(request)
        return reply

    async def _reply(
        self,
        request: ProtocolRequest,
        exchange: Exchange,
        scope: Scope,  # noqa: ARG002 - for endpoints that read more than a form
        receive: Receive,  # noqa: ARG002
    ) -> Reply:
        return await self._handler(request, exchange)

    async def _parameters(self, scope: Scope, receive: Receive, exchange: Exchange) -> Parameters:
        if scope["method"] != "POST":
            return Parameters()
        sent = exchange.facts.headers.values
        body = await read_body(receive, sent.get(b"content-length"))
        if body:
            require_form_type(sent.get(b"content-type"))
        return Parameters.of(parse_form(body), query_names(scope["query_string"]))

    async def _realm(self, name: str, exchange: Exchange) -> RealmEntry:
        entry = await self._context.directory.realm(name) if len(name) <= _MAX_REALM_NAME else None
        if entry is None:
            raise RealmNotFound(f"no realm {name[:_MAX_REALM_NAME]!r}")
        exchange.log["realm"] = entry.realm.name
        return entry


def _is_application(exchange: Exchange) -> bool:
    return exchange.facts.headers.values.get(b"content-type", b"").startswith(b"application/")

"""What every admin endpoint shares: caller, realm, rights, in this order.

401 before 404 before 403, so that nobody without a token learns which realms there are.
Keycloak: 7 (resolution order), 9; 0.3 (headers)
"""

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final, Protocol

from starlette.types import Receive, Scope, Send

from gateway.admin.access import AdminAccess, Caller, Rights
from gateway.admin.errors import Missing
from gateway.domain.ports.directory import RealmEntry
from gateway.domain.realm import Realm, SecurityHeaders
from gateway.http import security_headers
from gateway.http.admin.authentication import AdminAuthentication
from gateway.http.errors import MethodNotAllowed, allow_header, answered
from gateway.http.exchange import Exchange, exchange_of
from gateway.http.form import parse_form
from gateway.http.realm_endpoint import RealmContext
from gateway.http.replies import JSON_UTF8, Headers, Reply, json_reply, send_reply
from gateway.protocol.parameters import Parameters

_NO_CACHE: Final[Headers] = ((b"cache-control", b"no-cache"),)
_DEFAULT_HEADERS: Final = SecurityHeaders()
_LONGEST_NAME: Final = 255


@dataclass(frozen=True, slots=True)
class AdminRequest:
    """One request: who asks, about which realm, and what is in path and query."""

    caller: Caller
    realm: Realm
    rights: Rights
    path: Mapping[str, str]
    query: Parameters = field(repr=False)


class AdminHandler(Protocol):
    """Answers one request that was authenticated."""

    def __call__(self, request: AdminRequest) -> Awaitable[Reply]:
        """Return the reply, or raise what `http/errors.py` knows."""
        ...


@dataclass(frozen=True, slots=True)
class AdminServices:
    """What the endpoints share."""

    context: RealmContext
    authentication: AdminAuthentication
    access: AdminAccess


class AdminEndpoint:
    """An ASGI endpoint below /admin/realms/{realm}, a handler for each method."""

    def __init__(
        self, route: str, handlers: Mapping[str, AdminHandler], services: AdminServices
    ) -> None:
        """Answer each method by its handler, HEAD as GET."""
        self._route = route
        self._handlers = {**handlers}
        if "GET" in handlers:
            self._handlers["HEAD"] = handlers["GET"]
        self._services = services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI
        """Answer the request; a body is not read."""
        exchange = exchange_of(scope)
        exchange.route = self._route
        found: list[RealmEntry] = []
        reply = await answered(
            self._answer(scope, exchange, found), exchange, self._services.context.log
        )
        values = found[0].realm.security_headers if found else _DEFAULT_HEADERS
        realm_headers = (
            security_headers.for_document(values)
            if reply.body
            else security_headers.for_nothing(values)
        )
        await send_reply(Reply(reply.status, (*reply.headers, *realm_headers), reply.body), send)

    async def _answer(self, scope: Scope, exchange: Exchange, found: list[RealmEntry]) -> Reply:
        methods = tuple(self._handlers)
        if scope["method"] == "OPTIONS":
            return Reply(HTTPStatus.OK, (allow_header(methods),))
        caller = await self._services.authentication.caller(exchange)
        entry = await self._realm(scope["path_params"]["realm"], exchange)
        found.append(entry)
        if scope["method"] not in self._handlers:
            raise MethodNotAllowed(methods)
        request = AdminRequest(
            caller=caller,
            realm=entry.realm,
            rights=await self._services.access.rights(caller, entry.realm),
            path=scope["path_params"],
            query=Parameters.of(parse_form(scope["query_string"])),
        )
        return await self._handlers[scope["method"]](request)

    async def _realm(self, name: str, exchange: Exchange) -> RealmEntry:
        directory = self._services.context.directory
        entry = await directory.realm(name) if len(name) <= _LONGEST_NAME else None
        if entry is None:
            raise Missing("Realm not found.")
        exchange.log["realm"] = entry.realm.name
        return entry


def document_reply(document: object) -> Reply:
    """Return what was asked for, as JSON that nobody keeps."""
    return json_reply(document, headers=_NO_CACHE, content_type=JSON_UTF8)


def done_reply() -> Reply:
    """Return that it is done."""
    return Reply(HTTPStatus.NO_CONTENT)

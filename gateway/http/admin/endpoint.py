"""What every admin endpoint does by its row of the table, in this order.

Caller (401), realm (404), method (405), role (403), rights of the object that the path names
(403), body (400, 413, 415): nobody without a token learns which realms there are, and nobody
without the role what is in them.
Keycloak: 7 (resolution order), 9; 0.3 (headers)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from starlette.types import Receive, Scope, Send

from gateway.admin.access import Acting, AdminAccess, Rights
from gateway.admin.account_control import AccountControl
from gateway.admin.errors import Forbidden, Missing
from gateway.domain.ports.directory import RealmEntry
from gateway.domain.realm import SecurityHeaders
from gateway.http import security_headers
from gateway.http.admin.authentication import AdminAuthentication
from gateway.http.admin.bodies import read_admin_body
from gateway.http.admin.controlled_paths import controlled_path
from gateway.http.admin.operations import Decided, Operation
from gateway.http.admin.requests import AdminRequest
from gateway.http.admin.segments import escaped_path
from gateway.http.errors import MethodNotAllowed, allow_header, answered
from gateway.http.exchange import Exchange, exchange_of
from gateway.http.form import parse_form
from gateway.http.realm_endpoint import RealmContext
from gateway.http.replies import Reply, send_reply
from gateway.protocol.parameters import Parameters

_DEFAULT_HEADERS: Final = SecurityHeaders()
_LONGEST_NAME: Final = 255
_MOST_IN_QUERY: Final = 250
"""All names of events may be asked for at once."""


@dataclass(frozen=True, slots=True)
class AdminServices:
    """What the endpoints share."""

    context: RealmContext
    authentication: AdminAuthentication
    access: AdminAccess
    control: AccountControl


class AdminEndpoint:
    """An ASGI endpoint of one URL, an operation for each method."""

    def __init__(
        self, route: str, operations: Mapping[str, Operation], services: AdminServices
    ) -> None:
        """Answer each method by its operation, HEAD as GET."""
        self._route = route
        self._operations = {**operations}
        if "GET" in operations:
            self._operations["HEAD"] = operations["GET"]
        self._controlled = {
            method: controlled_path(row) for method, row in self._operations.items()
        }
        self._services = services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request."""
        exchange = exchange_of(scope)
        exchange.route = self._route
        found: list[RealmEntry] = []
        reply = await answered(
            self._answer(scope, receive, exchange, found), exchange, self._services.context.log
        )
        values = found[0].realm.security_headers if found else _DEFAULT_HEADERS
        realm_headers = (
            security_headers.for_document(values)
            if reply.body
            else security_headers.for_nothing(values)
        )
        await send_reply(Reply(reply.status, (*reply.headers, *realm_headers), reply.body), send)

    async def _answer(
        self, scope: Scope, receive: Receive, exchange: Exchange, found: list[RealmEntry]
    ) -> Reply:
        methods = tuple(self._operations)
        if scope["method"] == "OPTIONS":
            return Reply(HTTPStatus.OK, (allow_header(methods),))
        caller = await self._services.authentication.caller(exchange)
        named = scope["path_params"].get("realm")
        realm = caller.realm
        if named is not None:
            entry = await self._realm(named, exchange)
            found.append(entry)
            realm = entry.realm
        operation = self._operations.get(scope["method"])
        if operation is None:
            raise MethodNotAllowed(methods)
        rights = await self._services.access.rights(caller, realm)
        _require(operation, rights)
        headers = exchange.facts.headers
        acting = Acting(
            caller,
            realm,
            rights,
            exchange.facts.remote_address,
            headers.text(b"if-match"),
            controls=self._controlled[scope["method"]].objects(scope["path_params"]),
        )
        await self._services.control.require(acting)
        body = operation.body
        pairs = tuple(parse_form(scope["query_string"], _MOST_IN_QUERY))
        request = AdminRequest(
            acting=acting,
            path=scope["path_params"],
            query=Parameters.of(pairs),
            pairs=pairs,
            body=None if body is None else await read_admin_body(receive, headers, body),
            public_url=self._services.context.public_url,
            url_path=_url_path(scope),
        )
        return await operation.handler(request)

    async def _realm(self, name: str, exchange: Exchange) -> RealmEntry:
        directory = self._services.context.directory
        entry = await directory.realm(name) if len(name) <= _LONGEST_NAME else None
        if entry is None:
            raise Missing("Realm not found.")
        exchange.log["realm"] = entry.realm.name
        return entry


def _require(operation: Operation, rights: Rights) -> None:
    if operation.allowed is Decided.BY_USE_CASE:
        return
    if operation.allowed is Decided.ANY_ROLE:
        if not rights.roles:
            raise Forbidden("no role over the realm")
        return
    rights.require(*operation.allowed)
    if operation.also:
        rights.require(*operation.also)


def _url_path(scope: Scope) -> str:
    """Return the path as it was sent, without the prefix /auth and a slash at the end."""
    return escaped_path(scope).rstrip("/").removeprefix("/auth")

"""What every admin endpoint does by its row of the table, in this order.

HTTPS (403), caller (401), HTTPS for the caller's realm (403), realm (404), method (405), role
(403), rights of all accounts where the operation decides how they are proven (403), rights of the
object that the path names (403), objects that the path leads through (404), body (400, 413, 415). A
caller without the role learns nothing of what is in a realm.
Keycloak: 7 (resolution order), 9; 0.3 (headers). Keycloak does not check `sslRequired` here.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Final

from starlette.types import Receive, Scope

from gateway.admin.access import (
    AccountControl,
    Acting,
    AdminRefusal,
    AdminRole,
    Caller,
    Forbidden,
    InvalidRequest,
    MalformedBody,
    NotFound,
    Rights,
    UnknownPage,
    missing_rights,
    require_rights_of_realm_accounts,
    rights_of,
)
from gateway.admin.path_objects import PathObjects
from gateway.domain.errors import InvalidInput, UnusableSetting
from gateway.domain.limits.event_loop import free_in_slices
from gateway.domain.limits.large_documents import LARGE_DOCUMENT, clear_locals, large_document
from gateway.domain.ports.directory import RealmEntry
from gateway.domain.realm import Realm
from gateway.http.admin.authentication import AdminAuthentication
from gateway.http.admin.bodies import read_admin_body
from gateway.http.admin.controlled_paths import controlled_path
from gateway.http.admin.located_objects import LocatedObjects
from gateway.http.admin.operations import PLAIN_TEXT, Decided, Operation
from gateway.http.admin.requests import AdminRequest
from gateway.http.cross_origin import ADMIN_API
from gateway.http.edge.headers import EdgeHeaders
from gateway.http.errors import MethodNotAllowed
from gateway.http.exchange import Exchange
from gateway.http.form import FormRefused, parse_form
from gateway.http.guarded_endpoint import Exemption, GuardedEndpoint, RealmCheck
from gateway.http.path_segments import escaped_path
from gateway.http.realm_endpoint import RealmContext
from gateway.http.replies import NO_STORE, Reply
from gateway.protocol.parameters import Parameters

_MOST_IN_QUERY: Final = 250
"""All names of events may be asked for at once."""
_INPUT_ERRORS: Final = (
    *(FormRefused, MalformedBody, UnknownPage),
    *(InvalidInput, InvalidRequest, UnusableSetting),
)
_EXEMPT: Final = (
    Exemption(
        RealmCheck.ENABLED,
        "administrators of master enable a disabled realm again; tokens of a disabled realm are"
        " rejected when the caller is authenticated",
    ),
)


@dataclass(frozen=True, slots=True)
class AdminServices:
    """What the endpoints share."""

    context: RealmContext
    authentication: AdminAuthentication
    control: AccountControl
    path_objects: PathObjects


@dataclass(frozen=True, slots=True)
class _ProofGuard:
    """Guards an operation that changes `subject`, by which accounts are proven.

    `get` is the GET of the same URL: a PUT of the document that it returns changes nothing, and
    programs send whole documents back. It needs no more rights, and nothing is done.
    """

    subject: str
    operation: Operation
    get: Operation | None = None

    def check(self, acting: Acting) -> None:
        """Raise MissingRights unless the caller has every right or the body decides."""
        if self.get is None:
            require_rights_of_realm_accounts(acting, self.subject)

    async def reply_to_unchanged(self, request: AdminRequest) -> Reply | None:
        """Return the reply to a document that changes nothing; None for a caller with every right.

        Raises MissingRights for a changed document.
        """
        if self.get is None or not missing_rights(request.acting):
            return None
        stored = await _stored_document(self.get, request)
        if stored is None:
            require_rights_of_realm_accounts(request.acting, self.subject)
        return stored if self.operation.returns else Reply(HTTPStatus(self.operation.success))


def _guard_of(operation: Operation, operations: Mapping[str, Operation]) -> _ProofGuard | None:
    """Return the guard of an operation among those of its URL, None where it needs none."""
    subject = operation.proven
    if subject is None:
        return None
    get = operations.get("GET") if operation.method == "PUT" else None
    return _ProofGuard(subject, operation, get)


async def _stored_document(get: Operation, request: AdminRequest) -> Reply | None:
    """Return what GET replies if the body is that document, or one of that list; None if not."""
    try:
        reply = await get.handler(replace(request, body=None))
    except AdminRefusal:
        return None
    if get.returns == PLAIN_TEXT:
        return reply if request.body == reply.body.decode() else None
    stored = json.loads(reply.body)
    is_stored = request.body == stored or (isinstance(stored, list) and request.body in stored)
    return reply if is_stored else None


class AdminEndpoint(GuardedEndpoint):
    """An ASGI endpoint of one URL, an operation for each method."""

    _unknown_realm_first = False

    def __init__(
        self, route: str, operations: Mapping[str, Operation], services: AdminServices
    ) -> None:
        """Answer each method by its operation, HEAD as GET."""
        self._operations = {**operations}
        if "GET" in operations:
            self._operations["HEAD"] = operations["GET"]
        self._controlled = {
            method: controlled_path(row) for method, row in self._operations.items()
        }
        self._guards = {
            method: _guard_of(row, operations) for method, row in self._operations.items()
        }
        self._located = LocatedObjects.of(route)
        self._services = services
        # Answers hold secrets and personal data of all kinds: no row has to remember it.
        super().__init__(
            route,
            services.context.directory,
            services.context.log,
            methods=tuple(self._operations),
            exempt=_EXEMPT,
            always=NO_STORE,
            cross_origin=ADMIN_API,
            own_origins=services.context.origins,
        )

    async def _answer(
        self, scope: Scope, receive: Receive, exchange: Exchange, entry: RealmEntry | None
    ) -> Reply:
        caller = await self._services.authentication.caller(exchange)
        self._require_https(caller.realm, exchange)
        realm = await self._realm(scope, entry, caller, exchange)
        operation = self._operations.get(scope["method"])
        if operation is None:
            raise MethodNotAllowed(self.methods)
        rights = rights_of(caller, realm)
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
        guard = self._guards[scope["method"]]
        if guard is not None:
            guard.check(acting)
        await self._services.control.require(acting)
        pairs = tuple(parse_form(scope["query_string"], _MOST_IN_QUERY))
        request = AdminRequest(
            acting=acting,
            path=scope["path_params"],
            query=Parameters.of(pairs),
            pairs=pairs,
            public_url=self._services.context.public_url,
            url_path=_url_path(scope),
        )
        try:
            return await _perform(operation, guard, request, receive, headers)
        except _INPUT_ERRORS:
            # Only a refused request pays for the look-up: the use cases find the same objects.
            located = self._located.objects(scope["path_params"])
            await self._services.path_objects.require(realm, located)
            raise

    async def _realm(
        self, scope: Scope, entry: RealmEntry | None, caller: Caller, exchange: Exchange
    ) -> Realm:
        name = scope["path_params"].get("realm")
        if name is None:
            exchange.security_headers = caller.realm.security_headers
            return caller.realm
        # Changes may have been read with the caller: it is looked up in memory a second time.
        current = await self._find_realm(name, exchange)
        if current is None:
            raise NotFound("Realm not found.")
        if current is not entry:
            self._require_https(current.realm, exchange)
        return current.realm


async def _perform(
    operation: Operation,
    guard: _ProofGuard | None,
    request: AdminRequest,
    receive: Receive,
    headers: EdgeHeaders,
) -> Reply:
    body = operation.body
    if body is None:
        return await operation.handler(request)
    if not _is_large(headers):
        document = await read_admin_body(receive, headers, body)
        return await _handle(operation, guard, replace(request, body=document))
    with large_document():
        held: list[object] = [await read_admin_body(receive, headers, body)]
        try:
            return await _handle(operation, guard, replace(request, body=held[0]))
        finally:
            clear_locals(sys.exception())
            await free_in_slices(held)


async def _handle(operation: Operation, guard: _ProofGuard | None, request: AdminRequest) -> Reply:
    unchanged = None if guard is None else await guard.reply_to_unchanged(request)
    return await operation.handler(request) if unchanged is None else unchanged


def _require(operation: Operation, rights: Rights) -> None:
    if operation.allowed is Decided.BY_USE_CASE:
        return
    if isinstance(operation.allowed, Decided):
        other = {AdminRole.IMPERSONATION} if operation.allowed is not Decided.ANY_ROLE else set()
        if not rights.roles - other:
            raise Forbidden(f"not {operation.allowed.value}")
        return
    rights.require(*operation.allowed)
    if operation.also:
        rights.require(*operation.also)


def _is_large(headers: EdgeHeaders) -> bool:
    length = headers.values.get(b"content-length")
    return length is None or int(length) > LARGE_DOCUMENT


def _url_path(scope: Scope) -> str:
    """Return the path as it was sent, without the prefix /auth and a slash at the end."""
    return escaped_path(scope).rstrip("/").removeprefix("/auth")

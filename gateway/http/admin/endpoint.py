"""The checks of every admin endpoint, by its row of the table, in this order.

HTTPS (403), caller (401), HTTPS for the caller's realm (403), realm (404), method (405), role
(403), rights of all accounts where the operation decides how they are proven (403), rights of the
object that the path names (403), objects that the path leads through (404), body (400, 413, 415). A
caller without the role learns nothing about the objects of a realm; only an unknown user is 404
for callers that may search for users.

Every operation that is not a GET controls each user, client, group and role that its path names,
unless its row declares why it is harmless; a GET does so where its row declares that the response
gives control. A placeholder that is not listed here is an error when the routes are
built, so a new path cannot bypass the rule of `gateway.admin.access.escalation`.
Keycloak: 7 (resolution order), 9 (administrative roles); 0.3 (headers). Keycloak does not check
`sslRequired` here.
"""

import json
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Final

from starlette.types import Receive, Scope

from gateway.admin.access import (
    Acting,
    AdminRole,
    ControlledObject,
    ObjectKind,
    Rights,
    existing,
    get_user,
    missing_rights,
    require_control_of_request,
    require_rights_of_realm_accounts,
    rights_of,
)
from gateway.admin.client_scopes import get_client_scope
from gateway.admin.clients import get_client
from gateway.admin.groups import get_group
from gateway.admin.users import QUERY_USERS, VIEW_USERS
from gateway.domain.callers import Caller
from gateway.domain.errors import InvalidInput, UnusableSetting
from gateway.domain.limits.input_sizes import (
    LARGE_DOCUMENT,
    clear_locals,
    free_in_slices,
    large_document,
)
from gateway.domain.ports.lookups import RealmEntry
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.realm import Realm
from gateway.domain.refusals import (
    ApiRefusal,
    Forbidden,
    InvalidRequest,
    MalformedBody,
    NotFound,
    NotSupported,
    UnknownPage,
)
from gateway.http.admin.authentication import AdminAuthentication
from gateway.http.admin.operations import PLAIN_TEXT, REALM, Decided, Operation, read_admin_body
from gateway.http.admin.requests import AdminRequest
from gateway.http.cross_origin import ADMIN_API
from gateway.http.edge import EdgeHeaders
from gateway.http.errors import MethodNotAllowed
from gateway.http.exchange import Exchange, escaped_path
from gateway.http.forms import FormRefused, parse_form
from gateway.http.realm_endpoint import Exemption, GuardedEndpoint, RealmCheck, RealmContext
from gateway.http.replies import NO_STORE, Reply
from gateway.protocol.requests import Parameters

_GetObject = Callable[[Stores, Realm, str], Awaitable[object]]
"""Returns an object by its internal id; raises NotFound."""


async def _get_role_owner(stores: Stores, realm: Realm, client_id: str) -> object:
    return existing(await stores.clients.find_by_id(realm.id, client_id), "Client not found")


async def _get_client(stores: Stores, realm: Realm, client_id: str) -> object:
    return await get_client(stores, realm.id, client_id)


async def _get_user(stores: Stores, realm: Realm, user_id: str) -> object:
    return await get_user(stores, realm.id, user_id)


_LOCATED: Final[Mapping[tuple[str, ...], _GetObject]] = {
    ("users", "{user_id}"): _get_user,
    ("groups", "{group_id}"): get_group,
    ("clients", "{client_id}"): _get_client,
    ("client-scopes", "{scope_id}"): get_client_scope,
}
_OWNERS: Final[Mapping[tuple[str, ...], _GetObject]] = {
    ("role-mappings", "clients"): _get_role_owner,
    ("scope-mappings", "clients"): _get_client,
}
"""The part of the path before the client whose roles are mapped."""


def located_objects(template: str) -> tuple[tuple[_GetObject, str], ...]:
    """Return the placeholders that name objects in a path below the realm, in their order.

    Keycloak finds users, groups, clients and client scopes segment by segment, before it reads the
    body: a request that is wrong in both ways is answered with 404. Keycloak: 7 (resolution order)
    """
    segments = tuple(template.removeprefix(REALM).split("/")[1:])
    found = []
    if segments[:2] in _LOCATED:
        found.append((_LOCATED[segments[:2]], segments[1]))
    if segments[2:4] in _OWNERS and segments[4:]:
        found.append((_OWNERS[segments[2:4]], segments[4]))
    return tuple((get, name.strip("{}")) for get, name in found)


OBJECTS: Final[Mapping[str, ObjectKind]] = {
    "user_id": ObjectKind.USER,
    "member_id": ObjectKind.USER,
    "client_id": ObjectKind.CLIENT,
    "group_id": ObjectKind.GROUP,
    "role_id": ObjectKind.ROLE,
    "role_name": ObjectKind.ROLE,
}
"""Placeholders that name an object with rights."""
OTHERS: Final = frozenset(
    {
        *("access_id", "alias", "attr", "client", "config", "container", "credential_id", "id"),
        *("invitation_id", "key", "locale", "mapper_id", "node", "org_id", "policy_id"),
        *("previous_id", "provider", "realm", "resource_id", "scope_id", "scope_name"),
        *("session_id", "sha256", "site", "type", "workflow_id"),
    }
)
"""Placeholders of objects that need no right of their own, or that belong to an object before
them in the path. With `session_id`: to end a session gives no control of an account.
"""
_ROLE_LISTS: Final = frozenset({"role-mappings", "scope-mappings"})
"""The path after one of these names the client that owns the roles: the client is not changed."""
_CLIENT_PLACEHOLDER: Final = "client_id"
_ROLE_NAME: Final = "role_name"


def controlled_objects(
    placeholders: Iterable[str], path: Mapping[str, str]
) -> tuple[ControlledObject, ...]:
    """Return the objects that a request with these values controls."""
    return tuple(
        ControlledObject(
            OBJECTS[name],
            path[name],
            by_name=name == _ROLE_NAME,
            client=path.get(_CLIENT_PLACEHOLDER) if name == _ROLE_NAME else None,
        )
        for name in placeholders
    )


def controlled_placeholders(operation: Operation) -> tuple[str, ...]:
    """Return the placeholders of controlled objects; raises ValueError for an unlisted one."""
    controls = operation.reveals if operation.method == "GET" else not operation.harmless
    if not controls:
        return ()
    names = tuple(_placeholders(operation.path.split("/")))
    unknown = set(names) - OBJECTS.keys() - OTHERS
    if unknown:
        text = f"{operation.method} {operation.path}: list {', '.join(sorted(unknown))}"
        raise ValueError(f"{text} in endpoint.OBJECTS or OTHERS")
    return tuple(name for name in names if name in OBJECTS)


def _placeholders(segments: Sequence[str]) -> Iterator[str]:
    for segment in segments:
        if segment in _ROLE_LISTS:
            return
        if segment.startswith("{"):
            yield segment.strip("{}").partition(":")[0]


_MOST_IN_QUERY: Final = 250
"""All names of events may be asked for at once."""
_AFTER_OBJECTS: Final = (
    *(FormRefused, MalformedBody, UnknownPage),
    *(InvalidInput, InvalidRequest, NotSupported, UnusableSetting),
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
    """The services that the endpoints share."""

    context: RealmContext
    authentication: AdminAuthentication
    database: Database


@dataclass(frozen=True, slots=True)
class _ProofGuard:
    """Guards an operation that changes `subject`, by which accounts are proven.

    `get` is the GET of the same URL: a PUT of the document that it returns changes nothing, and
    programs send whole documents back. It needs no more rights, and nothing is done.
    """

    subject: str
    operation: Operation
    get: Operation | None = None

    def require_rights(self, acting: Acting) -> None:
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
    except ApiRefusal:
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
            method: controlled_placeholders(row) for method, row in self._operations.items()
        }
        self._guards = {
            method: _guard_of(row, operations) for method, row in self._operations.items()
        }
        self._located = located_objects(route)
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
        self._require(caller.realm, exchange)
        realm = await self._realm(scope, entry, caller, exchange)
        operation = self._operations.get(scope["method"])
        if operation is None:
            raise MethodNotAllowed(self.methods)
        rights = rights_of(caller, realm)
        try:
            _require_roles(operation, rights)
        except Forbidden:
            await self._require_known_user(realm, rights, scope)
            raise
        headers, controlled = exchange.facts.headers, self._controlled[scope["method"]]
        controls = controlled_objects(controlled, scope["path_params"]) if controlled else ()
        acting = Acting(
            caller,
            realm,
            rights,
            exchange.facts.remote_address,
            headers.text(b"if-match"),
            controls=controls,
        )
        guard, query = self._guards[scope["method"]], scope["query_string"]
        if guard is not None:
            guard.require_rights(acting)
        if controls:
            await require_control_of_request(acting, self._services.database)
        pairs = tuple(parse_form(query, _MOST_IN_QUERY)) if query else ()
        request = AdminRequest(
            acting=acting,
            path=scope["path_params"],
            query=Parameters.from_pairs(pairs) if pairs else Parameters(),
            pairs=pairs,
            public_url=self._services.context.public_url,
            # As it was sent.
            url_path=escaped_path(scope).rstrip("/").removeprefix("/auth"),
            facts=exchange.facts,
        )
        try:
            return await _perform(operation, guard, request, receive, headers)
        except _AFTER_OBJECTS:
            # Only a refused request pays for the look-up: the use cases find the same objects.
            await self._require_located(realm, scope)
            raise

    async def _require_known_user(self, realm: Realm, rights: Rights, scope: Scope) -> None:
        """Raise NotFound for an unknown user in the path if the caller may search for users.

        Callers who see users learn of the other objects of the path as well.
        """
        users = self._located and self._located[0][0] is _get_user
        if users and rights.has(*QUERY_USERS):
            most = None if rights.has(*VIEW_USERS) else 1
            await self._require_located(realm, scope, most)

    async def _require_located(self, realm: Realm, scope: Scope, most: int | None = None) -> None:
        """Look the `most` outermost objects of the path up, or all; raises NotFound."""
        if not self._located:
            return
        async with self._services.database.read() as stores:
            for get_object, name in self._located[:most]:
                await get_object(stores, realm, scope["path_params"][name])

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
            self._require(current.realm, exchange)
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
    length = headers.values.get(b"content-length")
    if length is not None and int(length) <= LARGE_DOCUMENT:
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


def _require_roles(operation: Operation, rights: Rights) -> None:
    if operation.allowed is Decided.BY_USE_CASE:
        return
    if isinstance(operation.allowed, Decided):
        other = {AdminRole.IMPERSONATION} if operation.allowed is not Decided.ANY_ROLE else set()
        if not rights.roles - other:
            raise Forbidden(f"not {operation.allowed.value}")
        return
    rights.require_role(*operation.allowed)
    if operation.also:
        rights.require_role(*operation.also)

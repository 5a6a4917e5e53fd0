"""Client scopes: of the realm, in its lists for new clients, and of clients.

Keycloak: 7.1 (default-default-client-scopes), 7.3 (client-scopes, default-client-scopes)
"""

from collections.abc import Iterator
from typing import Final

from gateway.admin.client_scopes import (
    LIST_CLIENTS,
    MANAGE_CLIENTS,
    VIEW_CLIENTS,
    ClientScopeAdministration,
)
from gateway.admin.clients import ClientScopeAssignment
from gateway.domain.client_scopes import RealmDefault
from gateway.http.admin.operations import REALM, AdminHandler, Body, Media, Operation
from gateway.http.admin.requests import (
    AdminRequest,
    created_reply,
    document_reply,
    done_reply,
    entity_reply,
)
from gateway.http.replies import Reply

_TAG: Final = "Client Scopes"
_SCHEMA: Final = "ClientScopeRepresentation"
_KINDS: Final = {RealmDefault.DEFAULT: "default", RealmDefault.OPTIONAL: "optional"}


class ClientScopesHandlers:
    """Answers what is asked about the client scopes of a realm."""

    def __init__(self, scopes: ClientScopeAdministration) -> None:
        self._scopes = scopes

    async def all(self, request: AdminRequest) -> Reply:
        """Return the client scopes."""
        return document_reply(await self._scopes.all(request.acting))

    async def create(self, request: AdminRequest) -> Reply:
        """Add a client scope."""
        scope_id = await self._scopes.create(request.acting, request.body)
        return created_reply(request, scope_id)

    async def one(self, request: AdminRequest) -> Reply:
        """Return one client scope."""
        return entity_reply(await self._scopes.one(request.realm, request.path["scope_id"]))

    async def update(self, request: AdminRequest) -> Reply:
        """Change one client scope."""
        await self._scopes.update(request.acting, request.path["scope_id"], request.body)
        return done_reply()

    async def remove(self, request: AdminRequest) -> Reply:
        """Remove one client scope."""
        await self._scopes.remove(request.acting, request.path["scope_id"])
        return done_reply()

    def listed(self, listed: RealmDefault) -> AdminHandler:
        """Return what answers with one of the realm's lists."""

        async def answer(request: AdminRequest) -> Reply:
            return document_reply(await self._scopes.listed(request.realm, listed))

        return answer

    def put_in_list(self, listed: RealmDefault) -> AdminHandler:
        """Return what puts a scope into one of the realm's lists."""

        async def answer(request: AdminRequest) -> Reply:
            await self._scopes.put_in_list(request.acting, listed, request.path["scope_id"])
            return done_reply()

        return answer

    def take_from_list(self, listed: RealmDefault) -> AdminHandler:
        """Return what takes a scope from one of the realm's lists."""

        async def answer(request: AdminRequest) -> Reply:
            await self._scopes.take_from_list(request.acting, listed, request.path["scope_id"])
            return done_reply()

        return answer


class ScopesOfClientHandlers:
    """Answers what is asked about the client scopes of one client."""

    def __init__(self, assignment: ClientScopeAssignment) -> None:
        self._assignment = assignment

    def all(self, listed: RealmDefault) -> AdminHandler:
        """Return what answers with one of the client's lists."""

        async def answer(request: AdminRequest) -> Reply:
            client = request.path["client_id"]
            return document_reply(await self._assignment.all(request.realm, client, listed))

        return answer

    def give(self, listed: RealmDefault) -> AdminHandler:
        """Return what puts a scope into one of the client's lists."""

        async def answer(request: AdminRequest) -> Reply:
            client, scope_id = request.path["client_id"], request.path["scope_id"]
            await self._assignment.give(request.acting, client, listed, scope_id)
            return done_reply()

        return answer

    def take(self, listed: RealmDefault) -> AdminHandler:
        """Return what takes a scope from one of the client's lists."""

        async def answer(request: AdminRequest) -> Reply:
            client, scope_id = request.path["client_id"], request.path["scope_id"]
            await self._assignment.take(request.acting, client, listed, scope_id)
            return done_reply()

        return answer


def operations(
    scopes: ClientScopesHandlers, of_clients: ScopesOfClientHandlers
) -> tuple[Operation, ...]:
    """Return the rows."""
    url = f"{REALM}/client-scopes"
    body = Body(Media.OBJECT, _SCHEMA)
    one = (f"{url}/{{scope_id}}", VIEW_CLIENTS, MANAGE_CLIENTS)
    return (
        Operation(
            *("GET", url, scopes.all, LIST_CLIENTS, "Client scopes", _TAG),
            returns=f"[{_SCHEMA}]",
        ),
        Operation(
            *("POST", url, scopes.create, MANAGE_CLIENTS, "Add a client scope", _TAG),
            body=body,
            refuses=(409,),
        ),
        Operation(
            *("GET", one[0], scopes.one, one[1], "One client scope", _TAG),
            returns=_SCHEMA,
            versioned=True,
        ),
        Operation(
            *("PUT", one[0], scopes.update, one[2]),
            *("Change a client scope, but for its mappers", _TAG),
            body=body,
            versioned=True,
            refuses=(409,),
        ),
        Operation(
            *("DELETE", one[0], scopes.remove, one[2]),
            *("Remove a client scope, also from the clients that have it", _TAG),
            versioned=True,
            refuses=(400,),
        ),
        *(row for listed in RealmDefault for row in _realm_list(scopes, listed)),
        *(row for listed in RealmDefault for row in _client_list(of_clients, listed)),
    )


def _realm_list(handlers: ClientScopesHandlers, listed: RealmDefault) -> Iterator[Operation]:
    kind = _KINDS[listed]
    url = f"{REALM}/default-{kind}-client-scopes"
    one = f"{url}/{{scope_id}}"
    yield Operation(
        *("GET", url, handlers.listed(listed), VIEW_CLIENTS),
        *(f"Client scopes that new clients get as {kind} ones", _TAG),
        returns=f"[{_SCHEMA}]",
    )
    yield Operation(
        *("PUT", one, handlers.put_in_list(listed), MANAGE_CLIENTS),
        *(f"Let new clients get a client scope as {kind} one", _TAG),
        refuses=(409,),
    )
    yield Operation(
        *("DELETE", one, handlers.take_from_list(listed), MANAGE_CLIENTS),
        *("Let new clients get a client scope no more", _TAG),
    )


def _client_list(handlers: ScopesOfClientHandlers, listed: RealmDefault) -> Iterator[Operation]:
    kind = _KINDS[listed]
    url = f"{REALM}/clients/{{client_id}}/{kind}-client-scopes"
    one = f"{url}/{{scope_id}}"
    yield Operation(
        *("GET", url, handlers.all(listed), VIEW_CLIENTS),
        *(f"Client scopes that a client has as {kind} ones", _TAG),
        returns=f"[{_SCHEMA}]",
    )
    yield Operation(
        *("PUT", one, handlers.give(listed), MANAGE_CLIENTS),
        *(f"Give a client scope to a client as {kind} one", _TAG),
    )
    yield Operation(
        *("DELETE", one, handlers.take(listed), MANAGE_CLIENTS),
        *("Take a client scope from a client", _TAG),
    )

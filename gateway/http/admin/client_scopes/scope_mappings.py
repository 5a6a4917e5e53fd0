"""Roles in the scope of clients and of client scopes. Keycloak: 7.3 (scope-mappings)."""

from collections.abc import Iterator
from http import HTTPStatus
from typing import Final

from gateway.admin.client_scopes import MANAGE_CLIENTS, OF_THE_REALM, VIEW_CLIENTS
from gateway.admin.clients import ScopeMappingAdministration
from gateway.domain.ports.storage.role_catalogue import Holding, RoleHolder
from gateway.http.admin.operations import BRIEF, REALM, Body, Media, Operation
from gateway.http.admin.requests import AdminRequest, document_reply, done_reply
from gateway.http.replies import Reply

_TAG: Final = "Scope Mappings"
_ROLES: Final = "[RoleRepresentation]"
_OWNERS: Final = {
    Holding.CLIENT: ("clients", "client_id", "client"),
    Holding.CLIENT_SCOPE: ("client-scopes", "scope_id", "client scope"),
}
"""The segment in URLs, the placeholder of the id after it, and what it is called."""


class ScopeMappingsHandlers:
    """Answers what is asked about the roles in one kind of scope."""

    def __init__(self, mappings: ScopeMappingAdministration, kind: Holding) -> None:
        self._mappings = mappings
        self.kind = kind

    async def all(self, request: AdminRequest) -> Reply:
        """Return all roles in the scope."""
        return document_reply(await self._mappings.all(request.realm, self._owner(request)))

    async def direct(self, request: AdminRequest) -> Reply:
        """Return the roles of one container in the scope."""
        owner = self._owner(request)
        return document_reply(
            await self._mappings.direct(request.realm, owner, _container(request))
        )

    async def available(self, request: AdminRequest) -> Reply:
        """Return the roles that could be put into the scope."""
        owner = self._owner(request)
        return document_reply(
            await self._mappings.available(request.acting, owner, _container(request))
        )

    async def effective(self, request: AdminRequest) -> Reply:
        """Return the roles in the scope and all that they contain."""
        brief = request.flag("briefRepresentation", default=True)
        owner = self._owner(request)
        return document_reply(
            await self._mappings.effective(request.realm, owner, _container(request), brief=brief)
        )

    async def put(self, request: AdminRequest) -> Reply:
        """Put roles into the scope."""
        owner = self._owner(request)
        await self._mappings.put(request.acting, owner, _container(request), request.body)
        return done_reply()

    async def take(self, request: AdminRequest) -> Reply:
        """Take roles out of the scope."""
        owner = self._owner(request)
        await self._mappings.take(request.acting, owner, _container(request), request.body)
        return done_reply()

    def _owner(self, request: AdminRequest) -> RoleHolder:
        return RoleHolder(self.kind, request.path[_OWNERS[self.kind][1]])


def _container(request: AdminRequest) -> str:
    return request.path.get("container", OF_THE_REALM)


def operations(*handlers: ScopeMappingsHandlers) -> tuple[Operation, ...]:
    """Return the rows."""
    return tuple(row for one in handlers for row in _of_owner(one))


def _of_owner(handlers: ScopeMappingsHandlers) -> Iterator[Operation]:
    segment, placeholder, owner = _OWNERS[handlers.kind]
    url = f"{REALM}/{segment}/{{{placeholder}}}/scope-mappings"
    yield Operation(
        *("GET", url, handlers.all, VIEW_CLIENTS, f"Roles in the scope of a {owner}", _TAG),
        returns="MappingsRepresentation",
    )
    yield from _of_container(handlers, f"{url}/realm", f"roles of the realm, of a {owner}")
    at = f"{url}/clients/{{container}}"
    yield from _of_container(handlers, at, f"roles of a client, of a {owner}")


def _of_container(handlers: ScopeMappingsHandlers, url: str, whose: str) -> Iterator[Operation]:
    yield Operation(
        *("GET", url, handlers.direct, VIEW_CLIENTS, f"Scope: {whose}", _TAG), returns=_ROLES
    )
    yield Operation(
        *("GET", f"{url}/available", handlers.available, VIEW_CLIENTS),
        *(f"Scope: {whose}, that could be put into it", _TAG),
        returns=_ROLES,
    )
    yield Operation(
        *("GET", f"{url}/composite", handlers.effective, VIEW_CLIENTS),
        *(f"Scope: {whose}, with all that they contain", _TAG),
        returns=_ROLES,
        query=(BRIEF,),
    )
    yield Operation(
        *("POST", url, handlers.put, MANAGE_CLIENTS, f"Put into the scope: {whose}", _TAG),
        body=Body(Media.LIST, "RoleRepresentation"),
        status=HTTPStatus.NO_CONTENT,
    )
    yield Operation(
        *("DELETE", url, handlers.take, MANAGE_CLIENTS),
        *(f"Take out of the scope: {whose}; all where none is named", _TAG),
        body=Body(Media.LIST, "RoleRepresentation", required=False),
    )

"""Protocol mappers of clients and of client scopes. Keycloak: 7.3 (protocol-mappers)."""

from collections.abc import Iterator
from http import HTTPStatus
from typing import Final

from gateway.admin.client_scopes import MANAGE_CLIENTS, VIEW_CLIENTS
from gateway.admin.clients import MapperOwner, OwnerKind, ProtocolMapperAdministration
from gateway.http.admin.operations import REALM, Body, Media, Operation
from gateway.http.admin.requests import (
    AdminRequest,
    created_reply,
    document_reply,
    done_reply,
    entity_reply,
)
from gateway.http.replies import Reply

_TAG: Final = "Protocol Mappers"
_SCHEMA: Final = "ProtocolMapperRepresentation"
_OWNERS: Final = {
    OwnerKind.CLIENT: ("client", "client_id"),
    OwnerKind.CLIENT_SCOPE: ("client scope", "scope_id"),
}
"""What it is called, and the placeholder of its id in URLs."""


class ProtocolMappersHandlers:
    """Answers what is asked about the mappers of one kind of owner."""

    def __init__(self, mappers: ProtocolMapperAdministration, kind: OwnerKind) -> None:
        self._mappers = mappers
        self.kind = kind

    async def all(self, request: AdminRequest) -> Reply:
        """Return the mappers, of one protocol where the URL names it."""
        protocol = request.path.get("protocol")
        return document_reply(
            await self._mappers.all(request.realm, self._owner(request), protocol)
        )

    async def add(self, request: AdminRequest) -> Reply:
        """Add a mapper."""
        owner = self._owner(request)
        return created_reply(request, await self._mappers.add(request.acting, owner, request.body))

    async def add_all(self, request: AdminRequest) -> Reply:
        """Add several mappers."""
        await self._mappers.add_all(request.acting, self._owner(request), request.body)
        return done_reply()

    async def one(self, request: AdminRequest) -> Reply:
        """Return one mapper."""
        mapper_id = request.path["mapper_id"]
        return entity_reply(await self._mappers.one(request.realm, self._owner(request), mapper_id))

    async def update(self, request: AdminRequest) -> Reply:
        """Change one mapper."""
        mapper_id = request.path["mapper_id"]
        await self._mappers.update(request.acting, self._owner(request), mapper_id, request.body)
        return done_reply()

    async def remove(self, request: AdminRequest) -> Reply:
        """Remove one mapper."""
        mapper_id = request.path["mapper_id"]
        await self._mappers.remove(request.acting, self._owner(request), mapper_id)
        return done_reply()

    def _owner(self, request: AdminRequest) -> MapperOwner:
        return MapperOwner(self.kind, request.path[_OWNERS[self.kind][1]])


def operations(*handlers: ProtocolMappersHandlers) -> tuple[Operation, ...]:
    """Return the rows."""
    return tuple(row for one in handlers for row in _of_owner(one))


def _of_owner(handlers: ProtocolMappersHandlers) -> Iterator[Operation]:
    owner, placeholder = _OWNERS[handlers.kind]
    url = f"{REALM}/{handlers.kind}/{{{placeholder}}}/protocol-mappers"
    models = f"{url}/models"
    one = f"{models}/{{mapper_id}}"
    body = Body(Media.OBJECT, _SCHEMA)
    yield Operation(
        *("GET", models, handlers.all, VIEW_CLIENTS, f"Mappers of a {owner}", _TAG),
        returns=f"[{_SCHEMA}]",
    )
    yield Operation(
        *("POST", models, handlers.add, MANAGE_CLIENTS, f"Add a mapper to a {owner}", _TAG),
        body=body,
        refuses=(409,),
    )
    yield Operation(
        *("POST", f"{url}/add-models", handlers.add_all, MANAGE_CLIENTS),
        *(f"Add mappers to a {owner}, all or none", _TAG),
        body=Body(Media.LIST, _SCHEMA),
        status=HTTPStatus.NO_CONTENT,
        refuses=(409,),
    )
    yield Operation(
        *("GET", f"{url}/protocol/{{protocol}}", handlers.all, VIEW_CLIENTS),
        *(f"Mappers of a {owner} for one protocol", _TAG),
        returns=f"[{_SCHEMA}]",
    )
    yield Operation(
        *("GET", one, handlers.one, VIEW_CLIENTS, f"One mapper of a {owner}", _TAG),
        returns=_SCHEMA,
        versioned=True,
    )
    yield Operation(
        *("PUT", one, handlers.update, MANAGE_CLIENTS),
        *(f"Change type and configuration of a mapper of a {owner}", _TAG),
        body=body,
        versioned=True,
    )
    yield Operation(
        *("DELETE", one, handlers.remove, MANAGE_CLIENTS, f"Remove a mapper of a {owner}", _TAG),
        versioned=True,
    )

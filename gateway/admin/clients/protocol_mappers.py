"""The protocol mappers of a client or of a client scope: reading, adding, changing, removing.

A change keeps name and protocol, as Keycloak's does. Keycloak: 7.3 (protocol-mappers)
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from gateway.admin.access import Acting
from gateway.admin.changes import Change, Changes
from gateway.admin.client_reach import lower_reach_of_scope, store_changed_part
from gateway.admin.client_scopes import get_client_scope
from gateway.admin.clients.listing import get_client, get_client_for_update
from gateway.admin.clients.sector_identifiers import SectorIdentifiers
from gateway.domain.client_scopes import ClientScope
from gateway.domain.clients import Client, ProtocolMapper
from gateway.domain.errors import AlreadyExists
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.ports.invalidation import client_topic, realm_topic
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.random_values import uuid4
from gateway.domain.realm import Realm
from gateway.domain.refusals import InvalidRequest, NotFound, WireFamily, duplicate_resource
from gateway.representations.client_scopes import (
    MOST_MAPPERS,
    parse_mapper,
    render_mapper,
    require_mapper_fields,
    with_all_options,
)

CheckMapper = Callable[[ProtocolMapper], None]
"""Raises NotFound for an unknown type, InvalidInput for a mapper that could not act."""
Mappers = tuple[ProtocolMapper, ...]


class MapperOwnerKind(StrEnum):
    """What has mappers."""

    CLIENT = "clients"
    CLIENT_SCOPE = "client-scopes"


@dataclass(frozen=True, slots=True)
class MapperOwner:
    """A client or a client scope, by its internal id."""

    kind: MapperOwnerKind
    id: str

    @property
    def path(self) -> str:
        """The path of its mappers below the realm, as in events."""
        return f"{self.kind}/{self.id}/protocol-mappers"


@dataclass(frozen=True, slots=True)
class ProtocolMapperAdministration:
    """The use cases. All raise NotFound and StoreUnavailable."""

    database: Database
    changes: Changes
    check: CheckMapper
    sectors: SectorIdentifiers

    async def all(
        self, realm: Realm, owner: MapperOwner, protocol: str | None = None
    ) -> list[dict[str, Any]]:
        async with self.database.read() as stores:
            mappers = _mappers(await _get_owner(stores, realm, owner))
        return [_shown(one) for one in mappers if protocol in {None, one.protocol}]

    async def one(self, realm: Realm, owner: MapperOwner, mapper_id: str) -> dict[str, Any]:
        async with self.database.read() as stores:
            mappers = _mappers(await _get_owner(stores, realm, owner))
        return _shown(_found(mappers, mapper_id))

    async def add(self, acting: Acting, owner: MapperOwner, document: Mapping[str, Any]) -> str:
        """Add a mapper and return its id; raises InvalidInput and AlreadyExists."""
        await self._require_sectors(acting, owner, [document])
        async with self.changes.begin(acting) as change:
            holder = await _get_owner_for_update(change, owner)
            mapper = self._read(owner, document)
            mappers = _mappers(holder)
            if _is_taken(mappers, mapper):
                raise AlreadyExists("Protocol mapper exists with same name")
            await _store(change, holder, (*mappers, mapper))
            path = f"{owner.path}/models/{mapper.id}"
            _note(change, owner, OperationType.CREATE, path, document)
        return mapper.id

    async def add_all(self, acting: Acting, owner: MapperOwner, documents: Sequence[Any]) -> None:
        """Add mappers, all or none; raises InvalidInput and InvalidRequest."""
        _require_room(len(documents))
        await self._require_sectors(acting, owner, documents)
        async with self.changes.begin(acting) as change:
            holder = await _get_owner_for_update(change, owner)
            added = [
                self._read(owner, document, f"[{place}]")
                for place, document in enumerate(documents)
            ]
            mappers = _mappers(holder)
            for mapper in added:
                if _is_taken(mappers, mapper):
                    text = "Protocol mapper name must be unique per protocol"
                    raise InvalidRequest(text, WireFamily.OAUTH, code="conflict", conflict=True)
                mappers = (*mappers, mapper)
            await _store(change, holder, mappers)
            _note(change, owner, OperationType.CREATE, f"{owner.path}/add-models", documents)

    async def update(
        self, acting: Acting, owner: MapperOwner, mapper_id: str, document: Mapping[str, Any]
    ) -> None:
        """Change the type and the configuration of a mapper; raises InvalidInput."""
        require_mapper_fields(document)
        await self._require_sectors(acting, owner, [document])
        async with self.changes.begin(acting) as change:
            holder = await _get_owner_for_update(change, owner)
            mappers = _mappers(holder)
            before = _found(mappers, mapper_id)
            change.require_match(_shown, before)
            fixed = {"id": before.id, "name": before.name, "protocol": before.protocol}
            sent = self._read(owner, {**document, **fixed})
            after = tuple(sent if one.id == before.id else one for one in mappers)
            if sent != before:
                await _store(change, holder, after)
            path = f"{owner.path}/models/{before.id}"
            _note(change, owner, OperationType.UPDATE, path, document)

    async def remove(self, acting: Acting, owner: MapperOwner, mapper_id: str) -> None:
        async with self.changes.begin(acting) as change:
            holder = await _get_owner_for_update(change, owner)
            mappers = _mappers(holder)
            removed = _found(mappers, mapper_id)
            change.require_match(_shown, removed)
            await _store(change, holder, tuple(one for one in mappers if one.id != removed.id))
            _note(change, owner, OperationType.DELETE, f"{owner.path}/models/{removed.id}")

    async def _require_sectors(
        self, acting: Acting, owner: MapperOwner, documents: Iterable[Any]
    ) -> None:
        if owner.kind is MapperOwnerKind.CLIENT:
            await self.sectors.require_of_mappers(acting.realm, owner.id, documents)

    def _read(
        self, owner: MapperOwner, document: Mapping[str, Any], path: str = ""
    ) -> ProtocolMapper:
        require_mapper_fields(document, path)
        if not document.get("protocolMapper"):
            raise NotFound("ProtocolMapper provider not found")
        if document.get("name") is None or document.get("protocol") is None:
            raise duplicate_resource()  # Keycloak's answer, though nothing is there twice.
        mapper = parse_mapper(document, path, of_scope=owner.kind is MapperOwnerKind.CLIENT_SCOPE)
        self.check(mapper)
        return mapper if mapper.id else replace(mapper, id=str(uuid4()))


def _shown(mapper: ProtocolMapper) -> dict[str, Any]:
    return render_mapper(with_all_options(mapper))


async def _get_owner(stores: Stores, realm: Realm, owner: MapperOwner) -> Client | ClientScope:
    if owner.kind is MapperOwnerKind.CLIENT:
        return await get_client(stores, realm.id, owner.id)
    return await get_client_scope(stores, realm, owner.id)


async def _get_owner_for_update(change: Change, owner: MapperOwner) -> Client | ClientScope:
    if owner.kind is MapperOwnerKind.CLIENT:
        return await get_client_for_update(change.stores, change.realm.id, owner.id)
    scope = await change.stores.client_scopes.get_for_update(change.realm.id, owner.id)
    if scope is None:
        raise NotFound("Could not find client scope")
    return scope


def _mappers(holder: Client | ClientScope) -> Mappers:
    return holder.protocol_mappers if isinstance(holder, Client) else holder.mappers


async def _store(change: Change, holder: Client | ClientScope, mappers: Mappers) -> None:
    _require_room(len(mappers))
    if isinstance(holder, Client):
        after = replace(holder, protocol_mappers=mappers)
        await store_changed_part(change.stores, change.acting, holder, after)
    else:
        await lower_reach_of_scope(change, holder.name)
        await change.stores.client_scopes.replace(replace(holder, mappers=mappers))


def _require_room(number: int) -> None:
    if number > MOST_MAPPERS:
        raise InvalidRequest(
            f"At most {MOST_MAPPERS} protocol mappers", WireFamily.OAUTH, code="invalid_request"
        )


def _found(mappers: Mappers, mapper_id: str) -> ProtocolMapper:
    for mapper in mappers:
        if mapper.id == mapper_id:
            return mapper
    raise NotFound("Model not found")


def _is_taken(mappers: Mappers, wanted: ProtocolMapper) -> bool:
    name = (wanted.protocol, wanted.name)
    return any(one.id == wanted.id or (one.protocol, one.name) == name for one in mappers)


def _note(
    change: Change,
    owner: MapperOwner,
    operation: OperationType,
    path: str,
    representation: object = None,
) -> None:
    change.record(operation, ResourceType.PROTOCOL_MAPPER, path, representation)
    of_client = owner.kind is MapperOwnerKind.CLIENT
    realm_id = change.realm.id
    change.invalidate(client_topic(realm_id, owner.id) if of_client else realm_topic(realm_id))

"""The protocol mappers of a client or of a client scope: reading, adding, changing, removing.

A change keeps name and protocol, as Keycloak's does. Keycloak: 7.3 (protocol-mappers)
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any

from gateway.admin.access import Acting, existing
from gateway.admin.changes import Administration, Change, Changes
from gateway.admin.client_reach import lower_reach_of_scope, store_changed_part
from gateway.admin.client_scopes import get_client_scope
from gateway.admin.clients.listing import get_client, get_client_for_update
from gateway.admin.clients.sector_identifiers import SectorIdentifiers
from gateway.domain.client_scopes import ClientScope
from gateway.domain.clients import Client, ProtocolMapper
from gateway.domain.errors import AlreadyExists
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.ports.invalidation import client_topic, realm_topic
from gateway.domain.ports.storage import Stores
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
    """The kind of an owner of mappers."""

    CLIENT = "clients"
    CLIENT_SCOPE = "client-scopes"


class ProtocolMapperAdministration(Administration):
    """The use cases of owners of one kind, by internal id. All raise NotFound, StoreUnavailable."""

    def __init__(
        self,
        kind: MapperOwnerKind,
        changes: Changes,
        check_mapper: CheckMapper,
        sectors: SectorIdentifiers,
    ) -> None:
        super().__init__(changes)
        self.kind = kind
        self._check_mapper = check_mapper
        self._sectors = sectors

    async def get_mapper(self, acting: Acting, owner: str, mapper_id: str) -> dict[str, Any]:
        async with self._database.read() as stores:
            mappers = _mappers(await self._get_owner(stores, acting.realm, owner))
        return _shown(_found(mappers, mapper_id))

    async def create_mapper(self, acting: Acting, owner: str, document: Mapping[str, Any]) -> str:
        """Add a mapper and return its id; raises InvalidInput and AlreadyExists."""
        await self._require_sectors(acting, owner, [document])
        async with self._changes.begin(acting) as change:
            holder = await self._get_owner_for_update(change, owner)
            mapper = self._parse_mapper(document)
            mappers = _mappers(holder)
            if _is_taken(mappers, mapper):
                raise AlreadyExists("Protocol mapper exists with same name")
            await _store_mappers(change, holder, (*mappers, mapper))
            self._record_change(
                change, owner, OperationType.CREATE, f"models/{mapper.id}", document
            )
        return mapper.id

    async def create_mappers(self, acting: Acting, owner: str, documents: Sequence[Any]) -> None:
        """Add mappers, all or none; raises InvalidInput and InvalidRequest."""
        _require_room(len(documents))
        await self._require_sectors(acting, owner, documents)
        async with self._changes.begin(acting) as change:
            holder = await self._get_owner_for_update(change, owner)
            added = [
                self._parse_mapper(document, f"[{place}]")
                for place, document in enumerate(documents)
            ]
            mappers = _mappers(holder)
            for mapper in added:
                if _is_taken(mappers, mapper):
                    text = "Protocol mapper name must be unique per protocol"
                    raise InvalidRequest(text, WireFamily.OAUTH, code="conflict", conflict=True)
                mappers = (*mappers, mapper)
            await _store_mappers(change, holder, mappers)
            self._record_change(change, owner, OperationType.CREATE, "add-models", documents)

    async def replace_mapper(
        self, acting: Acting, owner: str, mapper_id: str, document: Mapping[str, Any]
    ) -> None:
        """Change the type and the configuration of a mapper; raises InvalidInput."""
        require_mapper_fields(document)
        await self._require_sectors(acting, owner, [document])
        async with self._changes.begin(acting) as change:
            holder = await self._get_owner_for_update(change, owner)
            mappers = _mappers(holder)
            before = _found(mappers, mapper_id)
            change.require_match(_shown, before)
            fixed = {"id": before.id, "name": before.name, "protocol": before.protocol}
            sent = self._parse_mapper({**document, **fixed})
            after = tuple(sent if one.id == before.id else one for one in mappers)
            if sent != before:
                await _store_mappers(change, holder, after)
            self._record_change(
                change, owner, OperationType.UPDATE, f"models/{before.id}", document
            )

    async def remove_mapper(self, acting: Acting, owner: str, mapper_id: str) -> None:
        async with self._changes.begin(acting) as change:
            holder = await self._get_owner_for_update(change, owner)
            mappers = _mappers(holder)
            removed = _found(mappers, mapper_id)
            change.require_match(_shown, removed)
            await _store_mappers(
                change, holder, tuple(one for one in mappers if one.id != removed.id)
            )
            self._record_change(change, owner, OperationType.DELETE, f"models/{removed.id}")

    async def list_mappers(
        self, acting: Acting, owner: str, protocol: str | None = None
    ) -> list[dict[str, Any]]:
        async with self._database.read() as stores:
            mappers = _mappers(await self._get_owner(stores, acting.realm, owner))
        return [_shown(one) for one in mappers if protocol in {None, one.protocol}]

    async def _get_owner(self, stores: Stores, realm: Realm, owner: str) -> Client | ClientScope:
        if self.kind is MapperOwnerKind.CLIENT:
            return await get_client(stores, realm.id, owner)
        return await get_client_scope(stores, realm, owner)

    async def _get_owner_for_update(self, change: Change, owner: str) -> Client | ClientScope:
        stores, realm_id = change.stores, change.realm.id
        if self.kind is MapperOwnerKind.CLIENT:
            return await get_client_for_update(stores, realm_id, owner)
        scope = await stores.client_scopes.get_for_update(realm_id, owner)
        return existing(scope, "Could not find client scope")

    async def _require_sectors(self, acting: Acting, owner: str, documents: Iterable[Any]) -> None:
        if self.kind is MapperOwnerKind.CLIENT:
            await self._sectors.require_of_mappers(acting.realm, owner, documents)

    def _parse_mapper(self, document: Mapping[str, Any], path: str = "") -> ProtocolMapper:
        require_mapper_fields(document, path)
        if not document.get("protocolMapper"):
            raise NotFound("ProtocolMapper provider not found")
        if document.get("name") is None or document.get("protocol") is None:
            raise duplicate_resource()  # Keycloak's answer, though nothing is there twice.
        of_scope = self.kind is MapperOwnerKind.CLIENT_SCOPE
        mapper = parse_mapper(document, path, of_scope=of_scope)
        self._check_mapper(mapper)
        return mapper if mapper.id else replace(mapper, id=str(uuid4()))

    def _record_change(
        self,
        change: Change,
        owner: str,
        operation: OperationType,
        path: str,
        representation: object = None,
    ) -> None:
        path = f"{self.kind}/{owner}/protocol-mappers/{path}"
        change.record(operation, ResourceType.PROTOCOL_MAPPER, path, representation)
        of_client, realm_id = self.kind is MapperOwnerKind.CLIENT, change.realm.id
        change.invalidate(client_topic(realm_id, owner) if of_client else realm_topic(realm_id))


def _shown(mapper: ProtocolMapper) -> dict[str, Any]:
    return render_mapper(with_all_options(mapper))


def _mappers(holder: Client | ClientScope) -> Mappers:
    return holder.protocol_mappers if isinstance(holder, Client) else holder.mappers


async def _store_mappers(change: Change, holder: Client | ClientScope, mappers: Mappers) -> None:
    _require_room(len(mappers))
    if isinstance(holder, Client):
        after = replace(holder, protocol_mappers=mappers)
        await store_changed_part(change.stores, change.acting, holder, after)
    else:
        await lower_reach_of_scope(change, holder.name)
        await change.stores.client_scopes.put_value(
            change.realm.id, replace(holder, mappers=mappers)
        )


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

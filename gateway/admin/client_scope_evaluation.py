"""Tokens of a client as they would be, for administrators: nothing is issued or signed.

Requested scopes that the client may not ask for are ignored.

Keycloak: evaluate-scopes
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from gateway.admin.access import existing
from gateway.domain.clients import OPENID_CONNECT, Client, ProtocolMapper
from gateway.domain.ports.lookups import (
    ClientEntry,
    Directory,
    RealmEntry,
    TokenExample,
    TokenPreview,
    UserEntry,
)
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.ports.users import RoleQuery
from gateway.domain.realm import Realm
from gateway.domain.refusals import NotFound
from gateway.domain.roles import ListedRole
from gateway.representations.roles import role_answer

OF_THE_REALM: Final = ""
"""Names the roles of the realm where a client's internal id names the roles of the client."""
_NO_CLIENT: Final = "Could not find client"


@dataclass(frozen=True, slots=True)
class Evaluated:
    """The client to evaluate, by its internal id, and the scopes that it would request."""

    realm: Realm
    client: str
    scope: str = ""


@dataclass(frozen=True, slots=True)
class ExampleOf:
    """The user of an example; `audience` reduces clients and audiences to one."""

    user_id: str | None
    issuer: str
    now: datetime
    audience: str | None = None


@dataclass(frozen=True, slots=True)
class ScopeEvaluation:
    """The use cases. All raise NotFound and StoreUnavailable."""

    database: Database
    directory: Directory
    preview: TokenPreview

    async def mappers(self, asked: Evaluated) -> list[dict[str, Any]]:
        realm, entry = await self._found(asked)
        client = entry.client
        found = [
            _mapper_answer(mapper, scope.id, scope.name, "client-scope")
            for scope in self.preview.scopes(realm, client, asked.scope)
            for mapper in scope.mappers
            if mapper.protocol == OPENID_CONNECT
        ]
        own = (one for one in client.protocol_mappers if one.protocol == client.protocol)
        return [*found, *(_mapper_answer(one, client.id, "", "client") for one in own)]

    async def roles(
        self, asked: Evaluated, container: str, *, granted: bool
    ) -> list[dict[str, Any]]:
        """Return the roles of the realm, or of a client, that tokens may carry, or may not.

        `container` is the realm's name or the client's internal id.
        """
        realm, entry = await self._found(asked)
        ids = [scope.id for scope in self.preview.scopes(realm, entry.client, asked.scope)]
        owner = OF_THE_REALM if container == asked.realm.name else container
        async with self.database.read() as stores:
            if owner and await stores.clients.find_by_id(asked.realm.id, owner) is None:
                raise NotFound("Role Container not found")
            every = await stores.role_catalogue.list_roles(
                asked.realm.id, RoleQuery(container=owner)
            )
            reached = await in_scope(stores, asked.realm, entry.client, ids, owner)
        known = {role.role.id for role in reached}
        return [role_answer(role) for role in every if (role.role.id in known) is granted]

    async def access_token(self, asked: Evaluated, example: ExampleOf) -> dict[str, Any]:
        audience = None
        if example.audience is not None:
            found = await self.directory.client(asked.realm.id, example.audience)
            audience = None if found is None else found.client.client_id
        limited = await self._example(asked, replace(example, audience=audience))
        return self.preview.access_token(limited)

    async def id_token(self, asked: Evaluated, example: ExampleOf) -> dict[str, Any]:
        return self.preview.id_token(await self._example(asked, example))

    async def userinfo(self, asked: Evaluated, example: ExampleOf) -> dict[str, Any]:
        return self.preview.userinfo(await self._example(asked, example))

    async def _example(self, asked: Evaluated, example: ExampleOf) -> TokenExample:
        realm, client = await self._found(asked)
        if example.user_id is None:
            raise NotFound("No userId provided")
        user = existing(await self.directory.user(asked.realm.id, example.user_id), "No user found")
        user = _limited(user, example.audience)
        return TokenExample(
            realm, client, user, asked.scope, example.issuer, example.now, example.audience
        )

    async def _found(self, asked: Evaluated) -> tuple[RealmEntry, ClientEntry]:
        async with self.database.read() as stores:
            client = await stores.clients.find_by_id(asked.realm.id, asked.client)
        realm = await self.directory.realm(asked.realm.name)
        if realm is None or client is None:
            raise NotFound(_NO_CLIENT)
        entry = existing(await self.directory.client(asked.realm.id, client.client_id), _NO_CLIENT)
        return realm, entry


async def in_scope(
    stores: Stores,
    realm: Realm,
    client: Client | None,
    client_scopes: Sequence[str],
    container: str,
) -> tuple[ListedRole, ...]:
    """Return the roles of a container in any of the scopes, those in composite roles included.

    A client's own roles count as well, and all roles where its scope is full. Client scopes are
    named by their ids.
    """
    found = await stores.role_catalogue.list_roles(realm.id, RoleQuery(container=container))
    if client is not None and client.full_scope_allowed:
        return found
    of_client = None if client is None else client.id
    reached = await stores.role_scopes.reached(realm.id, of_client, client_scopes)
    return tuple(role for role in found if role.role.id in reached)


def _limited(user: UserEntry, audience: str | None) -> UserEntry:
    if audience is None:
        return user
    clients = tuple(pair for pair in user.roles.clients if pair[0] == audience)
    return replace(user, roles=replace(user.roles, clients=clients))


def _mapper_answer(mapper: ProtocolMapper, container: str, name: str, kind: str) -> dict[str, Any]:
    return {
        "mapperId": mapper.id,
        "mapperName": mapper.name,
        "containerId": container,
        "containerName": name,
        "containerType": kind,
        "protocolMapper": mapper.mapper_type,
    }

"""Roles, composites, grants and scopes. Keycloak: role mappings, scope mappings."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from sqlalchemy import bindparam, delete, select

from gateway.domain.ports.storage.role_catalogue import HolderKind
from gateway.domain.roles import EffectiveRoles, Role
from gateway.storage.sql.column_types import Name
from gateway.storage.sql.prepared_query import FixedQuery
from gateway.storage.sql.roles.catalogue import LINKS, read_role, role_values
from gateway.storage.sql.roles.statements import (
    effective,
    names_of_expanded,
    names_of_held,
    reached_roles,
)
from gateway.storage.sql.schema import role_composites, roles, user_roles
from gateway.storage.sql.transaction import Transaction, links_by_owner

# Built once: they take a millisecond to build, and leave cycles to the garbage collector.
_REALM: Final = bindparam("realm", type_=Name())
_HELD: Final = FixedQuery(names_of_held(_REALM, bindparam("holder", type_=Name())))
_OF_REALM: Final = FixedQuery(
    select(roles).where(
        roles.c.realm_id == _REALM,
        roles.c.client.is_(None),
        roles.c.name == bindparam("name", type_=Name()),
    )
)
_EXPANDED: Final = names_of_expanded(_REALM, bindparam("role_ids", type_=Name(), expanding=True))


class SqlRoles:
    """RoleRepository on SQL."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    async def list(self, realm_id: str) -> tuple[Role, ...]:
        composites = await links_by_owner(self._transaction, realm_id, *LINKS[HolderKind.COMPOSITE])
        of_realm = select(roles).where(roles.c.realm_id == realm_id)
        return await self._transaction.read(
            of_realm.order_by(roles.c.name, roles.c.id),
            lambda row: replace(read_role(row), composites=composites.get(row.id, frozenset())),
        )

    async def add(self, role: Role) -> None:
        key = {"realm_id": role.realm_id, "id": role.id, "client": role.client}
        taken = f"Role with name {role.name} already exists"
        await self._transaction.insert(roles, [key | role_values(role)], taken=taken)

    async def find(self, realm_id: str, name: str) -> Role | None:
        rows = await self._transaction.fetch(_OF_REALM, realm=realm_id, name=name)
        return read_role(rows[0]) if rows else None

    def expect_find(self, realm_id: str, name: str) -> None:
        self._transaction.read_ahead(_OF_REALM, realm=realm_id, name=name)

    async def add_composites(self, realm_id: str, role_id: str, composites: Sequence[str]) -> None:
        key = {"realm_id": realm_id, "role_id": role_id}
        rows = [key | {"composite_id": composite} for composite in composites]
        await self._transaction.insert_missing(role_composites, rows)

    async def set_composites(self, realm_id: str, role_id: str, composites: Sequence[str]) -> None:
        of_role = role_composites.c.role_id == role_id
        await self._transaction.execute(
            delete(role_composites).where(role_composites.c.realm_id == realm_id, of_role)
        )
        await self.add_composites(realm_id, role_id, composites)

    async def grant(self, realm_id: str, user_id: str, role_ids: Sequence[str]) -> None:
        rows = _grants(realm_id, [(user_id, role_id) for role_id in role_ids])
        await self._transaction.insert_missing(user_roles, rows)

    async def grant_all(self, realm_id: str, grants: Sequence[tuple[str, str]]) -> None:
        rows = _grants(realm_id, grants)
        await self._transaction.insert_later(user_roles, rows, missing=True)

    async def granted(self, realm_id: str, user_id: str) -> frozenset[str]:
        of_realm = select(user_roles.c.role_id).where(user_roles.c.realm_id == realm_id)
        rows = await self._transaction.execute(of_realm.where(user_roles.c.user_id == user_id))
        return frozenset(row.role_id for row in rows)

    async def effective(self, realm_id: str, user_id: str) -> EffectiveRoles:
        return effective(await self._transaction.fetch(_HELD, realm=realm_id, holder=user_id))

    async def expanded(self, realm_id: str, role_ids: Sequence[str]) -> EffectiveRoles:
        given = {"realm": realm_id, "role_ids": [*role_ids]}
        return effective(await self._transaction.execute(_EXPANDED, given))


def _grants(realm_id: str, grants: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    return [
        {"realm_id": realm_id, "user_id": user_id, "role_id": role_id}
        for user_id, role_id in grants
    ]


class SqlRoleScopes:
    """RoleScopeRepository on SQL."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    async def list(self, realm_id: str, kind: HolderKind) -> Mapping[str, frozenset[str]]:
        return await links_by_owner(self._transaction, realm_id, *LINKS[kind])

    async def reached(
        self, realm_id: str, client: str | None, client_scopes: Sequence[str]
    ) -> frozenset[str]:
        statement = reached_roles(realm_id, client, client_scopes)
        return frozenset(row.role_id for row in await self._transaction.execute(statement))

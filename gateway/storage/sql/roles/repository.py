"""Roles, composites and grants. Keycloak: role mappings."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from sqlalchemy import CTE, Select, and_, delete, insert, select

from gateway.domain.limits.event_loop import in_slices
from gateway.domain.roles import EffectiveRoles, Role
from gateway.storage.sql.inserts import insert_into
from gateway.storage.sql.roles.catalogue import read_role, write_attributes
from gateway.storage.sql.roles.sets import closure, held_by_user
from gateway.storage.sql.schema import clients, role_composites, roles, user_roles
from gateway.storage.sql.transaction import Transaction
from gateway.storage.sql.users import Given


class SqlRoles:
    """RoleRepository on SQL."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    async def list(self, realm_id: str) -> tuple[Role, ...]:
        composites: defaultdict[str, set[str]] = defaultdict(set)
        links = await self._transaction.execute(
            select(role_composites).where(role_composites.c.realm_id == realm_id)
        )
        async for link in in_slices(links):
            composites[link.role_id].add(link.composite_id)
        rows = await self._transaction.execute(
            select(roles).where(roles.c.realm_id == realm_id).order_by(roles.c.name, roles.c.id)
        )
        return tuple(
            [
                replace(read_role(row), composites=frozenset(composites[row.id]))
                async for row in in_slices(rows)
            ]
        )

    async def add(self, role: Role) -> None:
        values = {
            "realm_id": role.realm_id,
            "id": role.id,
            "name": role.name,
            "description": role.description,
            "client": role.client,
            "attributes": write_attributes(role.attributes),
        }
        await self._transaction.execute(
            insert(roles), values, taken=f"Role with name {role.name} already exists"
        )

    async def find(self, realm_id: str, name: str) -> Role | None:
        rows = await self._transaction.execute(
            select(roles).where(
                roles.c.realm_id == realm_id, roles.c.name == name, roles.c.client.is_(None)
            )
        )
        row = rows.first()
        return None if row is None else read_role(row)

    async def add_composites(self, realm_id: str, role_id: str, composites: Sequence[str]) -> None:
        if composites:
            statement = insert_into(role_composites, self._transaction.dialect)
            await self._transaction.execute(
                statement.on_conflict_do_nothing(),
                [
                    {"realm_id": realm_id, "role_id": role_id, "composite_id": composite}
                    for composite in composites
                ],
            )

    async def set_composites(self, realm_id: str, role_id: str, composites: Sequence[str]) -> None:
        await self._transaction.execute(
            delete(role_composites).where(
                role_composites.c.realm_id == realm_id, role_composites.c.role_id == role_id
            )
        )
        await self.add_composites(realm_id, role_id, composites)

    async def grant(self, realm_id: str, user_id: str, role_ids: Sequence[str]) -> None:
        await self.grant_all(realm_id, [(user_id, role_id) for role_id in role_ids])

    async def grant_all(self, realm_id: str, grants: Sequence[tuple[str, str]]) -> None:
        if grants:
            statement = insert_into(user_roles, self._transaction.dialect)
            await self._transaction.execute(
                statement.on_conflict_do_nothing(),
                [
                    {"realm_id": realm_id, "user_id": user_id, "role_id": role_id}
                    for user_id, role_id in grants
                ],
            )

    async def revoke(self, realm_id: str, user_id: str, role_ids: Sequence[str]) -> None:
        await self._transaction.execute(
            delete(user_roles).where(
                user_roles.c.realm_id == realm_id,
                user_roles.c.user_id == user_id,
                user_roles.c.role_id.in_(role_ids),
            )
        )

    async def granted(self, realm_id: str, user_id: str) -> frozenset[str]:
        rows = await self._transaction.execute(
            select(user_roles.c.role_id).where(
                user_roles.c.realm_id == realm_id, user_roles.c.user_id == user_id
            )
        )
        return frozenset(row.role_id for row in rows)

    async def effective(self, realm_id: str, user_id: str) -> EffectiveRoles:
        """Return what the user has, by groups too and after composites, names sorted."""
        return effective(await self._transaction.execute(names_of_held(realm_id, user_id)))

    async def expanded(self, realm_id: str, role_ids: Sequence[str]) -> EffectiveRoles:
        begun = select(roles.c.id.label("role_id")).where(
            roles.c.realm_id == realm_id, roles.c.id.in_(role_ids)
        )
        return effective(
            await self._transaction.execute(_names(realm_id, closure(realm_id, begun)))
        )


def effective(names: Iterable[Sequence[str | None]]) -> EffectiveRoles:
    """Return the roles from pairs of name and client, None for a realm role."""
    found: defaultdict[str | None, list[str]] = defaultdict(list)
    for name, client in names:
        found[client].append(name or "")
    of_realm = tuple(sorted(found.pop(None, ())))
    of_clients = {client or "": tuple(sorted(held)) for client, held in found.items()}
    return EffectiveRoles(of_realm, tuple(sorted(of_clients.items())))


def names_of_held(realm_id: Given, user_id: Given) -> Select[tuple[str, str | None]]:
    """Select names and clients of the roles that a user has, by groups too, after composites."""
    return _names(realm_id, held_by_user(realm_id, user_id))


def _names(realm_id: Given, held: CTE) -> Select[tuple[str, str | None]]:
    return (
        select(roles.c.name, clients.c.client_id)
        .join(held, roles.c.id == held.c.role_id)
        .outerjoin(
            clients,
            and_(clients.c.realm_id == roles.c.realm_id, clients.c.id == roles.c.client),
        )
        .where(roles.c.realm_id == realm_id)
    )

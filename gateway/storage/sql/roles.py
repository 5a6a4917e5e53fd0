"""Roles in SQL: composites, holders and scopes, and pages for administrators in one statement.

Keycloak: roles, role mappings, scope mappings
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import (
    Column,
    ColumnElement,
    Row,
    Select,
    Table,
    bindparam,
    exists,
    or_,
    select,
    update,
)

from gateway.domain.limits.input_sizes import in_slices
from gateway.domain.ports.users import HolderKind, RoleHolder, RoleQuery, Share
from gateway.domain.roles import EffectiveRoles, ListedRole, Role
from gateway.domain.users import User
from gateway.storage.sql.column_types import Name, is_name
from gateway.storage.sql.prepared_query import FixedQuery
from gateway.storage.sql.role_statements import (
    OWNED_BY_CLIENT,
    closure,
    containers,
    effective,
    held_by_group,
    held_by_user,
    names_of_expanded,
    names_of_held,
    reached_roles,
)
from gateway.storage.sql.schema import (
    client_roles_in_scope,
    client_scope_roles,
    clients,
    group_roles,
    role_composites,
    roles,
    user_roles,
)
from gateway.storage.sql.text_search import contains, may_contain
from gateway.storage.sql.transaction import (
    SqlRepository,
    has,
    has_given,
    is_row,
    links_by_owner,
    portions,
    values_of,
)
from gateway.storage.sql.users import linked_users


def _link(table: Table, holder: str, role: str = "role_id") -> tuple[Column[Any], Column[Any]]:
    return table.c[holder], table.c[role]


LINKS: Final[Mapping[HolderKind, tuple[Column[Any], Column[Any]]]] = {
    HolderKind.CLIENT: _link(client_roles_in_scope, "client"),
    HolderKind.CLIENT_SCOPE: _link(client_scope_roles, "client_scope"),
    HolderKind.COMPOSITE: _link(role_composites, "role_id", "composite_id"),
    HolderKind.GROUP: _link(group_roles, "group_id"),
    HolderKind.USER: _link(user_roles, "user_id"),
}
"""For each kind of holder the columns of holder and role, of one table."""


class SqlRoleCatalogue(SqlRepository):
    """RoleCatalogue on SQL."""

    async def list_roles(self, realm_id: str, query: RoleQuery) -> tuple[ListedRole, ...]:
        if not _can_be_stored(query):
            return ()
        statement = _listed(realm_id).order_by(roles.c.name, roles.c.id)
        if query.container is not None:
            statement = statement.where(
                roles.c.client.is_not_distinct_from(query.container or None)
            )
        if query.holder is not None:
            statement = statement.where(_share(realm_id, query.holder, query.share))
        if not query.search:
            page = statement.offset(query.first).limit(query.maximum)
            return await self._transaction.read_rows(page, _listed_role_of)
        searched = (roles.c.name, roles.c.description)
        statement = statement.where(or_(*(may_contain(text, query.search) for text in searched)))
        found = [
            _listed_role_of(row)
            async for row in in_slices(await self._transaction.execute(statement))
            if contains((row.name, row.description), query.search)
        ]
        end = None if query.maximum is None else query.first + query.maximum
        return tuple(found[query.first : end])

    async def find_role(
        self, realm_id: str, role_id: str, *, for_update: bool = False
    ) -> ListedRole | None:
        if not is_name(role_id):
            return None
        return await self._one(_listed(realm_id).where(roles.c.id == role_id), for_update)

    async def find_by_name(
        self, realm_id: str, client: str | None, name: str, *, for_update: bool = False
    ) -> ListedRole | None:
        if not is_name(name) or not is_name(client or ""):
            return None
        of_client = roles.c.client.is_not_distinct_from(client)
        named = _listed(realm_id).where(roles.c.name == name, of_client)
        return await self._one(named, for_update)

    async def _one(
        self,
        statement: Select[Any],
        for_update: bool,  # noqa: FBT001 - passed on
    ) -> ListedRole | None:
        if for_update:
            statement = statement.with_for_update(key_share=True, of=roles)
        return await self._transaction.first(statement, _listed_role_of)

    async def by_ids(self, realm_id: str, role_ids: Sequence[str]) -> Mapping[str, ListedRole]:
        found: dict[str, ListedRole] = {}
        for some in portions([role_id for role_id in role_ids if is_name(role_id)]):
            of_some = _listed(realm_id).where(roles.c.id.in_(some))
            listed = await self._transaction.read_rows(of_some, _listed_role_of)
            found |= {one.role.id: one for one in listed}
        return found

    async def containing(self, realm_id: str, role_ids: Sequence[str]) -> frozenset[str]:
        found: set[str] = set()
        for some in portions(role_ids):
            begun = select(roles.c.id.label("role_id")).where(
                roles.c.realm_id == realm_id, roles.c.id.in_(some)
            )
            held = containers(realm_id, begun)
            rows = await self._transaction.execute(select(held.c.role_id))
            found |= {row.role_id for row in rows}
        return frozenset(found)

    async def replace(self, role: Role) -> None:
        one = update(roles).where(is_row(roles, role.realm_id, role.id))
        taken = f"Role with name {role.name} already exists"
        await self._transaction.change(one.values(role_values(role)), taken=taken)

    async def remove_role(self, realm_id: str, role_id: str) -> None:
        await self._transaction.remove_row(roles, realm_id, role_id)

    async def grant_roles(self, realm_id: str, holder: RoleHolder, role_ids: Sequence[str]) -> None:
        column, role = LINKS[holder.kind]
        key = {"realm_id": realm_id, column.key: holder.id}
        # Sorted: two transactions that insert the same rows would wait for each other otherwise.
        rows = [key | {role.key: role_id} for role_id in sorted(role_ids)]
        await self._transaction.insert_missing(column.table, rows)

    async def revoke_roles(
        self, realm_id: str, holder: RoleHolder, role_ids: Sequence[str]
    ) -> None:
        column, role = LINKS[holder.kind]
        key = {"realm_id": realm_id, column.key: holder.id}
        for some in portions(role_ids):
            await self._transaction.delete_rows(column.table, role.in_(some), **key)

    async def users(
        self, realm_id: str, role_id: str, first: int, maximum: int
    ) -> tuple[User, ...]:
        holder = (user_roles.c.role_id, role_id)
        return await linked_users(self._transaction, realm_id, holder, first, maximum)


def role_values(role: Role) -> dict[str, Any]:
    """Return the columns of a role that may change."""
    return {
        "name": role.name,
        "description": role.description,
        "attributes": {name: list(texts) for name, texts in role.attributes.items()},
    }


def read_role(row: Row[Any]) -> Role:
    """Return the role of a row, its composites left out."""
    return Role(
        **values_of(row, ("id", "realm_id", "name", "description", "client")),
        attributes={name: tuple(texts) for name, texts in row.attributes.items()},
    )


def _listed_role_of(row: Row[Any]) -> ListedRole:
    return ListedRole(read_role(row), row.composite, row.client_id)


def _can_be_stored(query: RoleQuery) -> bool:
    names = (query.container or "", "" if query.holder is None else query.holder.id)
    return all(map(is_name, names)) and "\0" not in query.search


def _listed(realm_id: str) -> Select[Any]:
    contains_others = exists().where(
        role_composites.c.realm_id == roles.c.realm_id, role_composites.c.role_id == roles.c.id
    )
    return (
        select(roles, contains_others.label("composite"), clients.c.client_id)
        .join_from(roles, clients, OWNED_BY_CLIENT, isouter=True)
        .where(roles.c.realm_id == realm_id)
    )


def _share(realm_id: str, holder: RoleHolder, share: Share) -> ColumnElement[bool]:
    direct = _direct(realm_id, holder)
    match share:
        case Share.DIRECT:
            return roles.c.id.in_(direct)
        case Share.MISSING:
            return roles.c.id.not_in(direct)
        case Share.EFFECTIVE:
            return roles.c.id.in_(_effective(realm_id, holder, direct))


def _direct(realm_id: str, holder: RoleHolder) -> Select[tuple[str]]:
    column, role = LINKS[holder.kind]
    return select(role.label("role_id")).where(
        column.table.c.realm_id == realm_id, column == holder.id
    )


def _effective(realm_id: str, holder: RoleHolder, direct: Select[tuple[str]]) -> Select[tuple[str]]:
    match holder.kind:
        case HolderKind.USER:
            held = held_by_user(realm_id, holder.id)
        case HolderKind.GROUP:
            held = held_by_group(realm_id, holder.id)
        case _:
            held = closure(realm_id, direct)
    return select(held.c.role_id)


# Built once: they take a millisecond to build, and leave cycles to the garbage collector.
_REALM: Final = bindparam("realm", type_=Name())
_HELD: Final = FixedQuery(names_of_held(_REALM, bindparam("holder", type_=Name())))
_OF_REALM: Final = FixedQuery(
    select(roles).where(*has_given(roles, "realm_id", "name"), roles.c.client.is_(None))
)
_EXPANDED: Final = names_of_expanded(_REALM, bindparam("role_ids", type_=Name(), expanding=True))


class SqlRoles(SqlRepository):
    """RoleRepository on SQL."""

    async def list_roles(self, realm_id: str) -> tuple[Role, ...]:
        composites = await links_by_owner(self._transaction, realm_id, *LINKS[HolderKind.COMPOSITE])
        of_realm = select(roles).where(roles.c.realm_id == realm_id)
        return await self._transaction.read_rows(
            of_realm.order_by(roles.c.name, roles.c.id),
            lambda row: replace(read_role(row), composites=composites.get(row.id, frozenset())),
        )

    async def add(self, role: Role) -> None:
        key = {"realm_id": role.realm_id, "id": role.id, "client": role.client}
        taken = f"Role with name {role.name} already exists"
        await self._transaction.insert(roles, [key | role_values(role)], taken=taken)

    async def find_realm_role(self, realm_id: str, name: str) -> Role | None:
        rows = await self._transaction.fetch(_OF_REALM, realm_id=realm_id, name=name)
        return read_role(rows[0]) if rows else None

    def expect_realm_role(self, realm_id: str, name: str) -> None:
        self._transaction.read_ahead(_OF_REALM, realm_id=realm_id, name=name)

    async def add_composites(self, realm_id: str, role_id: str, composites: Sequence[str]) -> None:
        key = {"realm_id": realm_id, "role_id": role_id}
        rows = [key | {"composite_id": composite} for composite in composites]
        await self._transaction.insert_missing(role_composites, rows)

    async def set_composites(self, realm_id: str, role_id: str, composites: Sequence[str]) -> None:
        await self._transaction.delete_rows(role_composites, realm_id=realm_id, role_id=role_id)
        await self.add_composites(realm_id, role_id, composites)

    async def grant(self, realm_id: str, user_id: str, role_ids: Sequence[str]) -> None:
        rows = _grants(realm_id, [(user_id, role_id) for role_id in role_ids])
        await self._transaction.insert_missing(user_roles, rows)

    async def grant_all(self, realm_id: str, grants: Sequence[tuple[str, str]]) -> None:
        rows = _grants(realm_id, grants)
        await self._transaction.insert_later(user_roles, rows, missing=True)

    async def granted_to(
        self, realm_id: str, user_ids: Sequence[str]
    ) -> Mapping[str, frozenset[str]]:
        links = user_roles.c.user_id, user_roles.c.role_id
        return await links_by_owner(self._transaction, realm_id, *links, owners=user_ids)

    async def granted(self, realm_id: str, user_id: str) -> frozenset[str]:
        of_user = has(user_roles, realm_id=realm_id, user_id=user_id)
        rows = await self._transaction.execute(select(user_roles.c.role_id).where(of_user))
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


class SqlRoleScopes(SqlRepository):
    """RoleScopeRepository on SQL."""

    async def list_roles_in_scope(
        self, realm_id: str, kind: HolderKind
    ) -> Mapping[str, frozenset[str]]:
        return await links_by_owner(self._transaction, realm_id, *LINKS[kind])

    async def reached(
        self, realm_id: str, client: str | None, client_scopes: Sequence[str]
    ) -> frozenset[str]:
        statement = reached_roles(realm_id, client, client_scopes)
        return frozenset(row.role_id for row in await self._transaction.execute(statement))

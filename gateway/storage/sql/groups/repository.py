"""Groups, their members and their roles. A path joins the names from the top down.

Keycloak: GroupRepresentation
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, Row, and_, bindparam, delete, select, update

from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.groups import Group, render_group_path
from gateway.domain.limits.event_loop import in_slices
from gateway.storage.sql.prepared_query import FixedQuery
from gateway.storage.sql.schema import group_members, group_roles, groups
from gateway.storage.sql.transaction import Transaction, is_row, links_by_owner
from gateway.storage.sql.users import groups_of

_REALM_ID: Final = bindparam("realm_id", type_=groups.c.realm_id.type)
_DEFAULT: Final = FixedQuery(
    select(groups.c.id).where(groups.c.realm_id == _REALM_ID, groups.c.is_default)
)


class SqlGroups:
    """GroupRepository on SQL."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    async def list(self, realm_id: str) -> tuple[Group, ...]:
        return await _by_path(await self._rows(groups.c.realm_id == realm_id))

    async def add(self, group: Group) -> None:
        if group.parent == group.id:
            error = FieldError("parent", "the group itself", "another group")
            raise InvalidInput((error,))
        key = {"realm_id": group.realm_id, "id": group.id, "parent": group.parent}
        taken = name_taken(group.parent, group.name)
        await self._transaction.insert(groups, [key | _values(group)], taken=taken)

    async def replace(self, group: Group) -> None:
        one = update(groups).where(is_row(groups, group.realm_id, group.id))
        taken = f"Sibling group named '{group.name}' already exists."
        await self._transaction.change(one.values(_values(group)), taken=taken)

    async def join(self, realm_id: str, user_id: str, group_id: str) -> None:
        key = {"realm_id": realm_id, "user_id": user_id, "group_id": group_id}
        await self._transaction.insert_missing(group_members, [key])

    async def join_all(self, realm_id: str, members: Sequence[tuple[str, str]]) -> None:
        rows = [
            {"realm_id": realm_id, "user_id": user_id, "group_id": group_id}
            for user_id, group_id in members
        ]
        await self._transaction.insert_later(group_members, rows, missing=True)

    async def leave(self, realm_id: str, user_id: str, group_id: str) -> None:
        of_user = and_(group_members.c.realm_id == realm_id, group_members.c.user_id == user_id)
        await self._transaction.execute(
            delete(group_members).where(of_user, group_members.c.group_id == group_id)
        )

    async def default(self, realm_id: str) -> tuple[str, ...]:
        rows = await self._transaction.fetch(_DEFAULT, realm_id=realm_id)
        return tuple(sorted(row.id for row in rows))

    def expect_default(self, realm_id: str) -> None:
        self._transaction.read_ahead(_DEFAULT, realm_id=realm_id)

    async def members(self, realm_id: str) -> Mapping[str, frozenset[str]]:
        links = group_members.c.user_id, group_members.c.group_id
        return await links_by_owner(self._transaction, realm_id, *links)

    async def granted(self, realm_id: str) -> Mapping[str, frozenset[str]]:
        links = group_roles.c.group_id, group_roles.c.role_id
        return await links_by_owner(self._transaction, realm_id, *links)

    async def of_user(self, realm_id: str, user_id: str) -> tuple[Group, ...]:
        lineage = select(groups_of(realm_id, user_id).c.group_id)
        known = await self._rows(and_(groups.c.realm_id == realm_id, groups.c.id.in_(lineage)))
        rows = await self._transaction.execute(
            select(group_members.c.group_id).where(
                group_members.c.realm_id == realm_id, group_members.c.user_id == user_id
            )
        )
        joined = {row.group_id for row in rows}
        return tuple(group for group in await _by_path(known) if group.id in joined)

    async def grant(self, realm_id: str, group_id: str, role_ids: Sequence[str]) -> None:
        key = {"realm_id": realm_id, "group_id": group_id}
        rows = [key | {"role_id": role_id} for role_id in role_ids]
        await self._transaction.insert_missing(group_roles, rows)

    async def _rows(self, condition: ColumnElement[bool]) -> dict[str, Row[Any]]:
        rows = await self._transaction.execute(select(groups).where(condition))
        return {row.id: row async for row in in_slices(rows)}


def name_taken(parent: str | None, name: str) -> str:
    """Return Keycloak's text for a group below `parent` whose name is taken."""
    level = "Top level" if parent is None else "Sibling"
    return f"{level} group named '{name}' already exists."


def _values(group: Group) -> dict[str, Any]:
    return {
        "name": group.name,
        "attributes": {name: list(texts) for name, texts in group.attributes.items()},
        "description": group.description,
        "is_default": group.is_default,
    }


async def _by_path(known: Mapping[str, Row[Any]]) -> tuple[Group, ...]:
    found = [group_of(row, known) async for row in in_slices(known.values())]
    return tuple(sorted(found, key=lambda group: group.path))


def group_of(row: Row[Any], known: Mapping[str, Row[Any]]) -> Group:
    """Return the group of a row; `known` are rows by id, with all its parents."""
    return Group(
        id=row.id,
        realm_id=row.realm_id,
        name=row.name,
        path=path_of(row, known),
        parent=row.parent,
        attributes={name: tuple(texts) for name, texts in row.attributes.items()},
        description=row.description,
        is_default=row.is_default,
    )


def path_of(row: Any, known: Mapping[str, Any]) -> str:
    """Return the path of a row; `known` are rows by id, with all its parents."""
    names = [row.name]
    while row.parent is not None:
        row = known[row.parent]
        names.append(row.name)
    return render_group_path(reversed(names))

"""Looking groups up for administrators: pages by SQL, and the parents that make up a path.

Keycloak: GET groups, its `search`, `exact` and `q`
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Row,
    Select,
    and_,
    delete,
    false,
    func,
    literal,
    select,
    update,
)

from gateway.domain.groups import Group
from gateway.domain.limits.event_loop import in_slices
from gateway.domain.ports.storage.group_catalogue import GroupQuery
from gateway.domain.roles import EffectiveRoles
from gateway.domain.users import User
from gateway.storage.sql.column_types import is_name
from gateway.storage.sql.groups.repository import group_of
from gateway.storage.sql.roles import effective
from gateway.storage.sql.schema import (
    clients,
    group_members,
    group_roles,
    groups,
    roles,
    users,
)
from gateway.storage.sql.text_search import contains, may_contain
from gateway.storage.sql.transaction import Transaction
from gateway.storage.sql.users import read_user

_AT_ONCE: Final = 1_000
"""Databases limit how many values a statement has."""


class SqlGroupCatalogue:
    """GroupCatalogue on SQL."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    async def list(self, realm_id: str, query: GroupQuery) -> tuple[Group, ...]:
        if _is_exact(query):
            page = _matching(select(groups), realm_id, query).offset(query.first)
            rows = list(await self._transaction.execute(page.limit(query.maximum)))
            return await self._with_paths(realm_id, rows)
        end = None if query.maximum is None else query.first + query.maximum
        found = await self._compared(realm_id, query)
        return await self._by_ids(realm_id, found[query.first : end])

    async def count(self, realm_id: str, query: GroupQuery) -> int:
        if not _is_exact(query):
            return len(await self._compared(realm_id, query))
        some = _matching(select(groups.c.id), realm_id, query).order_by(None).subquery()
        rows = await self._transaction.execute(select(func.count()).select_from(some))
        return int(rows.scalar_one())

    async def find(self, realm_id: str, group_id: str, *, alone: bool = False) -> Group | None:
        if not is_name(group_id):
            return None
        one = select(groups).where(groups.c.realm_id == realm_id, groups.c.id == group_id)
        if alone:
            # SQLite has no such lock and needs none: a transaction that may write is alone.
            one = one.with_for_update(key_share=True)
        found = await self._with_paths(realm_id, list(await self._transaction.execute(one)))
        return found[0] if found else None

    async def find_by_path(self, realm_id: str, path: str) -> Group | None:
        row = await self._descend(realm_id, None, path.strip("/").split("/"))
        return None if row is None else (await self._with_paths(realm_id, [row]))[0]

    async def with_parents(self, realm_id: str, group_ids: Sequence[str]) -> tuple[Group, ...]:
        known = await self._lineage(realm_id, group_ids)
        found = [group_of(row, known) async for row in in_slices(known.values())]
        return tuple(sorted(found, key=lambda group: group.path))

    async def child_counts(self, realm_id: str, group_ids: Sequence[str]) -> Mapping[str, int]:
        counts: dict[str, int] = {}
        for some in _chunks(group_ids):
            rows = await self._transaction.execute(
                select(groups.c.parent, func.count().label("number"))
                .where(groups.c.realm_id == realm_id, groups.c.parent.in_(some))
                .group_by(groups.c.parent)
            )
            counts |= {row.parent: row.number for row in rows}
        return counts

    async def roles(self, realm_id: str, group_ids: Sequence[str]) -> Mapping[str, EffectiveRoles]:
        names: defaultdict[str, list[tuple[str, str | None]]] = defaultdict(list)
        for some in _chunks(group_ids):
            for row in await self._transaction.execute(_role_names(realm_id, some)):
                names[row.group_id].append((row.name, row.client_id))
        return {group_id: effective(pairs) for group_id, pairs in names.items()}

    async def members(
        self, realm_id: str, group_id: str, first: int, maximum: int
    ) -> tuple[User, ...]:
        of_group = and_(
            group_members.c.realm_id == users.c.realm_id,
            group_members.c.user_id == users.c.id,
            group_members.c.group_id == group_id,
        )
        page = select(users).join(group_members, of_group).where(users.c.realm_id == realm_id)
        ordered = page.order_by(users.c.username).offset(first).limit(maximum)
        rows = await self._transaction.execute(ordered)
        return tuple([read_user(row) async for row in in_slices(rows)])

    async def having_role(
        self, realm_id: str, role_id: str, first: int, maximum: int
    ) -> tuple[Group, ...]:
        given = and_(
            group_roles.c.realm_id == groups.c.realm_id,
            group_roles.c.group_id == groups.c.id,
            group_roles.c.role_id == role_id,
        )
        page = select(groups).join(group_roles, given).where(groups.c.realm_id == realm_id)
        ordered = page.order_by(groups.c.name, groups.c.id).offset(first).limit(maximum)
        return await self._with_paths(realm_id, list(await self._transaction.execute(ordered)))

    async def height(self, realm_id: str, group_id: str) -> int:
        one = select(groups.c.id, literal(1).label("level"))
        below = one.where(groups.c.realm_id == realm_id, groups.c.id == group_id)
        tree = below.cte("tree", recursive=True)
        children = select(groups.c.id, tree.c.level + 1).join(
            tree, and_(groups.c.parent == tree.c.id, groups.c.realm_id == realm_id)
        )
        tree = tree.union_all(children)
        rows = await self._transaction.execute(select(func.max(tree.c.level)))
        return rows.scalar_one() or 0

    async def move(self, realm_id: str, group_id: str, parent: str | None) -> None:
        level = "Top level" if parent is None else "Sibling"
        found = await self.find(realm_id, group_id)
        name = "" if found is None else found.name
        await self._transaction.change(
            update(groups)
            .where(groups.c.realm_id == realm_id, groups.c.id == group_id)
            .values(parent=parent),
            taken=f"{level} group named '{name}' already exists.",
        )

    async def remove(self, realm_id: str, group_id: str) -> None:
        await self._transaction.execute(
            delete(groups).where(groups.c.realm_id == realm_id, groups.c.id == group_id)
        )

    async def _compared(self, realm_id: str, query: GroupQuery) -> Sequence[str]:
        """Return the ids of all that match, where the database only knows who may match."""
        slim = _matching(select(groups.c.id, groups.c.name, groups.c.attributes), realm_id, query)
        return [
            row.id
            async for row in in_slices(await self._transaction.execute(slim))
            if (query.exact or contains((row.name,), query.search))
            and all(text in row.attributes.get(name, ()) for name, text in query.attributes.items())
        ]

    async def _by_ids(self, realm_id: str, group_ids: Sequence[str]) -> tuple[Group, ...]:
        known = {group.id: group for group in await self.with_parents(realm_id, group_ids)}
        return tuple(known[group_id] for group_id in group_ids)

    async def _with_paths(self, realm_id: str, rows: Sequence[Row[Any]]) -> tuple[Group, ...]:
        parents = tuple({row.parent for row in rows if row.parent is not None})
        known = await self._lineage(realm_id, parents)
        known |= {row.id: row for row in rows}
        return tuple([group_of(row, known) async for row in in_slices(rows)])

    async def _lineage(self, realm_id: str, group_ids: Sequence[str]) -> dict[str, Row[Any]]:
        found: dict[str, Row[Any]] = {}
        for some in _chunks(group_ids):
            rows = await self._transaction.execute(_with_all_above(realm_id, some))
            found |= {row.id: row async for row in in_slices(rows)}
        return found

    async def _descend(
        self, realm_id: str, parent: str | None, words: Sequence[str]
    ) -> Row[Any] | None:
        """Return the group that the words lead to, each name made of one word or more."""
        names = {"/".join(words[:count]): count for count in range(1, len(words) + 1)}
        rows = await self._transaction.execute(
            select(groups).where(
                groups.c.realm_id == realm_id,
                groups.c.parent.is_not_distinct_from(parent),
                groups.c.name.in_([name for name in names if is_name(name)]),
            )
        )
        for row in rows.all():
            rest = words[names[row.name] :]
            found = row if not rest else await self._descend(realm_id, row.id, rest)
            if found is not None:
                return found
        return None


def _is_exact(query: GroupQuery) -> bool:
    """Tell whether the database knows for certain who matches."""
    return not query.attributes and (query.exact or not query.search)


def _matching(statement: Select[Any], realm_id: str, query: GroupQuery) -> Select[Any]:
    """Let a statement select who may match, by name."""
    conditions = [groups.c.realm_id == realm_id, *_conditions(query)]
    return statement.where(*conditions).order_by(groups.c.name, groups.c.id)


def _conditions(query: GroupQuery) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    if query.parent is not None:
        known = is_name(query.parent)
        same = groups.c.parent.is_not_distinct_from(query.parent or None)
        found.append(same if known else false())
    if query.search and query.exact:
        found.append(groups.c.name == query.search if is_name(query.search) else false())
    elif query.search:
        found.append(may_contain(groups.c.name, query.search))
    for texts in query.attributes.items():
        found += [may_contain(groups.c.attributes, json.dumps(text)) for text in texts]
    return found


def _with_all_above(realm_id: str, group_ids: Sequence[str]) -> Select[Any]:
    begun = select(groups.c.id, groups.c.parent).where(
        groups.c.realm_id == realm_id, groups.c.id.in_(group_ids)
    )
    lineage = begun.cte("lineage", recursive=True)
    above = select(groups.c.id, groups.c.parent).join(
        lineage, and_(groups.c.id == lineage.c.parent, groups.c.realm_id == realm_id)
    )
    lineage = lineage.union(above)
    return select(groups).where(
        groups.c.realm_id == realm_id, groups.c.id.in_(select(lineage.c.id))
    )


def _role_names(realm_id: str, group_ids: Sequence[str]) -> Select[Any]:
    given = and_(roles.c.realm_id == group_roles.c.realm_id, roles.c.id == group_roles.c.role_id)
    of_client = and_(clients.c.realm_id == roles.c.realm_id, clients.c.id == roles.c.client)
    return (
        select(group_roles.c.group_id, roles.c.name, clients.c.client_id)
        .join_from(group_roles, roles, given)
        .join(clients, of_client, isouter=True)
        .where(group_roles.c.realm_id == realm_id, group_roles.c.group_id.in_(group_ids))
    )


def _chunks(values: Sequence[str]) -> list[Sequence[str]]:
    return [values[start : start + _AT_ONCE] for start in range(0, len(values), _AT_ONCE)]

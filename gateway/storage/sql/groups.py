"""Groups in SQL: members, roles, and pages for administrators with the parents that make up a path.

A path joins the names from the top down. Keycloak: GroupRepresentation; GET groups, its `search`,
`exact` and `q`
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
    false,
    func,
    literal,
    select,
    update,
)

from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.groups import Group, parse_group_path, render_group_path
from gateway.domain.limits.input_sizes import in_slices
from gateway.domain.ports.users import GroupQuery
from gateway.domain.roles import EffectiveRoles
from gateway.domain.users import User
from gateway.storage.sql.column_types import is_name
from gateway.storage.sql.prepared_query import FixedQuery
from gateway.storage.sql.role_statements import OWNED_BY_CLIENT, effective
from gateway.storage.sql.schema import clients, group_members, group_roles, groups, roles
from gateway.storage.sql.text_search import contains, may_contain
from gateway.storage.sql.transaction import (
    SqlRepository,
    has,
    has_given,
    is_row,
    links_by_owner,
    portions,
)
from gateway.storage.sql.users import groups_of, linked_users

_DEFAULT: Final = FixedQuery(
    select(groups.c.id).where(*has_given(groups, "realm_id"), groups.c.is_default)
)


class SqlGroups(SqlRepository):
    """GroupRepository on SQL."""

    async def list_groups(self, realm_id: str) -> tuple[Group, ...]:
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
        key = {"realm_id": realm_id, "user_id": user_id, "group_id": group_id}
        await self._transaction.delete_rows(group_members, **key)

    async def default(self, realm_id: str) -> tuple[str, ...]:
        rows = await self._transaction.fetch(_DEFAULT, realm_id=realm_id)
        return tuple(sorted(row.id for row in rows))

    def expect_default(self, realm_id: str) -> None:
        self._transaction.read_ahead(_DEFAULT, realm_id=realm_id)

    async def joined_by(
        self, realm_id: str, user_ids: Sequence[str]
    ) -> Mapping[str, frozenset[str]]:
        links = group_members.c.user_id, group_members.c.group_id
        return await links_by_owner(self._transaction, realm_id, *links, owners=user_ids)

    async def members(self, realm_id: str) -> Mapping[str, frozenset[str]]:
        links = group_members.c.user_id, group_members.c.group_id
        return await links_by_owner(self._transaction, realm_id, *links)

    async def granted(self, realm_id: str) -> Mapping[str, frozenset[str]]:
        links = group_roles.c.group_id, group_roles.c.role_id
        return await links_by_owner(self._transaction, realm_id, *links)

    async def of_user(self, realm_id: str, user_id: str) -> tuple[Group, ...]:
        lineage = select(groups_of(realm_id, user_id).c.group_id)
        known = await self._rows(and_(groups.c.realm_id == realm_id, groups.c.id.in_(lineage)))
        of_user = has(group_members, realm_id=realm_id, user_id=user_id)
        rows = await self._transaction.execute(select(group_members.c.group_id).where(of_user))
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


class SqlGroupCatalogue(SqlRepository):
    """GroupCatalogue on SQL."""

    async def list_groups(self, realm_id: str, query: GroupQuery) -> tuple[Group, ...]:
        if _is_exact(query):
            page = _matching(select(groups), realm_id, query).offset(query.first)
            rows = list(await self._transaction.execute(page.limit(query.maximum)))
            return await self._with_paths(realm_id, rows)
        end = None if query.maximum is None else query.first + query.maximum
        found = await self._compared(realm_id, query)
        return await self._by_ids(realm_id, found[query.first : end])

    async def count_groups(self, realm_id: str, query: GroupQuery) -> int:
        if not _is_exact(query):
            return len(await self._compared(realm_id, query))
        some = _matching(select(groups.c.id), realm_id, query).order_by(None).subquery()
        return await self._transaction.count_rows(select(func.count()).select_from(some))

    async def find_group(
        self, realm_id: str, group_id: str, *, for_update: bool = False
    ) -> Group | None:
        row = await self._transaction.get_row(
            groups, realm_id, group_id, lambda row: row, for_update=for_update, key_share=True
        )
        return None if row is None else (await self._with_paths(realm_id, [row]))[0]

    async def find_by_path(self, realm_id: str, path: str) -> Group | None:
        names = [name for name in parse_group_path(path) if name]
        row = await self._descend(realm_id, names)
        if row is None:
            row = await self._descend_words(realm_id, None, names)
        return None if row is None else (await self._with_paths(realm_id, [row]))[0]

    async def with_parents(self, realm_id: str, group_ids: Sequence[str]) -> tuple[Group, ...]:
        return await _by_path(await self._lineage(realm_id, group_ids))

    async def child_counts(self, realm_id: str, group_ids: Sequence[str]) -> Mapping[str, int]:
        counts: dict[str, int] = {}
        for some in portions(group_ids):
            rows = await self._transaction.execute(
                select(groups.c.parent, func.count().label("number"))
                .where(groups.c.realm_id == realm_id, groups.c.parent.in_(some))
                .group_by(groups.c.parent)
            )
            counts |= {row.parent: row.number for row in rows}
        return counts

    async def roles(self, realm_id: str, group_ids: Sequence[str]) -> Mapping[str, EffectiveRoles]:
        names: defaultdict[str, list[tuple[str, str | None]]] = defaultdict(list)
        for some in portions(group_ids):
            for row in await self._transaction.execute(_role_names(realm_id, some)):
                names[row.group_id].append((row.name, row.client_id))
        return {group_id: effective(pairs) for group_id, pairs in names.items()}

    async def members(
        self, realm_id: str, group_id: str, first: int, maximum: int
    ) -> tuple[User, ...]:
        holder = (group_members.c.group_id, group_id)
        return await linked_users(self._transaction, realm_id, holder, first, maximum)

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
        found = await self.find_group(realm_id, group_id)
        name = "" if found is None else found.name
        one = update(groups).where(is_row(groups, realm_id, group_id))
        await self._transaction.change(one.values(parent=parent), taken=name_taken(parent, name))

    async def remove_group(self, realm_id: str, group_id: str) -> None:
        await self._transaction.remove_row(groups, realm_id, group_id)

    async def _compared(self, realm_id: str, query: GroupQuery) -> Sequence[str]:
        """Return the ids of the matching groups, where the database selects a superset of them."""
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
        for some in portions(group_ids):
            rows = await self._transaction.execute(_with_all_above(realm_id, some))
            found |= {row.id: row async for row in in_slices(rows)}
        return found

    async def _descend(self, realm_id: str, names: Sequence[str]) -> Row[Any] | None:
        """Return the group with these names from the top to it."""
        row, parent = None, None
        for name in names:
            one = select(groups).where(
                groups.c.realm_id == realm_id,
                groups.c.parent.is_not_distinct_from(parent),
                groups.c.name == name if is_name(name) else false(),
            )
            row = (await self._transaction.execute(one)).first()
            if row is None:
                return None
            parent = row.id
        return row

    async def _descend_words(
        self, realm_id: str, parent: str | None, words: Sequence[str]
    ) -> Row[Any] | None:
        """Return a group at a path that escapes nothing: a name has one word or more."""
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
            found = row if not rest else await self._descend_words(realm_id, row.id, rest)
            if found is not None:
                return found
        return None


def _is_exact(query: GroupQuery) -> bool:
    """Return whether the database alone decides which groups match."""
    return not query.attributes and (query.exact or not query.search)


def _matching(statement: Select[Any], realm_id: str, query: GroupQuery) -> Select[Any]:
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
    return (
        select(group_roles.c.group_id, roles.c.name, clients.c.client_id)
        .join_from(group_roles, roles, given)
        .join(clients, OWNED_BY_CLIENT, isouter=True)
        .where(group_roles.c.realm_id == realm_id, group_roles.c.group_id.in_(group_ids))
    )

"""What the service accounts of many clients may do, asked at once.

As for one user: what is granted to it, to its groups and their parents, and all it contains.
Keycloak: role mappings
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from sqlalchemy import CTE, Select, and_, select, union

from gateway.storage.sql.schema import (
    clients,
    group_members,
    group_roles,
    groups,
    role_composites,
    roles,
    user_roles,
    users,
)

Names = list[tuple[str, str | None]]
"""Names of roles with the public names of their clients, None for a realm role."""


def by_owner(rows: Sequence[Any]) -> dict[str, Names]:
    """Return the roles by the ids of the clients; an account without any has an empty list."""
    found: defaultdict[str, Names] = defaultdict(list)
    for row in rows:
        names = found[row.owner]
        if row.name is not None:
            names.append((row.name, row.client_id))
    return dict(found)


def roles_of_accounts(realm_id: str, owners: Sequence[str]) -> Select[Any]:
    """Select `owner`, and `name` and `client_id` of each role, null where there is none."""
    accounts = (
        select(users.c.service_account_client.label("owner"), users.c.id.label("account"))
        .where(users.c.realm_id == realm_id, users.c.service_account_client.in_(owners))
        .cte("accounts")
    )
    held = _closure(realm_id, _granted(realm_id, accounts))
    of_client = and_(clients.c.realm_id == roles.c.realm_id, clients.c.id == roles.c.client)
    return (
        select(accounts.c.owner, roles.c.name, clients.c.client_id)
        .select_from(accounts)
        .outerjoin(held, held.c.owner == accounts.c.owner)
        .outerjoin(roles, and_(roles.c.realm_id == realm_id, roles.c.id == held.c.role_id))
        .outerjoin(clients, of_client)
    )


def _granted(realm_id: str, accounts: CTE) -> Select[Any]:
    lineage = _lineage(realm_id, accounts)
    to_account = and_(user_roles.c.realm_id == realm_id, user_roles.c.user_id == accounts.c.account)
    to_group = and_(
        group_roles.c.realm_id == realm_id, group_roles.c.group_id == lineage.c.group_id
    )
    granted = union(
        select(accounts.c.owner, user_roles.c.role_id).join(user_roles, to_account),
        select(lineage.c.owner, group_roles.c.role_id).join(group_roles, to_group),
    ).subquery()
    return select(granted.c.owner, granted.c.role_id)


def _lineage(realm_id: str, accounts: CTE) -> CTE:
    joined = and_(
        group_members.c.realm_id == realm_id, group_members.c.user_id == accounts.c.account
    )
    begun = select(accounts.c.owner, group_members.c.group_id).join(group_members, joined)
    lineage = begun.cte("lineage", recursive=True)
    above = and_(groups.c.realm_id == realm_id, groups.c.id == lineage.c.group_id)
    parents = select(lineage.c.owner, groups.c.parent).join(groups, above)
    return lineage.union(parents.where(groups.c.parent.is_not(None)))


def _closure(realm_id: str, begun: Select[Any]) -> CTE:
    held = begun.cte("held", recursive=True)
    of_role = and_(
        role_composites.c.realm_id == realm_id, role_composites.c.role_id == held.c.role_id
    )
    contained = select(held.c.owner, role_composites.c.composite_id).join(role_composites, of_role)
    return held.union(contained)

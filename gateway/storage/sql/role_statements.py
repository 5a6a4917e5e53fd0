"""Statements about roles: composites are followed to the end, and UNION ends cycles.

A user has what is granted to it, to its groups and to their parents. A client has its own roles in
its scope as well. Sets of roles are tables with the column `role_id`, and with `owner` where a
statement asks for many owners at once. Keycloak: role mappings, scope mappings
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final

from sqlalchemy import (
    CTE,
    BindParameter,
    ColumnElement,
    CompoundSelect,
    Select,
    and_,
    literal_column,
    not_,
    or_,
    select,
    union,
)
from sqlalchemy.sql.selectable import NamedFromClause

from gateway.domain.clients import EVERYWHERE, OWNER_IN_MASTER, OWNER_OF_A_REALM
from gateway.domain.roles import EffectiveRoles
from gateway.storage.sql.schema import (
    client_roles_in_scope,
    client_scope_roles,
    clients,
    group_members,
    group_roles,
    role_composites,
    roles,
    user_roles,
    users,
)
from gateway.storage.sql.users import Given, groups_above, groups_of, with_parents

OWNED_BY_CLIENT: Final = and_(
    clients.c.realm_id == roles.c.realm_id, clients.c.id == roles.c.client
)


def held_by_user(realm_id: Given, user_id: Given) -> CTE:
    """Select the roles that a user has."""
    of_user = select(user_roles.c.role_id).where(
        user_roles.c.realm_id == realm_id, user_roles.c.user_id == user_id
    )
    granted = union(of_user, _of_groups(realm_id, groups_of(realm_id, user_id))).subquery()
    return closure(realm_id, select(granted.c.role_id))


def held_by_group(realm_id: Given, group_id: Given) -> CTE:
    """Select the roles that members of a group have by it."""
    granted = _of_groups(realm_id, groups_above(realm_id, group_id)).subquery()
    return closure(realm_id, select(granted.c.role_id))


def closure(realm_id: Given, begun: Select[Any], name: str = "held") -> CTE:
    """Select the roles that `begun` selects, and all that they contain."""
    held = begun.cte(name, recursive=True)
    of_role = and_(
        role_composites.c.role_id == held.c.role_id, role_composites.c.realm_id == realm_id
    )
    contained = select(*_owner(held), role_composites.c.composite_id)
    return held.union(contained.join_from(held, role_composites, of_role))


def containers(realm_id: Given, begun: Select[tuple[str]]) -> CTE:
    """Select the roles that `begun` selects, and all that contain them."""
    parts = begun.cte("parts", recursive=True)
    of_part = and_(
        role_composites.c.composite_id == parts.c.role_id, role_composites.c.realm_id == realm_id
    )
    return parts.union(select(role_composites.c.role_id).join(parts, of_part))


def names_of_administrative_composites(realm_id: Given) -> Select[Any]:
    """Select roles that contain administrative ones, each with one of these: names and clients.

    Roles that are administrative themselves are left out. Names are compared as in any realm: the
    caller knows whether it is `master`.
    """
    owner, part_owner = clients.alias("owner"), clients.alias("part_owner")
    part, composite = roles.alias("part"), roles.alias("composite")
    begun = (
        select(part.c.id.label("owner"), part.c.id.label("role_id"))
        .select_from(part)
        .outerjoin(part_owner, _owns(part_owner, part))
        .where(part.c.realm_id == realm_id, _is_administrative(part_owner, part))
    )
    parts = begun.cte("administrative_parts", recursive=True)
    of_part = and_(
        role_composites.c.composite_id == parts.c.role_id, role_composites.c.realm_id == realm_id
    )
    parts = parts.union(select(parts.c.owner, role_composites.c.role_id).join(parts, of_part))
    named = roles.alias("named_part")
    named_owner = clients.alias("named_part_owner")
    return (
        select(
            composite.c.name,
            owner.c.client_id,
            named.c.name.label("part_name"),
            named_owner.c.client_id.label("part_client_id"),
        )
        .select_from(parts)
        .join(composite, and_(composite.c.realm_id == realm_id, composite.c.id == parts.c.role_id))
        .outerjoin(owner, _owns(owner, composite))
        .join(named, and_(named.c.realm_id == realm_id, named.c.id == parts.c.owner))
        .outerjoin(named_owner, _owns(named_owner, named))
        .where(not_(_is_administrative(owner, composite)))
    )


def _owns(owner: NamedFromClause[Any], role: NamedFromClause[Any]) -> ColumnElement[bool]:
    return and_(owner.c.realm_id == role.c.realm_id, owner.c.id == role.c.client)


def _is_administrative(
    owner: NamedFromClause[Any], role: NamedFromClause[Any]
) -> ColumnElement[bool]:
    of_client = or_(
        owner.c.client_id == literal_column(f"'{OWNER_OF_A_REALM}'"),
        owner.c.client_id.like(literal_column(f"'%{OWNER_IN_MASTER}'")),
    )
    everywhere = role.c.name.in_([literal_column(f"'{name}'") for name in sorted(EVERYWHERE)])
    return or_(
        and_(role.c.client.is_(None), everywhere), and_(role.c.client.is_not(None), of_client)
    )


def names_of_held(realm_id: Given, user_id: Given) -> Select[Any]:
    """Select the names and clients of the roles that a user has."""
    return names_of(realm_id, held_by_user(realm_id, user_id))


def names_of_expanded(realm_id: Given, role_ids: BindParameter[Any]) -> Select[Any]:
    """Select the names and clients of roles, and of all that they contain."""
    begun = select(roles.c.id.label("role_id")).where(
        roles.c.realm_id == realm_id, roles.c.id.in_(role_ids)
    )
    return names_of(realm_id, closure(realm_id, begun))


def names_in_client_scopes(realm_id: Given) -> Select[Any]:
    """Select the roles in all client scopes of the realm: id of the scope, name, client."""
    begun = select(client_scope_roles.c.client_scope.label("owner"), client_scope_roles.c.role_id)
    in_realm = begun.where(client_scope_roles.c.realm_id == realm_id)
    return names_of(realm_id, closure(realm_id, in_realm, "in_client_scopes"))


def names_in_scope_of(realm_id: Given, client: Given) -> Select[Any]:
    """Select the roles in the scope of a client, by its internal id: "", name, client."""
    begun = _unowned(union(*_of_client(realm_id, client)))
    return names_of(realm_id, closure(realm_id, begun, "in_scope_of_client"))


def reached_roles(
    realm_id: str, client: str | None, scope_ids: Sequence[str]
) -> Select[tuple[str]]:
    """Select the ids of the roles in the scope of a client or of client scopes."""
    of_scopes = select(client_scope_roles.c.role_id).where(
        client_scope_roles.c.realm_id == realm_id,
        client_scope_roles.c.client_scope.in_(scope_ids),
    )
    of_client = () if client is None else _of_client(realm_id, client)
    reached = closure(realm_id, _unowned(union(of_scopes, *of_client)), "reached")
    return select(reached.c.role_id)


def names_of_accounts(realm_id: str, owners: Sequence[str]) -> Select[Any]:
    """Select owner, role and client of service accounts; null names without any role."""
    accounts = (
        select(users.c.service_account_client.label("owner"), users.c.id.label("account"))
        .where(users.c.realm_id == realm_id, users.c.service_account_client.in_(owners))
        .cte("accounts")
    )
    of_account = and_(
        group_members.c.realm_id == realm_id, group_members.c.user_id == accounts.c.account
    )
    joined = select(accounts.c.owner, group_members.c.group_id).join(group_members, of_account)
    to_account = and_(user_roles.c.realm_id == realm_id, user_roles.c.user_id == accounts.c.account)
    granted = union(
        select(accounts.c.owner, user_roles.c.role_id).join(user_roles, to_account),
        _of_groups(realm_id, with_parents(realm_id, joined)),
    ).subquery()
    held = closure(realm_id, select(granted.c.owner, granted.c.role_id))
    return (
        select(accounts.c.owner, roles.c.name, clients.c.client_id)
        .select_from(accounts)
        .outerjoin(held, held.c.owner == accounts.c.owner)
        .outerjoin(roles, and_(roles.c.realm_id == realm_id, roles.c.id == held.c.role_id))
        .outerjoin(clients, OWNED_BY_CLIENT)
    )


def names_of(realm_id: Given, held: CTE) -> Select[Any]:
    """Select the names of the roles of a set and the public names of their clients, or null."""
    return (
        select(*_owner(held), roles.c.name, clients.c.client_id)
        .select_from(roles)
        .join(held, roles.c.id == held.c.role_id)
        .outerjoin(clients, OWNED_BY_CLIENT)
        .where(roles.c.realm_id == realm_id)
    )


def effective(names: Iterable[Sequence[str | None]]) -> EffectiveRoles:
    """Return the roles from pairs of name and client, None for a realm role."""
    found: defaultdict[str | None, list[str]] = defaultdict(list)
    for name, client in names:
        found[client].append(name or "")
    of_realm = tuple(sorted(found.pop(None, ())))
    of_clients = {client or "": tuple(sorted(held)) for client, held in found.items()}
    return EffectiveRoles(of_realm, tuple(sorted(of_clients.items())))


def _owner(held: CTE) -> list[Any]:
    return [held.c.owner] if "owner" in held.c else []


def _of_groups(realm_id: Given, lineage: CTE) -> Select[Any]:
    of_group = and_(
        group_roles.c.group_id == lineage.c.group_id, group_roles.c.realm_id == realm_id
    )
    return select(*_owner(lineage), group_roles.c.role_id).join_from(lineage, group_roles, of_group)


def _of_client(realm_id: Given, client: Given) -> tuple[Select[Any], Select[Any]]:
    own = select(roles.c.id.label("role_id")).where(
        roles.c.realm_id == realm_id, roles.c.client == client
    )
    given = select(client_roles_in_scope.c.role_id).where(
        client_roles_in_scope.c.realm_id == realm_id, client_roles_in_scope.c.client == client
    )
    return own, given


def _unowned(begun: CompoundSelect[Any]) -> Select[Any]:
    found = begun.subquery()
    return select(literal_column("''").label("owner"), found.c.role_id)

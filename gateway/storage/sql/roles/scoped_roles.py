"""The roles in scopes by name, composites followed to the end; UNION ends circles.

In the scope of a client are its own roles as well. Keycloak: scope mappings
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import CTE, CompoundSelect, Select, and_, literal_column, select, union

from gateway.storage.sql.schema import (
    client_roles_in_scope,
    client_scope_roles,
    clients,
    role_composites,
    roles,
)
from gateway.storage.sql.users import Given


def names_in_client_scopes(realm_id: Given) -> Select[tuple[str, str, str | None]]:
    """Select of all scopes of the realm: id of the scope, name of the role, its client."""
    begun = select(client_scope_roles.c.client_scope.label("owner"), client_scope_roles.c.role_id)
    bound = begun.where(client_scope_roles.c.realm_id == realm_id)
    return _named(realm_id, _closed(realm_id, bound, "in_client_scopes"))


def names_in_scope_of(realm_id: Given, client: Given) -> Select[tuple[str, str, str | None]]:
    """Select of one client, by its internal id: nothing, name of the role, its client."""
    begun = _unowned(union(*_of_client(realm_id, client)))
    return _named(realm_id, _closed(realm_id, begun, "in_scope_of_client"))


def reached_roles(
    realm_id: str, client: str | None, scope_ids: Sequence[str]
) -> Select[tuple[str]]:
    """Select the ids of the roles in the scope of a client or of client scopes."""
    of_scopes = select(client_scope_roles.c.role_id).where(
        client_scope_roles.c.realm_id == realm_id,
        client_scope_roles.c.client_scope.in_(scope_ids),
    )
    of_client = () if client is None else _of_client(realm_id, client)
    bound = _closed(realm_id, _unowned(union(of_scopes, *of_client)), "reached")
    return select(bound.c.role_id)


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


def _closed(realm_id: Given, begun: Select[Any], name: str) -> CTE:
    bound = begun.cte(name, recursive=True)
    contained = select(bound.c.owner, role_composites.c.composite_id).join_from(
        bound,
        role_composites,
        and_(
            role_composites.c.role_id == bound.c.role_id,
            role_composites.c.realm_id == realm_id,
        ),
    )
    return bound.union(contained)


def _named(realm_id: Given, bound: CTE) -> Select[Any]:
    return (
        select(bound.c.owner, roles.c.name, clients.c.client_id)
        .select_from(roles)
        .join(bound, roles.c.id == bound.c.role_id)
        .outerjoin(
            clients,
            and_(clients.c.realm_id == roles.c.realm_id, clients.c.id == roles.c.client),
        )
        .where(roles.c.realm_id == realm_id)
    )

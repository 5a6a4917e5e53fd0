"""Callers grant no rights above their own. `account_control` protects accounts that have more.

Administrative roles are those of `realm-management` in a realm; in `master`, `admin`,
`create-realm` and the roles of each `<realm>-realm`. A caller may grant one, directly or by a
group or role that contains it, only if the caller acts with it, or with more. A token of limited
scope cannot widen a scope beyond its own.
These roles, and the clients that own them, cannot be changed. Other roles may be granted freely.
Keycloak: 9; it checks the roles that are named, not what they contain, and not groups
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from gateway.admin.access.access import Acting
from gateway.admin.access.administration_roles import (
    FREE,
    IMPLIED,
    REALM_ADMIN,
    REALM_MANAGEMENT,
    AdminRole,
    administration_client,
)
from gateway.admin.access.errors import Forbidden
from gateway.admin.access.role_index import ADMIN
from gateway.domain.clients import (
    EVERY_ADMINISTRATIVE_ROLE,
    EVERYWHERE,
    AdministrativeReach,
    administrative_name,
    owns_rights,
)
from gateway.domain.ports.storage import Stores
from gateway.domain.ports.storage.role_catalogue import HolderKind, RoleHolder, RoleQuery, Share
from gateway.domain.realm import MASTER, Realm
from gateway.domain.roles import EffectiveRoles, ListedRole

_NAMES: Final = frozenset({*AdminRole, REALM_ADMIN})


async def require_may_grant(acting: Acting, stores: Stores, role_ids: Sequence[str]) -> None:
    """Raise Forbidden unless the caller acts with each administrative role among them.

    What they contain counts as well.
    """
    if role_ids and acting.rights.held is not None:
        _require(acting, await stores.roles.expanded(acting.realm.id, role_ids))


async def require_may_compose(acting: Acting, stores: Stores, parts: Iterable[ListedRole]) -> None:
    """Raise Forbidden unless the caller may make another role contain these, or stop that.

    It takes the right to manage each of them, and every right that they give.
    """
    roles = tuple(parts)
    for part in roles:
        of_realm = part.role.client is None
        acting.rights.require(AdminRole.MANAGE_REALM if of_realm else AdminRole.MANAGE_CLIENTS)
    await require_may_grant(acting, stores, [part.role.id for part in roles])


def require_rights_of(acting: Acting, roles: EffectiveRoles) -> None:
    """Raise Forbidden where the roles include an administrative one that the caller lacks."""
    if acting.rights.held is not None:
        _require(acting, roles)


def has_every_right(acting: Acting) -> bool:
    """Return whether the caller acts with every administrative role of the realm."""
    held = acting.rights.held
    if held is None:
        return True
    if acting.realm.name == MASTER:
        return ADMIN in held.realm
    return acting.rights.roles == frozenset(AdminRole)


def missing_rights(acting: Acting) -> tuple[str, ...]:
    """Return the administrative roles of the realm that the caller does not act with, sorted."""
    if has_every_right(acting):
        return ()
    if acting.realm.name == MASTER:
        return (ADMIN,)
    return tuple(sorted(frozenset(AdminRole) - acting.rights.roles))


def reach_decided_by(acting: Acting) -> AdministrativeReach:
    """Return the administrative roles that tokens may carry where the caller decides on a client.

    A caller without an account, such as a client that registers itself, decides on none.
    """
    if has_every_right(acting):
        return EVERY_ADMINISTRATIVE_ROLE
    held = () if acting.caller is None else _held(acting)
    return AdministrativeReach(roles=frozenset(held))


def is_above(acting: Acting, roles: EffectiveRoles) -> bool:
    """Return whether the roles include an administrative one that the caller lacks."""
    return acting.rights.held is not None and bool(_lacking(acting, roles))


async def require_may_join(acting: Acting, stores: Stores, group_ids: Iterable[str]) -> None:
    """Raise Forbidden where a group, or one above it, gives a role that the caller lacks."""
    if acting.rights.held is None:
        return
    for group_id in group_ids:
        _require(acting, await rights_of_group(acting, stores, group_id))


async def require_may_put_in_scope(acting: Acting, stores: Stores, role_ids: Sequence[str]) -> None:
    """Raise Forbidden where the caller acts in a scope, and the roles would reach beyond it."""
    if _is_limited(acting):
        await require_may_grant(acting, stores, role_ids)


def require_may_lift_scope(acting: Acting) -> None:
    """Raise Forbidden where the caller acts in a scope that is less than everything."""
    if _is_limited(acting) and not has_every_right(acting):
        raise Forbidden("full scope would exceed the scope that the caller acts in")


def _is_limited(acting: Acting) -> bool:
    caller = acting.caller
    return caller is not None and (caller.scope is not None or caller.withheld is not None)


async def roles_out_of_reach(acting: Acting, stores: Stores) -> frozenset[str]:
    """Return the ids of the roles of the realm that the caller may not grant."""
    if acting.rights.held is None:
        return frozenset()
    held = set(_held(acting))
    lacking = [
        role.role.id
        for role in await _administrative_roles(acting.realm, stores)
        if not held.issuperset(_administrative(acting.realm, rights_of_roles((role,))))
    ]
    if not lacking:
        return frozenset()
    return await stores.role_catalogue.containing(acting.realm.id, lacking)


def is_administrative_client(realm: Realm, client_id: str) -> bool:
    """Return whether a client with that public name owns administrative roles, or would."""
    return owns_rights(client_id, in_master=realm.name == MASTER)


def require_changeable_clients(acting: Acting, *client_ids: str) -> None:
    """Raise Forbidden where one of the public names is that of a client that cannot be changed.

    No client of such a name can be created either: it would own the roles of a future realm.
    """
    for client_id in client_ids:
        if is_administrative_client(acting.realm, client_id):
            raise Forbidden(f"the client {client_id} cannot be changed")


def require_changeable_role(acting: Acting, client_id: str | None, name: str) -> None:
    """Raise Forbidden for an administrative role, and any role beside one in its client."""
    if client_id is not None:
        require_changeable_clients(acting, client_id)
    elif acting.realm.name == MASTER and name in EVERYWHERE:
        raise Forbidden(f"the role {name} cannot be changed")


async def _administrative_roles(realm: Realm, stores: Stores) -> tuple[ListedRole, ...]:
    if realm.name != MASTER:
        client = await stores.clients.find_by_client_id(realm.id, REALM_MANAGEMENT)
        query = RoleQuery(container="-" if client is None else client.id)
        return await stores.role_catalogue.list(realm.id, query)
    every = await stores.role_catalogue.list(realm.id, RoleQuery())
    return tuple(role for role in every if any(_administrative(realm, rights_of_roles((role,)))))


def rights_of_roles(roles: Iterable[ListedRole]) -> EffectiveRoles:
    """Return the names of the roles, by the client that owns them."""
    listed = tuple(roles)
    return EffectiveRoles(
        tuple(role.role.name for role in listed if role.client_id is None),
        tuple((role.client_id, (role.role.name,)) for role in listed if role.client_id is not None),
    )


async def rights_of_group(acting: Acting, stores: Stores, group_id: str) -> EffectiveRoles:
    """Return all roles that the group gives to its members, those of groups above it included."""
    query = RoleQuery(RoleHolder(HolderKind.GROUP, group_id), Share.EFFECTIVE)
    return rights_of_roles(await stores.role_catalogue.list(acting.realm.id, query))


def _require(acting: Acting, wanted: EffectiveRoles) -> None:
    lacking = sorted(_lacking(acting, wanted))
    if lacking:
        raise Forbidden(f"the caller does not have {', '.join(lacking)}")


def _lacking(acting: Acting, wanted: EffectiveRoles) -> set[str]:
    return set(_administrative(acting.realm, wanted)) - set(_held(acting))


def _administrative(realm: Realm, roles: EffectiveRoles) -> Iterator[str]:
    """Yield the administrative ones as `name` or `client/name`."""
    in_master = realm.name == MASTER
    for client, name in roles.pairs():
        found = administrative_name(client, name, in_master=in_master)
        if found is not None and (client is None or name in _NAMES):
            yield found


def _held(acting: Acting) -> Iterator[str]:
    """Yield the roles that the caller acts with, and those that they imply."""
    realm, rights = acting.realm, acting.rights
    client = administration_client(realm.name) if realm.name == MASTER else REALM_MANAGEMENT
    implied = {role for held in rights.roles for role in IMPLIED.get(held, ())}
    yield from (f"{client}/{role}" for role in rights.roles | implied | FREE)
    if realm.name == MASTER:
        yield from _administrative(realm, rights.held or EffectiveRoles())
    elif rights.roles == frozenset(AdminRole):
        yield f"{client}/{REALM_ADMIN}"

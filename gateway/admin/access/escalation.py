"""Callers grant no rights above their own, and change no object that has more.

Administrative roles are those of `realm-management` in a realm; in `master`, `admin`,
`create-realm` and the roles of each `<realm>-realm`. A caller may grant one, directly or by a
group or role that contains it, only if the caller acts with it, or with more. A token of limited
scope cannot widen a scope beyond its own.
These roles, and the clients that own them, cannot be changed. Other roles may be granted freely.

Only a caller that has all administrative roles of a user, of a client's service account, of a group
or of a role may change that object in any way. Others may read it and end sessions.

The admin API derives the objects from the path (`gateway.http.admin.endpoint`). The endpoint
applies the rule before it reads the body, `Changes.begin` again with the rows locked. Use cases
call `require_may_control` for objects that a body or a registration token names.
Keycloak: 9 (administrative roles); it checks the named roles without their composites, and
not groups, and lets `manage-users` and `manage-clients` change every object (26.7)
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, assert_never

from gateway.admin.access.rights import (
    FREE,
    IMPLIED,
    REALM_ADMIN,
    REALM_MANAGEMENT,
    Acting,
    AdminRole,
    ControlledObject,
    ObjectKind,
    administration_client,
)
from gateway.admin.access.role_index import ADMIN
from gateway.domain.clients import (
    EVERY_ADMINISTRATIVE_ROLE,
    EVERYWHERE,
    AdministrativeReach,
    administrative_name,
    owns_rights,
)
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.ports.users import HolderKind, RoleHolder, RoleQuery, Share
from gateway.domain.realm import MASTER, Realm
from gateway.domain.refusals import Forbidden, MissingRights
from gateway.domain.roles import EffectiveRoles, ListedRole

_NAMES: Final = frozenset({*AdminRole, REALM_ADMIN})


async def require_may_grant(acting: Acting, stores: Stores, role_ids: Sequence[str]) -> None:
    """Raise Forbidden unless the caller acts with each administrative role among them.

    Their composites count as well.
    """
    if role_ids and acting.rights.held is not None:
        _require_held(acting, await stores.roles.expanded(acting.realm.id, role_ids))


async def require_may_compose(acting: Acting, stores: Stores, parts: Iterable[ListedRole]) -> None:
    """Raise Forbidden unless the caller may make another role contain these, or stop that.

    It takes the right to manage each of them, and every right that they give.
    """
    roles = tuple(parts)
    for part in roles:
        of_realm = part.role.client is None
        acting.rights.require_role(AdminRole.MANAGE_REALM if of_realm else AdminRole.MANAGE_CLIENTS)
    await require_may_grant(acting, stores, [part.role.id for part in roles])


def require_rights_of(acting: Acting, roles: EffectiveRoles) -> None:
    """Raise Forbidden where the roles include an administrative role that the caller lacks."""
    if acting.rights.held is not None:
        _require_held(acting, roles)


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
    held = () if acting.caller is None else _held_names(acting)
    return AdministrativeReach(roles=frozenset(held))


def is_above(acting: Acting, roles: EffectiveRoles) -> bool:
    """Return whether the roles include an administrative role that the caller lacks."""
    return acting.rights.held is not None and bool(_lacking_roles(acting, roles))


async def require_may_join(acting: Acting, stores: Stores, group_ids: Iterable[str]) -> None:
    """Raise Forbidden where a group, or one above it, gives a role that the caller lacks."""
    if acting.rights.held is None:
        return
    for group_id in group_ids:
        _require_held(acting, await rights_of_group(acting, stores, group_id))


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
    held = set(_held_names(acting))
    lacking = [
        role.role.id
        for role in await _administrative_roles(acting.realm, stores)
        if not held.issuperset(_administrative_names(acting.realm, rights_of_roles((role,))))
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
    elif is_administrative_role(acting.realm, client_id, name):
        raise Forbidden(f"the role {name} cannot be changed")


def is_administrative_role(realm: Realm, client_id: str | None, name: str) -> bool:
    """Return whether it is an administrative role, or stands beside one in its client."""
    if client_id is None:
        return realm.name == MASTER and name in EVERYWHERE
    return is_administrative_client(realm, client_id)


async def _administrative_roles(realm: Realm, stores: Stores) -> tuple[ListedRole, ...]:
    if realm.name != MASTER:
        client = await stores.clients.find_by_client_id(realm.id, REALM_MANAGEMENT)
        query = RoleQuery(container="-" if client is None else client.id)
        return await stores.role_catalogue.list_roles(realm.id, query)
    every = await stores.role_catalogue.list_roles(realm.id, RoleQuery())
    return tuple(
        role for role in every if any(_administrative_names(realm, rights_of_roles((role,))))
    )


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
    return rights_of_roles(await stores.role_catalogue.list_roles(acting.realm.id, query))


def _require_held(acting: Acting, wanted: EffectiveRoles) -> None:
    lacking = sorted(_lacking_roles(acting, wanted))
    if lacking:
        raise Forbidden(f"the caller does not have {', '.join(lacking)}")


def _lacking_roles(acting: Acting, wanted: EffectiveRoles) -> set[str]:
    return set(_administrative_names(acting.realm, wanted)) - set(_held_names(acting))


def _administrative_names(realm: Realm, roles: EffectiveRoles) -> Iterator[str]:
    """Yield the administrative ones as `name` or `client/name`."""
    in_master = realm.name == MASTER
    for client, name in roles.pairs():
        found = administrative_name(client, name, in_master=in_master)
        if found is not None and (client is None or name in _NAMES):
            yield found


def _held_names(acting: Acting) -> Iterator[str]:
    """Yield the roles that the caller acts with, and the roles that they imply."""
    realm, rights = acting.realm, acting.rights
    client = administration_client(realm.name) if realm.name == MASTER else REALM_MANAGEMENT
    implied = {role for held in rights.roles for role in IMPLIED.get(held, ())}
    yield from (f"{client}/{role}" for role in rights.roles | implied | FREE)
    if realm.name == MASTER:
        yield from _administrative_names(realm, rights.held or EffectiveRoles())
    elif rights.roles == frozenset(AdminRole):
        yield f"{client}/{REALM_ADMIN}"


_NO_ROLES: Final = EffectiveRoles()
_EVERY_MEMBER: Final = 2**31 - 1
_MOST_NAMED: Final = 3
"""Missing roles that a refusal lists."""


async def require_may_control(
    acting: Acting, stores: Stores, *controlled: ControlledObject, lock: bool = False
) -> None:
    """Raise Forbidden where an object has an administrative role that the caller lacks.

    `lock` locks the rows of users and clients until the transaction ends. An object that does not
    exist has no rights: the use case reports it.
    """
    if not controlled or has_every_right(acting):
        return
    for one in controlled:
        if lock:
            await _lock_object(acting, stores, one)
        require_rights_of(acting, await _rights_of(acting, stores, one))


async def may_control_user(acting: Acting, stores: Stores, user_id: str) -> bool:
    """Return whether the caller has every administrative role of a user."""
    try:
        await require_may_control(acting, stores, ControlledObject(ObjectKind.USER, user_id))
    except Forbidden:
        return False
    return True


async def require_may_control_subtree(acting: Acting, stores: Stores, group_id: str) -> None:
    """Raise Forbidden where the group, or one below it, has a role that the caller lacks.

    For operations that move or remove a group with all groups below it.
    """
    await require_may_control(acting, stores, ControlledObject(ObjectKind.GROUP, group_id))
    if has_every_right(acting):
        return
    realm_id, holders = acting.realm.id, set[str]()
    for role_id in await roles_out_of_reach(acting, stores):
        found = await stores.group_catalogue.having_role(realm_id, role_id, 0, _EVERY_MEMBER)
        holders.update(group.id for group in found)
    above = await stores.group_catalogue.with_parents(realm_id, sorted(holders))
    if group_id in {group.id for group in above}:
        raise Forbidden(f"a group below {group_id} has a role that the caller does not have")


def require_rights_of_realm_accounts(acting: Acting, subject: str) -> None:
    """Raise MissingRights unless the caller has every right that an account of the realm can have.

    These are all roles over the realm, and in `master` the role `admin`. `subject` names the
    setting that would be changed; the refusal shows it, with the roles that the caller lacks.
    """
    lacking = missing_rights(acting)
    if lacking:
        raise MissingRights(
            f"{subject} can give the rights of any account of the realm {acting.realm.name}:"
            f" the caller also needs {_named(lacking)}"
        )


def require_rights_over_every_realm(acting: Acting, subject: str) -> None:
    """Raise MissingRights over `master` without its role `admin`; other realms need no more.

    For settings of `master` that count in every realm, or end the access of all administrators.
    `subject` names it; the refusal shows it.
    """
    if acting.realm.name == MASTER and not has_every_right(acting):
        raise MissingRights(
            f"{subject} of the realm {MASTER} counts in every realm: the caller also needs {ADMIN}"
        )


def _named(lacking: Sequence[str]) -> str:
    """Return a few roles by name, and the role that contains them in place of many."""
    return ", ".join(lacking) if len(lacking) <= _MOST_NAMED else REALM_ADMIN


async def require_control_of_request(acting: Acting, database: Database) -> None:
    """Raise Forbidden for a request that controls an object with more rights than the caller."""
    if acting.controls and not has_every_right(acting):
        async with database.read() as stores:
            await require_may_control(acting, stores, *acting.controls)


async def _lock_object(acting: Acting, stores: Stores, controlled: ControlledObject) -> None:
    if controlled.kind is ObjectKind.USER:
        await stores.users.get_for_update(acting.realm.id, controlled.id)
    elif controlled.kind is ObjectKind.CLIENT:
        await stores.clients.get_for_update(acting.realm.id, controlled.id)


async def _rights_of(
    acting: Acting, stores: Stores, controlled: ControlledObject
) -> EffectiveRoles:
    realm_id = acting.realm.id
    match controlled.kind:
        case ObjectKind.USER:
            return await stores.roles.effective(realm_id, controlled.id)
        case ObjectKind.CLIENT:
            held = await stores.clients.account_roles(realm_id, [controlled.id])
            return held.get(controlled.id, _NO_ROLES)
        case ObjectKind.GROUP:
            return await rights_of_group(acting, stores, controlled.id)
        case ObjectKind.ROLE:
            ids = await _role_ids(realm_id, stores, controlled)
            return await stores.roles.expanded(realm_id, ids)
        case _:
            assert_never(controlled.kind)


async def _role_ids(realm_id: str, stores: Stores, controlled: ControlledObject) -> list[str]:
    if not controlled.by_name:
        return [controlled.id]
    found = await stores.role_catalogue.find_by_name(realm_id, controlled.client, controlled.id)
    return [] if found is None else [found.role.id]

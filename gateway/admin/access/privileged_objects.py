"""The one rule for changes to an object that has more administrative rights than the caller.

Only a caller that has all administrative roles of a user, of a client's service account, of a group
or of a role may change that object in any way. Others may read it and end sessions.

The admin API derives the objects from the path (`gateway.http.admin.controlled_paths`). The
endpoint applies the rule before it reads the body, `Changes.begin` again with the rows locked. Use
cases call `require_may_control` for objects that a body or a registration token names.
Keycloak: 9; Keycloak 26.7 lets `manage-users` and `manage-clients` do all of that
"""

from collections.abc import Sequence
from typing import Final, assert_never

from gateway.admin.access.access import Acting, ControlledObject, ObjectKind
from gateway.admin.access.administration_roles import REALM_ADMIN
from gateway.admin.access.errors import Forbidden, MissingRights
from gateway.admin.access.escalation import (
    has_every_right,
    missing_rights,
    require_rights_of,
    rights_of_group,
    roles_out_of_reach,
)
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.roles import EffectiveRoles

_NO_ROLES: Final = EffectiveRoles()
_ALL: Final = 2**31 - 1
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
            await _lock(acting, stores, one)
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
        found = await stores.group_catalogue.having_role(realm_id, role_id, 0, _ALL)
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


def _named(lacking: Sequence[str]) -> str:
    """Return a few roles by name, and the role that contains them in place of many."""
    return ", ".join(lacking) if len(lacking) <= _MOST_NAMED else REALM_ADMIN


class AccountControl:
    """Applies the rule before a request is processed; raises Forbidden."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def require(self, acting: Acting) -> None:
        if acting.controls and not has_every_right(acting):
            async with self._database.read() as stores:
                await require_may_control(acting, stores, *acting.controls)


async def _lock(acting: Acting, stores: Stores, controlled: ControlledObject) -> None:
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

"""The administrators: users of `master` with the role `admin`, directly or by a group."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from gateway.admin.access import ADMIN
from gateway.admin.users import password_expires_at
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import MASTER
from gateway.domain.users import User

_MOST: Final = 100
"""Users and groups that are read: the warnings must not depend on the number of users."""


@dataclass(frozen=True, slots=True)
class Administrator:
    """An administrator, and when the password expires; None: never, or there is none."""

    username: str
    password_expires_at: datetime | None


async def list_administrators(stores: Stores) -> tuple[Administrator, ...]:
    """Return enabled administrators, at most a hundred; members of subgroups are left out."""
    realm = await stores.realms.find_by_name(MASTER)
    if realm is None:
        return ()
    return tuple(
        [
            Administrator(
                user.username,
                password_expires_at(realm, await stores.users.credentials(realm.id, user.id)),
            )
            for user in await _users(stores, realm.id)
            if user.enabled
        ]
    )


async def _users(stores: Stores, realm_id: str) -> list[User]:
    role = await stores.role_catalogue.find_by_name(realm_id, None, ADMIN)
    if role is None:
        return []
    found = {
        user.id: user
        for user in await stores.role_catalogue.users(realm_id, role.role.id, 0, _MOST)
    }
    for group in await stores.group_catalogue.having_role(realm_id, role.role.id, 0, _MOST):
        if len(found) >= _MOST:
            break
        members = await stores.group_catalogue.members(realm_id, group.id, 0, _MOST)
        found |= {user.id: user for user in members}
    return list(found.values())[:_MOST]

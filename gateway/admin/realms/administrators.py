"""The administrators: users of `master` with the role `admin`, directly or by a group.

The first one is created once, and never reset.
Keycloak: KC_BOOTSTRAP_ADMIN_USERNAME, KC_BOOTSTRAP_ADMIN_PASSWORD
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from gateway.admin.access import ADMIN
from gateway.admin.keys import ENCRYPTION_OF_NEW_REALMS, ensure_keys, signing_algorithms
from gateway.admin.realms.defaults import ensure_realm_defaults
from gateway.admin.users import NewUser, password_expires_at, store_new_user
from gateway.authentication.new_users import default_role_ids
from gateway.authentication.passwords import NewPasswords
from gateway.authentication.unique_names import require_free_names
from gateway.domain.clock import Clock
from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.ports.credentials import PasswordHasher
from gateway.domain.ports.signing import KeyFactory
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.realm import MASTER, Realm
from gateway.domain.secrets import Secret
from gateway.domain.users import Credential, User
from gateway.password_policies import NO_BLACKLISTS, PasswordBlacklists, PasswordRefused
from gateway.representations.realms import create_realm
from gateway.representations.roles import RoleName
from gateway.representations.users import parse_user

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


async def ensure_administrator(
    *,
    database: Database,
    keys: KeyFactory,
    passwords: PasswordHasher,
    clock: Clock,
    username: str,
    password: Secret,
    blacklists: PasswordBlacklists = NO_BLACKLISTS,
) -> bool:
    """Add the administrator, and the realm `master`, unless it exists; return True if added.

    An existing user keeps password and roles. Raises InvalidInput for an unusable name, and for a
    password that violates the realm's policy.
    """
    async with database.write() as stores:
        realm = await stores.realms.find_by_name(MASTER)
        if realm is None:
            realm = create_realm({"realm": MASTER, "enabled": True})
            await stores.realms.add(realm)
            await ensure_keys(stores, realm, ENCRYPTION_OF_NEW_REALMS, keys, clock)
        await ensure_keys(stores, realm, signing_algorithms(realm, ()), keys, clock)
        user = parse_user({"username": username, "enabled": True}, realm.id, now=clock.now())
        if await stores.users.find_by_username(realm.id, user.username) is not None:
            return False
        gate = NewPasswords(clock, blacklists)
        credential = await _credential(gate, passwords, realm, user, password)
        roles = await ensure_realm_defaults(stores, realm)
        granted = (
            *await default_role_ids(stores, realm),
            *roles.ids([RoleName(ADMIN)], "roles"),
        )
        names = await require_free_names(stores, realm, user)
        await store_new_user(stores, NewUser(user, (credential,), role_ids=granted), names)
        return True


async def _credential(
    gate: NewPasswords, passwords: PasswordHasher, realm: Realm, user: User, password: Secret
) -> Credential:
    try:
        return await gate.first(passwords, realm, user, password)
    except PasswordRefused as refusal:
        allowed = f"a password that keeps the rules of the realm {MASTER} ({refusal})"
        raise InvalidInput(
            (FieldError("administrator's password", "a hidden value", allowed),)
        ) from refusal

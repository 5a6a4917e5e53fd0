"""The first administrator of the realm `master`: created once, never reset.

Keycloak: KC_BOOTSTRAP_ADMIN_USERNAME, KC_BOOTSTRAP_ADMIN_PASSWORD
"""

from gateway.admin.access import ADMIN
from gateway.admin.keys import ENCRYPTION_OF_NEW_REALMS, ensure_keys, signing_algorithms
from gateway.admin.realms.defaults import ensure_realm_defaults
from gateway.admin.users import NewUser, store_new_user
from gateway.authentication.new_accounts.new_users import default_role_ids
from gateway.authentication.new_passwords import NewPasswords
from gateway.authentication.unique_names import require_free_names
from gateway.domain.clock import Clock
from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.ports.passwords import PasswordHasher
from gateway.domain.ports.signing import KeyFactory
from gateway.domain.ports.storage import Database
from gateway.domain.realm import MASTER, Realm
from gateway.domain.secrets import Secret
from gateway.domain.users import Credential, User
from gateway.policies.candidate import NO_BLACKLISTS, PasswordBlacklists, PasswordRefused
from gateway.representations.realms import create_realm
from gateway.representations.roles import RoleName
from gateway.representations.users import parse_user


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

"""One user with its roles and its lock-out, as `realmgate user show` prints it."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from gateway.admin.access import load_roles
from gateway.admin.users.lockouts import Lockout, Lockouts
from gateway.domain.errors import StoreUnavailable
from gateway.domain.ports.storage import Database
from gateway.domain.realm import Realm
from gateway.domain.roles import EffectiveRoles
from gateway.domain.users import Credential, User
from gateway.representations.roles import RoleName
from gateway.representations.users import PASSWORD


@dataclass(frozen=True, slots=True)
class UserSummary:
    """A user, the roles granted to it directly, all roles that follow, and its failed sign-ins.

    `lockout` is None where Redis is unavailable, `password_expires_at` where there is no password
    or it does not expire.
    """

    user: User
    granted: tuple[RoleName, ...]
    effective: EffectiveRoles
    lockout: Lockout | None
    password_expires_at: datetime | None = None


async def summarize_user(
    database: Database, lockouts: Lockouts, realm: Realm, user: User
) -> UserSummary:
    """Return the summary; raises StoreUnavailable for the database alone."""
    async with database.read() as stores:
        held = await stores.roles.granted(realm.id, user.id)
        effective = await stores.roles.effective(realm.id, user.id)
        roles = await load_roles(stores, realm)
        credentials = await stores.users.credentials(realm.id, user.id)
    try:
        lockout = await lockouts.of_user(realm, user.id)
    except StoreUnavailable as failure:
        if failure.store == "sql":
            raise
        lockout = None
    expires_at = password_expires_at(realm, credentials)
    return UserSummary(user, roles.names_of(held), effective, lockout, expires_at)


def password_expires_at(realm: Realm, credentials: Iterable[Credential]) -> datetime | None:
    """Return when the password among the credentials expires; None where it does not."""
    password = next((one for one in credentials if one.type == PASSWORD), None)
    return None if password is None else realm.password_policy.expires_at(password.created_at)

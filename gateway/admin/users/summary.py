"""One user with its roles and its lock-out, as `realmgate user show` prints it."""

from dataclasses import dataclass

from gateway.admin.access import load_roles
from gateway.admin.users.lockouts import Lockout, Lockouts
from gateway.domain.errors import StoreUnavailable
from gateway.domain.ports.storage import Database
from gateway.domain.realm import Realm
from gateway.domain.roles import EffectiveRoles
from gateway.domain.users import User
from gateway.representations.roles import RoleName


@dataclass(frozen=True, slots=True)
class UserSummary:
    """A user, the roles granted to it directly, all roles that follow, and its failed sign-ins.

    `lockout` is None where Redis is unavailable.
    """

    user: User
    granted: tuple[RoleName, ...]
    effective: EffectiveRoles
    lockout: Lockout | None


async def summarize_user(
    database: Database, lockouts: Lockouts, realm: Realm, user: User
) -> UserSummary:
    """Return the summary; raises StoreUnavailable for the database alone."""
    async with database.read() as stores:
        held = await stores.roles.granted(realm.id, user.id)
        effective = await stores.roles.effective(realm.id, user.id)
        roles = await load_roles(stores, realm)
    try:
        lockout = await lockouts.of_user(realm, user.id)
    except StoreUnavailable as failure:
        if failure.store == "sql":
            raise
        lockout = None
    return UserSummary(user, roles.names_of(held), effective, lockout)

"""The rule for credentials that need no password now: a user who is locked out has none.

Sessions and tokens outlive the failed sign-ins that lock an account out. Keycloak: 4
"""

from datetime import datetime

from gateway.domain.ports.login_failures import LoginFailureStore
from gateway.domain.realm import Realm
from gateway.domain.users import User


async def is_locked_out(
    failures: LoginFailureStore, realm: Realm, user: User, now: datetime
) -> bool:
    """Return whether failed sign-ins have locked the user out; raises StoreUnavailable.

    A service account has no password to be guessed, so it is never locked out.
    """
    if not realm.brute_force.protected or user.service_account_client is not None:
        return False
    return (await failures.record(realm.id, user.id)).is_locked(now)

"""Which required action a user must perform before a sign-in succeeds.

Keycloak: 1.5 (26.7)
"""

from dataclasses import replace
from datetime import datetime

from gateway.authentication.accounts import Account, Accounts
from gateway.authentication.realm_profile import has_complete_profile
from gateway.domain.flows import UPDATE_PASSWORD, VERIFY_EMAIL, VERIFY_PROFILE
from gateway.domain.ports.directory import RealmEntry
from gateway.domain.ports.storage import Database
from gateway.domain.realm import Realm
from gateway.domain.users import Credential, User


class PendingActions:
    """Finds the required action that is next."""

    def __init__(self, database: Database, accounts: Accounts) -> None:
        self._database = database
        self._accounts = accounts

    async def next_of(self, entry: RealmEntry, account: Account, now: datetime) -> str | None:
        """Return the alias of the action, or None.

        Actions that the realm has switched off are required only where an administrator has set
        them for the user.
        """
        user, realm, off = account.user, entry.realm, entry.sign_in.off
        if user is None:
            return None
        if UPDATE_PASSWORD not in off and await self._has_old_password(realm, account, now):
            await self._demand_new_password(realm, user)
            return UPDATE_PASSWORD
        if user.required_actions:
            return user.required_actions[0]
        if realm.login.verify_email and not user.email_verified and VERIFY_EMAIL not in off:
            return VERIFY_EMAIL
        if VERIFY_PROFILE in off or await has_complete_profile(entry, user):
            return None
        return VERIFY_PROFILE

    async def _has_old_password(self, realm: Realm, account: Account, now: datetime) -> bool:
        if realm.password_policy.maximum_age is None:
            return False
        credential = (await self._accounts.with_credentials(account)).password
        return credential is not None and _is_too_old(realm, credential, now)

    async def _demand_new_password(self, realm: Realm, user: User) -> None:
        if UPDATE_PASSWORD in user.required_actions:
            return
        async with self._database.write() as stores:
            known = await stores.users.get_for_update(realm.id, user.id)
            if known is not None and UPDATE_PASSWORD not in known.required_actions:
                actions = (*known.required_actions, UPDATE_PASSWORD)
                await stores.users.replace(replace(known, required_actions=actions))


def _is_too_old(realm: Realm, credential: Credential, now: datetime) -> bool:
    expires_at = realm.password_policy.expires_at(credential.created_at)
    return expires_at is not None and now > expires_at

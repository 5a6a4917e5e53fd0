"""Which required action a user must perform before a sign-in succeeds.

Where the user cannot perform it, as in the password grant, any of them refuses the sign-in.
Keycloak: 1.5, 12.10 (26.7)
"""

from dataclasses import replace
from datetime import datetime
from typing import Final

from gateway.authentication.accounts import Account, Accounts
from gateway.authentication.realm_profile import profile_violations
from gateway.domain.flows import UPDATE_EMAIL, UPDATE_PASSWORD, VERIFY_EMAIL, VERIFY_PROFILE
from gateway.domain.ports.directory import RealmEntry
from gateway.domain.ports.storage import Database
from gateway.domain.realm import Realm
from gateway.domain.users import Credential, User

_LAST: Final = 2**31


class PendingActions:
    """Finds the required action that is next."""

    def __init__(self, database: Database, accounts: Accounts) -> None:
        self._database = database
        self._accounts = accounts

    async def next_of(
        self,
        entry: RealmEntry,
        account: Account,
        now: datetime,
        *,
        scopes: frozenset[str],
        has_pages: bool,
        ignored: frozenset[str] = frozenset(),
    ) -> str | None:
        """Return the alias of the action, or None.

        `scopes` are the client scopes of the sign-in, by which the user profile asks for more.
        With pages, actions count that the realm has and has not switched off. Without pages those
        that an administrator has set for the user count in any case, as in Keycloak. `ignored` are
        those that cannot be performed in this sign-in.
        """
        user, realm, rules = account.user, entry.realm, entry.sign_in
        if user is None:
            return None
        if UPDATE_PASSWORD not in rules.off and await self._has_old_password(realm, account, now):
            user = await self._with_new_password(realm, user)
        # Whether the profile is complete is decided below, as in Keycloak, for each such action.
        left = (alias for alias in user.required_actions if alias not in ignored)
        actions = tuple(alias for alias in left if alias != VERIFY_PROFILE)
        if has_pages:
            known = rules.action_order.keys() - rules.off
            actions = tuple(alias for alias in actions if alias in known)
            if UPDATE_EMAIL in actions or not _has_address_to_verify(user):
                actions = tuple(alias for alias in actions if alias != VERIFY_EMAIL)
        if actions:
            return min(actions, key=lambda alias: (rules.action_order.get(alias, _LAST), alias))
        if VERIFY_EMAIL not in rules.off and _must_verify(realm, user, has_pages=has_pages):
            return VERIFY_EMAIL
        if VERIFY_PROFILE in rules.off or not await profile_violations(entry, user, scopes):
            return None
        return VERIFY_PROFILE

    async def _has_old_password(self, realm: Realm, account: Account, now: datetime) -> bool:
        if realm.password_policy.maximum_age is None:
            return False
        credential = (await self._accounts.with_credentials(account)).password
        return credential is not None and _is_too_old(realm, credential, now)

    async def _with_new_password(self, realm: Realm, user: User) -> User:
        """Return the user who has to change the password, which is stored."""
        if UPDATE_PASSWORD in user.required_actions:
            return user
        due = replace(user, required_actions=(*user.required_actions, UPDATE_PASSWORD))
        async with self._database.write() as stores:
            known = await stores.users.get_for_update(realm.id, user.id)
            if known is not None and UPDATE_PASSWORD not in known.required_actions:
                actions = (*known.required_actions, UPDATE_PASSWORD)
                await stores.users.replace(replace(known, required_actions=actions))
        return due


def _must_verify(realm: Realm, user: User, *, has_pages: bool) -> bool:
    """Tell whether the realm asks for a verified address; on pages only where there is one."""
    if not realm.login.verify_email or user.email_verified:
        return False
    return not has_pages or _has_address_to_verify(user)


def _has_address_to_verify(user: User) -> bool:
    return bool(user.email) and not user.email_verified


def _is_too_old(realm: Realm, credential: Credential, now: datetime) -> bool:
    expires_at = realm.password_policy.expires_at(credential.aged_since)
    return expires_at is not None and now > expires_at

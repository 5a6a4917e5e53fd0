"""New accounts of users who register themselves: bounded in number, and stored at once.

The user gets what every new user gets: the default role, default groups and default actions.
Keycloak: RegistrationUserCreation (26.7)
"""

from dataclasses import replace

from gateway.authentication.accounts import Account
from gateway.authentication.engine.form_action import FormRejected, NewAccount
from gateway.authentication.new_accounts.new_users import (
    NewUser,
    default_actions,
    default_role_ids,
    store_new_users,
)
from gateway.authentication.unique_names import FreeNames, NameTaken, require_free_names
from gateway.domain.authentication import MessageKey
from gateway.domain.events import EventError
from gateway.domain.limits.rate_limits import REGISTRATIONS, caller_of
from gateway.domain.ports.rate_limiter import RateLimiter
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.realm import Realm
from gateway.domain.user_profile.name_keys import name_key
from gateway.domain.users import PRIORITY_STEP, Credential


class Registrations:
    """Stores new accounts."""

    def __init__(self, database: Database, limiter: RateLimiter) -> None:
        self._database = database
        self._limiter = limiter

    async def admit(self, realm_id: str, address: str) -> None:
        """Count a registration; raises FormRejected beyond the limit, and StoreUnavailable.

        Forms that break a rule are not counted: people correct them.
        """
        if not await self._limiter.admit(realm_id, REGISTRATIONS, caller_of(address)):
            message, error = MessageKey.TOO_MANY_REGISTRATIONS, EventError.SLOW_DOWN
            raise FormRejected(message, event_error=error)

    async def store(self, realm: Realm, draft: NewAccount, *, name_first: bool = False) -> Account:
        """Store the account; raises NameTaken and StoreUnavailable.

        With `name_first` a name that is taken comes before an address: whether the address is
        taken as well must not decide about the answer, nor about its time.
        """
        if name_first:
            return await self._store_alike(realm, draft)
        async with self._database.write() as stores:
            names = await require_free_names(stores, realm, draft.user)
            return await _stored(stores, realm, draft, names)

    async def _store_alike(self, realm: Realm, draft: NewAccount) -> Account:
        """Store the account; for an address that is taken do the same work (attacks: D11)."""
        user = draft.user
        async with self._database.write() as stores:
            if user.username != user.email:
                keys = [name_key(name) for name in (user.username, user.email) if name]
                await stores.users.lock_names(realm.id, keys)
                await require_free_names(stores, realm, replace(user, email=None))
            try:
                names = await require_free_names(stores, realm, user)
            except NameTaken as taken:
                refusal = taken
            else:
                return await _stored(stores, realm, draft, names)
            unnamed = replace(user, username=user.id, email=None)
            names = await require_free_names(stores, realm, unnamed)
            await _stored(stores, realm, replace(draft, user=unnamed), names)
            await stores.users.remove(realm.id, user.id)
        raise refusal


async def _stored(stores: Stores, realm: Realm, draft: NewAccount, names: FreeNames) -> Account:
    new = await _new_user(stores, realm, draft)
    await store_new_users(stores, [new], names)
    return Account(new.user, new.credentials, new.user.id)


async def _new_user(stores: Stores, realm: Realm, draft: NewAccount) -> NewUser:
    due = await default_actions(stores, realm.id)
    actions = tuple(alias for alias in due if alias not in draft.performed)
    return NewUser(
        replace(draft.user, required_actions=actions),
        _credentials(draft),
        await default_role_ids(stores, realm),
        tuple(await stores.groups.default(realm.id)),
    )


def _credentials(draft: NewAccount) -> tuple[Credential, ...]:
    if draft.password is None:
        return ()
    return (replace(draft.password.change.current, priority=PRIORITY_STEP),)

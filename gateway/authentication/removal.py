"""Removal of accounts, and of credentials by their users.

Keycloak: UserManager.removeUser, CredentialDeleteHelper (26.7)
"""

from collections.abc import Sequence
from contextlib import suppress
from enum import StrEnum
from typing import Final

from gateway.authentication.account_updates import AccountUpdate
from gateway.authentication.engine.levels import NO_LEVEL, credential_levels
from gateway.authentication.one_time_passwords import OTP
from gateway.authentication.recovery_codes import RECOVERY_CODES
from gateway.domain.errors import RealmgateError, StoreUnavailable
from gateway.domain.flows import SignInRules
from gateway.domain.ports.login_failures import LoginFailureStore
from gateway.domain.ports.sessions import OnlineSessionStore
from gateway.domain.ports.storage import Stores
from gateway.domain.users import PASSWORD, Credential, User
from gateway.domain.web_authn import PASSKEY, SECURITY_KEY


class AccountRemoval:
    """Removes a user with everything that belongs to the account.

    Keycloak: UserManager.removeUser
    """

    def __init__(self, online_sessions: OnlineSessionStore, failures: LoginFailureStore) -> None:
        self._online_sessions = online_sessions
        self._failures = failures

    @staticmethod
    async def remove_account(stores: Stores, user: User) -> None:
        """Remove a user whose row is locked, with its offline sessions and refresh tokens."""
        for session in await stores.offline_sessions.of_user(user.realm_id, user.id):
            await stores.refresh_tokens.end_of_session(user.realm_id, session.id)
        await stores.users.remove_user(user.realm_id, user.id)

    async def end_sessions(self, user: User) -> None:
        """End the online sessions and forget the failures, after the user was removed.

        Where Redis is unavailable they stay: they refer to no user any more, and expire.
        """
        with suppress(StoreUnavailable):
            await self._online_sessions.end_of_user(user.realm_id, user.id)
            await self._failures.clear(user.realm_id, user.id)


_SECOND_FACTORS: Final = frozenset({OTP, RECOVERY_CODES, SECURITY_KEY})
_REMOVABLE: Final = frozenset({*_SECOND_FACTORS, PASSKEY})
"""The password is changed, never deleted."""
_FIRST_FACTORS: Final = frozenset({PASSWORD, PASSKEY})


class CredentialNotFound(RealmgateError):
    """The user has no credential with the id."""


class CredentialNotRemovable(RealmgateError):
    """Credentials of this type are not deleted; the text is Keycloak's."""


class LevelTooLow(RealmgateError):
    """The user has not proven a credential of the level that this one is of."""


class RemovalWarning(StrEnum):
    """The loss that comes with the removal of a credential, as the key of a text."""

    NONE = ""
    LAST_CREDENTIAL = "deleteCredentialLastMessage"
    """Nothing is left to sign in with."""
    LAST_SECOND_FACTOR = "deleteCredentialLastSecondFactorMessage"
    """The password alone protects the account."""


def find_removable_credential(
    rules: SignInRules, held: Sequence[Credential], credential_id: str, level: int
) -> Credential:
    """Return the credential of a user with `held`, who has reached a level of authentication.

    Raises CredentialNotFound, CredentialNotRemovable or LevelTooLow.

    Keycloak: CredentialDeleteHelper (26.7)
    """
    found = next((one for one in held if one.id == credential_id), None)
    if found is None:
        raise CredentialNotFound("Credential not found")
    if found.type not in _REMOVABLE:
        raise CredentialNotRemovable("Credential type cannot be removed")
    levels = {} if rules.browser is None else credential_levels(rules.browser)
    if level < levels.get(found.type, NO_LEVEL):
        raise LevelTooLow(
            f"Insufficient level of authentication for removing credential of type '{found.type}'."
        )
    return found


def removal_warning(held: Sequence[Credential], credential: Credential) -> RemovalWarning:
    """Return the warning to show before one of the credentials `held` is deleted."""
    left = {one.type for one in held if one.id != credential.id}
    if not left & _FIRST_FACTORS:
        return RemovalWarning.LAST_CREDENTIAL
    if credential.type in _SECOND_FACTORS and not left & _SECOND_FACTORS:
        return RemovalWarning.LAST_SECOND_FACTOR
    return RemovalWarning.NONE


async def held_credentials(update: AccountUpdate) -> Sequence[Credential]:
    """Return the credentials of the user whose row is locked."""
    return await update.stores.users.credentials(update.user.realm_id, update.user.id)

"""The check of a recovery code: the next one of the list, which is used up by it.

Of two gateways that are given the same code at once, one finds that the list has changed. The user
who has few codes left has to generate new ones. Keycloak requires that of a user who has none left
and warns in the account console below the threshold.
Keycloak: RecoveryAuthnCodesFormAuthenticator, RecoveryAuthnCodesCredentialProvider (26.7), 16.1
"""

from dataclasses import replace

from gateway.authentication.account_updates import AccountUpdate, AccountUpdates
from gateway.authentication.recovery_codes.credentials import RecoveryCodes
from gateway.domain.flows import CONFIGURE_RECOVERY_CODES, SignInRules
from gateway.domain.ports.directory import RealmEntry
from gateway.domain.realm import Realm
from gateway.domain.secrets import Secret
from gateway.domain.users import Credential, User


class RecoveryCodeCheck:
    """Compares recovery codes, and uses them up."""

    def __init__(self, updates: AccountUpdates) -> None:
        self._updates = updates

    async def use(
        self, entry: RealmEntry, credential: Credential, code: Secret, *, admitted: bool
    ) -> User | None:
        """Return the user as stored after the code was used; None where it is not the next one.

        One that is not `admitted` is compared, not used. Raises StoreUnavailable, or
        SecretUnreadable where the credential cannot be used.
        """
        codes = RecoveryCodes.of(credential)
        if not codes.is_next(code) or not admitted:
            return None
        realm, after = entry.realm, codes.without_next(credential)
        async with self._updates.begin(realm.id, credential.user_id) as update:
            users = update.stores.users
            if not await users.exchange_credential(realm.id, credential, after):
                return None
            left = len(codes.left) - 1
            if not left:
                await users.remove_credential(realm.id, after)
            return await _with_action(update, entry, left)


async def _with_action(update: AccountUpdate, entry: RealmEntry, left: int) -> User:
    """Return the user, who has to generate codes where few are `left`; this is stored."""
    user, actions = update.user, update.user.required_actions
    if left >= codes_threshold(entry.realm, entry.sign_in) or CONFIGURE_RECOVERY_CODES in actions:
        return user
    if not entry.sign_in.offers(CONFIGURE_RECOVERY_CODES):
        return user
    due = replace(user, required_actions=(*actions, CONFIGURE_RECOVERY_CODES))
    await update.replace(due)
    return due


def codes_threshold(realm: Realm, rules: SignInRules) -> int:
    """Return how many codes a user may have left without having to generate new ones."""
    own = rules.recovery_codes_threshold
    return max(1, realm.password_policy.recovery_codes_threshold if own is None else own)

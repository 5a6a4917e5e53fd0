"""New passwords of users, hashed before the transaction: a hash takes long.

The transaction compares what the hash was made for. If another request was faster, all of it is
repeated: no password is overwritten unchecked, and the password history includes it.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from gateway.admin.users.new_passwords import FORMER_PASSWORD, NewPasswords, PasswordChange
from gateway.domain.errors import Overloaded, RealmgateError
from gateway.domain.flows import UPDATE_PASSWORD
from gateway.domain.ports.passwords import PasswordHasher
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import PasswordPolicy, Realm
from gateway.domain.secrets import Secret
from gateway.domain.users import Credential, User
from gateway.representations.users import PASSWORD

_ATTEMPTS: Final = 10
_KINDS: Final = frozenset({PASSWORD, FORMER_PASSWORD})

T = TypeVar("T")


class ChangedMeanwhile(RealmgateError):
    """The state that a change was prepared for has changed."""


@dataclass(frozen=True, slots=True)
class _Basis:
    """What a prepared password depends on."""

    policy: PasswordPolicy
    names: tuple[str, str | None]
    held: frozenset[Credential]


@dataclass(frozen=True, slots=True)
class PreparedPassword:
    """A hashed password that meets the rules, and the state that it was prepared for."""

    change: PasswordChange
    basis: _Basis

    def require_current(self, realm: Realm, user: User, held: Sequence[Credential]) -> None:
        """Raise ChangedMeanwhile where policy, names or stored passwords are other ones now."""
        if _basis(realm, user, held) != self.basis:
            raise ChangedMeanwhile("policy, names or password have changed")


class PasswordChanges:
    """Prepares new passwords, and stores those of existing users."""

    def __init__(self, gate: NewPasswords, hasher: PasswordHasher) -> None:
        self._gate = gate
        self._hasher = hasher

    async def prepare(
        self, realm: Realm, user: User, held: Sequence[Credential], password: Secret
    ) -> PreparedPassword:
        """Return the password for a user with the credentials `held`; raises PasswordRefused."""
        change = await self._gate.changed(self._hasher, realm, user, password, held)
        return PreparedPassword(change, _basis(realm, user, held))

    async def store(
        self, stores: Stores, realm: Realm, user: User, prepared: PreparedPassword
    ) -> None:
        """Store the password of a user whose row is locked; raises ChangedMeanwhile."""
        prepared.require_current(realm, user, await stores.users.credentials(realm.id, user.id))
        for credential in prepared.change.stored:
            await stores.users.set_credential(realm.id, credential)
        for credential in prepared.change.removed:
            await stores.users.remove_credential(realm.id, credential)


def with_update_password(user: User, *, temporary: bool) -> User:
    """Return the user, who has to change the new password if it is `temporary`."""
    others = tuple(name for name in user.required_actions if name != UPDATE_PASSWORD)
    due = (UPDATE_PASSWORD,) if temporary else ()
    return replace(user, required_actions=(*others, *due))


async def until_unchanged(attempt: Callable[[], Awaitable[T]]) -> T:
    """Return the result of `attempt`, repeated while others are faster; raises Overloaded."""
    for _ in range(_ATTEMPTS):
        try:
            return await attempt()
        except ChangedMeanwhile:
            continue
    raise Overloaded


def _basis(realm: Realm, user: User, held: Sequence[Credential]) -> _Basis:
    passwords = frozenset(one for one in held if one.type in _KINDS)
    return _Basis(realm.password_policy, (user.username, user.email), passwords)

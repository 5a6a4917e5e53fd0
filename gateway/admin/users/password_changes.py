"""Setting the password of a user that there is: the slow part before the transaction.

A hash takes long, and nobody waits for it with the user locked. So what it was made for is
compared within the transaction, and where somebody was faster all of it is done again: nobody's
password is overwritten unseen, and the rules look back on it.
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
    """What a change was prepared for is not there any more."""


@dataclass(frozen=True, slots=True)
class _Basis:
    """What a prepared password depends on."""

    policy: PasswordPolicy
    names: tuple[str, str | None]
    held: frozenset[Credential]


@dataclass(frozen=True, slots=True)
class PreparedPassword:
    """A password that keeps the rules, hashed."""

    change: PasswordChange
    basis: _Basis


class PasswordChanges:
    """Prepares new passwords, and stores them."""

    def __init__(self, gate: NewPasswords, hasher: PasswordHasher) -> None:
        self._gate = gate
        self._hasher = hasher

    async def prepare(
        self, realm: Realm, user: User, held: Sequence[Credential], password: Secret
    ) -> PreparedPassword:
        """Return the password ready to be stored; raises PasswordRefused.

        `held` are the credentials that the user has now.
        """
        change = await self._gate.changed(self._hasher, realm, user, password, held)
        return PreparedPassword(change, _basis(realm, user, held))

    async def store(
        self, stores: Stores, realm: Realm, user: User, prepared: PreparedPassword
    ) -> None:
        """Store the password of a user whom nobody else changes now; raises ChangedMeanwhile."""
        held = await stores.users.credentials(realm.id, user.id)
        if _basis(realm, user, held) != prepared.basis:
            raise ChangedMeanwhile("the password was changed by somebody else")
        for credential in prepared.change.stored:
            await stores.users.set_credential(realm.id, credential)
        for credential in prepared.change.forgotten:
            await stores.users.remove_credential(realm.id, credential)


def told_to_change(user: User, *, temporary: bool) -> User:
    """Return the user with a new password, which is to be changed if it is `temporary`."""
    others = tuple(name for name in user.required_actions if name != UPDATE_PASSWORD)
    due = (UPDATE_PASSWORD,) if temporary else ()
    return replace(user, required_actions=(*others, *due))


async def until_unchanged(attempt: Callable[[], Awaitable[T]]) -> T:
    """Return what `attempt` gives, tried again while somebody else is faster; raises Overloaded."""
    for _ in range(_ATTEMPTS):
        try:
            return await attempt()
        except ChangedMeanwhile:
            continue
    raise Overloaded


def _basis(realm: Realm, user: User, held: Sequence[Credential]) -> _Basis:
    passwords = frozenset(one for one in held if one.type in _KINDS)
    return _Basis(realm.password_policy, (user.username, user.email), passwords)

"""The rule that user names and e-mail addresses are unique in a realm, look-alikes included.

Every way to set a name or an address passes here: registration, required actions, links, the
account API, the admin API, imports, the CLI, and the service accounts of clients. Names are
compared by their keys (`name_key`). Where users sign in by e-mail address, it is looked up like a
name: a name that is the address of another user is taken, and vice versa.
Keycloak: the checks of UserProfile for duplicates
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from gateway.domain.errors import AlreadyExists
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import LoginSettings, Realm
from gateway.domain.unique_names import is_plainly_written, name_key
from gateway.domain.user_profile import EMAIL, USERNAME, Violation
from gateway.domain.users import SERVICE_ACCOUNT_PREFIX, User

_TEXTS: Final[Mapping[str, str]] = {
    USERNAME: "User exists with same username",
    EMAIL: "User exists with same email",
}
_NO_NAME: Final = "error-username-invalid-character"
_NO_EMAIL: Final = "error-invalid-email"


class NameTaken(AlreadyExists):
    """Another user has the value of `attribute`, or a look-alike: username or email."""

    def __init__(self, attribute: str) -> None:
        super().__init__(_TEXTS[attribute])
        self.attribute = attribute


@dataclass(frozen=True, slots=True)
class FreeNames:
    """Names of new users that are reserved until the end of the transaction.

    Only this module makes values of the class; storing a new user requires one.
    """

    names: frozenset[tuple[str, str, str | None]] = field(repr=False)
    """Id, user name and address of each user."""

    def require(self, user: User) -> None:
        """Raise ValueError for a user whose names were not checked."""
        if _names_of(user) not in self.names:
            raise ValueError("the names of a new user were not checked")


def named_by_address(login: LoginSettings, user: User) -> User:
    """Return the user named by the address, where the realm has `registrationEmailAsUsername`.

    Every way to set a name or an address passes here. A user without an address and a service
    account keep their names. Keycloak: 17.2 profile (26.7: each change of a user, measured)
    """
    if not login.registration_email_as_username or not user.email:
        return user
    return user if user.service_account_client else replace(user, username=user.email)


async def require_free_names(
    stores: Stores, realm: Realm, user: User, before: User | None = None
) -> FreeNames:
    """Raise NameTaken if another user has the name or the address, or a look-alike.

    What an existing user had `before` is not checked: the realm may have allowed shared addresses
    at that time. In a transaction that writes, the names stay reserved until its end.
    """
    name = user.username if before is None or user.username != before.username else None
    address = user.email if before is None or user.email != before.email else None
    if realm.login.duplicate_emails_allowed:
        address = None
    name, address = (name_key(text) if text else None for text in (name, address))
    await stores.users.lock_names(realm.id, [text for text in (name, address) if text])
    if name or address:
        holding = await stores.users.holding(realm.id, *_sought(realm, name, address))
        _Taken(realm, [other for other in holding if other.id != user.id]).require(name, address)
    return FreeNames(frozenset({_names_of(user)}))


async def require_all_free_names(stores: Stores, realm: Realm, users: Sequence[User]) -> FreeNames:
    """Raise NameTaken if two of the new users, or one of them and another user, look alike."""
    named = [(user, *_keys_of(realm, user)) for user in users]
    keys = {key for _, name, address in named for key in (name, address) if key}
    await stores.users.lock_names(realm.id, keys)
    taken = _Taken(realm, await stores.users.with_keys(realm.id, keys))
    for user, name, address in named:
        taken.require(name, address)
        taken.add(user)
    return FreeNames(frozenset(map(_names_of, users)))


def expect_free_names(
    stores: Stores, realm: Realm, username: str | None, email: str | None
) -> None:
    """Read what `require_free_names` will, together with the next statement of the transaction."""
    address = None if realm.login.duplicate_emails_allowed else email
    name, address = (name_key(text) if text else None for text in (username, address))
    stores.users.expect_holding(realm.id, *_sought(realm, name, address))


def own_name_violations(
    realm: Realm, after: User, before: User, *, is_new: bool = False
) -> tuple[Violation, ...]:
    """Return the violations of a name and an address that users choose themselves.

    A name is not the address of another person, whether an account has it or not: it signs in the
    owner of the address, now or later. Nor is it one that service accounts have: services know
    clients by it. Neither is written so that applications take it for another one: in another form
    than NFKC, or with characters that are not displayed. RFC 8265 §3.3
    """
    found = []
    if after.username != before.username:
        is_plain = is_plainly_written(after.username)
        is_of_client = name_key(after.username).startswith(SERVICE_ACCOUNT_PREFIX)
        if not is_plain or is_of_client or not _is_own_address(realm, after, is_new=is_new):
            found.append(Violation(USERNAME, _NO_NAME, (USERNAME,)))
    if after.email and after.email != before.email and not is_plainly_written(after.email):
        found.append(Violation(EMAIL, _NO_EMAIL, (after.email,)))
    return tuple(found)


def _is_own_address(realm: Realm, user: User, *, is_new: bool) -> bool:
    """Tell whether a name may be this address; a new user verifies it before the sign-in."""
    login, name = realm.login, user.username
    if "@" not in name or not login.login_with_email_allowed:
        return True
    if login.registration_email_as_username:
        return True
    is_proven = is_new or user.email_verified or not login.verify_email
    return name == user.email and is_proven


class _Taken:
    """The keys of other users."""

    def __init__(self, realm: Realm, others: Sequence[User]) -> None:
        self._by_address = _signs_in_by_address(realm)
        self._names: set[str] = set()
        self._addresses: set[str] = set()
        for other in others:
            self.add(other)

    def add(self, user: User) -> None:
        self._names.add(name_key(user.username))
        if user.email:
            self._addresses.add(name_key(user.email))

    def require(self, name: str | None, address: str | None) -> None:
        """Raise NameTaken for keys that another user has."""
        if address and (address in self._names or address in self._addresses):
            raise NameTaken(EMAIL)
        if name and (name in self._names or (self._by_address and name in self._addresses)):
            raise NameTaken(USERNAME)


def _keys_of(realm: Realm, user: User) -> tuple[str, str | None]:
    has_address = user.email and not realm.login.duplicate_emails_allowed
    return name_key(user.username), name_key(user.email or "") if has_address else None


def _names_of(user: User) -> tuple[str, str, str | None]:
    return user.id, user.username, user.email


def _sought(
    realm: Realm, name: str | None, address: str | None
) -> tuple[tuple[str, str], tuple[str, str]]:
    """Return the keys of user names and of addresses that no other user may have."""
    by_address = _signs_in_by_address(realm)
    return (name or "", address or ""), (address or "", (name or "") if by_address else "")


def _signs_in_by_address(realm: Realm) -> bool:
    login = realm.login
    return login.login_with_email_allowed and not login.duplicate_emails_allowed

"""Storing new users, the one place where users are added, and the rule of unique names.

Where users sign in by e-mail address, it is looked up like a name: a name that is the address of
another user is taken, and vice versa. Keycloak: the checks of UserProfile for duplicates
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from gateway.domain.errors import AlreadyExists
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm
from gateway.domain.users import Credential, User

_NAME: Final = "User exists with same username"
_ADDRESS: Final = "User exists with same email"


@dataclass(frozen=True, slots=True)
class NewUser:
    """A user with its hashed credentials, and the ids of the roles and groups that it gets."""

    user: User
    credentials: tuple[Credential, ...] = field(default=(), repr=False)
    role_ids: tuple[str, ...] = ()
    group_ids: tuple[str, ...] = ()
    path: str = ""
    """Its place in a file, for errors."""


async def store_new_user(stores: Stores, new: NewUser) -> None:
    """Store one user; raises AlreadyExists."""
    await stores.users.add(new.user)
    for credential in new.credentials:
        await stores.users.set_credential(new.user.realm_id, credential)
    await _grant_and_join(stores, [new])


async def store_new_users(stores: Stores, users: Sequence[NewUser]) -> None:
    """Store any number of users of one realm with four statements; raises AlreadyExists."""
    held = [credential for new in users for credential in new.credentials]
    await stores.users.add_all([new.user for new in users], held)
    await _grant_and_join(stores, users)


async def _grant_and_join(stores: Stores, users: Sequence[NewUser]) -> None:
    realm_id = users[0].user.realm_id
    grants = [(new.user.id, role) for new in users for role in new.role_ids]
    await stores.roles.grant_all(realm_id, grants)
    members = [(new.user.id, group) for new in users for group in new.group_ids]
    await stores.groups.join_all(realm_id, members)


async def require_free_names(
    stores: Stores, realm: Realm, user: User, before: User | None = None
) -> None:
    """Raise AlreadyExists if another user has the name or the address.

    What an existing user had `before` is not checked: the realm may have allowed shared addresses
    at that time. In a transaction that writes, the names stay reserved until its end.
    """
    name = user.username if before is None or user.username != before.username else None
    address = user.email if before is None or user.email != before.email else None
    if realm.login.duplicate_emails_allowed:
        address = None
    await stores.users.lock_names(realm.id, [text for text in (name, address) if text])
    if not name and not address:
        return
    by_address = _signs_in_by_address(realm)
    holding = await stores.users.holding(realm.id, *_sought(realm, name, address))
    others = [other for other in holding if other.id != user.id]
    if address and any(address in {other.username, other.email} for other in others):
        raise AlreadyExists(_ADDRESS)
    if name and any(
        name == other.username or (by_address and name == other.email) for other in others
    ):
        raise AlreadyExists(_NAME)


def expect_free_names(
    stores: Stores, realm: Realm, username: str | None, email: str | None
) -> None:
    """Read what `require_free_names` will, together with the next statement of the transaction."""
    address = None if realm.login.duplicate_emails_allowed else email
    stores.users.expect_holding(realm.id, *_sought(realm, username, address))


def _sought(
    realm: Realm, name: str | None, address: str | None
) -> tuple[tuple[str, str], tuple[str, str]]:
    """Return the user names and the addresses that no other user may have."""
    by_address = _signs_in_by_address(realm)
    return (name or "", address or ""), (address or "", (name or "") if by_address else "")


def _signs_in_by_address(realm: Realm) -> bool:
    login = realm.login
    return login.login_with_email_allowed and not login.duplicate_emails_allowed

"""The rule that user names and e-mail addresses are unique in a realm.

Where users sign in by e-mail address, it is looked up like a name: a name that is the address of
another user is taken, and vice versa. Keycloak: the checks of UserProfile for duplicates
"""

from collections.abc import Mapping
from typing import Final

from gateway.domain.errors import AlreadyExists
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm
from gateway.domain.user_profile.profile import EMAIL, USERNAME
from gateway.domain.users import User

_TEXTS: Final[Mapping[str, str]] = {
    USERNAME: "User exists with same username",
    EMAIL: "User exists with same email",
}


class NameTaken(AlreadyExists):
    """Another user has the value of `attribute`: username or email."""

    def __init__(self, attribute: str) -> None:
        super().__init__(_TEXTS[attribute])
        self.attribute = attribute


async def require_free_names(
    stores: Stores, realm: Realm, user: User, before: User | None = None
) -> None:
    """Raise NameTaken if another user has the name or the address.

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
        raise NameTaken(EMAIL)
    if name and any(
        name == other.username or (by_address and name == other.email) for other in others
    ):
        raise NameTaken(USERNAME)


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

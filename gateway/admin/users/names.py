"""Unique names and addresses of users.

Where users sign in by e-mail address, it is looked up like a name: a name that is the address of
another user is taken, and vice versa. Keycloak: the checks of UserProfile for duplicates
"""

from typing import Final

from gateway.domain.errors import AlreadyExists
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm
from gateway.domain.users import User

_NAME: Final = "User exists with same username"
_ADDRESS: Final = "User exists with same email"


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
    await stores.users.hold_names(realm.id, [text for text in (name, address) if text])
    if address and await _is_taken(stores, user, address, by_address=True):
        raise AlreadyExists(_ADDRESS)
    if name and await _is_taken(stores, user, name, by_address=_signs_in_by_address(realm)):
        raise AlreadyExists(_NAME)


async def _is_taken(stores: Stores, user: User, text: str, *, by_address: bool) -> bool:
    found = [await stores.users.find_by_username(user.realm_id, text)]
    if by_address:
        found.append(await stores.users.find_by_email(user.realm_id, text))
    return any(other is not None and other.id != user.id for other in found)


def _signs_in_by_address(realm: Realm) -> bool:
    login = realm.login
    return login.login_with_email_allowed and not login.duplicate_emails_allowed

"""No two users of a realm share a name or an address, however they come to it.

Who may sign in by address is found by it as by a name: so a name that is another's address is
taken, and an address that is another's name. Keycloak: the checks of UserProfile for duplicates
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
    """Raise AlreadyExists where somebody else has the name or the address.

    Of a user that there is already, what it had `before` is not looked at: an address may have
    been shared when the realm still allowed it. Within a transaction that may write nobody else
    takes them until its end.
    """
    name = user.username if before is None or user.username != before.username else None
    address = user.email if before is None or user.email != before.email else None
    if realm.login.duplicate_emails_allowed:
        address = None
    await stores.users.lock_names(realm.id, [text for text in (name, address) if text])
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

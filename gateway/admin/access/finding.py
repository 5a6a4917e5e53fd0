"""What an operator names: a realm by its name, a user by username or id."""

from gateway.domain.errors import FieldError, InvalidInput, RealmNotFound
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm
from gateway.domain.users import User, canonical_name
from gateway.representations.refusals import describe


async def find_realm(stores: Stores, name: str) -> Realm:
    """Return the realm; raises RealmNotFound."""
    return _found(await stores.realms.find_by_name(name), name)


async def find_realm_alone(stores: Stores, name: str) -> Realm:
    """Return the same, and let nobody else change the realm until the transaction ends."""
    return _found(await stores.realms.find_alone(name), name)


def _found(realm: Realm | None, name: str) -> Realm:
    if realm is None:
        raise RealmNotFound(f"there is no realm {name!r}")
    return realm


async def find_user(stores: Stores, realm: Realm, name: str) -> User:
    """Return the user of that name, or with that id; raises InvalidInput."""
    user = await stores.users.find_by_username(realm.id, canonical_name(name))
    user = user or await stores.users.find_by_id(realm.id, name)
    if user is None:
        raise _no_user(realm, name)
    return user


async def find_user_alone(stores: Stores, realm: Realm, name: str) -> User:
    """Return the same, and let nobody else change the user until the transaction ends."""
    found = await find_user(stores, realm, name)
    user = await stores.users.find_alone(realm.id, found.id)
    if user is None:
        raise _no_user(realm, name)
    return user


def _no_user(realm: Realm, name: str) -> InvalidInput:
    allowed = f"the name or id of a user of the realm {realm.name}"
    return InvalidInput((FieldError("user", describe(name), allowed),))

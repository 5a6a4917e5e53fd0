"""Objects that a caller asks for, and pages of listings."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from gateway.domain.clients import Client
from gateway.domain.errors import FieldError, InvalidInput, RealmNotFound
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm
from gateway.domain.refusals import NotFound, TooMany
from gateway.domain.users import User, canonical_name
from gateway.representations.refusals import describe

T = TypeVar("T")


def existing(found: T | None, missing: str) -> T:
    """Return the found object; raises NotFound with the text `missing` for None."""
    if found is None:
        raise NotFound(missing)
    return found


async def find_realm(stores: Stores, name: str) -> Realm:
    """Return the realm; raises RealmNotFound."""
    realm = await stores.realms.find_by_name(name)
    if realm is None:
        raise RealmNotFound(f"there is no realm {name!r}")
    return realm


async def get_user(stores: Stores, realm_id: str, user_id: str) -> User:
    """Return the user with that id; raises NotFound."""
    return existing(await stores.users.find_by_id(realm_id, user_id), "User not found")


async def get_user_for_update(stores: Stores, realm_id: str, user_id: str) -> User:
    """Return the user, locked until the transaction ends; raises NotFound."""
    return existing(await stores.users.get_for_update(realm_id, user_id), "User not found")


async def find_user(stores: Stores, realm: Realm, name: str) -> User:
    """Return the user of that name, or with that id; raises InvalidInput."""
    user = await stores.users.find_by_username(realm.id, canonical_name(name))
    user = user or await stores.users.find_by_id(realm.id, name)
    if user is None:
        raise _unknown("user", name, realm, "name or id")
    return user


async def find_client_by_name(stores: Stores, realm: Realm, client_id: str) -> Client:
    """Return the client with that public name; raises InvalidInput."""
    client = await stores.clients.find_by_client_id(realm.id, client_id)
    if client is None:
        raise _unknown("client", client_id, realm, "client id")
    return client


def _unknown(what: str, name: str, realm: Realm, key: str) -> InvalidInput:
    given, allowed = describe(name), f"a {what} of the realm {realm.name}"
    sentence = f"there is no {what} with the {key} {given} in the realm {realm.name}"
    return InvalidInput((FieldError(what, given, allowed, sentence=sentence),))


LARGEST_ANSWER: Final = 10_000
"""How many objects one answer may hold."""


@dataclass(frozen=True, slots=True)
class ListingPage:
    """A part of a listing; `maximum` None asks for all of it."""

    first: int = 0
    maximum: int | None = 100

    @property
    def limit(self) -> int:
        """How many objects to read: one more than an answer may hold shows that there are more."""
        most = LARGEST_ANSWER + 1
        return most if self.maximum is None else min(self.maximum, most)


def require_one_answer(found: Sequence[object], what: str) -> None:
    """Raise TooMany where there are more objects than one answer may hold."""
    if len(found) > LARGEST_ANSWER:
        raise TooMany(f"More than {LARGEST_ANSWER} {what}: ask page by page, with first and max")

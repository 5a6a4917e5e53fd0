"""Users whose names or addresses look alike: an earlier version accepted them.

All of them keep their names and sign in by them, spelled exactly. Another spelling finds the user
who has the key of the name, which is the oldest one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from gateway.domain.ports.storage import Database, Stores
from gateway.domain.user_profile.name_keys import name_key
from gateway.domain.users import User

_MOST: Final = 1_000
"""Users that one transaction looks at."""
REMEDY: Final = "rename one of them, or delete the account that is not used"


@dataclass(frozen=True, slots=True)
class LookAlike:
    """Two users of a realm; `field` is username or email, the texts are those of the users."""

    realm_id: str
    field: str
    first: str
    second: str


async def store_missing_keys(database: Database, at_once: int = _MOST) -> tuple[LookAlike, ...]:
    """Store the keys of names that an earlier version stored; return the names that look alike.

    The previous version stores users without keys while gateways are upgraded one by one. One
    transaction looks at `at_once` users. Raises StoreUnavailable.
    """
    async with database.read() as stores:
        if not await stores.users.without_key(1):
            return ()
    found: list[LookAlike] = []
    last: User | None = None
    while True:
        async with database.write() as stores:
            page = await stores.users.without_key(at_once, after=last)
            for user in page:
                other = await _user_with_key(stores, user)
                if other is None:
                    await stores.users.replace(user)
                else:
                    found.append(_pair_of_names(other, user))
        if len(page) < at_once:
            return tuple(found)
        last = page[-1]


async def list_look_alikes(stores: Stores) -> tuple[LookAlike, ...]:
    """Return names, and addresses where a realm has each address once, that look alike."""
    found = []
    for user in await stores.users.without_key(_MOST):
        other = await _user_with_key(stores, user)
        if other is not None:
            found.append(_pair_of_names(other, user))
    for realm in await stores.realms.list():
        if not realm.login.duplicate_emails_allowed:
            users = await stores.users.with_repeated_addresses(realm.id, _MOST)
            found.extend(_pairs(realm.id, users))
    return tuple(found)


def _pair_of_names(first: User, second: User) -> LookAlike:
    return LookAlike(second.realm_id, "username", first.username, second.username)


async def _user_with_key(stores: Stores, user: User) -> User | None:
    key = name_key(user.username)
    others = await stores.users.with_keys(user.realm_id, [key])
    named = (other for other in others if name_key(other.username) == key)
    return next((other for other in named if other.id != user.id), None)


def _pairs(realm_id: str, users: Sequence[User]) -> list[LookAlike]:
    """Return each user beside the one before, in the order of the keys."""
    return [
        LookAlike(realm_id, "email", first.email or "", second.email or "")
        for first, second in pairwise(users)
        if name_key(first.email or "") == name_key(second.email or "")
    ]

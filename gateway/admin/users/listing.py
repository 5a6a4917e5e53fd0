"""Finding users of a realm, as much of them as the caller may see.

Keycloak: GET users, GET users/count, GET users/{id}
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

from gateway.admin.access import (
    AdminRole,
    Page,
    Rights,
    TooMany,
    get_user,
    require_one_answer,
)
from gateway.admin.users.views import (
    VIEW_USERS,
    listed_users,
    unmanaged_attributes,
    user_document,
    user_metadata,
)
from gateway.authentication.realm_profile import profile_rules
from gateway.domain.errors import InvalidInput
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.realm import Realm
from gateway.domain.users import User, UserQuery, sought_name

QUERY_USERS: Final = (AdminRole.QUERY_USERS, *VIEW_USERS)
_BY_ID: Final = "id:"
_MOST_IDS: Final = 100


class UserListing:
    """Reads users for administrators. All methods raise Forbidden and StoreUnavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(
        self, realm: Realm, rights: Rights, query: UserQuery, page: Page, *, brief: bool
    ) -> list[dict[str, Any]]:
        """Return the users of the page; raises TooMany, also for a search that costs too much.

        A caller that may only query users sees none: each of them takes the right to view it.
        """
        rights.require(*QUERY_USERS)
        if not rights.has(*VIEW_USERS):
            return []
        async with self._database.read() as stores:
            with _costly_refused():
                users = await _matching(stores, realm, query, page.first, page.limit)
            shown = await shown_users(stores, realm, users, brief=brief)
            access = {"manage": rights.has(AdminRole.MANAGE_USERS)}
            return [{**user, "access": access} for user in shown]

    async def users(
        self, realm: Realm, query: UserQuery, first: int, maximum: int
    ) -> tuple[User, ...]:
        """Return the users of a page as values; raises InvalidInput for a search that is costly."""
        async with self._database.read() as stores:
            return await _matching(stores, realm, query, first, maximum)

    async def count(self, realm: Realm, rights: Rights, query: UserQuery) -> int:
        """Return how many users match, of those the caller may view; raises TooMany as `page`."""
        rights.require(*QUERY_USERS)
        if not rights.has(*VIEW_USERS):
            return 0
        async with self._database.read() as stores:
            if query.search is not None and query.search.startswith(_BY_ID):
                return len(await _by_id(stores, realm, query.search))
            account = await _service_account(stores, realm, query)
            with _costly_refused():
                return len(account) + await stores.users.count(realm.id, query)

    async def one(self, realm: Realm, rights: Rights, user_id: str) -> dict[str, Any]:
        """Return the user; raises Missing for callers that may query users."""
        rights.require(*QUERY_USERS)
        async with self._database.read() as stores:
            user = await get_user(stores, realm.id, user_id)
            rights.require(*VIEW_USERS)
            return await user_document(stores, realm, rights, user)

    async def metadata(self, realm: Realm) -> dict[str, Any]:
        """Return the profile metadata of existing users."""
        async with self._database.read() as stores:
            return await user_metadata(stores, realm)

    async def unmanaged(self, realm: Realm, user_id: str) -> dict[str, list[str]]:
        """Return the attributes that the profile does not name but shows."""
        async with self._database.read() as stores:
            user = await get_user(stores, realm.id, user_id)
            return unmanaged_attributes(await profile_rules(stores, realm), user)


async def shown_users(
    stores: Stores, realm: Realm, users: Sequence[User], *, brief: bool
) -> list[dict[str, Any]]:
    """Return users as lists show them; raises TooMany for more than one answer may hold."""
    require_one_answer(users, "users")
    return await listed_users(stores, realm, users, brief=brief)


def read_attribute_query(text: str) -> Mapping[str, str]:
    """Return the values of `name:value "other name":"other value"` by name; the first wins."""
    found: dict[str, str] = {}
    for quoted_name, name, quoted_value, value in _PAIR.findall(text):
        found.setdefault(quoted_name or name, quoted_value or value)
    return found


# A name is matched only at its beginning, or a long one without a value would be tried from each of
# its characters.
_PAIR: Final = re.compile(r'(?:"([^"]+)"|(?<![^\s:"])([^\s:"]+)):(?:"([^"]*)"|(\S+))')


@contextmanager
def _costly_refused() -> Iterator[None]:
    """Raise TooMany for a search that costs too much."""
    try:
        yield
    except InvalidInput as error:
        raise TooMany(str(error)) from error


async def _matching(
    stores: Stores, realm: Realm, query: UserQuery, first: int, maximum: int
) -> tuple[User, ...]:
    if query.search is not None and query.search.startswith(_BY_ID):
        return (await _by_id(stores, realm, query.search))[first : first + maximum]
    # The exact name sorts before all longer names that contain it.
    account = await _service_account(stores, realm, query)
    shown = account[first : first + maximum]
    rest = max(first - len(account), 0)
    return shown + await stores.users.search(realm.id, query, rest, maximum - len(shown))


async def _service_account(stores: Stores, realm: Realm, query: UserQuery) -> tuple[User, ...]:
    """Return the service account of the exact user name; no other search finds one."""
    if query.username is None or replace(query, exact=False) != UserQuery(username=query.username):
        return ()
    user = await stores.users.find_by_username(realm.id, sought_name(query.username))
    return () if user is None or user.service_account_client is None else (user,)


async def _by_id(stores: Stores, realm: Realm, search: str) -> tuple[User, ...]:
    ids = dict.fromkeys(search.removeprefix(_BY_ID).split())
    if len(ids) > _MOST_IDS:
        raise TooMany(f"More than {_MOST_IDS} ids")
    found = [await stores.users.find_by_id(realm.id, user_id) for user_id in ids]
    return tuple(user for user in found if user is not None)

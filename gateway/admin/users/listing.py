"""Users as administrators see them, with the attributes that the profile of the realm shows.

If-Match of a change names the digest of `user_document`.

An earlier version accepted users whose names or addresses look alike. All of them keep their names
and sign in by them, spelled exactly. Another spelling finds the user who has the key of the name,
which is the oldest one. Keycloak: GET users, GET users/count, GET users/{id}
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise
from typing import Any, Final

from gateway.admin.access import (
    AdminRole,
    ListingPage,
    Rights,
    get_user,
    load_roles,
    require_one_answer,
)
from gateway.admin.changes import Administration
from gateway.admin.users.lockouts import Lockouts, UserLockout
from gateway.authentication.accounts import Account
from gateway.authentication.brute_force_protection import LOCKOUT_ATTRIBUTE
from gateway.authentication.realm_profile import (
    expect_profile,
    profile_document,
    profile_rules,
    rules_in,
)
from gateway.authentication.sign_in_obstacles import SignInObstacle, list_sign_in_obstacles
from gateway.authentication.unique_names import named_by_address
from gateway.domain.errors import InvalidInput, StoreUnavailable
from gateway.domain.limits.input_sizes import in_slices
from gateway.domain.ports.login_failures import LoginFailures
from gateway.domain.ports.lookups import RealmEntry
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.realm import Realm
from gateway.domain.refusals import TooMany
from gateway.domain.roles import EffectiveRoles
from gateway.domain.unique_names import name_key
from gateway.domain.user_profile import UserProfile, Viewer
from gateway.domain.users import PASSWORD, Credential, User, UserQuery, sought_name
from gateway.representations.roles import RoleName
from gateway.representations.user_profile import render_metadata
from gateway.representations.users import brief_user, full_user

VIEW_USERS: Final = (AdminRole.VIEW_USERS, AdminRole.MANAGE_USERS)
_ONE_TIME_PASSWORD: Final = "otp"  # noqa: S105 - the type of a credential
QUERY_USERS: Final = (AdminRole.QUERY_USERS, *VIEW_USERS)
_BY_ID: Final = "id:"
_MOST_IDS: Final = 100
# A name is matched only at its beginning, or a long one without a value would be tried from each of
# its characters.
_PAIR: Final = re.compile(r'(?:"([^"]+)"|(?<![^\s:"])([^\s:"]+)):(?:"([^"]*)"|(\S+))')


async def user_document(stores: Stores, realm: Realm, rights: Rights, user: User) -> dict[str, Any]:
    """Return one user, with the caller's rights over it."""
    rules = await profile_rules(stores, realm)
    with_otp = await _having_otp(stores, realm, [user])
    document = full_user(_seen(realm, rules, user), totp=bool(with_otp))
    return {**document, "access": _access(rights)}


async def shown_users(
    stores: Stores, realm: Realm, users: Sequence[User], *, brief: bool
) -> list[dict[str, Any]]:
    """Return users as lists show them; raises TooMany for more than one answer may hold."""
    require_one_answer(users, "users")
    rules = await profile_rules(stores, realm)
    if brief:
        return [
            brief_user(_with_shown_names(realm, rules, user)) async for user in in_slices(users)
        ]
    with_otp = await _having_otp(stores, realm, users)
    return [
        full_user(_seen(realm, rules, user), totp=user.id in with_otp)
        async for user in in_slices(users)
    ]


def _seen(realm: Realm, rules: UserProfile, user: User) -> User:
    """Return the user with those of its attributes that an administrator sees.

    A first or last name that the profile does not show is stored and found all the same.
    The reason of a permanent lock-out is shown whatever the profile says, as in Keycloak.
    """
    user = _with_shown_names(realm, rules, user)
    if not user.attributes:
        return user
    shown = dict(rules.shown(user.attributes, Viewer.ADMIN))
    reason = user.attributes.get(LOCKOUT_ATTRIBUTE)
    return replace(
        user, attributes=shown if reason is None else {**shown, LOCKOUT_ATTRIBUTE: reason}
    )


def _with_shown_names(realm: Realm, rules: UserProfile, user: User) -> User:
    """Return the user with the names that are displayed, which are not always the stored ones."""
    user = named_by_address(realm.login, user)
    first, last = (rules.shows(name, Viewer.ADMIN) for name in ("firstName", "lastName"))
    if first and last:
        return user
    return replace(
        user,
        first_name=user.first_name if first else None,
        last_name=user.last_name if last else None,
    )


async def _having_otp(stores: Stores, realm: Realm, users: Sequence[User]) -> frozenset[str]:
    ids = [user.id for user in users]
    return await stores.users.having_credential(realm.id, ids, _ONE_TIME_PASSWORD)


def _access(rights: Rights) -> dict[str, bool]:
    manage = rights.has(AdminRole.MANAGE_USERS)
    return {
        "manageGroupMembership": manage,
        "resetPassword": manage,
        "view": rights.has(*VIEW_USERS),
        "mapRoles": manage,
        "impersonate": rights.has(AdminRole.IMPERSONATION),
        "manage": manage,
    }


class UserListing(Administration):
    """Reads users for administrators. All methods raise Forbidden and StoreUnavailable."""

    async def list_users(
        self, realm: Realm, rights: Rights, query: UserQuery, page: ListingPage, *, brief: bool
    ) -> list[dict[str, Any]]:
        """Return the users of the page; raises TooMany, also for a search that costs too much.

        A caller that may only query users sees none: each of them takes the right to view it.
        """
        rights.require_role(*QUERY_USERS)
        if not rights.has(*VIEW_USERS):
            return []
        async with self._database.read() as stores:
            if not brief:
                expect_profile(stores, realm)
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

    async def count_users(self, realm: Realm, rights: Rights, query: UserQuery) -> int:
        """Return how many users match that the caller may view; raises TooMany as `list_users`."""
        rights.require_role(*QUERY_USERS)
        if not rights.has(*VIEW_USERS):
            return 0
        async with self._database.read() as stores:
            if query.search is not None and query.search.startswith(_BY_ID):
                return len(await _by_id(stores, realm, query.search))
            account = await _service_account(stores, realm, query)
            with _costly_refused():
                return len(account) + await stores.users.count_users(realm.id, query)

    async def get_user_document(self, realm: Realm, rights: Rights, user_id: str) -> dict[str, Any]:
        """Return the user; raises NotFound for callers that may query users."""
        rights.require_role(*QUERY_USERS)
        async with self._database.read() as stores:
            user = await get_user(stores, realm.id, user_id)
            rights.require_role(*VIEW_USERS)
            return await user_document(stores, realm, rights, user)

    async def get_metadata(self, realm: Realm) -> dict[str, Any]:
        """Return the profile metadata of existing users."""
        async with self._database.read() as stores:
            document = await profile_document(stores, realm)
        return render_metadata(document, rules_in(realm, document), realm.login, known=True)

    async def get_unmanaged_attributes(self, realm: Realm, user_id: str) -> dict[str, list[str]]:
        """Return the attributes that the profile does not name but shows."""
        async with self._database.read() as stores:
            user = await get_user(stores, realm.id, user_id)
            rules = await profile_rules(stores, realm)
        if not rules.shows_unmanaged(Viewer.ADMIN):
            return {}
        shown = rules.shown(user.attributes, Viewer.ADMIN)
        return {name: list(texts) for name, texts in shown.items() if name not in rules.attributes}


def read_attribute_query(text: str) -> Mapping[str, str]:
    """Return the values of `name:value "other name":"other value"` by name; the first wins."""
    found: dict[str, str] = {}
    for quoted_name, name, quoted_value, value in _PAIR.findall(text):
        found.setdefault(quoted_name or name, quoted_value or value)
    return found


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
    if query.username and query == UserQuery(username=query.username, exact=True):
        # No other user has the name, be it a service account or not.
        user = await stores.users.find_by_username(realm.id, sought_name(query.username))
        return () if user is None else (user,)[first : first + maximum]
    account = await _service_account(stores, realm, query)
    shown = account[first : first + maximum]
    rest = max(first - len(account), 0)
    return shown + await stores.users.search_users(realm.id, query, rest, maximum - len(shown))


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


@dataclass(frozen=True, slots=True)
class UserSummary:
    """A user with all that decides about its sign-ins and rights.

    `granted` are the roles granted directly, `effective` all that follow; `groups` are paths.
    `lockout` is None where Redis is unavailable, `password_expires_at` where there is no password
    or it does not expire.
    """

    user: User
    granted: tuple[RoleName, ...]
    effective: EffectiveRoles
    lockout: UserLockout | None
    password_expires_at: datetime | None = None
    groups: tuple[str, ...] = ()
    credentials: tuple[Credential, ...] = field(default=(), repr=False)
    obstacles: tuple[SignInObstacle, ...] = ()


async def summarize_user(
    database: Database, lockouts: Lockouts, entry: RealmEntry, user: User, now: datetime
) -> UserSummary:
    """Return the summary; raises StoreUnavailable for the database alone."""
    realm = entry.realm
    async with database.read() as stores:
        held = await stores.roles.granted(realm.id, user.id)
        effective = await stores.roles.effective(realm.id, user.id)
        roles = await load_roles(stores, realm)
        credentials = await stores.users.credentials(realm.id, user.id)
        groups = await stores.groups.of_user(realm.id, user.id)
    try:
        lockout = await lockouts.get_lockout(realm, user.id)
    except StoreUnavailable as failure:
        if failure.store == "sql":
            raise
        lockout = None
    failures = LoginFailures() if lockout is None else lockout.record
    account = Account(user, tuple(credentials), user.id)
    return UserSummary(
        user,
        roles.names_of(held),
        effective,
        lockout,
        password_expires_at(realm, credentials),
        tuple(sorted(group.path for group in groups)),
        tuple(credentials),
        await list_sign_in_obstacles(entry, account, failures, now),
    )


def password_expires_at(realm: Realm, credentials: Iterable[Credential]) -> datetime | None:
    """Return when the password among the credentials expires; None where it does not."""
    password = next((one for one in credentials if one.type == PASSWORD), None)
    return None if password is None else realm.password_policy.expires_at(password.aged_since)


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
    for realm in await stores.realms.list_realms():
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

"""Users of a file who exist in the realm: how they differ, and bringing them to what the file says.

Compared are the members that the file has, the roles and the groups that it gives. An update takes
no role and no group away, and changes no credential: a file that is imported again must not set
passwords back.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from gateway.admin.realm_files.user_import import ImportedUser, UserPreparation
from gateway.admin.users import NewUser
from gateway.authentication.unique_names import named_by_address, require_free_names
from gateway.domain.errors import AlreadyExists, FieldError, InvalidInput, RepeatedName
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm
from gateway.domain.users import User
from gateway.representations.refusals import collect_refusals, raise_all
from gateway.representations.users import parse_user

_USERS_AT_ONCE: Final = 500
"""Each has up to two names: 1,000 in a query."""


@dataclass(frozen=True, slots=True)
class UserDifference:
    """A user as stored and as the file has it, with the roles and groups that are missing."""

    before: User
    after: User
    role_ids: tuple[str, ...]
    group_ids: tuple[str, ...]
    path: str

    async def store(self, stores: Stores, realm: Realm) -> None:
        """Store the user as the file has it; raises InvalidInput for an address that is taken."""
        if self.after != self.before:
            try:
                await require_free_names(stores, realm, self.after, self.before)
                await stores.users.replace(self.after)
            except AlreadyExists as taken:
                allowed = "an address that is free"
                raise InvalidInput((RepeatedName(self.path, str(taken), allowed),)) from taken
        await stores.roles.grant(realm.id, self.before.id, self.role_ids)
        for group_id in self.group_ids:
            await stores.groups.join(realm.id, self.before.id, group_id)


async def list_user_differences(
    stores: Stores,
    preparation: UserPreparation,
    users: Sequence[ImportedUser],
    *,
    updates: bool,
) -> list[UserDifference]:
    """Return the known users that differ from the file.

    A user with a group that the realm does not have is left out, unless the import updates users:
    then it raises InvalidInput.
    """
    errors: list[FieldError] = []
    found = []
    people = [user for user in users if user.service_account_of is None]
    for start in range(0, len(people), _USERS_AT_ONCE):
        known = await _known_users(
            stores, preparation.realm, people[start : start + _USERS_AT_ONCE]
        )
        for given, stored in known:
            with collect_refusals(errors):
                named = await preparation.prepared(replace(given, credentials=()))
                difference = _difference(preparation.realm, given, named, stored)
                if difference is not None:
                    found.append(difference)
    if updates:
        raise_all(errors)
    return found


@dataclass(frozen=True, slots=True)
class _StoredUser:
    user: User
    role_ids: frozenset[str]
    group_ids: frozenset[str]


async def _known_users(
    stores: Stores, realm: Realm, users: Sequence[ImportedUser]
) -> list[tuple[ImportedUser, _StoredUser]]:
    """Return the users that are stored, each as the file has it and as it is stored."""
    names = list(dict.fromkeys(name for given in users for name in given.names))
    stored = {user.username: user for user in await stores.users.named(realm.id, names)}
    ids = [user.id for user in stored.values()]
    roles = await stores.roles.granted_to(realm.id, ids)
    groups = await stores.groups.joined_by(realm.id, ids)
    nothing: frozenset[str] = frozenset()
    found = []
    for given in users:
        user = next((stored[name] for name in given.names if name in stored), None)
        if user is not None:
            held = roles.get(user.id, nothing), groups.get(user.id, nothing)
            found.append((given, _StoredUser(user, *held)))
    return found


def _difference(
    realm: Realm, given: ImportedUser, named: NewUser, stored: _StoredUser
) -> UserDifference | None:
    before, login = stored.user, realm.login
    after = parse_user(given.document, realm.id, base=before, now=before.created_at)
    after = named_by_address(login, after)
    roles = tuple(each for each in named.role_ids if each not in stored.role_ids)
    groups: tuple[str, ...] = ()
    if given.groups is not None:
        groups = tuple(each for each in named.group_ids if each not in stored.group_ids)
    # A former name alone is no difference: the user is displayed with the address already.
    if after == named_by_address(login, before) and not roles and not groups:
        return None
    return UserDifference(before, after, roles, groups, given.path)

"""Users of a file who exist in the realm: how they differ, and bringing them to what the file says.

Compared are the members that the file has, the roles and the groups that it gives. An update takes
no role and no group away, and changes no credential: a file that is imported again must not set
passwords back.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gateway.admin.realm_files.user_import import ImportedUser, UserPreparation
from gateway.admin.users import NewUser
from gateway.authentication.unique_names import named_by_address, require_free_names
from gateway.domain.errors import AlreadyExists, FieldError, InvalidInput, RepeatedName
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm
from gateway.domain.users import User
from gateway.representations.refusals import collect_refusals, raise_all
from gateway.representations.users import parse_user


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
    for given in users:
        if given.service_account_of is not None:
            continue
        before = None
        for name in given.names:
            before = before or await stores.users.find_by_username(preparation.realm.id, name)
        if before is None:
            continue
        with collect_refusals(errors):
            named = await preparation.prepared(replace(given, credentials=()))
            difference = await _difference(stores, preparation.realm, given, named, before)
            if difference is not None:
                found.append(difference)
    if updates:
        raise_all(errors)
    return found


async def _difference(
    stores: Stores, realm: Realm, given: ImportedUser, named: NewUser, before: User
) -> UserDifference | None:
    realm_id, login = realm.id, realm.login
    after = parse_user(given.document, realm_id, base=before, now=before.created_at)
    after = named_by_address(login, after)
    granted = await stores.roles.granted(realm_id, before.id)
    roles = tuple(each for each in named.role_ids if each not in granted)
    groups: tuple[str, ...] = ()
    if given.groups is not None:
        joined = {group.id for group in await stores.groups.of_user(realm_id, before.id)}
        groups = tuple(each for each in named.group_ids if each not in joined)
    # A former name alone is no difference: the user is displayed with the address already.
    if after == named_by_address(login, before) and not roles and not groups:
        return None
    return UserDifference(before, after, roles, groups, given.path)

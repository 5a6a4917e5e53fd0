"""The user's own profile, and the groups that the user is a member of."""

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gateway.accounts.access import REMOVED_OR_DISABLED, AccountCaller, AccountRole
from gateway.authentication.errors import AccountDisabled, InvalidUserCredentials
from gateway.authentication.profile_updates import (
    OwnProfile,
    ProfileChange,
    ProfileRejected,
    ProfileUpdates,
)
from gateway.authentication.realm_profile import (
    own_locked_names,
    profile_document,
    requested_profile,
)
from gateway.authentication.unique_names import named_by_address
from gateway.domain.authentication import ProfileField
from gateway.domain.events import Detail, EventType
from gateway.domain.groups import Group
from gateway.domain.ports.storage import Database
from gateway.domain.refusals import NotAuthenticated
from gateway.domain.roles import EffectiveRoles
from gateway.domain.user_profile import UserProfile, Values, Viewer
from gateway.domain.users import User
from gateway.representations.accounts import OwnValues
from gateway.representations.user_profile import render_metadata


@dataclass(frozen=True, slots=True)
class ShownProfile:
    """A user, the values that the user sees, and the metadata of a form, None without."""

    user: User
    values: Values
    metadata: Mapping[str, Any] | None = field(default=None, repr=False)


class AccountProfile:
    """The use cases. All raise Forbidden and StoreUnavailable. Keycloak: 17.2 profile."""

    def __init__(self, database: Database, updates: ProfileUpdates) -> None:
        self._database = database
        self._updates = updates

    async def read_profile(self, caller: AccountCaller, *, with_metadata: bool) -> ShownProfile:
        """Return the profile as it is stored now."""
        caller.require(AccountRole.MANAGE_ACCOUNT, AccountRole.VIEW_PROFILE)
        realm = caller.realm
        async with self._database.read() as stores:
            user = await stores.users.find_by_id(realm.id, caller.user_id)
            document = await profile_document(stores, realm) if with_metadata else None
        if user is None:
            raise NotAuthenticated(REMOVED_OR_DISABLED)
        user = named_by_address(realm.login, user)
        values = OwnProfile(caller.entry).values(user)
        if document is None:
            return ShownProfile(user, values)
        metadata = render_metadata(
            document,
            rules_for(caller),
            realm.login,
            known=True,
            viewer=Viewer.USER,
            locked=own_locked_names(caller.entry),
        )
        return ShownProfile(user, values, metadata)

    async def replace_profile(self, caller: AccountCaller, sent: OwnValues) -> ProfileChange:
        """Store a document and remove omitted values; raises ProfileRejected, NotAuthenticated."""
        caller.require(AccountRole.MANAGE_ACCOUNT)
        profile = OwnProfile(caller.entry)
        return await _note_change(caller, self._updates.replace(profile, caller.user_id, sent))

    def fields(
        self,
        caller: AccountCaller,
        sent: Mapping[str, str] | None = None,
        rejected: ProfileRejected | None = None,
    ) -> tuple[ProfileField, ...]:
        """Return the fields of a form: what is stored, or what was sent and what is wrong."""
        violations = () if rejected is None else rejected.violations
        return OwnProfile(caller.entry).fields(caller.user.user, sent, violations)

    async def store_profile(self, caller: AccountCaller, sent: Mapping[str, str]) -> ProfileChange:
        """Store the values of a form: what it leaves out stays; raises as `replace_profile`."""
        caller.require(AccountRole.MANAGE_ACCOUNT)
        profile = OwnProfile(caller.entry)
        return await _note_change(caller, self._updates.store(profile, caller.user_id, sent))


async def _note_change(caller: AccountCaller, changing: Awaitable[ProfileChange]) -> ProfileChange:
    try:
        change = await changing
    except (InvalidUserCredentials, AccountDisabled) as refusal:
        raise NotAuthenticated(REMOVED_OR_DISABLED) from refusal
    event = caller.request.event
    event.kind = EventType.UPDATE_PROFILE
    event.details |= {Detail.CONTEXT: "ACCOUNT", **change.details}
    return change


def rules_for(caller: AccountCaller) -> UserProfile:
    """Return the rules of the profile outside of a sign-in: no client scope is asked for."""
    return requested_profile(caller.entry, frozenset())


class AccountGroups:
    """The use cases; they raise Forbidden and StoreUnavailable. Keycloak: 17.6 groups."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list_groups(self, caller: AccountCaller) -> tuple[Group, ...]:
        """Return the direct groups by path."""
        caller.require(AccountRole.MANAGE_ACCOUNT, AccountRole.VIEW_GROUPS)
        async with self._database.read() as stores:
            found = await stores.groups.of_user(caller.realm.id, caller.user_id)
        return tuple(sorted(found, key=lambda group: group.path))

    async def roles(self, caller: AccountCaller) -> Mapping[str, EffectiveRoles]:
        """Return the roles that these groups have directly, by the id of the group."""
        caller.require(AccountRole.MANAGE_ACCOUNT, AccountRole.VIEW_GROUPS)
        async with self._database.read() as stores:
            found = await stores.groups.of_user(caller.realm.id, caller.user_id)
            return await stores.group_catalogue.roles(
                caller.realm.id, [group.id for group in found]
            )

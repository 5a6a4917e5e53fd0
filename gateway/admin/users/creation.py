"""Users created by administrators: with profile, password, default role and groups.

The password is hashed before any lock is held. Names and addresses stay reserved until the end of
the transaction, so that the second of two equal users is refused. Keycloak: POST users
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import uuid4

from gateway.admin.access import (
    Acting,
    Change,
    Changes,
    Refused,
    default_role_ids,
    existing,
    require_may_join,
)
from gateway.admin.users.drafts import new_user
from gateway.admin.users.new_passwords import (
    PasswordChanges,
    PreparedPassword,
    until_unchanged,
)
from gateway.admin.users.storing import NewUser, require_free_names, store_new_user
from gateway.domain.clock import Clock
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.limits.patterns import PatternMatches, repeat_while_pending
from gateway.domain.ports.invalidation import user_topic
from gateway.domain.ports.storage import Database
from gateway.domain.users import PRIORITY_STEP, Credential, User
from gateway.representations.users import GivenUser, NewPassword, read_given_user


class UserCreation:
    """The use case."""

    def __init__(
        self, database: Database, changes: Changes, passwords: PasswordChanges, clock: Clock
    ) -> None:
        self._database = database
        self._changes = changes
        self._passwords = passwords
        self._clock = clock

    async def create(self, acting: Acting, document: Mapping[str, Any]) -> str:
        """Create a user and return its id.

        Raises AlreadyExists, Refused, InvalidInput (PasswordRefused, ProfileViolated among it),
        Forbidden for a group that gives rights beyond the caller's, Overloaded, StoreUnavailable.
        """
        given = read_given_user(document, self._clock.now())
        attempt = partial(self._attempt, acting, given, document)
        return await until_unchanged(lambda: repeat_while_pending(attempt))

    async def _attempt(
        self,
        acting: Acting,
        given: GivenUser,
        document: Mapping[str, Any],
        matches: PatternMatches,
    ) -> str:
        prepared = await self._prepared(acting, given, matches)
        async with self._changes.begin(acting) as change:
            user = await new_user(change.stores, change.realm, given, change.now, matches)
            if prepared is not None:
                prepared.require_current(change.realm, user, ())
            await _store(change, user, given, prepared)
            path = f"users/{user.id}"
            change.record(OperationType.CREATE, ResourceType.USER, path, document)
            change.tell(user_topic(user.realm_id, user.id))
        return user.id

    async def _prepared(
        self, acting: Acting, given: GivenUser, matches: PatternMatches
    ) -> PreparedPassword | None:
        passwords = [one for one in given.credentials if isinstance(one, NewPassword)]
        if not passwords:
            return None
        async with self._database.read() as stores:
            realm = existing(
                await stores.realms.find_by_name(acting.realm.name), "Realm not found."
            )
            user = await new_user(stores, realm, given, self._clock.now(), matches)
        return await self._passwords.prepare(realm, user, (), passwords[-1].password)


async def _store(
    change: Change, user: User, given: GivenUser, prepared: PreparedPassword | None
) -> None:
    stores, realm = change.stores, change.realm
    joined = await _groups(change, given)
    await require_may_join(change.acting, stores, joined)
    await require_free_names(stores, realm, user)
    role_ids = await default_role_ids(stores, realm)
    groups = dict.fromkeys([*await stores.groups.default(realm.id), *joined])
    credentials = _credentials(user, given, prepared)
    await store_new_user(stores, NewUser(user, credentials, role_ids, tuple(groups)))


async def _groups(change: Change, given: GivenUser) -> list[str]:
    found: list[str] = []
    for path in given.groups:
        group = await change.stores.group_catalogue.find_by_path(change.realm.id, path)
        if group is None:
            raise Refused(f"There is no group {path}")
        found.append(group.id)
    return found


def _credentials(
    user: User, given: GivenUser, prepared: PreparedPassword | None
) -> tuple[Credential, ...]:
    made = () if prepared is None else prepared.change.stored
    brought = [one for one in given.credentials if isinstance(one, Credential)]
    return tuple(
        replace(one, id=str(uuid4()), user_id=user.id, priority=place * PRIORITY_STEP)
        for place, one in enumerate((*made, *brought), start=1)
    )

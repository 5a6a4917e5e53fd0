"""Users made by administrators: named, judged, with password, default role and groups.

The password is hashed before anything is locked. Nobody else takes the name or the address
meanwhile: of two at once one is told that it exists. Keycloak: POST users
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

from gateway.admin.access import (
    Acting,
    Change,
    Changes,
    Missing,
    Refused,
    default_role_ids,
    require_may_join,
)
from gateway.admin.users.drafts import new_user
from gateway.admin.users.names import require_free_names
from gateway.admin.users.new_passwords import NewPasswords
from gateway.admin.users.password_changes import ChangedMeanwhile, until_unchanged
from gateway.admin.users.storing import NewUser, store_new_user
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.limits.patterns import PatternMatches, repeat_while_pending
from gateway.domain.ports.invalidation import user_topic
from gateway.domain.ports.passwords import PasswordHasher
from gateway.domain.ports.storage import Database
from gateway.domain.realm import PasswordPolicy
from gateway.domain.users import PRIORITY_STEP, Credential, User
from gateway.representations.users import GivenUser, NewPassword, read_given_user


@dataclass(frozen=True, slots=True)
class _Hashed:
    """A password that keeps the rules of `policy` for a user so named."""

    credential: Credential
    policy: PasswordPolicy
    names: tuple[str, str | None]


class UserCreation:
    """The use case."""

    def __init__(
        self, database: Database, changes: Changes, gate: NewPasswords, hasher: PasswordHasher
    ) -> None:
        self._database = database
        self._changes = changes
        self._gate = gate
        self._hasher = hasher

    async def create(self, acting: Acting, document: Mapping[str, Any]) -> str:
        """Make a user and return its id.

        Raises AlreadyExists, Refused, InvalidInput (PasswordRefused, ProfileViolated among it),
        Forbidden for a group that brings rights beyond the caller's, Overloaded, StoreUnavailable.
        """
        given = read_given_user(document, self._gate.clock.now())
        return await until_unchanged(
            lambda: repeat_while_pending(
                lambda matches: self._attempt(acting, given, document, matches)
            )
        )

    async def _attempt(
        self,
        acting: Acting,
        given: GivenUser,
        document: Mapping[str, Any],
        matches: PatternMatches,
    ) -> str:
        hashed = await self._hashed(acting, given, matches)
        async with self._changes.begin(acting) as change:
            user = await new_user(change.stores, change.realm, given, change.now, matches)
            if hashed is not None and hashed != replace(
                hashed, policy=change.realm.password_policy, names=_names(user)
            ):
                raise ChangedMeanwhile("the rules for passwords were changed")
            await self._store(change, user, given, hashed)
            path = f"users/{user.id}"
            change.record(OperationType.CREATE, ResourceType.USER, path, document)
            change.tell(user_topic(user.realm_id, user.id))
        return user.id

    async def _hashed(
        self, acting: Acting, given: GivenUser, matches: PatternMatches
    ) -> _Hashed | None:
        passwords = [one for one in given.credentials if isinstance(one, NewPassword)]
        if not passwords:
            return None
        async with self._database.read() as stores:
            realm = await stores.realms.find_by_name(acting.realm.name)
            if realm is None:
                raise Missing("Realm not found.")
            user = await new_user(stores, realm, given, self._gate.clock.now(), matches)
        password = passwords[-1].password
        credential = await self._gate.first(self._hasher, realm, user, password)
        return _Hashed(credential, realm.password_policy, _names(user))

    async def _store(
        self, change: Change, user: User, given: GivenUser, hashed: _Hashed | None
    ) -> None:
        stores, realm = change.stores, change.realm
        joined = await _groups(change, given)
        await require_may_join(change.acting, stores, joined)
        await require_free_names(stores, realm, user)
        groups = dict.fromkeys([*await stores.groups.default(realm.id), *joined])
        new = NewUser(
            user,
            tuple(replace(one, user_id=user.id) for one in _credentials(given, hashed)),
            role_ids=await default_role_ids(stores, realm),
            group_ids=tuple(groups),
        )
        await store_new_user(stores, new)


async def _groups(change: Change, given: GivenUser) -> list[str]:
    found: list[str] = []
    for path in given.groups:
        group = await change.stores.group_catalogue.find_by_path(change.realm.id, path)
        if group is None:
            raise Refused(f"There is no group {path}")
        found.append(group.id)
    return found


def _credentials(given: GivenUser, hashed: _Hashed | None) -> list[Credential]:
    made = [] if hashed is None else [hashed.credential]
    brought = [one for one in given.credentials if isinstance(one, Credential)]
    return [
        replace(one, id=str(uuid4()), priority=place * PRIORITY_STEP)
        for place, one in enumerate((*made, *brought), start=1)
    ]


def _names(user: User) -> tuple[str, str | None]:
    return user.username, user.email

"""Lock-outs of users: listing and ending them.

Temporary lock-outs are in Redis; a permanent one disables the user in SQL.
Keycloak: 4.3 (attack detection); the list of all lock-outs is our addition
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from gateway.admin.access import (
    LARGEST_ANSWER,
    Acting,
    has_every_right,
    may_control_user,
)
from gateway.admin.changes import Administration, Changes
from gateway.authentication import brute_force_protection
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.ports.login_failures import LoginFailures, LoginFailureStore
from gateway.domain.realm import Realm
from gateway.domain.users import User, UserQuery

_FOR_EVER: Final = 2**63 - 1
LOCKOUTS_PATH: Final = "attack-detection/brute-force/users"


@dataclass(frozen=True, slots=True)
class UserLockout:
    """The failed sign-ins of a user, and until when it is locked out."""

    user_id: str
    username: str | None
    record: LoginFailures
    now: datetime

    @property
    def locked(self) -> bool:
        return self.record.is_locked(self.now)

    @property
    def seconds_left(self) -> int | None:
        """None for a lock-out that does not end by itself."""
        if self.record.permanent:
            return None
        until = self.record.locked_until
        return max(0, round((until - self.now).total_seconds())) if until is not None else 0

    def status(self) -> dict[str, Any]:
        """Return the record in Keycloak's shape; a lock-out that is over has no end."""
        record, until = self.record, self.record.locked_until
        if record.permanent:
            not_before = _FOR_EVER
        else:
            not_before = int(until.timestamp()) if until is not None and self.locked else 0
        return {
            "failedLoginNotBefore": not_before,
            "numFailures": record.failures,
            "numTemporaryLockouts": record.temporary_lockouts,
            "disabled": self.locked,
            "numSecondaryAuthFailures": record.secondary_failures,
            "lastIPFailure": record.last_address or "n/a",
            "lastFailure": int(record.last_failure.timestamp() * 1000)
            if record.last_failure is not None
            else 0,
        }

    def listed(self) -> Mapping[str, Any]:
        return {
            "userId": self.user_id,
            "username": self.username,
            "permanent": self.record.permanent,
            "secondsLeft": self.seconds_left,
            **self.status(),
        }


class Lockouts(Administration):
    """The use cases. All methods raise StoreUnavailable."""

    def __init__(self, changes: Changes, failures: LoginFailureStore) -> None:
        super().__init__(changes)
        self._failures = failures

    async def get_lockout(self, realm: Realm, user_id: str) -> UserLockout:
        """Return the failures of a user; an unknown user has none."""
        async with self._database.read() as stores:
            user = await stores.users.find_by_id(realm.id, user_id)
        if user is None:
            return UserLockout(user_id, None, LoginFailures(), self._clock.now())
        record = await self._failures.record(realm.id, user_id)
        return self._lockout(user, record)

    async def list_lockouts(self, realm: Realm) -> tuple[UserLockout, ...]:
        """Return all users who are locked out, by the end of the lock-out, permanent ones last."""
        locked = await self._failures.locked(realm.id)
        async with self._database.read() as stores:
            found = [
                (await stores.users.find_by_id(realm.id, user_id), record)
                for user_id, record in locked
            ]
            query = UserQuery(
                enabled=False,
                exact=True,
                attributes={
                    brute_force_protection.LOCKOUT_ATTRIBUTE: brute_force_protection.LOCKOUT_REASON
                },
            )
            for_good = await stores.users.search_users(realm.id, query, 0, LARGEST_ANSWER)
        records = dict(locked)
        temporary = [
            self._lockout(user, record)
            for user, record in found
            if user is not None and not brute_force_protection.is_locked_for_good(user)
        ]
        permanent = [
            self._lockout(user, records.get(user.id, LoginFailures())) for user in for_good
        ]
        return (*temporary, *permanent)

    async def render_lockouts(self, realm: Realm) -> Sequence[Mapping[str, Any]]:
        """Return the JSON objects of all current lock-outs."""
        return [lockout.listed() for lockout in await self.list_lockouts(realm)]

    async def render_status(self, realm: Realm, user_id: str) -> dict[str, Any]:
        """Return the failures of a user in Keycloak's shape."""
        return (await self.get_lockout(realm, user_id)).status()

    async def clear_user(self, acting: Acting, user_id: str) -> None:
        """Clear a user's failures and a temporary lock-out."""
        await self._failures.clear(acting.realm.id, user_id)
        await self._record(acting, f"{LOCKOUTS_PATH}/{user_id}")

    async def clear_users(self, acting: Acting) -> None:
        """Clear every user's failures.

        A caller without all administrative roles clears those of the users that it may control:
        the failures of the others limit the guessing of their passwords.
        """
        realm_id = acting.realm.id
        if has_every_right(acting):
            await self._failures.clear_realm(realm_id)
        else:
            locked = [user for user, _ in await self._failures.locked(realm_id)]
            async with self._database.read() as stores:
                mine = [user for user in locked if await may_control_user(acting, stores, user)]
            for user_id in mine:
                await self._failures.clear(realm_id, user_id)
        await self._record(acting, LOCKOUTS_PATH)

    async def _record(self, acting: Acting, path: str) -> None:
        async with self._changes.begin(acting) as change:
            change.record(OperationType.DELETE, ResourceType.USER_LOGIN_FAILURE, path)

    def _lockout(self, user: User, record: LoginFailures) -> UserLockout:
        permanent = record.permanent or brute_force_protection.is_locked_for_good(user)
        return UserLockout(
            user.id, user.username, replace(record, permanent=permanent), self._clock.now()
        )

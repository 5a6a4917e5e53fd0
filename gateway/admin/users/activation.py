"""Enabling, disabling and unlocking users.

The user profile is not applied: an account with invalid attributes can still be disabled.
"""

from collections.abc import Callable
from dataclasses import replace

from gateway.admin.access import Acting, Change, Changes, get_user_for_update
from gateway.admin.users.administration import invalidate_user
from gateway.authentication.permanent_lockout import is_locked_for_good, without_reason
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.ports.login_failures import LoginFailureStore
from gateway.domain.users import User


class UserActivation:
    """The use cases. All raise Missing and StoreUnavailable."""

    def __init__(self, changes: Changes, failures: LoginFailureStore) -> None:
        self._changes = changes
        self._failures = failures

    async def disable(self, acting: Acting, user_id: str) -> None:
        """Disable a user: sign-ins and all its tokens are rejected."""
        async with self._changes.begin(acting) as change:
            user = await get_user_for_update(change.stores, change.realm.id, user_id)
            await _store(change, user, enabled=False)
            invalidate_user(change, user)

    async def enable(self, acting: Acting, user_id: str) -> None:
        """Enable a user, and end a lock-out."""
        await self._enable(acting, user_id, lambda _: True)

    async def unlock(self, acting: Acting, user_id: str) -> bool:
        """End a lock-out, temporary or permanent; return whether there was one.

        A user whom an administrator has disabled stays disabled.
        """
        return await self._enable(acting, user_id, is_locked_for_good)

    async def _enable(self, acting: Acting, user_id: str, is_due: Callable[[User], bool]) -> bool:
        """Clear the user's failures, then enable the account if it is due.

        In this order, or a sign-in that fails in between would lock the account again. If Redis is
        unavailable, the account is enabled before StoreUnavailable is raised.
        """
        cleared = None
        try:
            cleared = await self._failures.clear(acting.realm.id, user_id)
        finally:
            async with self._changes.begin(acting) as change:
                user = await get_user_for_update(change.stores, change.realm.id, user_id)
                enables = is_due(user)
                if enables:
                    await _store(change, user, enabled=True)
                if cleared is not None:
                    path = f"attack-detection/brute-force/users/{user.id}"
                    change.record(OperationType.DELETE, ResourceType.USER_LOGIN_FAILURE, path)
                invalidate_user(change, user)
        return bool(cleared) or enables


async def _store(change: Change, user: User, *, enabled: bool) -> None:
    attributes = without_reason(user) if enabled else user.attributes
    after = replace(user, enabled=enabled, attributes=attributes)
    if after != user:
        await change.stores.users.replace(after)
    document = {"enabled": enabled}
    change.record(OperationType.UPDATE, ResourceType.USER, f"users/{user.id}", document)

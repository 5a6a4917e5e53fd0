"""Removes accounts, by administrators and by their users alike.

Keycloak: UserManager.removeUser
"""

from contextlib import suppress

from gateway.domain.errors import StoreUnavailable
from gateway.domain.ports.login_failures import LoginFailureStore
from gateway.domain.ports.sessions import OnlineSessionStore
from gateway.domain.ports.storage import Stores
from gateway.domain.users import User


class AccountRemoval:
    """Removes a user with everything that belongs to the account."""

    def __init__(self, online_sessions: OnlineSessionStore, failures: LoginFailureStore) -> None:
        self._online_sessions = online_sessions
        self._failures = failures

    @staticmethod
    async def remove(stores: Stores, user: User) -> None:
        """Remove a user whose row is locked, with its offline sessions and refresh tokens."""
        for session in await stores.offline_sessions.of_user(user.realm_id, user.id):
            await stores.refresh_tokens.end_of_session(user.realm_id, session.id)
        await stores.users.remove(user.realm_id, user.id)

    async def end_sessions(self, user: User) -> None:
        """End the online sessions and forget the failures, after the user was removed.

        Where Redis is unavailable they stay: they refer to no user any more, and expire.
        """
        with suppress(StoreUnavailable):
            await self._online_sessions.end_of_user(user.realm_id, user.id)
            await self._failures.clear(user.realm_id, user.id)

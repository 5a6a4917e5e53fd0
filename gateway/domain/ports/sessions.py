"""User sessions: online ones in Redis, offline ones in SQL, behind one port.

A session that was ended stays ended: a refresh at the same time does not re-create it.
Methods raise StoreUnavailable with the store's name.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from gateway.domain.sessions import ClientSession, UserSession
from gateway.domain.sign_in.authorization_codes import IssuedCode


class SessionStore(Protocol):
    """User sessions of one kind. The store may remove a session after `expires_at`."""

    async def add(self, session: UserSession, expires_at: datetime) -> None:
        """Store a new session; raises AlreadyExists, in SQL InvalidInput for an unknown user."""

    async def find(self, realm_id: str, session_id: str) -> UserSession | None:
        """Return the session; None when it expired, was ended or removed."""

    async def join(
        self, realm_id: str, session_id: str, client: ClientSession, expires_at: datetime
    ) -> bool:
        """Add or replace one client's part and move `refreshed_at`; False when it was ended."""

    async def refresh(
        self, realm_id: str, session_id: str, client: ClientSession, expires_at: datetime
    ) -> bool:
        """Replace the client's part and move `refreshed_at`; False where it has none."""

    async def leave(self, realm_id: str, session_id: str, client: str) -> None:
        """Remove one client's part; removing the last one ends the session."""

    async def leave_all(self, realm_id: str, client: str) -> None:
        """Remove one client's part from every session; sessions without other clients end."""

    async def end(self, realm_id: str, session_id: str) -> bool:
        """End a session; return whether it existed."""

    async def end_of_user(self, realm_id: str, user_id: str) -> int:
        """End every session of a user; return how many."""

    async def end_of_realm(self, realm_id: str) -> int:
        """End every session of a realm; return how many."""

    async def of_user(self, realm_id: str, user_id: str) -> tuple[UserSession, ...]:
        """Return the user's sessions, oldest first."""

    async def of_client(
        self, realm_id: str, client: str, first: int, maximum: int
    ) -> tuple[UserSession, ...]:
        """Return a page of the sessions with a part of the client, oldest first."""

    async def count_of_client(self, realm_id: str, client: str) -> int:
        """Return the number of sessions with a part of the client."""

    async def counts_of_clients(self, realm_id: str, clients: Sequence[str]) -> Mapping[str, int]:
        """Return the number of sessions of each client that has any."""


class OnlineSessionStore(SessionStore, Protocol):
    """Sessions of signed-in browsers and apps.

    `add`, `join` and `renew` store session and authorization code together: both or neither.
    """

    async def add(
        self, session: UserSession, expires_at: datetime, code: IssuedCode | None = None
    ) -> None:
        """Store a new session; raises AlreadyExists."""

    async def join(
        self,
        realm_id: str,
        session_id: str,
        client: ClientSession,
        expires_at: datetime,
        code: IssuedCode | None = None,
    ) -> bool:
        """Add or replace one client's part and move `refreshed_at`; False when it was ended."""

    async def detach(self, realm_id: str, session_id: str, client: str) -> None:
        """Remove one client's part; the session lasts without it."""

    async def renew(
        self,
        session: UserSession,
        client: ClientSession,
        expires_at: datetime,
        code: IssuedCode | None = None,
    ) -> bool:
        """Join the client to a session whose user signed in again; False when it was ended.

        Address, "remember me" and notes become those of `session`.
        """

    async def purge(self, realm_id: str) -> int:
        """Remove the realm's expired sessions; return how many."""

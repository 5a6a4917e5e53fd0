"""Where user sessions stand: online ones in Redis, offline ones in SQL, behind one port.

A session that was ended stays ended: no refresh that runs at the same time brings it back.
Methods raise StoreUnavailable with the store's name.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from gateway.domain.sessions import ClientSession, UserSession


class SessionStore(Protocol):
    """User sessions of one kind. `expires_at` is when the store may forget a session."""

    async def add(self, session: UserSession, expires_at: datetime) -> None:
        """Keep a new session."""

    async def find(self, realm_id: str, session_id: str) -> UserSession | None:
        """Return the session; None when it was ended or forgotten."""

    async def join(
        self, realm_id: str, session_id: str, client: ClientSession, expires_at: datetime
    ) -> bool:
        """Add or replace one client's part and move `refreshed_at`; False when it was ended."""

    async def refresh(
        self, realm_id: str, session_id: str, client: ClientSession, expires_at: datetime
    ) -> bool:
        """Replace the client's part and move `refreshed_at`; False where it takes no part now."""

    async def leave(self, realm_id: str, session_id: str, client: str) -> None:
        """Take one client's part away; the last one ends the session."""

    async def leave_all(self, realm_id: str, client: str) -> None:
        """Take one client's part out of every session; those it was alone in end."""

    async def end(self, realm_id: str, session_id: str) -> bool:
        """End a session; tell whether there was one."""

    async def end_of_user(self, realm_id: str, user_id: str) -> int:
        """End every session of a user; return how many."""

    async def end_of_realm(self, realm_id: str) -> int:
        """End every session of a realm; return how many."""

    async def of_user(self, realm_id: str, user_id: str) -> tuple[UserSession, ...]:
        """Return the user's sessions, oldest first."""

    async def of_client(
        self, realm_id: str, client: str, first: int, maximum: int
    ) -> tuple[UserSession, ...]:
        """Return a page of the sessions in which a client takes part, oldest first."""

    async def count_of_client(self, realm_id: str, client: str) -> int:
        """Return in how many sessions a client takes part."""

    async def counts_of_clients(self, realm_id: str, clients: Sequence[str]) -> Mapping[str, int]:
        """Return in how many sessions each of the clients takes part that is in any."""


class OnlineSessionStore(SessionStore, Protocol):
    """Sessions of signed-in browsers and apps."""

    async def purge(self, realm_id: str) -> int:
        """Forget the realm's expired sessions; return how many."""

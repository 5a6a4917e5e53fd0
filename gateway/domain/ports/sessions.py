"""User sessions, refresh tokens and revocations: online sessions in Redis, the others in SQL.

A session that was ended stays ended: a refresh at the same time does not re-create it. Sessions of
browsers at protected sites are found by the value of the session cookie. Methods raise
StoreUnavailable with the store's name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime, timedelta

    from gateway.domain.authorization_codes import IssuedCode
    from gateway.domain.forward_auth import SiteSession
    from gateway.domain.sessions import (
        ClientSession,
        ExpectedPart,
        Rotation,
        UserSession,
    )


class SessionStore(Protocol):
    """User sessions of one kind. The store may remove a session after `expires_at`."""

    async def add(self, session: UserSession, expires_at: datetime) -> None:
        """Store a new session; raises AlreadyExists, in SQL InvalidInput for an unknown user."""

    async def find_session(self, realm_id: str, session_id: str) -> UserSession | None:
        """Return the session; None when it expired, was ended or removed."""

    async def join(
        self,
        realm_id: str,
        session_id: str,
        client: ClientSession,
        expires_at: datetime,
        *,
        expected: ExpectedPart | None = None,
    ) -> bool:
        """Add or replace a client's part; False if ended, or the part is not `expected`."""

    async def refresh(
        self,
        realm_id: str,
        session_id: str,
        client: ClientSession,
        expires_at: datetime,
        *,
        expected: ExpectedPart | None = None,
    ) -> bool:
        """Replace the client's part and move `refreshed_at`.

        Returns False where the client has no part, or where it is not the `expected` one.
        """

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
    """Sessions of browsers and apps; a session and its code are stored both or neither."""

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
        *,
        expected: ExpectedPart | None = None,
    ) -> bool:
        """Add or replace one client's part and move `refreshed_at`; False as in SessionStore."""

    async def detach(self, realm_id: str, session_id: str, client: str) -> None:
        """Remove one client's part; the session lasts without it."""

    async def renew(
        self,
        session: UserSession,
        client: ClientSession,
        expires_at: datetime,
        code: IssuedCode | None = None,
        *,
        expected: ExpectedPart | None = None,
    ) -> bool:
        """Join the client to a session whose user signed in again; False as `join`.

        Address, "remember me" and notes become those of `session`.
        """

    async def purge(self, realm_id: str) -> int:
        """Remove the realm's expired sessions; return how many."""


class SiteSessions(Protocol):
    """The sessions of all sites. The store removes a session after its lifespan."""

    async def add(self, value: str, session: SiteSession, lifespan: timedelta) -> None:
        """Store a new session under a new random value."""

    async def find_session(self, realm_id: str, value: str) -> SiteSession | None:
        """Return the session of the value."""

    async def end(self, realm_id: str, value: str) -> None:
        """Remove the session of the value, if there is one."""


class RefreshTokenRepository(Protocol):
    """Families of rotating refresh tokens; `Rotations` uses their tokens."""

    async def begin(
        self, realm_id: str, family: str, *, session_id: str, token_id: str, expires_at: datetime
    ) -> None:
        """Store a new family whose first token is `token_id`; raises AlreadyExists."""

    async def end_of_session(self, realm_id: str, session_id: str) -> int:
        """End the families of a session; return how many."""

    async def purge(self, before: datetime) -> int:
        """Remove families that expired before the instant; return how many."""


class Rotations(Protocol):
    """Uses tokens of families. Every result is on disk before it is returned."""

    async def rotate(
        self,
        realm_id: str,
        family: str,
        token_id: str,
        *,
        successor: str,
        max_reuse: int,
        expires_at: datetime,
    ) -> Rotation:
        """Use a token: accept it and store its successor, or end the family."""

    async def rotate_without_family(
        self,
        realm_id: str,
        token_id: str,
        *,
        session_id: str,
        successor: str,
        max_reuse: int,
        expires_at: datetime,
    ) -> Rotation:
        """Use a token without family: begin the family `token_id`, or use it; see `rotate`.

        The token must have expired by `expires_at`, after which the family is removed.
        """

    async def is_next(self, realm_id: str, family: str, token_id: str, *, max_reuse: int) -> bool:
        """Return whether `rotate` would accept the token; nothing changes."""

    async def is_next_without_family(self, realm_id: str, token_id: str, *, max_reuse: int) -> bool:
        """Return whether `rotate_without_family` would accept the token; nothing changes."""


class OfflineSessionRepository(SessionStore, Protocol):
    """Sessions that outlive the browser."""

    async def purge(self, before: datetime) -> int:
        """Remove sessions that expired before the instant; return how many."""


class RevocationRepository(Protocol):
    """Revoked tokens, kept until they would have expired; `Lookups` finds them."""

    async def revoke(self, realm_id: str, token_id: str, expires_at: datetime) -> None:
        """Store the token's jti until `expires_at`; of two instants the later counts."""

    async def purge(self, before: datetime) -> int:
        """Remove revocations that expired before the instant; return how many."""

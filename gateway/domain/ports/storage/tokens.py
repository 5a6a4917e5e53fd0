"""Refresh tokens, offline sessions and revocations."""

from datetime import datetime
from typing import Protocol

from gateway.domain.ports.sessions import SessionStore
from gateway.domain.sessions import Rotation


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
        """Use a token that has no family: begin the family `token_id`, or use the token in it.

        The family is removed after `expires_at`: the token itself must have expired by then.
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

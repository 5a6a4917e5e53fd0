"""Live sessions of users and clients, and when they end."""

from gateway.protocol.sessions.limits import (
    access_tokens_end_at,
    client_session_ends_at,
    longest_client_session,
    session_ends_at,
)
from gateway.protocol.sessions.live import Joined, Sessions, is_part_over

__all__ = [
    "Joined",
    "Sessions",
    "access_tokens_end_at",
    "client_session_ends_at",
    "is_part_over",
    "longest_client_session",
    "session_ends_at",
]

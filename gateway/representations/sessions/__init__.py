"""JSON of sessions."""

from gateway.representations.sessions.user_session import write_session

__all__ = [
    "write_session",
]

"""User sessions and families of refresh tokens."""

from gateway.domain.sessions.refresh_tokens import Rotation
from gateway.domain.sessions.session import ClientSession, UserSession

__all__ = [
    "ClientSession",
    "Rotation",
    "UserSession",
]

"""OAuth clients and their secrets."""

from gateway.domain.clients.client import OPENID_CONNECT, Client, ProtocolMapper
from gateway.domain.clients.secrets import (
    ROTATED_CREATED,
    ROTATED_EXPIRES,
    ROTATED_SECRET,
    SECRET_CREATED,
    SECRET_EXPIRES,
    SECRET_REMAINING,
    SECRET_TIMES,
    accepts_rotated_secret,
    expires_at,
    has_expired,
)

__all__ = [
    "OPENID_CONNECT",
    "ROTATED_CREATED",
    "ROTATED_EXPIRES",
    "ROTATED_SECRET",
    "SECRET_CREATED",
    "SECRET_EXPIRES",
    "SECRET_REMAINING",
    "SECRET_TIMES",
    "Client",
    "ProtocolMapper",
    "accepts_rotated_secret",
    "expires_at",
    "has_expired",
]

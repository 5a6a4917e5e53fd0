"""When the secret of a client is accepted, and the one before it.

Keycloak: client attributes, OIDC client secret rotation
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

_EPOCH: Final = datetime.fromtimestamp(0, UTC)
UNREADABLE_TIME: Final = datetime.fromtimestamp(1, UTC)
"""Stands for a stored time that is no number: it has passed."""


@dataclass(frozen=True, slots=True)
class SecretSettings:
    """How secrets of a client may be sent, and until when they are accepted."""

    allowed_method: str = ""
    """`client.secret.authentication.allowed.method`: empty allows every method."""
    expires_at: datetime | None = None
    """`client.secret.expiration.time`: None where the secret does not expire."""
    rotated_expires_at: datetime | None = None
    """`client.secret.rotated.expiration.time`: None where the rotated secret is not accepted."""

    def has_expired(self, now: datetime) -> bool:
        """Tell whether the secret has expired; a time before 1970 says nothing."""
        return self.expires_at is not None and _EPOCH < self.expires_at <= now

    def accepts_rotated(self, now: datetime) -> bool:
        """Tell whether a rotated secret is still accepted."""
        return self.rotated_expires_at is not None and now < self.rotated_expires_at

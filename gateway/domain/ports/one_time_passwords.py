"""Comparing codes of one-time passwords, and marking values that may be used once.

Spec: RFC 4226 §5, RFC 6238 §4 and §5.2. Keycloak: 6
"""

from datetime import datetime, timedelta
from typing import Protocol

from gateway.domain.one_time_passwords import CodeMatch
from gateway.domain.secrets import Secret


class OneTimePasswords(Protocol):
    """Computes codes."""

    def match(
        self,
        code: Secret,
        credential_data: str,
        secret_data: str,
        *,
        look_ahead_window: int,
        now: datetime,
        reusable: bool,
    ) -> CodeMatch | None:
        """Return which code of the stored credential it is, or None.

        Codes before one that was accepted do not match; `reusable` are those of the time.

        Raises SecretUnreadable for a credential that no code can be computed from.
        """


class OneTimeMarks(Protocol):
    """Marks used values, for all gateways."""

    async def claim(self, realm_id: str, name: str, lifespan: timedelta) -> bool:
        """Mark `name` as used for `lifespan`; False where it is marked already.

        Raises StoreUnavailable.
        """

    async def remaining(self, realm_id: str, name: str) -> timedelta:
        """Return how long `name` stays marked, zero where it is not; raises StoreUnavailable."""

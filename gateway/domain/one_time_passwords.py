"""What comes of comparing a code with a stored one-time password. Keycloak: 6 (OTP policy)."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class CodeMatch:
    """A code that is right."""

    step: int
    """Which of the credential's codes it is: its number in time, or its counter."""
    accepted_for: timedelta
    """How long the same code goes on matching."""
    advanced: str | None
    """The credential data to store, where codes are counted; None where time moves them on."""

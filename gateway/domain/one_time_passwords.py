"""What comes of comparing a code with a stored one-time password. Keycloak: 6 (OTP policy)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CodeMatch:
    """A code that is right."""

    step: int
    """Which of the credential's codes it is: its number in time, or its counter."""
    advanced: str | None
    """The credential data to store, so that it matches no more; None where it may be used again."""

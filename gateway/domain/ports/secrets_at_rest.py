"""Encryption of values that must not be readable in a database dump."""

from typing import Protocol


class SecretsAtRest(Protocol):
    """Authenticated encryption under the operator's key."""

    def seal(self, plaintext: str, context: str) -> str:
        """Encrypt for `context` (`client-secret:<realm id>:<client id>`); the result is ASCII."""

    def derive_key(self, purpose: str) -> bytes:
        """Return 32 bytes for a purpose, the same in all gateways.

        They change when the oldest encryption key is no longer configured.
        """

    def unseal(self, sealed: str, context: str) -> str:
        """Decrypt; raises SecretUnreadable when altered, moved or sealed under another key."""

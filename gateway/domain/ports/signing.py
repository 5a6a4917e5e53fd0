"""Signing and verifying a realm's tokens, with keys that were parsed once."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Protocol

from gateway.domain.keys import KeyAlgorithm, RealmKey, SignatureAlgorithm


class KeyRing(Protocol):
    """The parsed keys of one realm."""

    def sign(self, claims: Mapping[str, Any], algorithm: SignatureAlgorithm, now: datetime) -> str:
        """Return a compact JWS signed by the realm's active key for `algorithm`.

        Raises LookupError when the realm has no such key.
        """
        ...

    def verify(self, token: str, now: datetime) -> Mapping[str, Any]:
        """Return the claims when kid, pinned algorithm and signature hold.

        Time and type claims are the caller's business. Raises InvalidToken.
        """
        ...

    def sign_for_ourselves(self, claims: Mapping[str, Any], now: datetime) -> str:
        """Return a JWS under the realm's secret key, which nobody else can check.

        Raises LookupError when the realm has no such key.
        """
        ...

    def verify_of_ourselves(self, token: str, now: datetime) -> Mapping[str, Any]:
        """Return the claims of a token that `sign_for_ourselves` made; raises InvalidToken."""
        ...

    def public_jwks(self, now: datetime) -> tuple[Mapping[str, Any], ...]:
        """Return the public keys to publish, the signing ones first. Spec: RFC 7517."""
        ...

    def public_key(self, now: datetime) -> str | None:
        """Return base64 of the SubjectPublicKeyInfo of the RSA key that signs; None without one."""
        ...


class KeyFactory(Protocol):
    """Makes keys and key rings."""

    def generate(
        self, realm_id: str, realm_name: str, algorithm: KeyAlgorithm, now: datetime
    ) -> RealmKey:
        """Generate an ACTIVE key with a self-signed certificate where the kind allows one."""
        ...

    def ring(self, keys: tuple[RealmKey, ...]) -> KeyRing:
        """Parse the realm's keys once."""
        ...

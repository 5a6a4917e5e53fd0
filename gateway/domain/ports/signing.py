"""Signing, verifying and decrypting with a realm's keys, which were parsed once."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from gateway.domain.keys import (
    HeaderType,
    KeyAlgorithm,
    KeyManagement,
    RealmKey,
    SigningAlgorithm,
    TokenEncryption,
)
from gateway.domain.secrets import Secret


class KeyRing(Protocol):
    """The parsed keys of one realm."""

    def sign(
        self,
        claims: Mapping[str, Any],
        algorithm: SigningAlgorithm,
        now: datetime,
        header_type: HeaderType = HeaderType.JWT,
    ) -> str:
        """Return a compact JWS signed by the realm's active key for `algorithm`.

        Raises LookupError when the realm has no such key, ValueError for the claim `typ` of a
        token that only gateways read.
        """

    def verify_token(self, token: str, now: datetime) -> Mapping[str, Any]:
        """Return the claims if kid, pinned algorithm and signature are valid; raises InvalidToken.

        The caller checks the time and type claims.
        """

    def sign_for_ourselves(self, claims: Mapping[str, Any], now: datetime) -> str:
        """Return a JWS under the realm's secret key; raises LookupError without one."""

    def verify_of_ourselves(self, token: str, now: datetime) -> Mapping[str, Any]:
        """Return the claims of a token that `sign_for_ourselves` made; raises InvalidToken."""

    def decrypt(self, token: str, now: datetime) -> tuple[bytes, TokenEncryption]:
        """Return the content of a compact JWE for one of the realm's keys, and its algorithms.

        The caller checks whether it accepts them. Raises InvalidToken: with one reason for every
        failure that depends on a key.
        """

    def decryption_algorithms(self, now: datetime) -> tuple[KeyManagement, ...]:
        """Return the algorithms that senders may encrypt with for the realm."""

    def public_jwks(self, now: datetime) -> tuple[Mapping[str, Any], ...]:
        """Return the public keys to publish, those that sign first. Spec: RFC 7517."""

    def public_key(self, now: datetime) -> str | None:
        """Return base64 of the SubjectPublicKeyInfo of the RSA key that signs; None without one."""

    def same_keys(self, now: datetime) -> tuple[datetime, datetime]:
        """Return the period around `now`, without its end, in which the same keys do the same."""


@dataclass(frozen=True, slots=True)
class PublicKeyData:
    """Public data of a key: base64 of DER or None; `kind` is RSA, EC, OKP or OCT."""

    kind: str
    public_key: str | None = None
    certificate: str | None = None
    valid_to: datetime | None = None


class KeyFactory(Protocol):
    """Makes keys and key rings."""

    def generate(
        self,
        realm_id: str,
        realm_name: str,
        algorithm: KeyAlgorithm,
        now: datetime,
        *,
        size: int | None = None,
        certified: bool = True,
    ) -> RealmKey:
        """Generate an ACTIVE key, certified if possible; `size` in bits (RSA) or bytes."""

    def imported(
        self,
        realm_id: str,
        realm_name: str,
        algorithm: KeyAlgorithm,
        now: datetime,
        *,
        private_key: Secret,
        certificate: str | None,
    ) -> RealmKey:
        """Return an ACTIVE key of PEM or base64 of DER, certified; raises UnusableSetting."""

    def certified(self, key: RealmKey, realm_name: str, now: datetime) -> RealmKey:
        """Return the key with a new certificate of its own, where its kind may have one."""

    def apart(self, key: RealmKey) -> RealmKey:
        """Return the key under a different kid, for a realm that has the same key already."""

    def public_data(self, key: RealmKey) -> PublicKeyData:
        """Return the public data of the key."""

    def ring(self, keys: tuple[RealmKey, ...]) -> KeyRing:
        """Parse the realm's keys once."""

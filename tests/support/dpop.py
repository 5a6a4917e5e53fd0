"""A client's side of DPoP: keys, and proofs that are right unless a test says otherwise.

Thumbprints and hashes are computed here, without the product. Spec: RFC 9449 §4.2, RFC 7638
"""

import base64
import hashlib
import json
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey
_CURVES: Mapping[str, Callable[[], ec.EllipticCurve]] = {
    "ES256": ec.SECP256R1,
    "ES384": ec.SECP384R1,
    "ES512": ec.SECP521R1,
}
_REQUIRED = {"EC": ("crv", "kty", "x", "y"), "RSA": ("e", "kty", "n"), "OKP": ("crv", "kty", "x")}


def sha256_text(text: str) -> str:
    """Return base64url(SHA-256) of a text."""
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


@dataclass(frozen=True, slots=True)
class ProofKey:
    """The key of one client."""

    private: PrivateKey
    algorithm: str

    @classmethod
    def new(cls, algorithm: str = "ES256", *, bits: int = 2048) -> Self:
        if algorithm in _CURVES:
            return cls(ec.generate_private_key(_CURVES[algorithm]()), algorithm)
        if algorithm == "EdDSA":
            return cls(ed25519.Ed25519PrivateKey.generate(), algorithm)
        return cls(rsa.generate_private_key(65537, bits), algorithm)

    @property
    def jwk(self) -> dict[str, Any]:
        """The public key."""
        return _members(self.algorithm, self.private.public_key())

    @property
    def private_jwk(self) -> dict[str, Any]:
        return _members(self.algorithm, self.private)

    @property
    def thumbprint(self) -> str:
        members = {name: self.jwk[name] for name in _REQUIRED[self.jwk["kty"]]}
        return sha256_text(json.dumps(members, separators=(",", ":"), sort_keys=True))

    def proof(
        self,
        method: str,
        url: str,
        token: str | None = None,
        *,
        header: Mapping[str, Any] | None = None,
        **changed: Any,
    ) -> str:
        """Return a proof for a request; a claim that is changed to None is left out."""
        claims = {
            "jti": secrets.token_urlsafe(16),
            "htm": method,
            "htu": url,
            "iat": int(time.time()),
            "ath": None if token is None else sha256_text(token),
        } | changed
        kept = {name: value for name, value in claims.items() if value is not None}
        headers = {"typ": "dpop+jwt", "jwk": self.jwk, **(header or {})}
        return jwt.encode(kept, self.private, self.algorithm, headers=headers)


def assembled(header: Mapping[str, Any], claims: Mapping[str, Any], signature: bytes = b"") -> str:
    """Return a JWT of any header and signature."""
    parts = (json.dumps(header).encode(), json.dumps(claims).encode(), signature)
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)


def _members(algorithm: str, key: Any) -> dict[str, Any]:
    found = jwt.get_algorithm_by_name(algorithm).to_jwk(key, as_dict=True)
    return {name: value for name, value in found.items() if name != "key_ops"}

"""How a public key is published: the members and their order as Keycloak writes them.

Spec: RFC 7517 §4, RFC 7518 §6.2, §6.3, RFC 8037 §2. Keycloak: kid, kty, alg, use, x5c, x5t,
x5t#S256, then the key itself; x5c in plain base64, all else base64url.
"""

import base64
import hashlib
from typing import Any

import orjson
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from gateway.crypto.certificates import load_stored_certificate
from gateway.crypto.public_keys import PublicKey
from gateway.domain import base64url
from gateway.domain.keys import EncryptionAlgorithm, RealmKey

_CURVES = {"secp256r1": "P-256", "secp384r1": "P-384", "secp521r1": "P-521"}


def key_id(public_key: PublicKey, algorithm: str = "") -> str:
    """Return the kid: SHA-256 of the SubjectPublicKeyInfo (not RFC 7638), as Keycloak makes it.

    `algorithm` distinguishes two keys with the same numbers: Keycloak publishes both under one kid,
    so that a verifier finds the right one by chance.
    """
    info = public_key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return base64url.encode(hashlib.sha256(info + algorithm.encode("ascii")).digest())


def key_information(public_key: PublicKey) -> str:
    """Return base64 of the SubjectPublicKeyInfo."""
    info = public_key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return base64.b64encode(info).decode("ascii")


def rsa_information(public_key: PublicKey) -> str | None:
    """Return what Keycloak's realm information shows of an RSA key, and of no other kind."""
    return key_information(public_key) if isinstance(public_key, rsa.RSAPublicKey) else None


def key_kind(public_key: PublicKey) -> str:
    """Return the type of its JWK."""
    return _numbers(public_key)[0]


def public_jwk(key: RealmKey, public_key: PublicKey) -> dict[str, Any]:
    """Return the JWK of `key`; nothing private is read."""
    kind, numbers = _numbers(public_key)
    use = "enc" if isinstance(key.algorithm, EncryptionAlgorithm) else "sig"
    head = {"kid": key.kid, "kty": kind, "alg": key.algorithm.value, "use": use}
    return head | _certificate(key.certificate) | numbers


def thumbprint(public_key: PublicKey) -> str:
    """Return base64url(SHA-256) of the key's required members. Spec: RFC 7638 §3."""
    kind, numbers = _numbers(public_key)
    members = orjson.dumps({"kty": kind, **numbers}, option=orjson.OPT_SORT_KEYS)
    return base64url.encode(hashlib.sha256(members).digest())


def _numbers(key: PublicKey) -> tuple[str, dict[str, str]]:
    if isinstance(key, rsa.RSAPublicKey):
        public = key.public_numbers()
        return "RSA", {"n": _unsigned(public.n), "e": _unsigned(public.e)}
    if isinstance(key, ec.EllipticCurvePublicKey):
        point = key.public_numbers()
        width = (key.curve.key_size + 7) // 8
        coordinates = {"x": _unsigned(point.x, width), "y": _unsigned(point.y, width)}
        return "EC", {"crv": _CURVES[key.curve.name]} | coordinates
    return "OKP", {"crv": "Ed25519", "x": base64url.encode(key.public_bytes_raw())}


def _unsigned(value: int, width: int | None = None) -> str:
    """Write an integer big-endian: a coordinate in the curve's full width, others without zeros."""
    return base64url.encode(value.to_bytes(width or (value.bit_length() + 7) // 8, "big"))


def _certificate(pem: str | None) -> dict[str, Any]:
    if pem is None:
        return {}
    der = load_stored_certificate(pem).public_bytes(Encoding.DER)
    # x5t is SHA-1 by its definition (RFC 7517 §4.8); nothing of ours relies on it.
    sha1 = hashlib.sha1(der, usedforsecurity=False).digest()
    return {
        "x5c": [base64.b64encode(der).decode("ascii")],
        "x5t": base64url.encode(sha1),
        "x5t#S256": base64url.encode(hashlib.sha256(der).digest()),
    }

"""The only module that lets the library parse public keys, certificates and revocation lists.

Sizes and the public key are checked on the encoding first: the library reads a certificate lazily.
Elliptic curves are named, never given by their parameters; DSA and Diffie-Hellman keys are refused.
Spec: RFC 5280 §4.1, §5.1, RFC 3279 §2.3.1, RFC 5480 §2.1.1, RFC 8410 §3, RFC 7517, RFC 7518 §6
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import jwt
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import load_der_public_key
from cryptography.x509.oid import NameOID

from gateway.crypto.der import (
    BIT_STRING,
    CERTIFICATE_LABELS,
    EXPLICIT_0,
    INTEGER,
    OBJECT_IDENTIFIER,
    SEQUENCE,
    DerReader,
    is_pem,
    pem_blocks,
)
from gateway.domain import base64url
from gateway.domain.distinguished_names import Element
from gateway.domain.keys import SignatureAlgorithm
from gateway.domain.limits.input_sizes import (
    MAX_CERTIFICATE_BYTES,
    MAX_EC_POINT_BYTES,
    MAX_RSA_EXPONENT_BITS,
    MAX_RSA_PUBLIC_BITS,
    MIN_RSA_BITS,
    require_at_most,
)

PublicKey = rsa.RSAPublicKey | ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey

RSA_ENCRYPTION: Final = bytes.fromhex("2a864886f70d010101")
_RSA_PSS: Final = bytes.fromhex("2a864886f70d01010a")
_EC_PUBLIC_KEY: Final = bytes.fromhex("2a8648ce3d0201")
_OCTET_KEYS: Final = frozenset(
    bytes.fromhex(f"2b65{last:02x}") for last in (0x6E, 0x6F, 0x70, 0x71)
)
"""X25519, X448, Ed25519 and Ed448: each has one length."""
_MIN_EXPONENT: Final = 3
_CURVES: Final = (ec.SECP256R1, ec.SECP384R1, ec.SECP521R1)
_JWK_CURVES: Final = {"EC": ("P-256", "P-384", "P-521"), "OKP": ("Ed25519",)}
_DIGITS_PER_BYTE: Final = 4 / 3
_CURVES_OF_ALGORITHMS: Final[Mapping[str, type[ec.EllipticCurve]]] = {
    SignatureAlgorithm.ES256: ec.SECP256R1,
    SignatureAlgorithm.ES384: ec.SECP384R1,
    SignatureAlgorithm.ES512: ec.SECP521R1,
}
PRIVATE_MEMBERS: Final = frozenset({"d", "p", "q", "dp", "dq", "qi", "oth", "k"})
"""Members of a JWK that a public key does not have. Spec: RFC 7518 §6"""


class UnsupportedKey(ValueError):
    """A key of a kind or size that is not accepted; `str()` is public."""


def check_public_key_info(der: bytes) -> None:
    """Check a SubjectPublicKeyInfo; raises ValueError, LimitExceeded among it."""
    outer = DerReader(der)
    info = outer.enter(SEQUENCE)
    outer.end()
    algorithm = info.enter(SEQUENCE)
    kind = algorithm.object_identifier()
    bits = info.content(BIT_STRING)
    info.end()
    if not bits or bits[0] != 0:
        raise ValueError("the public key is not whole octets")
    if kind in {RSA_ENCRYPTION, _RSA_PSS}:
        _check_rsa(bits[1:])
    elif kind == _EC_PUBLIC_KEY:
        if algorithm.tag != OBJECT_IDENTIFIER:
            raise UnsupportedKey("The curve of a key must be named")
        require_at_most(len(bits), MAX_EC_POINT_BYTES, "Public key in bytes")
    elif kind not in _OCTET_KEYS:
        raise UnsupportedKey("Keys are RSA, EC or Ed25519 keys")


def load_public_key(der: bytes) -> PublicKey:
    """Parse a SubjectPublicKeyInfo or an RSAPublicKey; raises ValueError."""
    if DerReader(der).enter(SEQUENCE).tag == INTEGER:
        _check_rsa(der)
    else:
        check_public_key_info(der)
    return require_supported(load_der_public_key(der))


def load_public_jwk(jwk: Mapping[str, Any]) -> PublicKey:
    """Parse a public JWK; raises ValueError, TypeError, LookupError and PyJWTError."""
    kind = jwk["kty"]
    if kind == "RSA":
        _check_length(jwk["n"], MAX_RSA_PUBLIC_BITS)
        _check_length(jwk["e"], MAX_RSA_EXPONENT_BITS)
        check_rsa_numbers(*(int.from_bytes(base64url.decode(jwk[name])) for name in ("n", "e")))
    elif kind not in _JWK_CURVES or jwk["crv"] not in _JWK_CURVES[kind]:
        raise UnsupportedKey("Keys of clients are RSA, EC or Ed25519 keys")
    else:
        for name in ("x", "y") if kind == "EC" else ("x",):
            _check_length(jwk[name], MAX_EC_POINT_BYTES * 8)
    return require_supported(jwt.PyJWK(dict(jwk)).key)


def require_supported(key: object) -> PublicKey:
    """Return a key that a client may use for its signatures; raises UnsupportedKey."""
    if isinstance(key, ec.EllipticCurvePublicKey) and not isinstance(key.curve, _CURVES):
        raise UnsupportedKey("EC keys of clients use P-256, P-384 or P-521")
    if not isinstance(key, PublicKey):
        raise UnsupportedKey("Keys of clients are RSA, EC or Ed25519 keys")
    if isinstance(key, rsa.RSAPublicKey) and key.key_size < MIN_RSA_BITS:
        allowed = f"{MIN_RSA_BITS} to {MAX_RSA_PUBLIC_BITS}"
        raise UnsupportedKey(f"An RSA key of a client has {allowed} bits")
    return key


def fits_algorithm(key: PublicKey, algorithm: str) -> bool:
    """Return whether the kind of key fits. Spec: RFC 7518 §3.1, RFC 8037 §3.1; attacks C13."""
    match key:
        case rsa.RSAPublicKey():
            return algorithm.startswith(("RS", "PS"))
        case ec.EllipticCurvePublicKey():
            curve = _CURVES_OF_ALGORITHMS.get(algorithm)
            return curve is not None and isinstance(key.curve, curve)
        case ed25519.Ed25519PublicKey():
            return algorithm == SignatureAlgorithm.EDDSA


def check_rsa_numbers(modulus: int, exponent: int) -> None:
    """Check the numbers of a public key; raises ValueError, LimitExceeded among it."""
    require_at_most(modulus.bit_length(), MAX_RSA_PUBLIC_BITS, "RSA modulus in bits")
    require_at_most(exponent.bit_length(), MAX_RSA_EXPONENT_BITS, "RSA exponent in bits")
    if exponent < _MIN_EXPONENT or not exponent & modulus & 1:
        raise ValueError("RSA modulus and exponent are odd numbers, the exponent is 3 or more")


def _check_rsa(der: bytes) -> None:
    outer = DerReader(der)
    numbers = outer.enter(SEQUENCE)
    outer.end()
    modulus = numbers.unsigned(MAX_RSA_PUBLIC_BITS, "RSA modulus")
    exponent = numbers.unsigned(MAX_RSA_EXPONENT_BITS, "RSA exponent")
    numbers.end()
    check_rsa_numbers(modulus, exponent)


def _check_length(text: object, most_bits: int) -> None:
    """Check a base64url text before it is decoded; padding and a zero byte are allowed."""
    if not isinstance(text, str):
        raise TypeError("a number of a JWK is text")
    require_at_most(len(text), int((most_bits / 8 + 1) * _DIGITS_PER_BYTE) + 4, "Digits of a JWK")


_BEFORE_KEY: Final = 5
_LONGEST_COMMON_NAME: Final = 64
"""X.520 bounds a common name; names of realms and clients may be longer."""


def load_certificate(der: bytes) -> x509.Certificate:
    """Parse one certificate; raises ValueError, LimitExceeded among it, and InvalidVersion."""
    require_at_most(len(der), MAX_CERTIFICATE_BYTES, "Certificate size in bytes")
    check_public_key_info(signed_fields(der)[1])
    return x509.load_der_x509_certificate(der)


def load_stored_certificate(pem: str) -> x509.Certificate:
    """Parse a PEM certificate that was checked before it was stored; raises ValueError."""
    (der,) = pem_blocks(pem.encode("ascii"), *CERTIFICATE_LABELS)
    return load_certificate(der)


def load_revocation_list(encoded: bytes) -> x509.CertificateRevocationList:
    """Parse one PEM block or DER; raises ValueError."""
    if is_pem(encoded):
        return x509.load_pem_x509_crl(encoded)
    return x509.load_der_x509_crl(encoded)


def signed_fields(der: bytes) -> tuple[tuple[Element, ...], bytes]:
    """Return the fields before the key, and the encoded key; raises ValueError."""
    signed = DerReader(der).enter(SEQUENCE).enter(SEQUENCE)
    if signed.tag == EXPLICIT_0:
        signed.any()
    return tuple(signed.any() for _ in range(_BEFORE_KEY)), signed.encoded(SEQUENCE)


def self_signed(
    key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey, name: str, begins: datetime, ends: datetime
) -> x509.Certificate:
    """Return a certificate of the key for `CN=name`, signed by the key itself."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:_LONGEST_COMMON_NAME])])
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(ends)
        .sign(key, hashes.SHA256())
    )

"""Private and secret keys of realms: generating, storing and loading them, and their public JWK.

A key that does not fit its algorithm is refused when it is loaded, not when it signs. The library's
own check of an imported RSA key holds the interpreter lock for a time that grows with the fourth
power of the key's length. So its numbers are bounded first and checked in short steps. HMAC keys
sign refresh tokens, and tokens where HS256 to HS512 is set. JWK members have Keycloak's order.
Spec: RFC 7517 §4; RFC 7518 §3.1 to §3.4, §6.2, §6.3; RFC 8037 §2, §3.1; RFC 8017 §3.2, §A.1.2;
FIPS 186-5 §B.3.1. Keycloak: the OCT keys of a realm, kid a UUID; kid, kty, alg, use, x5c, x5t,
x5t#S256, then the key itself; x5c in plain base64, all else base64url.
"""

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Callable, Mapping
from typing import Any, Final
from uuid import uuid4

import orjson
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from gateway.crypto import jose
from gateway.crypto.der import OCTET_STRING, SEQUENCE, DerReader
from gateway.crypto.public_keys import (
    RSA_ENCRYPTION,
    PublicKey,
    check_rsa_numbers,
    load_stored_certificate,
)
from gateway.domain import base64url
from gateway.domain.errors import SecretUnreadable
from gateway.domain.keys import (
    SHORTEST_SECRETS,
    EncryptionAlgorithm,
    HeaderType,
    KeyAlgorithm,
    RealmKey,
    SecretAlgorithm,
    SignatureAlgorithm,
)
from gateway.domain.limits.input_sizes import (
    MAX_RSA_EXPONENT_BITS,
    MAX_RSA_PRIVATE_BITS,
    MIN_RSA_BITS,
    LimitExceeded,
)
from gateway.domain.secrets import Secret

PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey

RSA_BITS = MIN_RSA_BITS
_PRIMALITY_ROUNDS: Final = 5
_CURVES: dict[KeyAlgorithm, ec.EllipticCurve] = {
    SignatureAlgorithm.ES256: ec.SECP256R1(),
    SignatureAlgorithm.ES384: ec.SECP384R1(),
    SignatureAlgorithm.ES512: ec.SECP521R1(),
}


def generate_rsa_key(bits: int = RSA_BITS) -> rsa.RSAPrivateKey:
    """Generate an RSA key; it takes about 0.1 s of processor time."""
    return rsa.generate_private_key(public_exponent=65537, key_size=bits)


def generate_private_key(
    algorithm: KeyAlgorithm, rsa_key: Callable[[], rsa.RSAPrivateKey] = generate_rsa_key
) -> PrivateKey:
    """Generate a key for `algorithm`, which is not a symmetric one."""
    if algorithm is SignatureAlgorithm.EDDSA:
        return ed25519.Ed25519PrivateKey.generate()
    curve = _CURVES.get(algorithm)
    return rsa_key() if curve is None else ec.generate_private_key(curve)


def write_private_key(key: PrivateKey) -> Secret:
    """Return the key as PKCS#8 PEM, not encrypted: the store encrypts it."""
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return Secret(pem.decode("ascii"))


def load_private_key(record: RealmKey) -> PrivateKey:
    """Read the key of `record`; raises SecretUnreadable when it does not fit its algorithm."""
    pem = record.private_key.reveal().encode("utf-8", "surrogatepass")
    try:
        # Checking an RSA key takes 37 ms, at every start for every realm. The key is our own: the
        # store authenticates keys when it decrypts them.
        key = load_own_private_key(pem)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise SecretUnreadable(f"the private key of {record.kid} is not PKCS#8 PEM") from error
    if isinstance(key, PrivateKey) and _fits(key, record.algorithm):
        return key
    raise SecretUnreadable(f"the private key of {record.kid} is not a {record.algorithm} key")


def load_own_private_key(pem: bytes) -> object:
    """Parse PEM that this program wrote; never input of a caller. Raises ValueError."""
    return load_pem_private_key(pem, password=None, unsafe_skip_rsa_key_validation=True)


def parse_rsa_private_key(der: bytes) -> rsa.RSAPrivateKey:
    """Parse a caller's PKCS#8 or PKCS#1, in 0.2 s; raises ValueError and LimitExceeded."""
    outer = DerReader(der)
    document = outer.enter(SEQUENCE)
    outer.end()
    _require_version_0(document)
    if document.tag == SEQUENCE:
        _require_rsa(document.enter(SEQUENCE))
        wrapped = DerReader(document.content(OCTET_STRING))
        document = wrapped.enter(SEQUENCE)
        wrapped.end()
        _require_version_0(document)
    numbers = _rsa_numbers(document)
    _require_consistent(numbers)
    return numbers.private_key(unsafe_skip_rsa_key_validation=True)


def _require_version_0(document: DerReader) -> None:
    """Require a key of two primes, and PKCS#8 without a public key."""
    if document.unsigned(MAX_RSA_EXPONENT_BITS, "Version"):
        raise ValueError("not a key of version 0")


def _require_rsa(algorithm: DerReader) -> None:
    if algorithm.object_identifier() != RSA_ENCRYPTION:
        raise ValueError("not an RSA key")
    algorithm.null()
    algorithm.end()


def _rsa_numbers(document: DerReader) -> rsa.RSAPrivateNumbers:
    """Read the eight numbers, each within its bounds; both primes have half the length."""
    whole, half = MAX_RSA_PRIVATE_BITS, MAX_RSA_PRIVATE_BITS // 2
    modulus = document.unsigned(whole, "RSA modulus")
    if modulus.bit_length() < MIN_RSA_BITS:
        allowed = f"{MIN_RSA_BITS} to {MAX_RSA_PRIVATE_BITS}"
        raise LimitExceeded(f"The private key must have {allowed} bits")
    exponent = document.unsigned(MAX_RSA_EXPONENT_BITS, "RSA exponent")
    private = document.unsigned(whole, "RSA private exponent")
    parts = [document.unsigned(half, "RSA prime, exponent or coefficient") for _ in range(5)]
    document.end()
    check_rsa_numbers(modulus, exponent)
    p, q, dmp1, dmq1, iqmp = parts
    return rsa.RSAPrivateNumbers(
        p, q, private, dmp1, dmq1, iqmp, rsa.RSAPublicNumbers(exponent, modulus)
    )


def _require_consistent(key: rsa.RSAPrivateNumbers) -> None:
    """Raise ValueError unless the numbers are one key: a wrong one would reveal it by signing."""
    public, p, q = key.public_numbers, key.p, key.q
    consistent = (
        p != q
        and p > 1 < q
        and p * q == public.n
        and abs(p.bit_length() - q.bit_length()) <= 1
        and 1 < key.d < public.n
        and public.e * key.d % (p - 1) == 1
        and public.e * key.d % (q - 1) == 1
        and key.dmp1 == key.d % (p - 1)
        and key.dmq1 == key.d % (q - 1)
        and 0 < key.iqmp < p
        and key.iqmp * q % p == 1
    )
    if not consistent or not _is_probable_prime(p) or not _is_probable_prime(q):
        raise ValueError("the numbers of the key are not consistent")


def _is_probable_prime(candidate: int) -> bool:
    power = ((candidate - 1) & (1 - candidate)).bit_length() - 1
    odd = (candidate - 1) >> power
    for _ in range(_PRIMALITY_ROUNDS):
        value = pow(secrets.randbelow(candidate - 3) + 2, odd, candidate)
        if value in {1, candidate - 1}:
            continue
        for _ in range(power - 1):
            value = value * value % candidate
            if value == candidate - 1:
                break
        else:
            return False
    return True


def _fits(key: PrivateKey, algorithm: KeyAlgorithm) -> bool:
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return algorithm is SignatureAlgorithm.EDDSA
    curve = _CURVES.get(algorithm)
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return curve is not None and key.curve.name == curve.name
    return curve is None and algorithm is not SignatureAlgorithm.EDDSA and key.key_size >= RSA_BITS


_HMAC_BYTES = 64
_AES_BYTES = 32
_DIGESTS: Final[Mapping[str, str]] = {
    SecretAlgorithm.HS256: "sha256",
    SecretAlgorithm.HS384: "sha384",
    SecretAlgorithm.HS512: "sha512",
}


def generate_secret_key(algorithm: KeyAlgorithm, size: int | None = None) -> tuple[str, Secret]:
    """Return kid and key material of `size` bytes, None for the standard size."""
    standard = _AES_BYTES if algorithm is EncryptionAlgorithm.AES else _HMAC_BYTES
    size = standard if size is None else size
    return str(uuid4()), Secret(base64.b64encode(secrets.token_bytes(size)).decode("ascii"))


class ParsedSecretKey:
    """One secret key of a realm, ready to sign and verify."""

    __slots__ = ("_digest_name", "_headers", "_secret", "record")

    def __init__(self, record: RealmKey) -> None:
        self.record = record
        self._secret = _material(record)
        self._digest_name = _DIGESTS[record.algorithm]
        self._headers = jose.encoded_headers(record)

    def sign(self, payload: bytes, header_type: HeaderType = HeaderType.JWT) -> str:
        signing_input = f"{self._headers[header_type]}.{base64url.encode(payload)}"
        mac = hmac.digest(self._secret, signing_input.encode("ascii"), self._digest_name)
        return f"{signing_input}.{base64url.encode(mac)}"

    def verifies(self, token: jose.CompactJws) -> bool:
        """Tell in constant time whether this key made the signature."""
        mac = hmac.digest(self._secret, token.signing_input, self._digest_name)
        return hmac.compare_digest(mac, token.signature)


def _material(record: RealmKey) -> bytes:
    try:
        material = base64.b64decode(record.private_key.reveal(), validate=True)
    except (binascii.Error, ValueError) as error:
        raise SecretUnreadable(f"the secret key {record.kid} is not base64") from error
    if len(material) < SHORTEST_SECRETS[record.algorithm]:
        raise SecretUnreadable(f"the secret key {record.kid} is too short")
    return material


_CURVE_NAMES = {"secp256r1": "P-256", "secp384r1": "P-384", "secp521r1": "P-521"}


def key_id(public_key: PublicKey, algorithm: str = "") -> str:
    """Return the kid: SHA-256 of the SubjectPublicKeyInfo (not RFC 7638), as Keycloak makes it.

    `algorithm` distinguishes keys with the same numbers, unlike in Keycloak.
    """
    info = public_key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return base64url.encode(hashlib.sha256(info + algorithm.encode("ascii")).digest())


def key_information(public_key: PublicKey) -> str:
    """Return base64 of the SubjectPublicKeyInfo."""
    info = public_key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return base64.b64encode(info).decode("ascii")


def rsa_information(public_key: PublicKey) -> str | None:
    """Return an RSA key as Keycloak's realm information shows it; other kinds are not shown."""
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
        return "EC", {"crv": _CURVE_NAMES[key.curve.name]} | coordinates
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

"""Keys and archives written element by element, so that they may ask for any cost."""

import hashlib
import hmac
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

from gateway.crypto.der import (
    BIT_STRING,
    BMP_STRING,
    CONTEXT_0,
    EXPLICIT_0,
    INTEGER,
    NULL,
    OBJECT_IDENTIFIER,
    OCTET_STRING,
    SEQUENCE,
    SET,
)

DATA = bytes.fromhex("2a864886f70d010701")
ENCRYPTED_DATA = bytes.fromhex("2a864886f70d010706")
SHA_256 = bytes.fromhex("608648016503040201")
PBES2 = bytes.fromhex("2a864886f70d01050d")
PBKDF2 = bytes.fromhex("2a864886f70d01050c")
SCRYPT = bytes.fromhex("2b06010401da47040b")
AES_256 = bytes.fromhex("60864801650304012a")
HMAC_SHA_256 = bytes.fromhex("2a864886f70d0209")
PBE_3DES = bytes.fromhex("2a864886f70d010c0103")
RC2_40 = bytes.fromhex("2a864886f70d010c0106")
RSA = bytes.fromhex("2a864886f70d010101")
CERTIFICATE_BAG = bytes.fromhex("2a864886f70d010c0a0103")
X509 = bytes.fromhex("2a864886f70d01091601")
FRIENDLY_NAME = bytes.fromhex("2a864886f70d010914")
SALT = b"8 octets"
PASSWORD = "sp"


def element(tag: int, *parts: bytes) -> bytes:
    """Return one DER element."""
    content = b"".join(parts)
    if len(content) < 0x80:
        return bytes((tag, len(content))) + content
    length = len(content).to_bytes((len(content).bit_length() + 7) // 8, "big")
    return bytes((tag, 0x80 + len(length))) + length + content


def sequence(*parts: bytes) -> bytes:
    """Return a SEQUENCE."""
    return element(SEQUENCE, *parts)


def number(value: int) -> bytes:
    """Return an INTEGER that is not negative."""
    return element(INTEGER, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def identifier(content: bytes) -> bytes:
    """Return an OBJECT IDENTIFIER."""
    return element(OBJECT_IDENTIFIER, content)


def octets(content: bytes) -> bytes:
    """Return an OCTET STRING."""
    return element(OCTET_STRING, content)


def rsa_public_key(modulus: int, exponent: int = 65537) -> bytes:
    """Return a SubjectPublicKeyInfo."""
    numbers = sequence(number(modulus), number(exponent))
    algorithm = sequence(identifier(RSA), element(NULL))
    return sequence(algorithm, element(BIT_STRING, b"\0", numbers))


def rsa_private_key(numbers: Sequence[int], *, wrapped: bool = True) -> bytes:
    """Return PKCS#8, or PKCS#1, of modulus, exponents, primes and the rest in their order."""
    key = sequence(number(0), *map(number, numbers))
    if not wrapped:
        return key
    return sequence(number(0), sequence(identifier(RSA), element(NULL)), octets(key))


def pbes2(iterations: int, derivation: bytes = PBKDF2) -> bytes:
    """Return an AlgorithmIdentifier: PBKDF2 or another function, and AES-256."""
    function = sequence(octets(SALT), number(iterations), sequence(identifier(HMAC_SHA_256)))
    cipher = sequence(identifier(AES_256), octets(bytes(16)))
    return sequence(identifier(PBES2), sequence(sequence(identifier(derivation), function), cipher))


def pbe(iterations: int, algorithm: bytes = PBE_3DES) -> bytes:
    """Return an AlgorithmIdentifier of PKCS#12's own encryption."""
    return sequence(identifier(algorithm), sequence(octets(SALT), number(iterations)))


def encrypted(algorithm: bytes, data: bytes = bytes(64)) -> bytes:
    """Return an encrypted part of an archive."""
    content = sequence(identifier(DATA), algorithm, element(CONTEXT_0, data))
    return sequence(identifier(ENCRYPTED_DATA), element(EXPLICIT_0, sequence(number(0), content)))


def in_clear(*bags: bytes) -> bytes:
    """Return a part of an archive that is not encrypted."""
    return sequence(identifier(DATA), element(EXPLICIT_0, octets(sequence(*bags))))


def certificate_bag(der: bytes, alias: str = "mine") -> bytes:
    """Return an entry with a certificate."""
    held = sequence(identifier(X509), element(EXPLICIT_0, octets(der)))
    name = element(SET, element(BMP_STRING, alias.encode("utf-16-be")))
    attributes = element(SET, sequence(identifier(FRIENDLY_NAME), name))
    return sequence(identifier(CERTIFICATE_BAG), element(EXPLICIT_0, held), attributes)


def archive(*parts: bytes, iterations: int = 1, salt: bytes = SALT) -> bytes:
    """Return a PKCS#12 archive; its MAC is right for one iteration."""
    content = sequence(*parts)
    text = PASSWORD.encode("utf-16-be") + b"\0\0"
    filled = b"".join((one * 64)[: 64 * -(-len(one) // 64)] for one in (salt, text) if one)
    key = hashlib.sha256(b"\3" * 64 + filled).digest()
    mac = sequence(
        sequence(
            sequence(identifier(SHA_256), element(NULL)),
            octets(hmac.digest(key, content, "sha256")),
        ),
        octets(salt),
        number(iterations),
    )
    safe = sequence(identifier(DATA), element(EXPLICIT_0, octets(content)))
    return sequence(number(3), safe, mac)


def self_signed(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey) -> x509.Certificate:
    """Return a certificate of a key by itself."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sent")])
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )

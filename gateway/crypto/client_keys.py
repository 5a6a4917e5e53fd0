"""Keys that clients prove themselves by: RSA keys made for them, and files that hold public parts.

What comes from outside is read whole before it is believed: one certificate or key, of a kind and
length that can be used. Spec: RFC 5280, RFC 7292 (PKCS#12), RFC 7517 (JWKS), RFC 8017 §A.1
"""

import base64
import binascii
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Final

import jwt
import orjson
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_der_private_key,
    load_pem_public_key,
)
from cryptography.hazmat.primitives.serialization.pkcs12 import (
    PKCS12Certificate,
    load_pkcs12,
    serialize_java_truststore,
    serialize_key_and_certificates,
)
from cryptography.x509.oid import NameOID

from gateway.domain.errors import UnusableSetting
from gateway.domain.ports.client_keys import ClientKey, GeneratedKey, KeyFile, NamedCertificate
from gateway.domain.secrets import Secret

_ARMOUR: Final = b"-----BEGIN "
_SPACE: Final = re.compile(rb"\s+")
_COMMON_NAME_MAX: Final = 64
_LEAST_BITS: Final = 2048
_MOST_BITS: Final = 8192
_MOST_KEYS: Final = 100
_PRIVATE_MEMBERS: Final = frozenset({"d", "p", "q", "dp", "dq", "qi", "oth", "k"})
_NOT_FOUND: Final = "Certificate or key with given alias not found in the keystore"
_UNREADABLE: Final = "error loading keystore"

PublicKey = rsa.RSAPublicKey | ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey


class CryptographyClientKeys:
    """The ClientKeys of the product."""

    def generate(self, name: str, bits: int, begins: datetime, ends: datetime) -> GeneratedKey:
        """Generate an RSA key with a certificate of its own for `name`."""
        key = rsa.generate_private_key(public_exponent=65537, key_size=bits)
        # X.520 bounds a common name; a client's name may be longer.
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:_COMMON_NAME_MAX])])
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(begins)
            .not_valid_after(ends)
            .sign(key, hashes.SHA256())
        )
        private = key.private_bytes(Encoding.DER, PrivateFormat.TraditionalOpenSSL, NoEncryption())
        return GeneratedKey(Secret(_base64(private)), _of_certificate(certificate))

    def read(self, kind: KeyFile, content: bytes, alias: str, password: Secret) -> ClientKey:
        """Return the public part of what a file holds; raises UnusableSetting."""
        try:
            match kind:
                case KeyFile.CERTIFICATE:
                    return ClientKey(certificate=_of_certificate(_certificate(content)))
                case KeyFile.PUBLIC_KEY:
                    return ClientKey(public_key=_of_public_key(content))
                case KeyFile.KEY_SET:
                    return _of_key_set(content)
                case KeyFile.PKCS12:
                    return ClientKey(certificate=_of_archive(content, alias, password))
        except (ValueError, TypeError, LookupError, UnsupportedAlgorithm, jwt.PyJWTError):
            # The cause may quote what was sent.
            raise UnusableSetting(_UNREADABLE) from None

    def archive(
        self,
        password: Secret,
        certificates: Sequence[NamedCertificate],
        private_key: Secret | None = None,
    ) -> bytes:
        """Return a PKCS#12 archive; the private key is that of the first certificate."""
        encryption = BestAvailableEncryption(password.reveal().encode())
        named = [
            PKCS12Certificate(_certificate(one.certificate.encode()), one.alias.encode())
            for one in certificates
        ]
        if private_key is None:
            return serialize_java_truststore(named, encryption)
        key = load_der_private_key(base64.b64decode(private_key.reveal()), password=None)
        if not isinstance(key, rsa.RSAPrivateKey):
            raise UnusableSetting("not an RSA key")
        own, *others = named
        return serialize_key_and_certificates(
            own.friendly_name, key, own.certificate, others, encryption
        )


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")


def _certificate(content: bytes) -> x509.Certificate:
    """Read one certificate, PEM or base64 of DER alone."""
    if _ARMOUR in content:
        (certificate,) = x509.load_pem_x509_certificates(content)
    else:
        certificate = x509.load_der_x509_certificate(_der(content))
    _require_usable(certificate.public_key())
    return certificate


def _of_certificate(certificate: x509.Certificate) -> str:
    return _base64(certificate.public_bytes(Encoding.DER))


def _of_public_key(content: bytes) -> str:
    """Return PEM as Keycloak keeps it."""
    pem = content
    if _ARMOUR not in content:
        lines = _base64(_der(content)).encode("ascii")
        pem = b"-----BEGIN PUBLIC KEY-----\n" + lines + b"\n-----END PUBLIC KEY-----\n"
    key = _require_usable(load_pem_public_key(pem))
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode("ascii")


def _of_key_set(content: bytes) -> ClientKey:
    document = orjson.loads(content)
    keys = document["keys"] if isinstance(document, dict) and "keys" in document else None
    if not isinstance(keys, list) or not 0 < len(keys) <= _MOST_KEYS:
        raise UnusableSetting(_NOT_FOUND)
    if any(not isinstance(key, dict) or _PRIVATE_MEMBERS & key.keys() for key in keys):
        raise UnusableSetting("A key set must hold public keys alone")
    first, *_ = [_require_usable(jwt.PyJWK(key).key) for key in keys]
    der = first.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    kid = keys[0].get("kid")
    return ClientKey(
        public_key=_base64(der),
        kid=kid if isinstance(kid, str) else None,
        key_set=content.decode("utf-8"),
    )


def _of_archive(content: bytes, alias: str, password: Secret) -> str:
    archive = load_pkcs12(content, password.reveal().encode())
    held = [*([archive.cert] if archive.cert else []), *archive.additional_certs]
    named = [one for one in held if one.friendly_name == alias.encode()]
    if len(named) != 1:
        raise UnusableSetting(_NOT_FOUND)
    _require_usable(named[0].certificate.public_key())
    return _of_certificate(named[0].certificate)


def _der(content: bytes) -> bytes:
    try:
        return base64.b64decode(_SPACE.sub(b"", content), validate=True)
    except binascii.Error as error:
        raise ValueError("not base64") from error


def _require_usable(key: object) -> PublicKey:
    if not isinstance(key, PublicKey):
        raise UnusableSetting("Keys of clients are RSA, EC or Ed25519 keys")
    if isinstance(key, rsa.RSAPublicKey) and not _LEAST_BITS <= key.key_size <= _MOST_BITS:
        raise UnusableSetting(f"An RSA key of a client has {_LEAST_BITS} to {_MOST_BITS} bits")
    return key

"""Keys that clients prove themselves by: RSA keys made for them, and files that hold public parts.

Input is parsed whole before it is used: one certificate or key, of a supported kind and length.
Spec: RFC 5280, RFC 7292 (PKCS#12), RFC 7517 (JWKS), RFC 8017 §A.1
"""

import base64
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Final

import orjson
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from cryptography.hazmat.primitives.serialization.pkcs12 import (
    PKCS12Certificate,
    serialize_java_truststore,
    serialize_key_and_certificates,
)

from gateway.crypto.certificates import load_certificate, self_signed
from gateway.crypto.keys.client_key_sets import UNREADABLE
from gateway.crypto.keys.private import generate_rsa_key, load_own_private_key
from gateway.crypto.pem import CERTIFICATE_LABELS, unwrap
from gateway.crypto.pkcs12 import read_archive
from gateway.crypto.public_keys import (
    PRIVATE_MEMBERS,
    UnsupportedKey,
    load_public_jwk,
    load_public_key,
    require_supported,
)
from gateway.domain.errors import UnusableSetting
from gateway.domain.limits.key_documents import (
    MAX_DOCUMENT_BYTES,
    MAX_KEYS_IN_SET,
    LimitExceeded,
    require_at_most,
)
from gateway.domain.ports.client_keys import ClientKey, GeneratedKey, KeyFile, NamedCertificate
from gateway.domain.secrets import Secret

_PUBLIC_KEY_LABELS: Final = (b"PUBLIC KEY", b"RSA PUBLIC KEY")
_NOT_FOUND: Final = "Certificate or key with given alias not found in the keystore"
_UNREADABLE_STORE: Final = "error loading keystore"


class CryptographyClientKeys:
    """The ClientKeys of the product."""

    def generate(self, name: str, bits: int, begins: datetime, ends: datetime) -> GeneratedKey:
        key = generate_rsa_key(bits)
        certificate = self_signed(key, name, begins, ends)
        private = key.private_bytes(Encoding.DER, PrivateFormat.TraditionalOpenSSL, NoEncryption())
        return GeneratedKey(Secret(_base64(private)), _of_certificate(certificate))

    def read(self, kind: KeyFile, content: bytes, alias: str, password: Secret) -> ClientKey:
        with _refusals():
            match kind:
                case KeyFile.CERTIFICATE:
                    return ClientKey(certificate=_of_certificate(_certificate(content)))
                case KeyFile.PUBLIC_KEY:
                    return ClientKey(public_key=_of_public_key(content))
                case KeyFile.KEY_SET:
                    return _of_key_set(content)
                case KeyFile.PKCS12:
                    return ClientKey(certificate=_of_archive(content, alias, password))

    def archive(
        self,
        password: Secret,
        certificates: Sequence[NamedCertificate],
        private_key: Secret | None = None,
    ) -> bytes:
        encryption = BestAvailableEncryption(password.reveal().encode())
        with _refusals():
            # What is stored may have been written as an attribute, unread.
            named = [
                PKCS12Certificate(_certificate(one.certificate.encode()), one.alias.encode())
                for one in certificates
            ]
        if private_key is None:
            return serialize_java_truststore(named, encryption)
        key = _own_key(private_key)
        own, *others = named
        return serialize_key_and_certificates(
            own.friendly_name, key, own.certificate, others, encryption
        )


@contextmanager
def _refusals() -> Iterator[None]:
    """Raise UnusableSetting for a document that cannot be read; it quotes nothing of it."""
    try:
        yield
    except (LimitExceeded, UnsupportedKey) as error:
        raise UnusableSetting(str(error)) from None
    except UNREADABLE:
        raise UnusableSetting(_UNREADABLE_STORE) from None


def _own_key(private_key: Secret) -> rsa.RSAPrivateKey:
    """Parse a key that `generate` has just made."""
    pem = (
        f"-----BEGIN RSA PRIVATE KEY-----\n{private_key.reveal()}\n-----END RSA PRIVATE KEY-----\n"
    )
    key = load_own_private_key(pem.encode("ascii"))
    if not isinstance(key, rsa.RSAPrivateKey):
        raise UnusableSetting("not an RSA key")
    return key


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")


def _certificate(content: bytes) -> x509.Certificate:
    """Read one certificate, PEM or base64 of DER alone."""
    return _usable(unwrap(content, *CERTIFICATE_LABELS))


def _usable(der: bytes) -> x509.Certificate:
    certificate = load_certificate(der)
    require_supported(certificate.public_key())
    return certificate


def _of_certificate(certificate: x509.Certificate) -> str:
    return _base64(certificate.public_bytes(Encoding.DER))


def _of_public_key(content: bytes) -> str:
    """Return PEM as Keycloak keeps it."""
    key = load_public_key(unwrap(content, *_PUBLIC_KEY_LABELS))
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode("ascii")


def _of_key_set(content: bytes) -> ClientKey:
    require_at_most(len(content), MAX_DOCUMENT_BYTES, "Document size in bytes")
    document = orjson.loads(content)
    keys = document["keys"] if isinstance(document, dict) and "keys" in document else None
    if not isinstance(keys, list) or not 0 < len(keys) <= MAX_KEYS_IN_SET:
        raise UnusableSetting(_NOT_FOUND)
    if any(not isinstance(key, dict) or PRIVATE_MEMBERS & key.keys() for key in keys):
        raise UnusableSetting("A key set must hold public keys alone")
    first, *_ = [load_public_jwk(key) for key in keys]
    der = first.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    kid = keys[0].get("kid")
    return ClientKey(
        public_key=_base64(der),
        kid=kid if isinstance(kid, str) else None,
        key_set=content.decode("utf-8"),
    )


def _of_archive(content: bytes, alias: str, password: Secret) -> str:
    found = [one for one in read_archive(content, password.reveal()) if one.alias == alias]
    if len(found) != 1:
        raise UnusableSetting(_NOT_FOUND)
    return _of_certificate(_usable(found[0].der))

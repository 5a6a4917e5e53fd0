"""Keys of a realm, generated or imported, with the certificates that Keycloak publishes.

An imported key is checked in full once: what is read from the store is trusted. One that is too
short is refused, and one so long that signing with it would stop a worker.
Keycloak: CN is the realm's name, ten years, kid from the public key; the key provider `rsa`, whose
refusals have these texts and which takes any length. Spec: RFC 5280 §4.1
"""

import base64
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from uuid import uuid4

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding

from gateway.crypto.certificates import load_certificate, load_stored_certificate, self_signed
from gateway.crypto.keys.jwk import key_id, key_information, key_kind
from gateway.crypto.keys.private import (
    PrivateKey,
    generate_private_key,
    generate_rsa_key,
    load_private_key,
    parse_rsa_private_key,
    write_private_key,
)
from gateway.crypto.keys.ring import PyJwtKeyRing
from gateway.crypto.keys.secret import generate_secret_key
from gateway.crypto.pem import CERTIFICATE_LABELS, unwrap
from gateway.domain.errors import UnusableSetting
from gateway.domain.keys import KeyAlgorithm, KeyStatus, RealmKey, is_symmetric
from gateway.domain.limits.key_documents import LimitExceeded
from gateway.domain.ports.signing import PublicKeyData
from gateway.domain.secrets import Secret

_CERTIFICATE_LIFE = timedelta(days=3652)
_KEY_LABELS = (b"PRIVATE KEY", b"RSA PRIVATE KEY")


class PyJwtKeyFactory:
    """The KeyFactory of the product.

    `rsa_key` makes RSA keys of the usual size, the only slow part: tests hand in keys made
    beforehand.
    """

    def __init__(self, rsa_key: Callable[[], rsa.RSAPrivateKey] = generate_rsa_key) -> None:
        self._rsa_key = rsa_key

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
        if is_symmetric(algorithm):
            kid, material = generate_secret_key(algorithm, size)
            return _record(realm_id, algorithm, now, kid=kid, material=material)
        make = self._rsa_key if size is None else partial(generate_rsa_key, size)
        key = generate_private_key(algorithm, make)
        made = _asymmetric(realm_id, algorithm, now, key)
        return self.certified(made, realm_name, now) if certified else made

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
        key = _read_rsa_key(private_key)
        taken = _asymmetric(realm_id, algorithm, now, key)
        if certificate is None:
            return self.certified(taken, realm_name, now)
        return replace(taken, certificate=_pem(_read_certificate(certificate, key)))

    def certified(self, key: RealmKey, realm_name: str, now: datetime) -> RealmKey:
        return replace(key, certificate=_self_signed(load_private_key(key), realm_name, now))

    def apart(self, key: RealmKey) -> RealmKey:
        public = load_private_key(key).public_key()
        return replace(key, kid=key_id(public, key.algorithm.value))

    def public_data(self, key: RealmKey) -> PublicKeyData:
        if is_symmetric(key.algorithm):
            return PublicKeyData("OCT")
        public = load_private_key(key).public_key()
        kind, information = key_kind(public), key_information(public)
        if key.certificate is None:
            return PublicKeyData(kind, information)
        certificate = load_stored_certificate(key.certificate)
        der = base64.b64encode(certificate.public_bytes(Encoding.DER)).decode("ascii")
        return PublicKeyData(kind, information, der, certificate.not_valid_after_utc)

    def ring(self, keys: tuple[RealmKey, ...]) -> PyJwtKeyRing:
        return PyJwtKeyRing(keys)


def _asymmetric(realm_id: str, algorithm: KeyAlgorithm, now: datetime, key: PrivateKey) -> RealmKey:
    kid = key_id(key.public_key())
    return _record(realm_id, algorithm, now, kid=kid, material=write_private_key(key))


def _record(
    realm_id: str, algorithm: KeyAlgorithm, now: datetime, *, kid: str, material: Secret
) -> RealmKey:
    return RealmKey(
        id=str(uuid4()),
        realm_id=realm_id,
        kid=kid,
        algorithm=algorithm,
        status=KeyStatus.ACTIVE,
        created_at=now,
        active_from=now,
        private_key=material,
    )


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(Encoding.PEM).decode("ascii")


def _self_signed(key: PrivateKey, realm_name: str, now: datetime) -> str | None:
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return None
    return _pem(self_signed(key, realm_name, now, now + _CERTIFICATE_LIFE))


def _read_rsa_key(given: Secret) -> rsa.RSAPrivateKey:
    """Return the key; raises UnusableSetting."""
    try:
        return parse_rsa_private_key(unwrap(given.reveal().encode("ascii"), *_KEY_LABELS))
    except LimitExceeded as error:
        raise UnusableSetting(str(error)) from None
    except (ValueError, TypeError, UnsupportedAlgorithm):
        # The cause may quote what was sent.
        raise UnusableSetting("Failed to decode private key") from None


def _read_certificate(text: str, key: rsa.RSAPrivateKey) -> x509.Certificate:
    """Return the certificate of the key; raises UnusableSetting."""
    try:
        certificate = load_certificate(unwrap(text.encode("ascii"), *CERTIFICATE_LABELS))
        certified = certificate.public_key()
    except LimitExceeded as error:
        raise UnusableSetting(str(error)) from None
    except (ValueError, TypeError, UnsupportedAlgorithm, x509.InvalidVersion):
        raise UnusableSetting("Failed to decode certificate") from None
    if certified != key.public_key():
        raise UnusableSetting("Certificate does not match private key")
    return certificate

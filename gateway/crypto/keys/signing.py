"""Making a realm's signing keys, with the self-signed certificate that Keycloak publishes too.

Keycloak: CN is the realm's name, ten years, kid from the public key. Spec: RFC 5280 §4.1
"""

import base64
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from uuid import uuid4

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from gateway.crypto.certificates import load_stored_certificate
from gateway.crypto.keys.imported import read_certificate, read_rsa_key
from gateway.crypto.keys.jwk import key_id, key_information, key_kind
from gateway.crypto.keys.private import (
    PrivateKey,
    generate_private_key,
    generate_rsa_key,
    load_private_key,
    write_private_key,
)
from gateway.crypto.keys.ring import PyJwtKeyRing
from gateway.crypto.keys.secret import generate_secret_key
from gateway.domain.keys import KeyAlgorithm, KeyStatus, RealmKey, SecretAlgorithm
from gateway.domain.ports.signing import PublicKeyData
from gateway.domain.secrets import Secret

_CERTIFICATE_LIFE = timedelta(days=3652)
_COMMON_NAME_MAX = 64


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
        """Generate a key that signs from `now` on."""
        if isinstance(algorithm, SecretAlgorithm):
            kid, material = generate_secret_key(*() if size is None else (size,))
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
        """Return a key that signs from `now` on; raises UnusableSetting."""
        key = read_rsa_key(private_key)
        taken = _asymmetric(realm_id, algorithm, now, key)
        if certificate is None:
            return self.certified(taken, realm_name, now)
        return replace(taken, certificate=_pem(read_certificate(certificate, key)))

    def certified(self, key: RealmKey, realm_name: str, now: datetime) -> RealmKey:
        """Return the key with a new certificate of its own, where its kind may have one."""
        return replace(key, certificate=_self_signed(load_private_key(key), realm_name, now))

    def apart(self, key: RealmKey) -> RealmKey:
        """Return the key under a kid of its algorithm."""
        public = load_private_key(key).public_key()
        return replace(key, kid=key_id(public, key.algorithm.value))

    def public_data(self, key: RealmKey) -> PublicKeyData:
        """Return what may be shown of the key; raises SecretUnreadable."""
        if isinstance(key.algorithm, SecretAlgorithm):
            return PublicKeyData("OCT")
        public = load_private_key(key).public_key()
        kind, information = key_kind(public), key_information(public)
        if key.certificate is None:
            return PublicKeyData(kind, information)
        certificate = load_stored_certificate(key.certificate)
        der = base64.b64encode(certificate.public_bytes(Encoding.DER)).decode("ascii")
        return PublicKeyData(kind, information, der, certificate.not_valid_after_utc)

    def ring(self, keys: tuple[RealmKey, ...]) -> PyJwtKeyRing:
        """Parse the realm's keys once; raises SecretUnreadable for a key that is none."""
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
    # X.520 bounds a common name; a realm's name may be longer.
    common_name = x509.NameAttribute(NameOID.COMMON_NAME, realm_name[:_COMMON_NAME_MAX])
    name = x509.Name([common_name])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + _CERTIFICATE_LIFE)
        .sign(key, hashes.SHA256())
    )
    return _pem(certificate)

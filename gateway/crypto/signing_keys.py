"""Making a realm's signing keys, with the self-signed certificate that Keycloak publishes too.

Keycloak: CN is the realm's name, ten years, kid from the public key. Spec: RFC 5280 §4.1
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import uuid4

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from gateway.crypto.jwk import key_id
from gateway.crypto.key_ring import PyJwtKeyRing
from gateway.crypto.private_keys import (
    PrivateKey,
    generate_private_key,
    generate_rsa_key,
    write_private_key,
)
from gateway.crypto.secret_keys import generate_secret_key
from gateway.domain.keys import KeyAlgorithm, KeyStatus, RealmKey, SecretAlgorithm

_CERTIFICATE_LIFE = timedelta(days=3652)
_COMMON_NAME_MAX = 64


class PyJwtKeyFactory:
    """The KeyFactory of the product.

    `rsa_key` makes RSA keys, the only slow part: tests hand in keys made beforehand.
    """

    def __init__(self, rsa_key: Callable[[], rsa.RSAPrivateKey] = generate_rsa_key) -> None:
        self._rsa_key = rsa_key

    def generate(
        self, realm_id: str, realm_name: str, algorithm: KeyAlgorithm, now: datetime
    ) -> RealmKey:
        """Generate a key that signs from `now` on."""
        if isinstance(algorithm, SecretAlgorithm):
            kid, material = generate_secret_key()
            certificate = None
        else:
            key = generate_private_key(algorithm, self._rsa_key)
            kid, material = key_id(key.public_key()), write_private_key(key)
            certificate = _self_signed(key, realm_name, now)
        return RealmKey(
            id=str(uuid4()),
            realm_id=realm_id,
            kid=kid,
            algorithm=algorithm,
            status=KeyStatus.ACTIVE,
            created_at=now,
            active_from=now,
            private_key=material,
            certificate=certificate,
        )

    def ring(self, keys: tuple[RealmKey, ...]) -> PyJwtKeyRing:
        """Parse the realm's keys once; raises SecretUnreadable for a key that is none."""
        return PyJwtKeyRing(keys)


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
    return certificate.public_bytes(Encoding.PEM).decode("ascii")

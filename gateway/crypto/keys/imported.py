"""RSA keys and certificates that an administrator sends: as PEM, or as base64 of DER alone.

What comes from outside is checked in full, once: it is trusted when it is read from the store.
A key too short to be safe is refused, and one so long that signing with it would stop a worker.
Keycloak: the key provider `rsa`, which refuses in these words and takes any length
"""

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import rsa

from gateway.crypto.certificates import load_certificate
from gateway.crypto.keys.private import parse_rsa_private_key
from gateway.crypto.pem import CERTIFICATE_LABELS, unwrap
from gateway.domain.errors import UnusableSetting
from gateway.domain.limits.key_documents import LimitExceeded
from gateway.domain.secrets import Secret

_KEY_LABELS = (b"PRIVATE KEY", b"RSA PRIVATE KEY")


def read_rsa_key(given: Secret) -> rsa.RSAPrivateKey:
    """Return the key; raises UnusableSetting."""
    try:
        return parse_rsa_private_key(unwrap(given.reveal().encode("ascii"), *_KEY_LABELS))
    except LimitExceeded as error:
        raise UnusableSetting(str(error)) from None
    except (ValueError, TypeError, UnsupportedAlgorithm):
        # The cause may quote what was sent.
        raise UnusableSetting("Failed to decode private key") from None


def read_certificate(text: str, key: rsa.RSAPrivateKey) -> x509.Certificate:
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

"""RSA keys and certificates that an administrator sends: as PEM, or as base64 of DER alone.

What comes from outside is checked in full, once: it is believed when it is read from the store.
A key too short to be safe is refused, and one so long that signing with it would stop a worker.
Keycloak: the key provider `rsa`, which refuses in these words and takes any length
"""

import base64
import binascii
import re
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    load_der_private_key,
    load_pem_private_key,
)

from gateway.crypto.private_keys import RSA_BITS
from gateway.domain.errors import UnusableSetting
from gateway.domain.secrets import Secret

MOST_RSA_BITS: Final = 4096
_ARMOUR: Final = "-----BEGIN "
_SPACE: Final = re.compile(r"\s+")


def read_rsa_key(given: Secret) -> rsa.RSAPrivateKey:
    """Return the key; raises UnusableSetting."""
    text = given.reveal()
    try:
        if _ARMOUR in text:
            key = load_pem_private_key(text.strip().encode("ascii"), password=None)
        else:
            key = load_der_private_key(_der(text), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        # The cause may quote what was sent.
        raise UnusableSetting("Failed to decode private key") from None
    if not isinstance(key, rsa.RSAPrivateKey):
        raise UnusableSetting("Failed to decode private key")
    if not RSA_BITS <= key.key_size <= MOST_RSA_BITS:
        raise UnusableSetting(f"The private key must have {RSA_BITS} to {MOST_RSA_BITS} bits")
    return key


def read_certificate(text: str, key: rsa.RSAPrivateKey) -> x509.Certificate:
    """Return the certificate of the key; raises UnusableSetting."""
    try:
        if _ARMOUR in text:
            certificate = x509.load_pem_x509_certificate(text.strip().encode("ascii"))
        else:
            certificate = x509.load_der_x509_certificate(_der(text))
        certified = certificate.public_key()
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise UnusableSetting("Failed to decode certificate") from None
    if certified != key.public_key():
        raise UnusableSetting("Certificate does not match private key")
    return certificate


def _der(text: str) -> bytes:
    try:
        return base64.b64decode(_SPACE.sub("", text), validate=True)
    except binascii.Error as error:
        raise ValueError("not base64") from error

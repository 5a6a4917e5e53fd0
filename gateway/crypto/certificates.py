"""Parsing certificates and revocation lists: the only module that lets the library do it.

The size and the public key are checked on the encoding first. The library reads a certificate
lazily: what is parsed later, such as the key, was checked here.

Spec: RFC 5280 §4.1, §5.1
"""

from cryptography import x509

from gateway.crypto.der import EXPLICIT_0, SEQUENCE, DerReader
from gateway.crypto.pem import CERTIFICATE_LABELS, pem_blocks
from gateway.crypto.public_keys import check_public_key_info
from gateway.domain.limits.key_documents import MAX_CERTIFICATE_BYTES, require_at_most

_BEFORE_KEY = 5
"""Serial number, signature algorithm, issuer, validity and subject."""


def load_certificate(der: bytes) -> x509.Certificate:
    """Parse one certificate; raises ValueError, LimitExceeded among it, and InvalidVersion."""
    require_at_most(len(der), MAX_CERTIFICATE_BYTES, "Certificate size in bytes")
    check_public_key_info(_public_key_info(der))
    return x509.load_der_x509_certificate(der)


def load_stored_certificate(pem: str) -> x509.Certificate:
    """Parse a PEM certificate that was checked before it was stored; raises ValueError."""
    (der,) = pem_blocks(pem.encode("ascii"), *CERTIFICATE_LABELS)
    return load_certificate(der)


def load_revocation_list(pem: bytes) -> x509.CertificateRevocationList:
    """Parse one PEM block of an operator's file; raises ValueError."""
    return x509.load_pem_x509_crl(pem)


def _public_key_info(der: bytes) -> bytes:
    """Return the SubjectPublicKeyInfo as it is encoded."""
    certificate = DerReader(der).enter(SEQUENCE)
    signed = certificate.enter(SEQUENCE)
    if signed.tag == EXPLICIT_0:
        signed.any()
    for _ in range(_BEFORE_KEY):
        signed.any()
    return signed.encoded(SEQUENCE)

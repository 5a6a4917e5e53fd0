"""Parsing certificates and revocation lists: the only module that lets the library do it.

The size and the public key are checked on the encoding first. The library reads a certificate
lazily: what is parsed later, such as the key, was checked here. Spec: RFC 5280 §4.1, §5.1
"""

from datetime import datetime
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

from gateway.crypto.der import EXPLICIT_0, SEQUENCE, DerReader
from gateway.crypto.pem import CERTIFICATE_LABELS, is_pem, pem_blocks
from gateway.crypto.public_keys import check_public_key_info
from gateway.domain.distinguished_names.der import Element
from gateway.domain.limits.key_documents import MAX_CERTIFICATE_BYTES, require_at_most

_BEFORE_KEY: Final = 5
_LONGEST_COMMON_NAME: Final = 64
"""X.520 bounds a common name; names of realms and clients may be longer."""


def load_certificate(der: bytes) -> x509.Certificate:
    """Parse one certificate; raises ValueError, LimitExceeded among it, and InvalidVersion."""
    require_at_most(len(der), MAX_CERTIFICATE_BYTES, "Certificate size in bytes")
    check_public_key_info(signed_fields(der)[1])
    return x509.load_der_x509_certificate(der)


def load_stored_certificate(pem: str) -> x509.Certificate:
    """Parse a PEM certificate that was checked before it was stored; raises ValueError."""
    (der,) = pem_blocks(pem.encode("ascii"), *CERTIFICATE_LABELS)
    return load_certificate(der)


def load_revocation_list(encoded: bytes) -> x509.CertificateRevocationList:
    """Parse one PEM block or DER; raises ValueError."""
    if is_pem(encoded):
        return x509.load_pem_x509_crl(encoded)
    return x509.load_der_x509_crl(encoded)


def signed_fields(der: bytes) -> tuple[tuple[Element, ...], bytes]:
    """Return what is signed before the key, and the encoded SubjectPublicKeyInfo.

    That is: serial number, signature algorithm, issuer, validity and subject. Raises ValueError.
    """
    signed = DerReader(der).enter(SEQUENCE).enter(SEQUENCE)
    if signed.tag == EXPLICIT_0:
        signed.any()
    return tuple(signed.any() for _ in range(_BEFORE_KEY)), signed.encoded(SEQUENCE)


def self_signed(
    key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey, name: str, begins: datetime, ends: datetime
) -> x509.Certificate:
    """Return a certificate of the key for `CN=name`, signed by the key itself."""
    common_name = x509.NameAttribute(NameOID.COMMON_NAME, name[:_LONGEST_COMMON_NAME])
    subject = x509.Name([common_name])
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(ends)
        .sign(key, hashes.SHA256())
    )

"""The description of a certificate, for people and for `--output json`.

Spec: RFC 8705 §3.1 (`x5t#S256` is base64url of the SHA-256 of the DER encoding)
"""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import unquote_to_bytes

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding

from gateway.crypto import certificates
from gateway.crypto.pem import CERTIFICATE_LABELS, is_pem, pem_blocks
from gateway.crypto.x509.issuing import PkiRefused
from gateway.crypto.x509.parse import names_from_der
from gateway.domain import base64url

ESCAPED_BEGINNING = b"-----BEGIN%20"

ALTERNATIVE_NAMES: dict[type[x509.GeneralName], str] = {
    x509.DNSName: "DNS",
    x509.UniformResourceIdentifier: "URI",
    x509.IPAddress: "IP",
    x509.RFC822Name: "email",
    x509.DirectoryName: "DN",
}


@dataclass(frozen=True, slots=True)
class CertificateDescription:
    """The facts of one certificate in the forms that settings and claims use."""

    subject: str
    subject_alternative_names: tuple[str, ...]
    issuer: str
    serial: str
    not_before: datetime
    not_after: datetime
    key: str
    sha256: str
    x5t_s256: str


def load_certificate(data: bytes) -> x509.Certificate:
    """Read the first certificate of PEM, URL-escaped PEM or DER; raises ValueError."""
    text = data.strip().strip(b'"')
    if ESCAPED_BEGINNING in text:
        text = unquote_to_bytes(text)
    try:
        der = next(iter(pem_blocks(text, *CERTIFICATE_LABELS)), b"") if is_pem(text) else data
        return certificates.load_certificate(der)
    except x509.InvalidVersion as error:
        raise ValueError(str(error)) from error


def describe(certificate: x509.Certificate) -> CertificateDescription:
    """Describe `certificate`; raises PkiRefused when its names or key cannot be read."""
    try:
        return _described(certificate)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise PkiRefused(f"the certificate cannot be described: {error}") from error


def _described(certificate: x509.Certificate) -> CertificateDescription:
    der = certificate.public_bytes(Encoding.DER)
    issuer, subject = names_from_der(der)
    thumbprint = hashlib.sha256(der).digest()
    return CertificateDescription(
        subject=subject.rfc4514(),
        subject_alternative_names=_alternative_names(certificate),
        issuer=issuer.rfc4514(),
        serial=f"{certificate.serial_number:x}",
        not_before=certificate.not_valid_before_utc,
        not_after=certificate.not_valid_after_utc,
        key=_key(certificate),
        sha256=thumbprint.hex(),
        x5t_s256=base64url.encode(thumbprint),
    )


def _alternative_names(certificate: x509.Certificate) -> tuple[str, ...]:
    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return ()
    return tuple(map(_alternative_name, extension.value))


def _alternative_name(name: x509.GeneralName) -> str:
    kind = ALTERNATIVE_NAMES.get(type(name), type(name).__name__)
    value = name.value.rfc4514_string() if isinstance(name.value, x509.Name) else str(name.value)
    # The maker of a certificate chooses the text; it must not control the reader's terminal.
    return f"{kind}:{value if value.isprintable() else ascii(value)}"


def _key(certificate: x509.Certificate) -> str:
    match certificate.public_key():
        case rsa.RSAPublicKey() as key:
            return f"RSA {key.key_size} bits"
        case ec.EllipticCurvePublicKey() as key:
            return f"EC {key.curve.name}"
        case key:
            return type(key).__name__.removesuffix("PublicKey")

"""Client certificates for attacks: those of the operator, and one of an authority made up here."""

import ssl
import tempfile
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from cryptography.hazmat.primitives import serialization

from gateway.crypto.certificates import load_certificate
from gateway.crypto.pem import CERTIFICATE_LABELS, pem_blocks
from gateway.crypto.x509.issuing import (
    Authority,
    KeyAlgorithm,
    Purpose,
    Validity,
    generate_key,
    issue_end_entity,
    issue_root,
    name,
)

_LIFETIME = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """A certificate with its key, both as PEM."""

    kind: str
    pem: bytes = field(repr=False)

    def load_into(self, context: ssl.SSLContext) -> None:
        """Present the certificate in handshakes; raises ssl.SSLError without a matching key."""
        # The library reads certificates from files alone.
        with tempfile.NamedTemporaryFile(suffix=".pem") as file:
            file.write(self.pem)
            file.flush()
            context.load_cert_chain(file.name)


def read_certificate(kind: str, path: Path) -> ClientCertificate:
    """Read certificate and key from one file; raises OSError, ValueError."""
    certificate = ClientCertificate(kind, path.read_bytes())
    try:
        certificate.load_into(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
    except ssl.SSLError as failure:
        raise ValueError(f"{path} is not a PEM certificate with its key") from failure
    return certificate


def impostor_of(certificate: ClientCertificate | None, now: datetime) -> ClientCertificate:
    """Make a certificate with the names of another one, by an authority with its issuer's name."""
    subject, issuer = name("realmgate-doctor"), name("realmgate-doctor CA")
    if certificate is not None:
        imitated = load_certificate(pem_blocks(certificate.pem, *CERTIFICATE_LABELS)[0])
        subject, issuer = imitated.subject, imitated.issuer
    validity = Validity.starting(now, _LIFETIME)
    key = generate_key(KeyAlgorithm.ECDSA)
    authority: Authority = issue_root(issuer, generate_key(KeyAlgorithm.ECDSA), validity)
    made = issue_end_entity(authority, subject, key.public_key(), validity, purpose=Purpose.CLIENT)
    encoded = made.public_bytes(serialization.Encoding.PEM) + key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return ClientCertificate("of another authority", encoded)

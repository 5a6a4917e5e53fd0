"""Certificates and authorities made one by one, and what openssl says of a chain of them."""

import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from gateway.crypto.x509.issuing import PrivateKey

NOW = datetime.now(UTC).replace(microsecond=0)
DAY = timedelta(days=1)
CA = x509.BasicConstraints(ca=True, path_length=None)
NOT_CRITICAL = (
    x509.SubjectKeyIdentifier,
    x509.AuthorityKeyIdentifier,
    x509.CRLDistributionPoints,
    x509.AuthorityInformationAccess,
    x509.OCSPNoCheck,
)
KEYS = tuple(ec.generate_private_key(ec.SECP256R1()) for _ in range(3))
"""For certificates whose key does not matter: making one takes as long as ten signatures."""
_issued: "dict[bytes, Node]" = {}
"""By DER; a caller who shows a certificate in TLS needs its key."""


@dataclass(frozen=True, slots=True)
class Node:
    """A certificate and its key."""

    certificate: x509.Certificate
    key: PrivateKey

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(Encoding.PEM).decode()

    @property
    def der(self) -> bytes:
        return self.certificate.public_bytes(Encoding.DER)

    @property
    def sha256(self) -> str:
        return self.certificate.fingerprint(hashes.SHA256()).hex()


def common_name(text: str) -> x509.Name:
    """Return a name of one CN."""
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def issue(
    subject: str | x509.Name,
    issuer: Node | None,
    *extensions: x509.ExtensionType,
    key: PrivateKey | None = None,
    days: tuple[int, int] = (-1, 1),
) -> Node:
    """Issue a certificate, self-signed without an issuer; NOT_CRITICAL are not critical."""
    own = key or ec.generate_private_key(ec.SECP256R1())
    name = common_name(subject) if isinstance(subject, str) else subject
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(issuer.certificate.subject if issuer else name)
        .public_key(own.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW + days[0] * DAY)
        .not_valid_after(NOW + days[1] * DAY)
    )
    for extension in extensions:
        critical = not isinstance(extension, NOT_CRITICAL)
        builder = builder.add_extension(extension, critical=critical)
    node = Node(builder.sign(issuer.key if issuer else own, hashes.SHA256()), own)
    _issued[node.der] = node
    return node


def find_issued(certificate: bytes) -> Node | None:
    """Return a certificate of this process with its key, by its DER."""
    return _issued.get(certificate)


def openssl_refusal(
    folder: Path, leaf: Node, roots: Iterable[Node], sent: Iterable[Node], *options: str
) -> str | None:
    """Return what `openssl verify` has against the leaf as a TLS client, None for nothing."""
    (folder / "roots.pem").write_text("".join(node.pem for node in roots))
    (folder / "sent.pem").write_text("".join(node.pem for node in (leaf, *sent)))
    (folder / "leaf.pem").write_text(leaf.pem)
    command = ["openssl", "verify", "-purpose", "sslclient", "-CAfile", "roots.pem"]
    done = subprocess.run(
        [*command, "-untrusted", "sent.pem", *options, "leaf.pem"],
        cwd=folder,
        capture_output=True,
        check=False,
        text=True,
        timeout=60,
    )
    return None if done.returncode == 0 else done.stderr + done.stdout

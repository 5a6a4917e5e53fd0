"""Certificates a client may hold out to nginx: good ones, and one for each way of being bad."""

import shutil
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509

from gateway.crypto.x509.development_pki import ClientOrder, create_pki, issue_client
from gateway.crypto.x509.issuing import (
    Authority,
    KeyAlgorithm,
    Purpose,
    Validity,
    generate_key,
    issue_end_entity,
    issue_revocation_list,
    issue_root,
    name,
)
from gateway.crypto.x509.pki_directory import (
    ISSUING,
    REVOCATION_LISTS,
    ROOT,
    key_pem,
    pem,
    read_authority,
)
from gateway.crypto.x509.pki_revocation import revoke

GOOD = ("device-1", "device-2", "user", "large")
REFUSED = ("expired", "not-yet-valid", "revoked", "server-only")
UNKNOWN = ("unknown-authority", "same-named-authority", "self-signed")
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class EdgeCertificates:
    """The folder with `<name>.crt` and `<name>.key` of every certificate above, and the PKI."""

    folder: Path

    def certificate(self, certificate: str) -> x509.Certificate:
        """Return a certificate by name."""
        return x509.load_pem_x509_certificate((self.folder / f"{certificate}.crt").read_bytes())


def make_edge_certificates(folder: Path) -> EdgeCertificates:
    """Make the PKI of `realmgate certs init`, and the bad company."""
    now = datetime.now(UTC)
    create_pki(folder, now=now)
    made = EdgeCertificates(folder)
    for client, uris in (("revoked", 0), ("large", 57), ("oversized", 150)):
        order = ClientOrder(client, uris=tuple(f"urn:example:{n:0>80}" for n in range(uris)))
        issue_client(folder, client, order, now=now)
    revoke(folder, made.certificate("revoked"), now=now)
    issuing = read_authority(folder, ISSUING)
    current = Validity(now - DAY, now + DAY)
    _issue(folder, "expired", issuing, Validity(now - 2 * DAY, now - DAY))
    _issue(folder, "not-yet-valid", issuing, Validity(now + DAY, now + 2 * DAY))
    _issue(folder, "server-only", issuing, current, Purpose.SERVER)
    stranger = issue_root(name("Stranger"), generate_key(KeyAlgorithm.ECDSA), current)
    _issue(folder, "unknown-authority", stranger, current)
    impostor = issue_root(issuing.certificate.subject, generate_key(KeyAlgorithm.ECDSA), current)
    _issue(folder, "same-named-authority", impostor, current)
    _self_signed(folder, current)
    return made


def stale_revocation_lists(certificates: EdgeCertificates, folder: Path) -> Path:
    """Copy the PKI to `folder`, with revocation lists that should have been renewed yesterday."""
    shutil.copytree(certificates.folder, folder)
    now = datetime.now(UTC)
    lists = (
        issue_revocation_list(
            read_authority(folder, authority), (), 2, Validity(now - 2 * DAY, now - DAY)
        )
        for authority in (ISSUING, ROOT)
    )
    (folder / REVOCATION_LISTS).write_bytes(pem(*lists))
    return folder


def _issue(
    folder: Path,
    client: str,
    issuer: Authority,
    validity: Validity,
    purpose: Purpose = Purpose.CLIENT,
) -> None:
    key = generate_key(KeyAlgorithm.ECDSA)
    certificate = issue_end_entity(
        issuer, name(client), key.public_key(), validity, purpose=purpose
    )
    (folder / f"{client}.crt").write_bytes(pem(certificate))
    (folder / f"{client}.key").write_bytes(key_pem(key))


def _self_signed(folder: Path, validity: Validity) -> None:
    itself = issue_root(name("self-signed"), generate_key(KeyAlgorithm.ECDSA), validity)
    certificate = issue_end_entity(
        itself, name("self-signed"), itself.key.public_key(), validity, purpose=Purpose.CLIENT
    )
    (folder / "self-signed.crt").write_bytes(pem(certificate))
    (folder / "self-signed.key").write_bytes(key_pem(itself.key))

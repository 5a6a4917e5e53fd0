"""Certificates a client may hold out to nginx: good ones, and the zoo, sorted by nginx's answer."""

import shutil
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from gateway.crypto.x509.development_pki import (
    ISSUING,
    REVOCATION_LISTS,
    ROOT,
    ClientOrder,
    issue_client,
    pem,
    read_authority,
)
from gateway.crypto.x509.issuing import ValidityPeriod, issue_revocation_list
from tests.support.certificates import Zoo, make_zoo

GOOD = ("device-1", "device-2", "user", "large")
OVERSIZED = ("huge 13 kB", "huge 25 kB", "huge 91 kB")
REFUSED = (
    "expired",
    "not yet valid",
    "wrong EKU",
    "key usage without signing",
    "unknown critical extension",
    "weak key",
    "same-named CA with another key",
)
REVOKED = "revoked"
STRANGERS = (
    "unknown CA",
    "unknown CA, server EKU",
    "self-signed",
    "self-signed CA:TRUE",
)
DAY = timedelta(days=1)
# Its PEM, escaped, is a little longer than 8 kB.
LARGE = ClientOrder("large", uris=tuple(f"urn:example:{number:0>80}" for number in range(57)))


@dataclass(frozen=True, slots=True)
class EdgeCertificates:
    """A PKI as `realmgate certs init` makes it, and the zoo around it."""

    zoo: Zoo

    @property
    def folder(self) -> Path:
        """Return the folder of the PKI."""
        return self.zoo.directory

    def pair(self, certificate: str) -> Path:
        """Return the path that, with .crt and .key, names a certificate and its key."""
        if certificate in self.zoo.animals:
            return self.zoo[certificate].certificate.with_suffix("")
        return self.folder / certificate


def make_edge_certificates(folder: Path) -> EdgeCertificates:
    """Make the PKI and the zoo in `folder`."""
    now = datetime.now(UTC)
    zoo = make_zoo(folder, now)
    issue_client(zoo.directory, "large", LARGE, now=now)
    return EdgeCertificates(zoo)


def stale_revocation_lists(certificates: EdgeCertificates, folder: Path) -> Path:
    """Copy the PKI to `folder`, with revocation lists that should have been renewed yesterday."""
    shutil.copytree(certificates.folder, folder)
    now = datetime.now(UTC)
    lists = (
        issue_revocation_list(
            read_authority(folder, authority), (), 2, ValidityPeriod(now - 2 * DAY, now - DAY)
        )
        for authority in (ISSUING, ROOT)
    )
    (folder / REVOCATION_LISTS).write_bytes(pem(*lists))
    return folder

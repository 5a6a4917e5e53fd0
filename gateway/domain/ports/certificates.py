"""Certificates: parsing, authorities and revocation."""

from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from gateway.domain.certificates import CertificationPath, PresentedCertificate

if TYPE_CHECKING:
    from gateway.domain.realm import Realm


class MalformedCertificate(Exception):
    """The bytes are not one well-formed X.509 certificate; `str()` says why, for logs."""


class CertificateParser(Protocol):
    """Parses the certificate that the proxy forwards."""

    def parse(self, der: bytes) -> PresentedCertificate:
        """Parse exactly one certificate; raises MalformedCertificate."""


class Authorities(Protocol):
    """Trust anchors with their intermediates, which may be replaced while the gateway runs."""

    @property
    def edition(self) -> int:
        """A number that changes when the authorities change."""

    def renew(self) -> None:
        """Load the authorities again where they were replaced."""

    def path(self, leaf: PresentedCertificate, now: datetime) -> CertificationPath | None:
        """Return a path from `leaf`, preferably one that is valid now; None: issuer unknown.

        Raises CertificateRefused where purpose, key or signature of the leaf do not suit a client
        certificate, and where its known issuer does not allow it.
        """


class Revocations(Protocol):
    """Which certificates were revoked."""

    async def refusal(self, path: CertificationPath, realm: "Realm", now: datetime) -> str | None:
        """Return why a certificate of the path counts as revoked in the realm, else None.

        The path must come from the current authorities.
        """

"""What the edge and the rules of trust ask of the library that reads certificates."""

from datetime import datetime
from typing import Protocol

from gateway.domain.certificates import CertificationPath, PresentedCertificate


class MalformedCertificate(Exception):
    """The bytes are not one well-formed X.509 certificate; `str()` says why, for logs."""


class CertificateParser(Protocol):
    """Reads the certificate that the proxy forwards."""

    def parse(self, der: bytes) -> PresentedCertificate:
        """Return what exactly one certificate says; raises MalformedCertificate."""


class Authorities(Protocol):
    """Trust anchors with their intermediates, which may be replaced while the gateway runs."""

    @property
    def edition(self) -> int:
        """A number that changes when the authorities change."""

    def renew(self) -> None:
        """Load the authorities again where they were replaced."""

    def path(self, leaf: PresentedCertificate, now: datetime) -> CertificationPath | None:
        """Return a path from `leaf`, one that holds now if there is any; None: issuer unknown.

        Raises CertificateRefused where the leaf is not one that a client may show, by purpose, key
        or signature, and where its issuer is known and does not allow it.
        """


class Revocations(Protocol):
    """Which certificates were revoked."""

    def refusal(self, path: CertificationPath, now: datetime) -> str | None:
        """Return why a certificate of the path counts as revoked, None when none does.

        The path must come from the authorities as they were renewed last.
        """

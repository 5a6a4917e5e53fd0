"""The interface of a certificate lookup, and what lookups share.

A lookup only reads the headers: it decides nothing about the certificate.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final

from gateway.domain.certificates import ProxyVerdict


@dataclass(frozen=True, slots=True)
class ForwardedCertificate:
    """What the proxy's headers say about the client certificate; certificates are DER.

    `chain` holds the other certificates that were sent. `reason` explains a verdict other than
    VERIFIED.
    """

    leaf: bytes = field(repr=False)
    verdict: ProxyVerdict
    reason: str | None = None
    chain: tuple[bytes, ...] = field(default=(), repr=False)


class CertificateLookup(ABC):
    """How one kind of proxy reports the client certificate, in headers that it alone may set."""

    name: ClassVar[str]
    """Keycloak's id of the provider."""
    default_header: ClassVar[str]
    """The header of the certificate where none is configured, in lower case."""
    verdict_headers: ClassVar[frozenset[bytes]] = frozenset()
    """Headers in which the proxy gives its verdict, in lower case."""
    options: ClassVar[Mapping[str, str]]
    """Keycloak's options of the lookup (`--spi-x509cert-lookup-<lookup>-<option>`), each with the
    field of the settings that holds its value."""

    def __init__(self, header: str) -> None:
        self.header: Final = header.lower().encode("ascii")

    @property
    def headers(self) -> frozenset[bytes]:
        """Every header that the lookup reads, in lower case."""
        return self.verdict_headers | {self.header}

    @abstractmethod
    def find(self, headers: Mapping[bytes, bytes]) -> ForwardedCertificate | None:
        """Return what the headers report, None where the client sent no certificate.

        `headers` are by lower-case name. Raises MalformedCertificate for anything else.
        """

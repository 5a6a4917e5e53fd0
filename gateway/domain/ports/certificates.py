"""Reading the certificate that the proxy forwards."""

from typing import Protocol

from gateway.domain.certificates import ClientCertificate


class MalformedCertificate(Exception):
    """The bytes are not one well-formed X.509 certificate; `str()` says why, for logs."""


class CertificateReader(Protocol):
    """Parses and judges a forwarded certificate."""

    def read(self, der: bytes, *, verified_by_proxy: bool) -> ClientCertificate:
        """Parse `der`, check path, validity, purpose, key strength and revocation ourselves.

        TRUSTED needs both the proxy's word and our own checks. Raises MalformedCertificate.
        """
        ...

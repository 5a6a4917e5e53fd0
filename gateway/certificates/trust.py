"""The decision about a certificate, made once the realm is known."""

from datetime import datetime
from typing import Protocol

from gateway.domain.certificates import CertificateEvidence, ClientCertificate
from gateway.domain.realm import Realm


class CertificateTrust(Protocol):
    """Decides what a certificate may be used for in a realm."""

    def evaluate(
        self, evidence: CertificateEvidence, realm: Realm, now: datetime
    ) -> ClientCertificate:
        """Return the certificate with its trust level in `realm` at `now`.

        TRUSTED needs both the proxy's verdict and our own checks: path, validity, purpose, key
        strength and revocation.
        """
        ...

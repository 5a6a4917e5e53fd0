"""The event details of a client certificate. Keycloak: 10.2."""

from collections.abc import Mapping

from gateway.domain.certificates import ClientCertificate
from gateway.domain.events import Detail


def certificate_details(certificate: ClientCertificate) -> Mapping[str, str]:
    """Return serial number, subject and issuer of the leaf, the names in Keycloak's form."""
    leaf = certificate.evidence.leaf
    return {
        Detail.X509_SERIAL: str(leaf.serial),
        Detail.X509_SUBJECT: leaf.legacy_subject,
        Detail.X509_ISSUER: leaf.legacy_issuer,
    }

"""The event details of a client certificate. Keycloak: 10.2."""

from collections.abc import Mapping

from gateway.domain.certificates import ClientCertificate
from gateway.domain.distinguished_names import DistinguishedName
from gateway.domain.events import Detail
from gateway.domain.limits.caches import cached


def certificate_details(certificate: ClientCertificate) -> Mapping[str, str]:
    """Return serial number, subject and issuer of the leaf, the names in Keycloak's form."""
    leaf = certificate.leaf
    return _described(leaf.subject, leaf.issuer, leaf.serial)


@cached(512 * 1024)
def _described(
    subject: DistinguishedName, issuer: DistinguishedName, serial: int
) -> Mapping[str, str]:
    return {
        Detail.X509_SERIAL: str(serial),
        Detail.X509_SUBJECT: subject.legacy_rendering(),
        Detail.X509_ISSUER: issuer.legacy_rendering(),
    }

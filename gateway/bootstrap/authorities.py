"""Builds the administrative use cases of certificate authorities."""

from gateway.admin.authorities import AuthorityAdministration
from gateway.bootstrap.services import Services
from gateway.crypto.x509.reader import X509AuthorityParser


def authority_administration(services: Services) -> AuthorityAdministration:
    """Return the use cases of the authorities of realms and clients."""
    return AuthorityAdministration(services.database, services.changes, X509AuthorityParser())

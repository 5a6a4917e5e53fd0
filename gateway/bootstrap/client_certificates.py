"""Builds what evaluates client certificates: authorities, revocation lists, the rule of trust."""

from dataclasses import dataclass
from pathlib import Path

from gateway.admin.authorities import AuthorityAdministration
from gateway.bootstrap.services import Services
from gateway.certificates import (
    AnchoredTrust,
    CertificateTrust,
    RegisteredAuthoritySelection,
)
from gateway.crypto.x509.authorities import AuthorityBundle, AuthorityFile
from gateway.crypto.x509.reader import (
    X509AuthorityFactory,
    X509AuthorityParser,
    X509CertificateParser,
)
from gateway.crypto.x509.revocation_lists import RevocationLists
from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.ports.certificates import AuthorityStore, MalformedCertificate
from gateway.settings import Settings, variable


@dataclass(frozen=True, slots=True)
class ClientCertificates:
    """The authorities of the settings, and their revocation lists where configured."""

    authorities: AuthorityBundle
    revocation: RevocationLists | None
    parser: X509CertificateParser

    def trust(self, store: AuthorityStore) -> CertificateTrust:
        """Return the rule of trust over these authorities and the registered ones."""
        factory = X509AuthorityFactory(self.authorities, self.parser)
        return AnchoredTrust(RegisteredAuthoritySelection(store, factory), self.revocation)


def read_client_certificates(settings: Settings) -> ClientCertificates:
    """Read the files of the settings; raises InvalidInput where one cannot be used."""
    authorities = _authorities(settings.client_ca_file)
    revocation = _revocation(settings.client_crl_file, authorities)
    return ClientCertificates(authorities, revocation, X509CertificateParser())


def authority_administration(services: Services) -> AuthorityAdministration:
    """Return the use cases of the authorities of realms and clients."""
    return AuthorityAdministration(services.database, services.changes, X509AuthorityParser())


def _authorities(file: Path | None) -> AuthorityBundle:
    if file is None:
        return AuthorityBundle()
    try:
        return AuthorityFile(file)
    except (OSError, ValueError, MalformedCertificate) as failure:
        raise _unusable("client_ca_file", file, "a PEM bundle of certificates") from failure


def _revocation(file: Path | None, authorities: AuthorityBundle) -> RevocationLists | None:
    if file is None:
        return None
    try:
        return RevocationLists(file, authorities)
    except (OSError, ValueError) as failure:
        raise _unusable("client_crl_file", file, "PEM revocation lists") from failure


def _unusable(field: str, file: Path, allowed: str) -> InvalidInput:
    return InvalidInput((FieldError(variable(field), f"{file}, which cannot be used", allowed),))

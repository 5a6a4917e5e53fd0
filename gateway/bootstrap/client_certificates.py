"""Builds what evaluates client certificates, and the use cases of authorities."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.bootstrap.services import Services
from gateway.certificates import AnchoredTrust, CombinedRevocations, RegisteredAuthoritySelection
from gateway.crypto.x509.authorities import AuthorityBundle, AuthorityFile
from gateway.crypto.x509.reader import X509AuthorityFactory, X509CertificateParser
from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.ports.certificates import AuthorityStore, MalformedCertificate, Revocations
from gateway.http.certificate_lookup import LOOKUPS, CertificateLookup, LookupOptions
from gateway.settings import Settings, variable

if TYPE_CHECKING:
    from gateway.admin.resources import ResourceAdministration
    from gateway.crypto.revocation.downloaded_lists import DownloadedLists
    from gateway.crypto.revocation.revocation_decision import RevocationLists
    from gateway.domain.certificates import Authority
    from gateway.protocol.certificate_explanation import CertificateExplainer, RevocationSources
    from gateway.protocol.certificate_refusal import RefusalExplainer


@dataclass(frozen=True, slots=True)
class ClientCertificates:
    """The authorities of the settings, and their revocation lists where configured."""

    authorities: AuthorityBundle
    revocation: "RevocationLists | None"
    parser: X509CertificateParser
    lookup: CertificateLookup
    sources: "RevocationSources | None" = None
    """What else is asked about revocation; None without services."""

    @property
    def revocations(self) -> CombinedRevocations:
        """Everything that is asked about revocation, in this order."""
        if self.sources is None:
            return CombinedRevocations(_present(self.revocation), ())
        sources = self.sources
        return CombinedRevocations(
            _present(sources.deny_lists, self.revocation),
            (sources.realm_lists, sources.points, sources.ocsp),
        )

    def trust(self, store: AuthorityStore) -> AnchoredTrust:
        """Return the rule of trust over these authorities and the registered ones."""
        return AnchoredTrust(self.selection(store), self.revocations)

    def selection(self, store: AuthorityStore) -> RegisteredAuthoritySelection:
        """Return what chooses among these authorities and the registered ones."""
        factory = X509AuthorityFactory(self.authorities, self.parser)
        return RegisteredAuthoritySelection(store, factory)


def client_certificates(settings: Settings, services: Services) -> ClientCertificates:
    """Read the files of the settings besides deny lists and downloads; raises InvalidInput."""
    from gateway.crypto.revocation.ocsp import OcspRevocations
    from gateway.crypto.revocation.point_lists import PointRevocations
    from gateway.protocol.certificate_explanation import RevocationSources

    found = read_client_certificates(settings, services.revocation_downloads)
    realm_lists = services.realm_revocation_lists
    configured = (realm_lists, *(() if found.revocation is None else (found.revocation,)))
    points = PointRevocations(services.point_lists, configured)
    ocsp = OcspRevocations(services.ask_responder, (*configured, points))
    sources = RevocationSources(
        services.deny_lists, found.revocation, realm_lists, points=points, ocsp=ocsp
    )
    return replace(found, sources=sources)


def with_renewed_certificates(services: Services, certificates: ClientCertificates) -> Services:
    """Return services that accept renewed certificates where realm or client allow an overlap."""
    from gateway.protocol.sender_constraint import RenewedCertificates

    renewed = RenewedCertificates(certificates.revocations)
    return services.with_renewed_certificates(renewed)


def read_client_certificates(
    settings: Settings, downloads: "DownloadedLists | None" = None
) -> ClientCertificates:
    """Read the files of the settings; raises InvalidInput where one cannot be used."""
    authorities = _authorities(settings.client_ca_file)
    revocation = _revocation(settings.client_crl_file, authorities, downloads)
    return ClientCertificates(
        authorities, revocation, X509CertificateParser(), certificate_lookup(settings)
    )


def authority_administration(
    services: Services, client: str | None
) -> "ResourceAdministration[Authority]":
    """Return the use cases of the authorities of realms, or of the client with that id."""
    from gateway.admin.resource_kinds import AUTHORITIES, CLIENT_AUTHORITIES, with_parser
    from gateway.admin.resources import ResourceAdministration
    from gateway.crypto.x509.reader import X509AuthorityParser

    kind = with_parser(AUTHORITIES if client is None else CLIENT_AUTHORITIES, X509AuthorityParser())
    return ResourceAdministration(kind, services.changes)


def certificate_lookup(settings: Settings) -> CertificateLookup:
    """Return what reads the certificate from the headers of the proxy."""
    options = LookupOptions(
        header=settings.certificate_header,
        chain_header=settings.certificate_chain_header,
        chain_prefix=settings.certificate_chain_prefix,
        chain_length=settings.certificate_chain_length,
        verdict_header=settings.certificate_verdict_header,
        url_encoded=settings.certificate_url_encoded,
        trust_proxy_verification=settings.trust_proxy_verification,
    )
    return LOOKUPS[settings.certificate_lookup](options)


def certificate_explainer(
    services: Services, certificates: ClientCertificates, issuer: Callable[[str], str]
) -> "CertificateExplainer":
    """Return what explains certificates; `issuer` is that of a realm's name."""
    from gateway.bootstrap.protocol import client_authenticator
    from gateway.crypto.x509.parse import X509Inspector
    from gateway.protocol.certificate_explanation import CertificateExplainer

    trust = certificates.trust(services.authorities)
    return CertificateExplainer(
        services.directory,
        trust,
        _sources(certificates),
        client_authenticator(services, trust),
        parser=certificates.parser,
        inspector=X509Inspector(),
        chains=certificates.lookup,
        issuer=issuer,
        clock=services.clock,
    )


def refusal_explainer(services: Services, certificates: ClientCertificates) -> "RefusalExplainer":
    """Return what explains the refusals of the proxy."""
    from gateway.protocol.certificate_refusal import RefusalExplainer

    trust = certificates.trust(services.authorities)
    return RefusalExplainer(
        services.directory,
        trust,
        _sources(certificates),
        services.clock,
        passes_chain=certificates.lookup.passes_chain,
    )


def _sources(certificates: ClientCertificates) -> "RevocationSources":
    if certificates.sources is None:
        raise ValueError("the certificates were read without services")
    return certificates.sources


def _present(*sources: Revocations | None) -> Iterator[Revocations]:
    return (source for source in sources if source is not None)


def _authorities(file: Path | None) -> AuthorityBundle:
    if file is None:
        return AuthorityBundle()
    try:
        return AuthorityFile(file)
    except (OSError, ValueError, MalformedCertificate) as failure:
        raise _unusable("client_ca_file", file, "a PEM bundle of certificates") from failure


def _revocation(
    file: Path | None, authorities: AuthorityBundle, downloads: "DownloadedLists | None"
) -> "RevocationLists | None":
    if file is None and downloads is None:
        return None
    from gateway.crypto.revocation.revocation_decision import RevocationLists

    try:
        return RevocationLists(file, authorities, downloads)
    except (OSError, ValueError) as failure:
        raise _unusable("client_crl_file", file or Path(), "PEM revocation lists") from failure


def _unusable(field: str, file: Path, allowed: str) -> InvalidInput:
    return InvalidInput((FieldError(variable(field), f"{file}, which cannot be used", allowed),))

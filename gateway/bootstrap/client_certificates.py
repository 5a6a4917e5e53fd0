"""Judging client certificates by the authorities and revocation lists of the settings."""

from dataclasses import dataclass
from pathlib import Path

from gateway.certificates import CertificateTrust, GlobalAuthorities
from gateway.crypto.x509.authorities import AuthorityBundle, AuthorityFile
from gateway.crypto.x509.reader import X509Authorities, X509CertificateParser
from gateway.crypto.x509.revocation_lists import RevocationLists
from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.ports.certificates import MalformedCertificate
from gateway.settings import Settings, variable


@dataclass(frozen=True, slots=True)
class ClientCertificates:
    """The authorities, their lists where configured, and the rule of trust made of both."""

    authorities: AuthorityBundle
    revocation: RevocationLists | None
    parser: X509CertificateParser
    trust: CertificateTrust


def read_client_certificates(settings: Settings) -> ClientCertificates:
    """Read the files of the settings; raises InvalidInput where one cannot be used."""
    authorities = _authorities(settings.client_ca_file)
    revocation = _revocation(settings.client_crl_file, authorities)
    parser = X509CertificateParser()
    trust = GlobalAuthorities(X509Authorities(authorities, parser), revocation)
    return ClientCertificates(authorities, revocation, parser, trust)


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

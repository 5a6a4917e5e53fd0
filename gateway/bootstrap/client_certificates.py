"""Judging client certificates by the authorities and revocation lists of the settings."""

from dataclasses import dataclass
from pathlib import Path

from gateway.crypto.x509.authorities import AuthorityBundle, AuthorityFile
from gateway.crypto.x509.reader import X509CertificateReader
from gateway.crypto.x509.revocation import RevocationLists
from gateway.domain.clock import Clock
from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.ports.certificates import MalformedCertificate
from gateway.settings import Settings, variable


@dataclass(frozen=True, slots=True)
class ClientCertificates:
    """The authorities, their lists where configured, and the reader that judges by them."""

    authorities: AuthorityBundle
    revocation: RevocationLists | None
    reader: X509CertificateReader


def read_client_certificates(settings: Settings, clock: Clock) -> ClientCertificates:
    """Read the files of the settings; raises InvalidInput where one cannot be used."""
    authorities = _authorities(settings.client_ca_file)
    revocation = _revocation(settings.client_crl_file, authorities)
    return ClientCertificates(
        authorities, revocation, X509CertificateReader(authorities, revocation, clock)
    )


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

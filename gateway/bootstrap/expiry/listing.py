"""Builds the list of what expires, with the files that the settings of this gateway name."""

import hashlib
from collections.abc import Iterator
from functools import partial

import structlog

from gateway.admin.expiry import ExpiryListing, of_certificate
from gateway.bootstrap.client_certificates import ClientCertificates
from gateway.bootstrap.services import Services
from gateway.crypto.revocation.revocation_lists import RevocationLists
from gateway.crypto.x509.stored_certificates import StoredCertificateReader
from gateway.domain.certificates import CertificateFacts
from gateway.domain.expiry import (
    Expiration,
    ExpiryKind,
    Owner,
    OwnerKind,
    Renewal,
    RenewalKind,
)
from gateway.settings import Settings, variable

_OWNERS = (Owner(OwnerKind.SETTINGS),)


def expiry_listing(
    settings: Settings, services: Services, certificates: ClientCertificates
) -> ExpiryListing:
    """Return the use cases over realms and the settings."""
    return ExpiryListing(
        services.database,
        StoredCertificateReader(),
        partial(expirations_of_settings, settings, certificates),
        services.clock,
    )


async def expirations_of_settings(
    settings: Settings, certificates: ClientCertificates
) -> tuple[Expiration, ...]:
    """Return the ends of authorities, revocation lists and the proxy's certificate."""
    await certificates.authorities.renew()
    return tuple(_of_settings(settings, certificates))


def _of_settings(settings: Settings, certificates: ClientCertificates) -> Iterator[Expiration]:
    for authority in certificates.authorities:
        yield _of_file(ExpiryKind.AUTHORITY, authority, settings, "client_ca_file")
    if certificates.revocation is not None:
        yield from _lists(certificates.revocation, settings)
    server = _server_certificate(settings)
    if server is not None:
        yield _of_file(ExpiryKind.SERVER_CERTIFICATE, server, settings, "server_certificate_file")


def _of_file(
    kind: ExpiryKind, facts: CertificateFacts, settings: Settings, field: str
) -> Expiration:
    renewal = Renewal(RenewalKind.SOURCE, f"{getattr(settings, field)}, {variable(field)}")
    return of_certificate(kind, facts, realm=None, owners=_OWNERS, renewal=renewal)


def _lists(revocation: RevocationLists, settings: Settings) -> Iterator[Expiration]:
    file = settings.client_crl_file
    sources = (*(() if file is None else (str(file),)), *settings.client_crl_urls)
    for authority, issued, expires in revocation.validity():
        named = f"{authority.subject.rfc4514()}\0{expires.isoformat()}".encode()
        name = authority.subject.rfc4514()
        yield Expiration(
            kind=ExpiryKind.REVOCATION_LIST,
            id=hashlib.sha256(named).hexdigest(),
            realm=None,
            subject=name,
            issuer=name,
            begins_at=issued,
            expires_at=expires,
            owners=_OWNERS,
            renewal=Renewal(RenewalKind.SOURCE, ", ".join(sources)),
        )


def _server_certificate(settings: Settings) -> CertificateFacts | None:
    """Return the first certificate of the file as it is now; None where it cannot be read."""
    file = settings.server_certificate_file
    if file is None:
        return None
    try:
        content = file.read_text("ascii", errors="replace")
    except OSError as error:
        _report(str(file), error.strerror or str(error))
        return None
    end = "-----END CERTIFICATE-----"
    found = StoredCertificateReader().read(content.partition(end)[0] + end)
    if not found:
        _report(str(file), "it holds no certificate in PEM")
        return None
    return found[0]


def _report(file: str, reason: str) -> None:
    structlog.get_logger().error("server certificate not read", file=file, reason=reason)

"""Builds what lists and reports the ends of certificates, revocation lists and keys."""

import asyncio
import hashlib
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Final

from gateway.admin.expiry import ExpiryListing, of_certificate
from gateway.bootstrap.client_certificates import ClientCertificates
from gateway.bootstrap.services import Services
from gateway.crypto.x509.parse import StoredCertificateReader
from gateway.domain.certificates import CertificateFacts
from gateway.domain.clock import Clock
from gateway.domain.errors import StoreUnavailable
from gateway.domain.expiry import (
    WINDOWS,
    Expiration,
    ExpiryKind,
    ExpirySummary,
    Owner,
    OwnerKind,
    Renewal,
    RenewalKind,
)
from gateway.domain.limits.caches import SingleFlight
from gateway.settings import Settings, variable

if TYPE_CHECKING:
    from gateway.crypto.revocation.revocation_decision import RevocationLists
    from gateway.observability.metrics import Gauge

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


def _lists(revocation: "RevocationLists", settings: Settings) -> Iterator[Expiration]:
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
    found = StoredCertificateReader().read_certificates(content.partition(end)[0] + end)
    if not found:
        _report(str(file), "it holds no certificate in PEM")
        return None
    return found[0]


def _report(file: str, reason: str) -> None:
    import structlog

    structlog.get_logger().error("server certificate not read", file=file, reason=reason)


AGE: Final = timedelta(minutes=5)
"""After this a survey is repeated."""
_PAUSE: Final = timedelta(seconds=30)
"""After a failure."""
_LONGEST_WAIT: Final = timedelta(seconds=2)
"""For a survey, which otherwise goes on in the background: the gauges are then those before."""


class ExpiryGauges:
    """What one worker knows of what expires. Belongs to one event loop."""

    def __init__(self, listing: ExpiryListing, clock: Clock) -> None:
        self._listing = listing
        self._clock = clock
        self._summaries: tuple[ExpirySummary, ...] = ()
        self._due_at: datetime | None = None
        self._surveying: SingleFlight[str, None] = SingleFlight()

    async def renew(self) -> None:
        """Repeat the survey where it is old; without the database the former one stays."""
        now = self._clock.now()
        if self._due_at is None or not self._due_at - AGE <= now < self._due_at:
            task = self._surveying.start("", self._survey)
            await asyncio.wait((task,), timeout=_LONGEST_WAIT.total_seconds())

    def read(self) -> "Iterator[Gauge]":
        """Yield the gauges as of now."""
        from gateway.observability.metrics import Gauge

        now = self._clock.now()
        for each in _bounded(self._summaries):
            labels = (("kind", each.kind.value), ("realm", each.realm or ""))
            yield Gauge(
                "realmgate_expiry_seconds_left",
                "Time until the first of a kind expires, below zero once it has.",
                (each.first - now).total_seconds(),
                labels,
            )
            for window, count in zip(WINDOWS, each.counts, strict=True):
                yield Gauge(
                    "realmgate_expiring",
                    "What is due to be renewed within a time; 0d has expired.",
                    float(count),
                    (*labels, ("within", window)),
                )

    async def _survey(self) -> None:
        now = self._clock.now()
        try:
            self._summaries = await self._listing.summarize_expirations()
            self._due_at = now + AGE
        except StoreUnavailable as failure:
            self._due_at = now + _PAUSE
            import structlog

            log = structlog.get_logger()
            log.warning("expiry gauges not renewed", store=failure.store)


def _bounded(summaries: Iterable[ExpirySummary]) -> Iterable[ExpirySummary]:
    """Return the summaries, those of realms beyond the first by name as one realm, `other`."""
    from gateway.observability.metrics import MOST_REALMS, OTHER

    together: dict[tuple[str, str | None], ExpirySummary] = {}
    named = sorted({each.realm for each in summaries if each.realm is not None})
    shown = {None, *named[:MOST_REALMS]}
    for each in summaries:
        realm = each.realm if each.realm in shown else OTHER
        key = (each.kind.value, realm)
        before = together.get(key)
        together[key] = ExpirySummary(
            each.kind,
            realm,
            each.first if before is None else min(each.first, before.first),
            each.counts
            if before is None
            else tuple(map(sum, zip(each.counts, before.counts, strict=True))),
        )
    return together.values()

"""The gauges of what expires: repeated when they are old, bounded, and kept in an outage."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from gateway.admin.expiry import ExpiryListing
from gateway.bootstrap.expiry import AGE, ExpiryGauges
from gateway.certificates import SeenCertificates
from gateway.crypto.x509.parse import StoredCertificateReader
from gateway.domain.errors import StoreUnavailable
from gateway.domain.expiry import (
    Expiration,
    ExpiryKind,
    Owner,
    OwnerKind,
    Renewal,
    RenewalKind,
)
from gateway.domain.ports.storage import Stores
from gateway.observability import metrics as metrics_module
from gateway.observability.metrics import Gauge
from gateway.storage.sql.database import SqlDatabase
from tests.contract.test_seen_certificates import leaf
from tests.support.chains import CA, KEYS, issue
from tests.support.set_clock import SetClock
from tests.support.stored_values import NOW, key, store_realms

DAY = timedelta(days=1)
SERVER = Expiration(
    kind=ExpiryKind.SERVER_CERTIFICATE,
    id="server",
    realm=None,
    subject="CN=server",
    issuer="CN=server",
    begins_at=NOW - 60 * DAY,
    expires_at=NOW + 6 * DAY,
    owners=(Owner(OwnerKind.SETTINGS),),
    renewal=Renewal(RenewalKind.SOURCE, "server.crt"),
)


async def _of_settings() -> tuple[Expiration, ...]:
    return (SERVER,)


async def _no_settings() -> tuple[Expiration, ...]:
    return ()


class _Database:
    """A database that can be away."""

    def __init__(self, database: SqlDatabase) -> None:
        self._database = database
        self.is_away = False

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Stores]:
        if self.is_away:
            raise StoreUnavailable("sql")
        async with self._database.read() as stores:
            yield stores


def read(gauges: ExpiryGauges) -> dict[tuple[str, ...], float]:
    def labels(gauge: Gauge) -> tuple[str, ...]:
        return tuple(value for _, value in gauge.labels)

    return {labels(gauge): gauge.value for gauge in gauges.read()}


async def test_first_expiry_and_due_counts_are_by_kind_and_realm(
    database: SqlDatabase,
) -> None:
    await store_realms(database, "demo")
    certified = issue("demo", None, CA, key=KEYS[0], days=(-300, 20))
    async with database.write() as stores:
        await stores.keys.add(key(certificate=certified.pem))
    seen = SeenCertificates(database)
    seen.note("demo-id", leaf("a", 1, 20), NOW)
    seen.note("demo-id", leaf("b", 2, 5), NOW)
    await seen.write_sightings()
    stores_away, clock = _Database(database), SetClock(NOW)
    listing = ExpiryListing(stores_away, StoredCertificateReader(), _of_settings, clock)  # type: ignore[arg-type] # it only reads
    gauges = ExpiryGauges(listing, clock)
    await gauges.renew()
    found = read(gauges)
    seconds = timedelta(days=5).total_seconds()
    assert found["client-certificate", "demo"] == seconds
    windows = [found["client-certificate", "demo", window] for window in ("0d", "7d", "30d")]
    assert windows == [0, 1, 2]
    assert found["server-certificate", "", "7d"] == 1
    assert found["realm-key", "demo"] > 0

    seen.note("demo-id", leaf("c", 3, 6), NOW)
    await seen.write_sightings()
    clock.advance(AGE - timedelta(seconds=1))
    await gauges.renew()
    assert read(gauges)["client-certificate", "demo", "7d"] == 1
    stores_away.is_away = True
    clock.advance(timedelta(seconds=1))
    await gauges.renew()
    assert read(gauges)["client-certificate", "demo"] == seconds - AGE.total_seconds()
    stores_away.is_away = False
    await gauges.renew()
    assert read(gauges)["client-certificate", "demo", "7d"] == 1
    clock.advance(AGE)
    await gauges.renew()
    assert read(gauges)["client-certificate", "demo", "7d"] == 2


async def test_certificates_of_settings_count_for_all_and_for_master(
    database: SqlDatabase,
) -> None:
    listing = ExpiryListing(database, StoredCertificateReader(), _of_settings, SetClock(NOW))
    for realm, found in ((None, [SERVER]), ("master", [SERVER]), ("demo", [])):
        assert list(await listing.list_expirations(realm, 30 * DAY)) == found


async def test_realms_beyond_a_bound_are_one(
    database: SqlDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics_module, "MOST_REALMS", 1)
    await store_realms(database, "a", "b", "c")
    seen = SeenCertificates(database)
    for number, realm in enumerate(("a-id", "b-id", "c-id"), start=1):
        seen.note(realm, leaf("x", number, number), NOW)
    await seen.write_sightings()
    clock = SetClock(NOW)
    gauges = ExpiryGauges(
        ExpiryListing(database, StoredCertificateReader(), _no_settings, clock), clock
    )
    await gauges.renew()
    found = read(gauges)
    assert {labels[1] for labels in found} == {"a", "other"}
    assert found["client-certificate", "other"] == timedelta(days=2).total_seconds()
    assert found["client-certificate", "other", "7d"] == 2

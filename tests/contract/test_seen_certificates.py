"""Certificates that were presented: one write a day, a bound for each realm, and what is due."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from itertools import permutations
from typing import Any

import pytest

from gateway.certificates import SeenCertificates
from gateway.domain import base64url
from gateway.domain.certificates import PresentedCertificate
from gateway.domain.distinguished_names import parse_distinguished_name
from gateway.domain.errors import StoreUnavailable
from gateway.domain.expiry import KEPT_AFTER_EXPIRY, SeenCertificate, Sighting
from gateway.domain.ports.storage import Stores
from gateway.storage.sql import certificates as on_sql
from gateway.storage.sql.database import SqlDatabase
from tests.support.stored_values import NOW, store_realms, user

DAY = timedelta(days=1)
TODAY = NOW.replace(hour=0, minute=0, second=0, microsecond=0)


def leaf(name: str = "device", number: int = 1, left: int = 20) -> PresentedCertificate:
    """Return a certificate of a year with `left` days to live."""
    digest = number.to_bytes(32)
    return PresentedCertificate(
        issuer=parse_distinguished_name("CN=Devices,O=Acme"),
        subject=parse_distinguished_name(f"CN={name}"),
        serial=number,
        not_before=NOW + (left - 365) * DAY,
        not_after=NOW + left * DAY,
        digest=digest,
        der=b"",
        issued_serial="",
        legacy_subject="",
        legacy_issuer="",
    )


async def listed(
    database: SqlDatabase, days: int | None = 30, realm: str | None = "demo", now: datetime = NOW
) -> list[SeenCertificate]:
    async with database.read() as stores:
        within = None if days is None else days * DAY
        return list(await stores.seen_certificates.list_certificates(realm, now, within, 100))


async def ids(
    database: SqlDatabase, days: int | None = 30, realm: str | None = "demo"
) -> list[str]:
    """Return the numbers of the listed certificates."""
    found = await listed(database, days, realm)
    return [str(int.from_bytes(base64url.decode(each.id))) for each in found]


async def test_a_certificate_is_written_once_a_day_with_its_owner(
    database: SqlDatabase,
) -> None:
    await store_realms(database, "demo")
    async with database.write() as stores:
        await stores.users.add(user())
    seen = SeenCertificates(database)
    seen.note("demo-id", leaf(), NOW)
    seen.note_use("demo-id", leaf(), "till", None)
    seen.note_use("demo-id", leaf(), None, "alice-uuid")
    await seen.write_sightings()
    (first,) = await listed(database)
    assert (first.realm, first.subject, first.issuer) == ("demo", "CN=device", "CN=Devices,O=Acme")
    assert (first.client, first.username, first.last_seen_at) == ("till", "alice", TODAY)

    # The same day: nothing waits, whichever client uses it.
    seen.note("demo-id", leaf(), NOW + timedelta(hours=11))
    seen.note_use("demo-id", leaf(), "other", None)
    await seen.write_sightings()
    assert await listed(database) == [first]
    other_worker = SeenCertificates(database)
    other_worker.note("demo-id", leaf(), NOW)
    other_worker.note_use("demo-id", leaf(), "other", None)
    await other_worker.write_sightings()
    assert await listed(database) == [first]

    seen.note("demo-id", leaf(), NOW + DAY)
    await seen.write_sightings()
    assert await listed(database) == [replace(first, last_seen_at=TODAY + DAY)]


async def test_due_certificates_come_first_and_renewed_ones_never(
    database: SqlDatabase,
) -> None:
    await store_realms(database, "demo", "other")
    seen = SeenCertificates(database)
    short = replace(leaf("short", 4, 2), not_before=NOW - DAY)
    for each in (leaf("late", 1, 29), leaf("soon", 2, 3), leaf("far", 3, 40), short):
        seen.note("demo-id", each, NOW)
    seen.note("other-id", leaf("late", 1, 29), NOW)
    await seen.write_sightings()
    assert await ids(database) == ["2", "1"]
    assert await ids(database, 7) == ["2"]
    assert await ids(database, None) == ["4", "2", "1", "3"]
    assert await ids(database, realm=None) == ["2", "1", "1"]
    seen.note("demo-id", leaf("soon", 5, 200), NOW)
    await seen.write_sightings()
    assert await ids(database) == ["1"]
    async with database.read() as stores:
        found = await stores.seen_certificates.summarize(NOW)
    assert {each.realm: (each.first, each.counts) for each in found} == {
        "demo": (NOW + 2 * DAY, (0, 0, 1)),
        "other": (NOW + 29 * DAY, (0, 0, 1)),
    }


async def test_devices_differing_in_an_alternative_name_are_all_listed(
    database: SqlDatabase,
) -> None:
    """Certificates of a template often have one subject, or none."""
    await store_realms(database, "demo")
    seen = SeenCertificates(database)
    for number, left in ((1, 5), (2, 20)):
        seen.note("demo-id", replace(leaf("any", number, left), names_digest=bytes([number])), NOW)
    await seen.write_sightings()
    assert await ids(database) == ["1", "2"]
    seen.note("demo-id", replace(leaf("any", 3, 200), names_digest=b"\1"), NOW)
    await seen.write_sightings()
    assert await ids(database) == ["2"]


async def test_a_realm_keeps_the_certificates_that_were_seen_last(
    database: SqlDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_sql, "MOST_SEEN", 2)
    await store_realms(database, "demo", "other")
    seen = SeenCertificates(database)
    seen.note("other-id", leaf("a", 1), NOW)
    for number, name in enumerate("abc", start=1):
        seen.note("demo-id", leaf(name, number), NOW + number * DAY)
        await seen.write_sightings()
    assert await ids(database) == ["2", "3"]
    assert await ids(database, realm="other") == ["1"]


async def test_certificates_that_expired_a_while_ago_are_forgotten(database: SqlDatabase) -> None:
    await store_realms(database, "demo")
    seen = SeenCertificates(database)
    seen.note("demo-id", leaf("old", 1, -8), NOW)
    seen.note("demo-id", leaf("late", 2, -6), NOW)
    seen.note("gone-id", leaf("nowhere", 3, 1), NOW)
    await seen.write_sightings()
    async with database.write() as stores:
        await stores.seen_certificates.purge(NOW - KEPT_AFTER_EXPIRY)
    assert await ids(database) == ["2"]


class _Outage:
    """A database that cannot be written to while `is_away`."""

    def __init__(self, database: SqlDatabase) -> None:
        self._database = database
        self.is_away = True
        self.writes = 0
        self.meanwhile: Callable[[], None] = lambda: None

    @asynccontextmanager
    async def write(self) -> AsyncIterator[Stores]:
        self.writes += 1
        if self.is_away:
            self.meanwhile()
            raise StoreUnavailable("sql")
        async with self._database.write() as stores:
            yield stores

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)


async def test_sightings_of_an_outage_are_written_after_it(database: SqlDatabase) -> None:
    await store_realms(database, "demo")
    outage = _Outage(database)
    seen = SeenCertificates(outage)
    seen.note("demo-id", leaf(), NOW)
    with pytest.raises(StoreUnavailable):
        await seen.write_sightings()
    seen.note_use("demo-id", leaf(), "till", None)
    outage.is_away = False
    await seen.write_sightings()
    assert [each.client for each in await listed(database)] == ["till"]


async def test_a_certificate_that_was_written_today_causes_no_write(database: SqlDatabase) -> None:
    await store_realms(database, "demo")
    counted = _Outage(database)
    counted.is_away = False
    seen = SeenCertificates(counted)
    for instant in (NOW, NOW + timedelta(hours=11), NOW + timedelta(hours=12)):
        seen.note("demo-id", leaf(), instant)
        await seen.write_sightings()
    assert counted.writes == 2


async def of_realm(
    database: SqlDatabase, client: str | None = None, part: str = ""
) -> list[SeenCertificate]:
    async with database.read() as stores:
        return list(await stores.seen_certificates.list_of_realm("demo-id", client, part, 100))


async def test_first_sighting_names_and_last_token_are_kept(database: SqlDatabase) -> None:
    """A token costs one write an hour, in the batch of the sightings."""
    await store_realms(database, "demo")
    seen = SeenCertificates(database)
    named = replace(leaf(number=0xA1B), uris=("spiffe://acme/a",), emails=("a@acme.example",))
    hour = NOW.replace(minute=0, second=0, microsecond=0)
    for minutes in (0, 1, 20):
        seen.note("demo-id", named, NOW + timedelta(minutes=minutes))
        seen.note_token("demo-id", named, "till", NOW)
    assert len(seen.waiting) == 1
    await seen.write_sightings()
    (first,) = await of_realm(database)
    assert (first.serial, first.client, first.first_seen_at) == (0xA1B, "till", NOW)
    assert first.alternative_names == {"uri": ("spiffe://acme/a",), "email": ("a@acme.example",)}
    assert first.last_token_at == hour

    seen.note("demo-id", named, NOW + DAY)
    seen.note_token("demo-id", named, "till", NOW + timedelta(minutes=5))
    await seen.write_sightings()
    (second,) = await of_realm(database)
    assert second == replace(first, last_seen_at=TODAY + DAY)
    seen.note_token("demo-id", named, "till", NOW + timedelta(hours=30))
    await seen.write_sightings()
    (third,) = await of_realm(database)
    assert third == replace(second, last_token_at=hour + timedelta(hours=30))
    for client, part, count in (
        (None, "SPIFFE://acme", 1),
        (None, "a1b", 1),
        (None, "%", 0),
        ("till", "device", 1),
        ("other", "", 0),
    ):
        assert len(await of_realm(database, client, part)) == count, (client, part)


async def test_a_token_alone_is_a_first_sighting(database: SqlDatabase) -> None:
    """A worker that noted the certificate of today before gets its token at another one."""
    await store_realms(database, "demo")
    seen = SeenCertificates(database)
    seen.note_token("demo-id", leaf(), "till", NOW)
    await seen.write_sightings()
    (found,) = await of_realm(database)
    assert (found.first_seen_at, found.last_seen_at) == (NOW, TODAY)

    async with database.write() as stores:
        await stores.seen_certificates.record([Sighting("demo-id", leaf(number=2), TODAY)])
    seen.note("demo-id", leaf(number=2), NOW + DAY)
    await seen.write_sightings()
    seen.note("demo-id", leaf(number=2), NOW + 2 * DAY)
    await seen.write_sightings()
    first = {each.id: each.first_seen_at for each in await of_realm(database)}
    assert first[leaf(number=2).thumbprint] == NOW + DAY


async def test_facts_that_wait_are_kept_in_any_order(database: SqlDatabase) -> None:
    """A sighting, a token and a user, before or after an outage, make one row."""
    hour = NOW.replace(minute=0, second=0, microsecond=0)
    steps: tuple[tuple[str, Callable[[SeenCertificates], None]], ...] = (
        ("seen", lambda seen: seen.note("demo-id", leaf(), NOW)),
        ("token", lambda seen: seen.note_token("demo-id", leaf(), "till", NOW)),
        ("used", lambda seen: seen.note_use("demo-id", leaf(), None, "alice-uuid")),
        ("tomorrow", lambda seen: seen.note("demo-id", leaf(), NOW + DAY)),
    )
    for order in permutations(steps):
        names = [name for name, _ in order]
        if names.index("tomorrow") < names.index("seen"):
            continue
        for before in range(1, len(steps) + 1):
            # A use is noted of a sighting that waits.
            if "used" in {names[0], *names[before : before + 1]}:
                continue
            outage = _Outage(database)
            seen = SeenCertificates(outage)
            for _, step in order[:before]:
                step(seen)
            later = order[before:]
            outage.meanwhile = partial(_run_all, seen, [step for _, step in later])
            with pytest.raises(StoreUnavailable):
                await seen.write_sightings()
            (waiting,) = seen.waiting.values()
            case = (names, before)
            assert (waiting.noted_at, waiting.seen_at) == (NOW, TODAY + DAY), case
            assert (waiting.token_at, waiting.client) == (hour, "till"), case
            assert waiting.user_id == "alice-uuid", case


def _run_all(seen: SeenCertificates, steps: list[Callable[[SeenCertificates], None]]) -> None:
    for step in steps:
        step(seen)

"""Mails about what expires: once for each number of days ahead, however many gateways there are."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import cycle, islice

import pytest

from gateway.admin.expiry import ExpiryListing, ExpiryMails
from gateway.certificates import SeenCertificates
from gateway.crypto.x509.parse import StoredCertificateReader
from gateway.domain.certificates import PresentedCertificate
from gateway.domain.expiry import (
    Expiration,
    ExpiryKind,
    Owner,
    OwnerKind,
    Renewal,
    RenewalKind,
    expiry_mail,
)
from gateway.domain.mail import Mail, QueuedMail
from gateway.domain.realm import EXPIRY_MAIL_RECIPIENTS, Localization
from gateway.mail import MailRenderer
from gateway.storage.sql.database import SqlDatabase
from tests.contract.test_seen_certificates import leaf
from tests.support.set_clock import SetClock
from tests.support.stored_values import NOW, realm

DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)


async def _no_settings() -> tuple[Expiration, ...]:
    return ()


class _Gateways:
    """Two gateways over one database, and their clock."""

    def __init__(self, first: SqlDatabase, second: SqlDatabase) -> None:
        self.first, self.clock = first, SetClock(NOW)
        self._mails = [self._of(database) for database in (first, second)]

    def _of(self, database: SqlDatabase) -> ExpiryMails:
        listing = ExpiryListing(database, StoredCertificateReader(), _no_settings, self.clock)
        return ExpiryMails(database, listing, self.clock)

    async def store_realm(self, recipients: str, localization: Localization | None = None) -> None:
        attributes = {EXPIRY_MAIL_RECIPIENTS: recipients}
        async with self.first.write() as stores:
            await stores.realms.add(
                realm(attributes=attributes, localization=localization or Localization())
            )

    async def see(self, *leaves: PresentedCertificate) -> None:
        seen = SeenCertificates(self.first)
        for each in leaves:
            seen.note("demo-id", each, self.clock.now())
        await seen.write_sightings()

    async def queued(self, days: int = 0) -> list[QueuedMail]:
        """Let days pass and both gateways work at once; return the mails that they queued."""
        self.clock.advance(days * DAY)
        await asyncio.gather(*(mails.queue_mails() for mails in self._mails))
        now = self.clock.now()
        async with self.first.write() as stores:
            claimed = await stores.mails.claim(now, timedelta(minutes=1), 100)
            for each in claimed:
                await stores.mails.delivered(each, now)
        return sorted(claimed, key=lambda each: each.mail.recipient)


def _subjects(mails: Sequence[QueuedMail]) -> list[str]:
    (mail,) = mails
    return [line.partition("CN=")[2].partition('"')[0] for line in mail.mail.arguments[1:]]


async def test_two_gateways_report_once_per_number_of_days(
    database: SqlDatabase, other_gateway: SqlDatabase
) -> None:
    gateways = _Gateways(database, other_gateway)
    await gateways.store_realm("ops@example.org")
    short = replace(leaf("short", 4, 2), not_before=NOW + DAY)
    await gateways.see(leaf("a", 1, 20), leaf("b", 2, 31), leaf("gone", 3, 0), short)
    assert _subjects(await gateways.queued()) == ["a"]
    # The same day: what is new waits until the next one.
    await gateways.see(leaf("c", 5, 25))
    assert await gateways.queued() == []
    assert _subjects(await gateways.queued(days=1)) == ["c", "b"]
    assert await gateways.queued(days=1) == []
    assert _subjects(await gateways.queued(days=11)) == ["a"]
    assert _subjects(await gateways.queued(days=6)) == ["a", "c"]


async def test_each_recipient_gets_a_mail_in_the_language_of_the_realm(
    database: SqlDatabase, other_gateway: SqlDatabase
) -> None:
    gateways = _Gateways(database, other_gateway)
    german = Localization(enabled=True, supported_locales=("de",), default_locale="de")
    await gateways.store_realm("b@example.org, a@example.org", localization=german)
    later = [leaf(f"till-{number}", number, 20) for number in range(2, 53)]
    await gateways.see(replace(leaf("till-1", 1, 20), not_after=NOW + 20 * DAY - SECOND), *later)
    mails = await gateways.queued()
    assert [each.mail.recipient for each in mails] == ["a@example.org", "b@example.org"]
    assert {each.user_id for each in mails} == {None}
    rendered = await MailRenderer(_NoTexts()).render_mail(mails[0].mail)
    assert rendered.subject == "[demo] Zertifikate laufen bald ab: 52"
    lines = [line for line in rendered.text.splitlines() if "Client-Zertifikat CN=" in line]
    assert len(lines) == 50
    assert "Und 2 weitere." in rendered.text
    first = "2026-12-10 12:30:14 UTC (19 d): Client-Zertifikat CN=till-1 (Besitzer unbekannt). "
    assert lines[0] == f"{first}Erneuern: beim Aussteller, CN=Devices,O=Acme"
    arabic = await MailRenderer(_NoTexts()).render_mail(replace(mails[0].mail, locale="ar"))
    assert "\u2066CN=till-1\u2069" in arabic.text


@pytest.mark.parametrize("locale", ["ar", "de", "es", "fr", "ja"])
async def test_all_that_a_mail_lists_is_in_its_language(locale: str) -> None:
    """Names, commands and files are as they are; a title of a realm may be in any language."""
    owners = [(), *((Owner(kind, "1-1"),) for kind in OwnerKind)]
    owners.append((Owner(OwnerKind.CLIENT, "1-1"), Owner(OwnerKind.USER, "1-1")))
    things = [
        Expiration(
            kind=kind,
            id=f"{number}",
            realm="demo",
            subject="2-2",
            issuer="",
            begins_at=NOW - DAY,
            expires_at=NOW + DAY,
            owners=owned,
            renewal=Renewal(place, "3-3"),
        )
        for number, (kind, owned, place) in enumerate(
            islice(zip(cycle(ExpiryKind), cycle(owners), cycle(RenewalKind), strict=False), 42)
        )
    ]
    mail = expiry_mail(realm(display_name="4-4"), "ops@example.org", things, NOW)
    english = await _words(mail, "en")
    assert {"client", "not", "known", "issuer"} <= english
    same = {"realmgate", "certs", "expiring", "utc", "jwt.credential.certificate", "jwks.string"}
    same |= {"client", "realm"} if locale in {"de", "fr"} else set()
    assert await _words(mail, locale) & (english - same) == set()


async def _words(mail: Mail, locale: str) -> set[str]:
    rendered = await MailRenderer(_NoTexts()).render_mail(replace(mail, locale=locale))
    found = re.findall(r"[a-z][a-z.]+[a-z]", f"{rendered.subject}\n{rendered.text}".lower())
    return set(found)


class _NoTexts:
    async def find_texts(self, realm_id: str, locales: Sequence[str]) -> dict[str, dict[str, str]]:
        del realm_id, locales
        return {}

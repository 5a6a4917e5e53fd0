"""The queue of mails on both databases, and its delivery to a real mail server. attacks: E8."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from ipaddress import ip_network
from typing import Any, Final

import pytest
from sqlalchemy import Update, select, update

from gateway.admin.delivery_queues import MAIL_LEASE, MailDelivery
from gateway.domain.mail import (
    KEPT_AFTERWARDS,
    LONGEST_WAIT,
    MOST_NOTIFICATIONS_OF_USER,
    MOST_OF_USER,
    MOST_RECIPIENTS_OF_USER,
    NOTIFICATIONS,
    PERIOD,
    Mail,
    MailKind,
    MailLimit,
    QueuedMail,
    limit_of,
    period_end,
)
from gateway.domain.realm import Smtp
from gateway.domain.secrets import SecretsAtRest
from gateway.mail import MailRenderer, SmtpMailSender
from gateway.outgoing import AddressPolicy, GuardedSockets, ServerVerification
from gateway.storage.sql.database import SqlDatabase
from gateway.storage.sql.schema import mails
from tests.support import mail_server as support
from tests.support.deliveries import BATCH, deliver_due
from tests.support.mail_server import MailServer
from tests.support.sessions import store_owners
from tests.support.set_clock import SetClock
from tests.support.storage import StoredDatabase
from tests.support.stored_values import NOW

_MAIL: Final = Mail(
    id="mail-1",
    realm_id="demo-id",
    realm_title="Demo",
    recipient="alice@example.com",
    locale="en",
    kind=MailKind.TEST,
    created_at=NOW,
    link="https://gateway.test/canary-of-a-link",
    arguments=("300",),
)
_QUEUED: Final = QueuedMail(_MAIL, "alice-uuid")
_LOOPBACK: Final = AddressPolicy((ip_network("127.0.0.0/8"),))


class _NoTexts:
    async def find_texts(self, *_: object) -> Mapping[str, Mapping[str, str]]:
        return {}


def _numbered(number: int) -> QueuedMail:
    return QueuedMail(replace(_MAIL, id=f"mail-{number:02}"), "alice-uuid")


@pytest.fixture(scope="module")
def server() -> Iterator[MailServer]:
    with support.mail_server() as started:
        yield started


@dataclass(frozen=True, slots=True)
class _Queue:
    database: SqlDatabase
    clock: SetClock
    server: MailServer
    delivery: MailDelivery

    async def add(self, *queued: QueuedMail) -> list[bool]:
        async with self.database.write() as stores:
            return [await stores.mails.add(each) for each in queued]

    async def take(self) -> list[str]:
        """Send what is due; return the recipients."""
        async with self.database.write() as stores:
            found = await stores.mails.claim(self.clock.now(), MAIL_LEASE, 100)
            for queued in found:
                await stores.mails.delivered(queued, self.clock.now())
        return [queued.mail.recipient for queued in found]

    async def claim(self, most: int = 8) -> list[str]:
        async with self.database.write() as stores:
            found = await stores.mails.claim(self.clock.now(), MAIL_LEASE, most)
        return [queued.mail.id for queued in found]

    async def statuses(self) -> list[tuple[str, int, bool]]:
        async with self.database.read() as stores:
            found = await stores.mails.list_deliveries("demo-id", 0, 100)
        return [(each.id, each.attempts, each.failed_at is not None) for each in found]

    def pass_time(self, time: timedelta) -> None:
        self.clock.instant += time


def _delivery(database: SqlDatabase, clock: SetClock) -> MailDelivery:
    sender = SmtpMailSender(
        GuardedSockets(_LOOPBACK).connect,
        MailRenderer(_NoTexts()),
        verification=ServerVerification().context,
        host_name="gateway.test",
        time=timedelta(milliseconds=800),
    )
    return MailDelivery(database, sender, clock)


@pytest.fixture
async def queue(database: SqlDatabase, server: MailServer) -> AsyncIterator[_Queue]:
    await store_owners(database)
    async with database.write() as stores:
        realm = await stores.realms.find_by_name("demo")
        assert realm is not None
        await stores.realms.replace(replace(realm, smtp=Smtp(server.settings())))
    server.envelopes.clear()
    clock = SetClock(NOW)
    yield _Queue(database, clock, server, _delivery(database, clock))
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_mail_is_claimed_by_one_until_its_lease_is_over(queue: _Queue) -> None:
    assert await queue.add(_QUEUED) == [True]
    assert await queue.claim() == ["mail-1"]
    assert await queue.claim() == []
    queue.pass_time(MAIL_LEASE)
    assert await queue.claim() == ["mail-1"]
    assert await queue.statuses() == [("mail-1", 2, False)]


async def test_a_mail_that_somebody_asked_for_passes_notifications(queue: _Queue) -> None:
    """A guesser of passwords causes notifications; links are waited for."""
    told = [
        QueuedMail(
            replace(_MAIL, id=f"told-{user}", kind=MailKind.EVENT_LOGIN_ERROR), f"{user}-uuid"
        )
        for user in ("alice", "bob")
    ]
    asked = replace(_MAIL, kind=MailKind.EMAIL_VERIFICATION, created_at=NOW + timedelta(seconds=1))
    assert await queue.add(*told, QueuedMail(asked, "alice-uuid")) == [True] * 3
    queue.pass_time(timedelta(seconds=1))
    assert await queue.claim(most=1) == ["mail-1"]
    assert await queue.claim() == ["told-alice", "told-bob"]


async def test_claims_at_once_get_different_mails(queue: _Queue) -> None:
    await queue.add(*map(_numbered, range(10)))
    claims = await asyncio.gather(*(queue.claim(most=3) for _ in range(4)))
    found = [each for claimed in claims for each in claimed]
    while claimed := await queue.claim():
        found += claimed
    assert sorted(found) == [f"mail-{number:02}" for number in range(10)]


async def test_a_mail_is_sent_once_and_its_content_is_gone(
    queue: _Queue, stored_database: StoredDatabase, secrets_at_rest: SecretsAtRest
) -> None:
    other = SqlDatabase(stored_database.url, secrets_at_rest)
    await queue.add(*map(_numbered, range(BATCH)))
    await asyncio.gather(deliver_due(queue.delivery), deliver_due(_delivery(other, queue.clock)))
    await other.dispose()
    identities = sorted(message["message-id"] for message in queue.server.messages)
    assert identities == [f"<mail-{number:02}@example.org>" for number in range(BATCH)]
    assert await queue.statuses() == []
    queue.pass_time(LONGEST_WAIT)
    assert await queue.claim() == []


async def test_a_mail_waits_for_the_server_and_is_identical_each_time(
    queue: _Queue,
) -> None:
    """4xx, a connection that ends mid-message, and no answer; nothing is lost."""
    await queue.add(_QUEUED)
    queue.server.answers[:] = ["451 later"]
    queue.server.refused.clear()
    reasons = []
    for failing in ("answers", "drops", "hangs"):
        if failing != "answers":
            setattr(queue.server, failing, 1)
        taken, (failed,) = await deliver_due(queue.delivery)
        reasons.append(failed.reason)
        assert (taken, failed.is_last) == (1, False)
        assert await deliver_due(queue.delivery) == (0, [])
        queue.pass_time(timedelta(minutes=2))
    assert ("451" in reasons[0], "in time" in reasons[2]) == (True, True)
    assert await deliver_due(queue.delivery) == (1, [])
    (sent,), (refused,) = queue.server.messages, queue.server.refused
    content = refused.original_content
    assert content is not None
    assert f"Message-ID: {sent['message-id']}".encode() in content


async def test_a_mail_whose_gateway_was_killed_is_sent_by_another(queue: _Queue) -> None:
    await queue.add(_QUEUED)
    queue.server.hangs = 1
    killed = asyncio.create_task(deliver_due(queue.delivery))
    while queue.server.hangs:  # noqa: ASYNC110 - the thread of the server counts
        await asyncio.sleep(0)
    killed.cancel()
    await asyncio.wait([killed])
    assert await deliver_due(queue.delivery) == (0, [])
    queue.pass_time(MAIL_LEASE)
    assert await deliver_due(queue.delivery) == (1, [])
    assert len(queue.server.envelopes) == 1


async def test_a_refused_or_too_old_mail_is_dropped_and_listed(queue: _Queue) -> None:
    unknown = replace(_MAIL, id="mail-2", recipient="unknown@example.com")
    await queue.add(_QUEUED, QueuedMail(unknown, "alice-uuid"))
    queue.server.answers[:] = ["451 later"]
    _, failed = await deliver_due(queue.delivery)
    assert {each.subject: each.is_last for each in failed} == {
        "mail-1": False,
        "mail-2": True,
    }
    queue.pass_time(LONGEST_WAIT)
    queue.server.answers[:] = ["451 later"]
    await deliver_due(queue.delivery)
    assert await queue.statuses() == [("mail-1", 2, True), ("mail-2", 1, True)]
    async with queue.database.write() as stores:
        await stores.mails.purge(queue.clock.now() + KEPT_AFTERWARDS)
    assert await queue.statuses() == []


async def test_a_user_gets_a_bounded_number_of_mails_in_a_period(queue: _Queue) -> None:
    answers = await queue.add(*map(_numbered, range(MOST_OF_USER + 1)))
    assert answers == [True] * MOST_OF_USER + [False]
    while (await deliver_due(queue.delivery))[0]:
        pass
    assert await queue.add(_numbered(50)) == [False]
    assert await queue.add(replace(_numbered(51), user_id="bob-uuid")) == [True]
    later = replace(_MAIL, id="mail-60", created_at=NOW + PERIOD)
    assert await queue.add(QueuedMail(later, "alice-uuid")) == [True]


def _notices(kind: MailKind, numbers: range, **fields: Any) -> list[QueuedMail]:
    made = (replace(_MAIL, id=f"{kind}-{number}", kind=kind, **fields) for number in numbers)
    return [QueuedMail(mail, "alice-uuid") for mail in made]


_SORTS: Final = (
    {MailKind.PASSWORD_RESET},  # a stranger who knows the name can ask for it
    {MailKind.EMAIL_VERIFICATION, MailKind.EMAIL_UPDATE_CONFIRMATION},  # of the user
    {MailKind.EXECUTE_ACTIONS, MailKind.TEST},  # of an administrator
    {MailKind.CERTIFICATES_EXPIRE},  # of the gateway
    *({kind} for kind in sorted(NOTIFICATIONS - {MailKind.CERTIFICATES_EXPIRE})),
)
"""Mails that are counted together, by who causes them; each notification is counted alone."""


def test_each_mail_is_counted_with_those_of_its_cause_alone() -> None:
    assert sorted(kind for sort in _SORTS for kind in sort) == sorted(MailKind)
    assert {kind: limit_of(kind).kinds for kind in MailKind} == {
        kind: sort for sort in _SORTS for kind in sort
    }


async def test_no_mail_keeps_a_mail_of_another_sort_back(queue: _Queue) -> None:
    """Of a stranger, of a thief of the account, of the user or of an administrator.

    Each sort is full before the next one begins, in both orders. Left out is the mail of the
    gateway itself about what expires.
    """
    sorts = [sort for sort in _SORTS if MailKind.CERTIFICATES_EXPIRE not in sort]
    for times, ordered in enumerate((sorts, sorts[::-1])):
        at = NOW + times * 2 * PERIOD
        for sort in ordered:
            kind, *others = sorted(sort)
            first, most = 100 * times, limit_of(kind).of_user
            answers = await queue.add(
                *_notices(kind, range(first, first + most + 1), created_at=at)
            )
            assert answers == [True] * most + [False], kind
            for other in others:
                late = _notices(other, range(first, first + 1), created_at=at)
                assert await queue.add(*late) == [False], other


def test_further_notifications_of_each_kind_become_one_mail() -> None:
    for kind in NOTIFICATIONS - {MailKind.CERTIFICATES_EXPIRE}:
        assert limit_of(kind).is_summed_up


async def test_further_notifications_become_one_mail_at_the_end(queue: _Queue) -> None:
    """A change is followed by a mail, however many changes there are."""
    kind, most = MailKind.EMAIL_CHANGED, MOST_NOTIFICATIONS_OF_USER
    assert await queue.add(*_notices(kind, range(most + 4))) == [True] * most + [False] * 4
    others = _notices(kind, range(20, 24), recipient="previous@example.com")
    assert await queue.add(*others) == [False] * 4
    assert await queue.take() == ["alice@example.com"] * most
    end = period_end(NOW)
    assert NOW < end <= NOW + PERIOD
    queue.clock.instant = end - timedelta(seconds=1)
    late = _notices(kind, range(30, 32), created_at=queue.clock.now())
    assert await queue.add(*late) == [False] * 2
    assert await queue.take() == []
    queue.clock.instant = end
    assert sorted(await queue.take()) == ["alice@example.com", "previous@example.com"]
    queue.clock.instant = period_end(end)
    assert await queue.take() == []
    again = _notices(kind, range(40, 41), created_at=queue.clock.now())
    assert await queue.add(*again) == [True]


async def test_notifications_to_many_recipients_are_bounded(queue: _Queue) -> None:
    kind = MailKind.EMAIL_CHANGED
    for number in range(50):
        await queue.add(
            *_notices(kind, range(number, number + 1), recipient=f"b{number}@example.com")
        )
    assert len(await queue.statuses()) == MOST_RECIPIENTS_OF_USER


async def test_a_full_queue_refuses_mails_and_counts_notices_apart(
    queue: _Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked_for = replace(limit_of(MailKind.TEST), waiting=2)

    def limit(kind: MailKind) -> MailLimit:
        return asked_for if kind in asked_for.kinds else limit_of(kind)

    monkeypatch.setattr("gateway.storage.sql.outgoing_queues.limit_of", limit)
    assert await queue.add(*map(_numbered, range(3))) == [True, True, False]
    told = replace(_MAIL, id="told", kind=MailKind.EVENT_LOGIN_ERROR)
    assert await queue.add(QueuedMail(told, "alice-uuid")) == [True]
    while (await deliver_due(queue.delivery))[0]:
        pass
    assert await queue.add(_numbered(4)) == [True]


async def test_mails_go_with_their_user(queue: _Queue) -> None:
    await queue.add(_QUEUED)
    async with queue.database.write() as stores:
        await stores.users.remove_user("demo-id", "alice-uuid")
    assert await queue.statuses() == []


async def test_what_the_encryption_key_does_not_open_is_given_up(queue: _Queue) -> None:
    await queue.add(_QUEUED, _numbered(2))
    async with queue.database.write() as stores:
        await stores.transaction.execute(_moved_content("mail-1", "mail-02"))
    assert await queue.claim() == ["mail-02"]
    assert await queue.statuses() == [("mail-02", 1, False), ("mail-1", 1, True)]


async def test_a_link_is_not_readable_in_the_database(queue: _Queue) -> None:
    await queue.add(_QUEUED)
    async with queue.database.read() as stores:
        (row,) = (await stores.transaction.execute(select(mails))).all()
    assert "canary" not in str(row)


def _moved_content(to: str, of: str) -> Update:
    copied = select(mails.c.content).where(mails.c.id == of).scalar_subquery()
    return update(mails).where(mails.c.id == to).values(content=copied)


def test_attempts_last_for_a_day_with_growing_delays() -> None:
    now, queued, delays = NOW, _QUEUED, []
    while True:
        queued = replace(queued, attempts=queued.attempts + 1)
        again = queued.next_attempt_at(now)
        if again is None:
            break
        delays.append(round((again - now).total_seconds()))
        now = again
    assert delays[:8] == [15, 30, 60, 120, 240, 480, 900, 900]
    assert LONGEST_WAIT - (now - NOW) < timedelta(minutes=15)

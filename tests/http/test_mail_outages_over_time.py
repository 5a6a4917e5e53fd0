"""Mails of a running gateway while a worker, the mail server or Redis is away. attacks: E8, F2."""

import json
import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.gateway_process import is_running, until
from tests.support.mailed_links import MailedRealm, follow, mailed_realm
from tests.support.timed_gateway import Timed

_LATER = "451 the mail server is full"
_LEASE = 61
"""Seconds after which another worker sends a mail again."""


@pytest.fixture(scope="module")
def mailed(timed: Timed) -> Iterator[MailedRealm]:
    with mailed_realm(timed.administration, "mailing-over-time", {}, verifyEmail=True) as realm:
        yield realm


def _kill_worker(timed: Timed) -> None:
    gateway = timed.administration.gateway
    (worker,) = gateway.workers()
    os.kill(worker, signal.SIGKILL)
    until(lambda: not is_running(worker) and gateway.workers(), "no worker comes back")


def _wait_until_sent(timed: Timed, mailed: MailedRealm, user: str) -> None:
    """Wait until no mail to the user is left to be sent."""

    def is_sent() -> bool:
        listed = timed.administration.command("mail", "list", "--realm", mailed.realm.name)
        assert listed.exit_code == 0, listed.output
        return user.rpartition("/")[2] not in listed.output

    until(is_sent, "a mail still waits")


def _wait_until_refused(timed: Timed, times: int) -> None:
    """Wait until the queue has noted that the server refused a mail that often."""
    log, text = timed.administration.gateway.log_text, _LATER.partition(" ")[2]

    def is_noted() -> bool:
        lines = [
            json.loads(line) for line in log().rpartition("\n")[0].splitlines() if text in line
        ]
        return times in {line["attempts"] for line in lines}

    until(is_noted, "it is not tried again")


def test_a_mail_of_a_worker_killed_before_sending_arrives_once(
    timed: Timed, mailed: MailedRealm
) -> None:
    ada = mailed.add("ada")
    mailed.server.hangs = 1
    assert mailed.browser().sign_in("ada").id == "login-verify-email"
    until(lambda: not mailed.server.hangs, "the mail is not begun")
    _kill_worker(timed)
    assert not mailed.server.envelopes
    timed.advance(seconds=_LEASE)
    assert len(mailed.mails("ada@example.org")) == 1
    _wait_until_sent(timed, mailed, ada)
    timed.advance(hours=1)
    _wait_until_sent(timed, mailed, ada)
    assert len(mailed.mails("ada@example.org")) == 1


def test_a_mail_of_a_worker_killed_unanswered_is_resent_once(
    timed: Timed, mailed: MailedRealm
) -> None:
    bea = mailed.add("bea")
    mailed.server.unanswered = 1
    mailed.browser().sign_in("bea")
    until(lambda: not mailed.server.unanswered, "the mail does not arrive")
    _kill_worker(timed)
    timed.advance(seconds=_LEASE)
    first, second = mailed.mails("bea@example.org", 2)
    assert first["message-id"] == second["message-id"]
    done = follow(mailed.browser(), mailed.link("bea@example.org"))
    assert done is not None
    assert "Your email address has been verified." in done.text
    _wait_until_sent(timed, mailed, bea)
    timed.advance(hours=1)
    _wait_until_sent(timed, mailed, bea)
    assert len(mailed.mails("bea@example.org")) == 2


def test_a_server_full_for_an_hour_gets_each_mail_once_later(
    timed: Timed, mailed: MailedRealm
) -> None:
    server = mailed.server
    with mailed.changed(actionTokenGeneratedByUserLifespan=7200):
        cleo = mailed.add("cleo")
        server.refused.clear()
        server.answers[:] = [_LATER] * 100
        mailed.browser().sign_in("cleo")
        for tried in range(1, 6):
            _wait_until_refused(timed, tried)
            timed.advance(minutes=12)
        assert not [mail for mail in server.messages if mail["to"] == "cleo@example.org"]
        server.answers.clear()
        timed.advance(minutes=15)
        (mail,) = mailed.mails("cleo@example.org")
        content = server.refused[0].original_content
        assert content is not None
        assert f"Message-ID: {mail['message-id']}".encode() in content
        done = follow(mailed.browser(), mailed.link("cleo@example.org"))
        assert "Your email address has been verified." in done.text
        _wait_until_sent(timed, mailed, cleo)
        assert len(mailed.mails("cleo@example.org")) == 1


def test_a_link_used_while_redis_is_away_works_afterwards(
    timed: Timed, mailed: MailedRealm
) -> None:
    mailed.add("dora")
    mailed.browser().sign_in("dora")
    link = mailed.link("dora@example.org")
    browser = mailed.browser()
    shown = browser.get(link)
    assert shown.id == "confirm-link"
    timed.redis.stop()
    try:
        refused = browser.submit(shown)
        assert (refused.status, "try-again" in refused.html) == (503, False)
        opened = mailed.browser().get(link)
        assert (opened.status, opened.link("try-again")) == (503, ""), opened.text
    finally:
        timed.redis.start()
    done: Any = until(
        lambda: page if (page := follow(mailed.browser(), link)).status == 200 else None,
        "the link does not work again",
        10,
    )
    assert done is not None
    assert "Your email address has been verified." in done.text

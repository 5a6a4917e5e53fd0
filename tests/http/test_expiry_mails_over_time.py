"""Mails ahead of time about what expires, as a realm sets them over the admin API."""

import base64
from collections.abc import Iterator
from datetime import timedelta
from email.message import EmailMessage
from typing import Any

import pytest

from tests.support.chains import KEYS, NOW, issue
from tests.support.mailed_links import MailedRealm, mailed_realm
from tests.support.timed_gateway import Timed
from tests.support.wire import client

BAD = 400
DAY = timedelta(days=1)
RECIPIENTS = "realmgate.certificates.expiry.mail.recipients"
DAYS = "realmgate.certificates.expiry.mail.days"
OPS, IT = "ops@example.org", "it@example.org"


@pytest.fixture(scope="module")
def mailed(timed: Timed) -> Iterator[MailedRealm]:
    ahead = (timed.clock.now() - NOW) // DAY
    node = issue("till", None, key=KEYS[0], days=(ahead - 300, ahead + 20))
    attributes = {"jwt.credential.certificate": base64.b64encode(node.der).decode()}
    with mailed_realm(timed.administration, "expiring-over-time", {}) as made:
        made.realm.change("POST", "clients", client("till", attributes=attributes))
        yield made


def _set(mailed: MailedRealm, **more: Any) -> None:
    attributes = mailed.realm.get("")["attributes"] | more.pop("attributes", {})
    mailed.realm.change("PUT", "", {"attributes": attributes, **more})


def _text(mail: EmailMessage, kind: str) -> str:
    body = mail.get_body((kind,))
    assert body is not None
    return str(body.get_content())


def test_recipients_get_a_mail_as_many_days_ahead_as_configured(
    timed: Timed, mailed: MailedRealm
) -> None:
    _set(mailed, attributes={RECIPIENTS: f"{OPS}, {IT}", DAYS: "15, 2"})
    timed.keep_house()
    timed.advance(days=6)
    timed.keep_house()
    (mail,) = mailed.mails(OPS)
    assert mail["subject"] == "[Acme <b>North</b>] Certificates expire soon: 1"
    line = "(13 d): registered certificate CN=till (client till). Renew: "
    assert line in " ".join(_text(mail, "plain").split())
    assert line in " ".join(_text(mail, "html").split())
    assert len(mailed.mails(IT)) == 1
    timed.advance(days=1)
    timed.keep_house()
    timed.advance(days=12)
    timed.keep_house()
    assert [len(mailed.mails(each, 2)) for each in (OPS, IT)] == [2, 2]


def test_recipients_need_a_mail_server_and_valid_values(
    mailed: MailedRealm,
) -> None:
    _set(mailed, attributes={RECIPIENTS: ""})
    realm = mailed.realm
    for wrong in ({RECIPIENTS: "nobody"}, {DAYS: "0"}, {DAYS: "366"}, {DAYS: "a week"}):
        status, answer = realm.refused("PUT", "", {"attributes": wrong})
        assert (status, "cannot be read" in str(answer)) == (BAD, True), answer
    status, answer = realm.refused("PUT", "", {"attributes": {RECIPIENTS: "x@", DAYS: "-1"}})
    assert RECIPIENTS in str(answer)
    assert DAYS in str(answer)
    both = {"attributes": {RECIPIENTS: OPS}, "smtpServer": {}}
    status, answer = realm.refused("PUT", "", both)
    assert (status, "has no mail server" in str(answer)) == (BAD, True), answer
    _set(mailed, attributes={RECIPIENTS: OPS})
    status, answer = realm.refused("PUT", "", {"smtpServer": {}})
    assert (status, "has no mail server" in str(answer)) == (BAD, True), answer

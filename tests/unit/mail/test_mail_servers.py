"""The mail server that `smtpServer` of a realm describes. attacks: E7."""

from collections.abc import Mapping

import pytest

from gateway.domain.mail import MailNotSent, mail_server
from gateway.domain.realm import Smtp


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"host": ""}, "no mail server"),
        ({"host": "a b"}, "not a host name"),
        ({"auth": "true", "ssl": "true"}, "needs smtpServer.user"),
        ({"auth": "true", "authType": "ntlm", "ssl": "true", "user": "u"}, "use basic or token"),
        ({"auth": "true", "authType": "token", "ssl": "true", "user": "u"}, "authTokenClientId"),
        ({"auth": "true", "authType": "token", "user": "u"}, r"smtpServer\.starttls"),
        ({"from": "no address"}, "not valid"),
    ],
)
def test_settings_that_cannot_work_are_named(settings: Mapping[str, str], text: str) -> None:
    known = {"host": "mail.example.org", "from": "realm@example.org", **settings}
    with pytest.raises(MailNotSent, match=text):
        mail_server(Smtp(known))


@pytest.mark.parametrize(
    ("settings", "port"), [({}, 25), ({"starttls": "true"}, 25), ({"ssl": "true"}, 465)]
)
def test_the_port_follows_from_the_encryption(settings: Mapping[str, str], port: int) -> None:
    smtp = Smtp({"host": "mail.example.org", "from": "realm@example.org", **settings})
    assert mail_server(smtp).port == port

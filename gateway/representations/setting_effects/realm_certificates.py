"""Attributes of realms for what expires: name, meaning, source and test."""

from typing import Final

_SOURCE: Final = "Keycloak: 8.1"
_MAILED: Final = (
    "tests/http/test_expiry_mails_over_time.py"
    "::test_recipients_get_a_mail_as_many_days_ahead_as_the_realm_says"
)

ATTRIBUTES: Final = (
    (
        "realmgate.certificates.expiry.mail.recipients",
        "mail addresses that get mails ahead of time about what expires",
        _SOURCE,
        _MAILED,
    ),
    (
        "realmgate.certificates.expiry.mail.days",
        "how many days ahead these mails are sent; nothing: 30, 7 and 1",
        _SOURCE,
        _MAILED,
    ),
)

"""Attributes of realms for what expires: name, meaning, source and test."""

from typing import Final

_SOURCE: Final = "Keycloak: 8.1"
_MAILED: Final = (
    "tests/http/test_expiry_mails_over_time.py"
    "::test_recipients_get_a_mail_as_many_days_ahead_as_the_realm_says"
)

ATTRIBUTES: Final = (
    (
        "realmgate.certificates.renewal.overlap",
        (
            "seconds after the start of a renewed certificate in which it replaces the one"
            " that a token is bound to, at most 2592000; 0 or nothing: never"
        ),
        "Keycloak: 11.1",
        (
            "tests/spec/test_renewed_certificates.py"
            "::test_tokens_are_used_with_a_renewed_certificate_while_the_overlap_lasts"
        ),
    ),
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

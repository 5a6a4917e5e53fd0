"""Attributes of realms about certificates, besides anchors: name, meaning, source and test."""

from typing import Final

_SOURCE: Final = "Keycloak: 8.1"
_MAILED: Final = (
    "tests/http/test_expiry_mails_over_time.py"
    "::test_recipients_get_a_mail_as_many_days_ahead_as_the_realm_says"
)

_POINTS: Final = "tests/http/test_distribution_points.py"
_ASKED: Final = "tests/http/test_ocsp_of_realms.py"
_LOOKUP: Final = "Keycloak: 11.1"

ATTRIBUTES: Final = (
    (
        "realmgate.certificates.crl.policy",
        '"hard" (nothing means the same): a certificate needs a current list; "soft": none',
        _LOOKUP,
        f"{_POINTS}::test_without_a_list_the_policy_of_the_realm_decides",
    ),
    (
        "realmgate.certificates.crl.urls",
        "URLs of revocation lists that count in the realm, at most 20, with spaces between them",
        _LOOKUP,
        (
            "tests/http/test_revocation_lists_of_realms.py"
            "::test_lists_count_in_the_realm_that_names_them"
        ),
    ),
    (
        "realmgate.certificates.crl.points",
        '"on": lists at the distribution points of certificates are downloaded; "off" or nothing',
        _LOOKUP,
        f"{_POINTS}::test_the_list_that_a_trusted_certificate_names_counts_where_the_realm_says_so",
    ),
    (
        "realmgate.certificates.ocsp",
        (
            '"soft", "hard": a responder is asked, and a certificate is accepted or refused where'
            ' it does not answer; "off" or nothing: none is asked'
        ),
        _LOOKUP,
        f"{_ASKED}::test_the_policy_decides_where_the_responder_does_not_answer",
    ),
    (
        "realmgate.certificates.ocsp.url",
        "the responder; nothing: the one that a certificate names",
        _LOOKUP,
        f"{_ASKED}::test_the_responder_that_the_realm_names_is_asked",
    ),
    (
        "realmgate.certificates.ocsp.scope",
        '"leaf" or nothing; "chain": the authorities below the anchor are asked about too',
        _LOOKUP,
        f"{_ASKED}::test_the_scope_says_whether_authorities_are_asked_about",
    ),
    (
        "realmgate.certificates.ocsp.nonce",
        '"sent": a nonce is sent, and another one refused; "required": one is needed; "off"',
        _LOOKUP,
        f"{_ASKED}::test_the_realm_says_whether_responses_need_its_nonce",
    ),
    (
        "realmgate.certificates.renewal.overlap",
        (
            "seconds after the start of a renewed certificate in which it replaces the one"
            " that a token is bound to, at most 2592000; 0 or nothing: never"
        ),
        _LOOKUP,
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

"""Which client certificates a realm trusts, their revocation and renewal: own attributes.

`parse_certificate_settings` parses them, once for each `Realm`.

A realm says how long a token may be used with the renewed certificate of its holder; the value of a
client counts instead. docs/trust-in-certificates.md describes trust and renewal, docs/revocation.md
revocation; attacks: A8, A10, A12, A14
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Final

from gateway.domain.limits.caches import cached
from gateway.domain.unique_names import smtp_address

RENEWAL_OVERLAP: Final = "realmgate.certificates.renewal.overlap"
NO_OVERLAP: Final = timedelta()
LONGEST_OVERLAP: Final = timedelta(days=30)
OVERLAP_FORM: Final = f"whole seconds from 0 to {LONGEST_OVERLAP // timedelta(seconds=1)}"
_SECONDS: Final = re.compile("0|[1-9][0-9]{0,6}", re.ASCII)


def is_overlap(text: str) -> bool:
    """Tell whether the text is a number of seconds within the bounds, or empty."""
    return not text or (
        _SECONDS.fullmatch(text) is not None and timedelta(seconds=int(text)) <= LONGEST_OVERLAP
    )


def parse_overlap(text: str) -> timedelta:
    """Return the time; zero for what is none, which is refused where it is written."""
    return timedelta(seconds=int(text)) if text and is_overlap(text) else NO_OVERLAP


REVOCATION_POLICY: Final = "realmgate.certificates.crl.policy"
REVOCATION_LIST_URLS: Final = "realmgate.certificates.crl.urls"
MOST_LIST_URLS: Final = 20
DISTRIBUTION_POINTS: Final = "realmgate.certificates.crl.points"
OCSP: Final = "realmgate.certificates.ocsp"
OCSP_URL: Final = "realmgate.certificates.ocsp.url"
OCSP_SCOPE: Final = "realmgate.certificates.ocsp.scope"
OCSP_NONCE: Final = "realmgate.certificates.ocsp.nonce"
_LEAF: Final = "leaf"
_CHAIN: Final = "chain"
_SOFT: Final = "soft"
_HARD: Final = "hard"
_ON: Final = "on"
_OFF: Final = "off"
_URL: Final = re.compile(r"https?://[A-Za-z0-9._\[\]:-]+(?:[/?][!-~]{0,2000})?")


class OcspPolicy(StrEnum):
    """Whether a responder is asked, and what counts where it gives no valid response."""

    OFF = "off"
    SOFT = "soft"
    """The certificate is accepted then."""
    HARD = "hard"
    """It is refused then."""


class OcspNonce(StrEnum):
    """Whether a request contains a nonce. A response with another nonce is never accepted."""

    OFF = "off"
    SENT = "sent"
    """A response without it is accepted: responders that sign in advance leave it out."""
    REQUIRED = "required"


@dataclass(frozen=True, slots=True)
class CertificateRevocationSettings:
    """How a realm judges certificates whose revocation is not known."""

    requires_lists: bool = True
    """Whether a certificate is refused where a list is missing or stale."""
    list_urls: tuple[str, ...] = ()
    """Where revocation lists are, besides those of the settings."""
    ocsp: OcspPolicy = OcspPolicy.OFF
    ocsp_url: str = ""
    """The responder of all certificates; empty: the one that a certificate names."""
    ocsp_of_chain: bool = False
    """Whether the authorities below the anchor are asked about too."""
    ocsp_nonce: OcspNonce = OcspNonce.OFF
    follows_points: bool = False
    """Whether lists are downloaded from the distribution points that certificates name."""
    asks_servers: bool = field(init=False)
    """Whether servers are asked for lists or responses that count in this realm."""

    def __post_init__(self) -> None:
        asks = self.follows_points or bool(self.list_urls) or self.ocsp is not OcspPolicy.OFF
        object.__setattr__(self, "asks_servers", asks)


_STANDARD_REVOCATION: Final = CertificateRevocationSettings()
_RULING: Final = (OCSP, REVOCATION_LIST_URLS, REVOCATION_POLICY, DISTRIBUTION_POINTS)
"""Without any of these the others say nothing."""


def _revocation(attributes: Mapping[str, str]) -> CertificateRevocationSettings:
    if attributes.keys().isdisjoint(_RULING):
        return _STANDARD_REVOCATION
    ocsp = attributes.get(OCSP, "")
    urls = tuple(attributes.get(REVOCATION_LIST_URLS, "").split())
    points = attributes.get(DISTRIBUTION_POINTS, "")
    policy = OcspPolicy(ocsp or "off") if is_ocsp_policy(ocsp) else OcspPolicy.HARD
    requires_lists = attributes.get(REVOCATION_POLICY) != _SOFT
    return CertificateRevocationSettings(
        requires_lists,
        urls,
        policy,
        attributes.get(OCSP_URL, ""),
        attributes.get(OCSP_SCOPE, "") not in {_LEAF, ""},
        _nonce_of(attributes.get(OCSP_NONCE, "")),
        points not in {_OFF, ""},
    )


def is_revocation_policy(text: str) -> bool:
    """Tell whether the text is `hard`, `soft` or empty."""
    return text in {_HARD, _SOFT, ""}


def are_revocation_list_urls(text: str) -> bool:
    """Tell whether the text is a list of different web addresses, separated by spaces."""
    urls = text.split()
    distinct = len(set(urls)) == len(urls) <= MOST_LIST_URLS
    return distinct and all(map(is_server_url, urls))


def is_points_choice(text: str) -> bool:
    """Tell whether the text is `on`, `off` or empty."""
    return text in {_ON, _OFF, ""}


def is_ocsp_policy(text: str) -> bool:
    """Tell whether the text names a policy, or is empty."""
    return not text or text in list(OcspPolicy)


def is_ocsp_scope(text: str) -> bool:
    """Tell whether the text is `leaf`, `chain` or empty."""
    return text in {_LEAF, _CHAIN, ""}


def is_ocsp_nonce(text: str) -> bool:
    """Tell whether the text names a choice, or is empty."""
    return not text or text in list(OcspNonce)


def _nonce_of(text: str) -> OcspNonce:
    return OcspNonce(text or "off") if is_ocsp_nonce(text) else OcspNonce.REQUIRED


def is_server_url(text: str) -> bool:
    """Tell whether the text is the URL of a responder or a list, or empty."""
    return not text or _URL.fullmatch(text) is not None


GATEWAY_AUTHORITIES: Final = "realmgate.certificates.gatewayAuthorities"
CERTIFICATE_POLICIES: Final = "realmgate.certificates.policies"
MOST_POLICIES: Final = 50
_POLICY: Final = re.compile(r"[0-2](\.(0|[1-9][0-9]{0,37})){1,20}", re.ASCII)


@dataclass(frozen=True, slots=True)
class CertificateTrustSettings:
    """What a realm demands of the certification path of a client certificate."""

    gateway_authorities: bool | None = None
    """Whether anchors of the settings count; None: where the realm has no anchor of its own."""
    policies: frozenset[str] = frozenset()
    """Policy identifiers; a path must be valid for one of them. None given: for any or none."""


def is_gateway_authorities(text: str) -> bool:
    """Tell whether the text is `true`, `false` or empty."""
    return text in ("true", "false", "")


def are_policies(text: str) -> bool:
    """Tell whether the text is a list of object identifiers, separated by spaces."""
    listed = text.split()
    return len(listed) <= MOST_POLICIES and all(map(_POLICY.fullmatch, listed))


@cached(256 * 1024)
def _trust(gateway_authorities: str, policies: str) -> CertificateTrustSettings:
    return CertificateTrustSettings(
        {"true": True, "": None}.get(gateway_authorities, False), frozenset(policies.split())
    )


EXPIRY_MAIL_RECIPIENTS: Final = "realmgate.certificates.expiry.mail.recipients"
EXPIRY_MAIL_DAYS: Final = "realmgate.certificates.expiry.mail.days"
MOST_RECIPIENTS: Final = 10
STANDARD_DAYS: Final = (1, 7, 30)
_MOST_DAYS: Final = 10
_LONGEST_DAYS: Final = 365
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class ExpiryMailSettings:
    """The recipients of mails, and how many days ahead; without recipients none is sent."""

    recipients: tuple[str, ...] = ()
    days: tuple[int, ...] = STANDARD_DAYS
    """In rising order."""

    def stage(self, left: timedelta) -> int | None:
        """Return the least number of days that is not shorter than the time left, if any."""
        return next((days for days in self.days if timedelta() < left <= days * _DAY), None)


def are_recipients(text: str) -> bool:
    """Tell whether the text lists mail addresses with commas or spaces between them."""
    listed = _listed_texts(text)
    return len(listed) <= MOST_RECIPIENTS and all(map(_is_address, listed))


def are_days(text: str) -> bool:
    """Tell whether the text lists numbers of days with commas or spaces between them."""
    listed = _listed_texts(text)
    return len(listed) <= _MOST_DAYS and all(map(_is_number_of_days, listed))


def _listed_texts(text: str) -> list[str]:
    return text.replace(",", " ").split()


def _is_address(text: str) -> bool:
    try:
        smtp_address(text)
    except ValueError:
        return False
    return True


def _is_number_of_days(text: str) -> bool:
    return (
        text.isascii()
        and text.isdecimal()
        and len(text) <= len(str(_LONGEST_DAYS))
        and (1 <= int(text) <= _LONGEST_DAYS)
    )


@cached(64 * 1024)
def _expiry_mails(recipients: str, days: str) -> ExpiryMailSettings:
    if not are_recipients(recipients) or not are_days(days):
        return ExpiryMailSettings()
    numbers = sorted({int(each) for each in _listed_texts(days)})
    return ExpiryMailSettings(
        tuple(dict.fromkeys(_listed_texts(recipients))), tuple(numbers) or STANDARD_DAYS
    )


@dataclass(frozen=True, slots=True)
class CertificateSettings:
    """What a realm demands of client certificates."""

    trust: CertificateTrustSettings
    revocation: CertificateRevocationSettings
    renewal_overlap: timedelta
    """The time after the start of a renewed certificate; zero: there is no overlap."""
    expiry_mails: ExpiryMailSettings


def parse_certificate_settings(attributes: Mapping[str, str]) -> CertificateSettings:
    """Return what the attributes of a realm say.

    An unusable value is refused where it is written. Here it counts as the strictest one: it trusts
    no certificate, and refuses where revocation is not known.
    """
    return CertificateSettings(
        _trust(attributes.get(GATEWAY_AUTHORITIES, ""), attributes.get(CERTIFICATE_POLICIES, "")),
        _revocation(attributes),
        parse_overlap(attributes.get(RENEWAL_OVERLAP, "")),
        _expiry_mails(
            attributes.get(EXPIRY_MAIL_RECIPIENTS, ""), attributes.get(EXPIRY_MAIL_DAYS, "")
        ),
    )

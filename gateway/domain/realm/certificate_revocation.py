"""How a realm checks the revocation of certificates. Own attributes of a realm.

docs/operations.md describes the rules; attacks: A10, A12
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from gateway.domain.realm.realm import Realm

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

    @property
    def asks_servers(self) -> bool:
        """Tell whether servers are asked for lists or responses that count in this realm."""
        return self.follows_points or bool(self.list_urls) or self.ocsp is not OcspPolicy.OFF


_STANDARD: Final = CertificateRevocationSettings()
_RULING: Final = (OCSP, REVOCATION_LIST_URLS, REVOCATION_POLICY, DISTRIBUTION_POINTS)
"""Without any of these the others say nothing."""


def configures_revocation(realm: Realm) -> bool:
    """Tell whether the realm has settings of its own: most have none, and are asked often."""
    return not realm.attributes.keys().isdisjoint(_RULING)


def certificate_revocation_of(realm: Realm) -> CertificateRevocationSettings:
    """Return what the attributes of the realm say.

    An unusable value is refused where it is written; here it counts as the strictest one.
    """
    if not configures_revocation(realm):
        return _STANDARD
    attributes = realm.attributes
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

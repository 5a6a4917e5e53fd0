"""Which client certificates a realm trusts. Own attributes of a realm.

docs/trust-in-certificates.md describes the rules; attacks: A8, A14
"""

import re
from dataclasses import dataclass
from typing import Final

from gateway.domain.limits.caches import cached
from gateway.domain.realm.realm import Realm

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


_STANDARD: Final = CertificateTrustSettings()


def certificate_trust_of(realm: Realm) -> CertificateTrustSettings:
    """Return what the attributes of the realm say; an unusable value trusts no certificate.

    Such a value is refused where it is written.
    """
    attributes = realm.attributes
    if GATEWAY_AUTHORITIES not in attributes and CERTIFICATE_POLICIES not in attributes:
        return _STANDARD
    return _settings(
        attributes.get(GATEWAY_AUTHORITIES, ""), attributes.get(CERTIFICATE_POLICIES, "")
    )


def is_gateway_authorities(text: str) -> bool:
    """Tell whether the text is `true`, `false` or empty."""
    return text in ("true", "false", "")


def are_policies(text: str) -> bool:
    """Tell whether the text is a list of object identifiers, separated by spaces."""
    listed = text.split()
    return len(listed) <= MOST_POLICIES and all(map(_POLICY.fullmatch, listed))


@cached(256 * 1024)
def _settings(gateway_authorities: str, policies: str) -> CertificateTrustSettings:
    return CertificateTrustSettings(
        {"true": True, "": None}.get(gateway_authorities, False), frozenset(policies.split())
    )

"""What a realm does without a current revocation list. Own attribute of a realm.

docs/operations.md describes the rules; attacks: A10
"""

from dataclasses import dataclass
from typing import Final

from gateway.domain.realm.realm import Realm

REVOCATION_POLICY: Final = "realmgate.certificates.crl.policy"
_SOFT: Final = "soft"
_HARD: Final = "hard"


@dataclass(frozen=True, slots=True)
class CertificateRevocationSettings:
    """How a realm judges certificates whose revocation is not known."""

    requires_lists: bool = True
    """Whether a certificate is refused where a list is missing or stale."""


_REQUIRED: Final = CertificateRevocationSettings()
_ACCEPTED: Final = CertificateRevocationSettings(requires_lists=False)


def certificate_revocation_of(realm: Realm) -> CertificateRevocationSettings:
    """Return what the attributes of the realm say; only `soft` accepts a missing list."""
    return _ACCEPTED if realm.attributes.get(REVOCATION_POLICY) == _SOFT else _REQUIRED


def is_revocation_policy(text: str) -> bool:
    """Tell whether the text is `hard`, `soft` or empty."""
    return text in {_HARD, _SOFT, ""}

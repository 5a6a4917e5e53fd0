"""What one revocation list, or the lack of one, means for a certificate: the rule of all lists.

Spec: RFC 5280 §6.3; attacks A9, A10
"""

from datetime import datetime, timedelta
from typing import Final

import structlog

from gateway.crypto.revocation.revocation_list import RevocationList
from gateway.domain.certificates import CertificateFacts
from gateway.domain.limits.caches import SizedCache
from gateway.domain.realm import Realm, certificate_revocation_of

_SILENCE: Final = timedelta(minutes=1)
"""Between two warnings of the same kind."""
_WARNED_BYTES: Final = 256 * 1024


class RevocationListRule:
    """Refuses revoked certificates, and those of which nothing is known unless the realm agrees."""

    def __init__(self) -> None:
        self._warned: SizedCache[tuple[str, str], datetime] = SizedCache(_WARNED_BYTES)

    def refusal(
        self,
        link: tuple[CertificateFacts, CertificateFacts],
        found: RevocationList | None,
        missing: str | None,
        realm: Realm,
        now: datetime,
    ) -> str | None:
        """Return why the first certificate of the link counts as revoked, else None.

        `found` is the newest list of its issuer, the second one; `missing` is why a list that is
        needed is not there, where none was found.
        """
        certificate, issuer = link
        unknown = missing if found is None else _outside_its_time(found, issuer, now)
        if unknown is not None and certificate_revocation_of(realm).requires_lists:
            return unknown
        if found is not None and found.revokes(certificate.serial):
            return f"{certificate.subject} was revoked"
        if unknown is not None:
            self._warn(unknown, realm, now)
        return None

    def _warn(self, reason: str, realm: Realm, now: datetime) -> None:
        """Log that the realm accepts a certificate all the same, once in a while."""
        known = self._warned.get((realm.id, reason))
        if known is None or not known <= now < known + _SILENCE:
            self._warned.put((realm.id, reason), now)
            log = structlog.get_logger()
            log.warning("revocation of a certificate is not known", realm=realm.name, reason=reason)


def is_listed(found: RevocationList | None, serial: int, now: datetime) -> bool | None:
    """Tell whether a list revokes the number; None where there is no list, or a stale one."""
    if found is None or not found.issued <= now <= end_of(found):
        return True if found is not None and found.revokes(serial) else None
    return found.revokes(serial)


def end_of(item: RevocationList) -> datetime:
    """Return the end of a list: a list without one is not usable, and so is never found."""
    return item.next_update or item.issued


def _outside_its_time(item: RevocationList, issuer: CertificateFacts, now: datetime) -> str | None:
    if now > end_of(item):
        return f"the revocation list of {issuer.subject} is stale"
    if now < item.issued:
        return f"the revocation list of {issuer.subject} is not valid yet"
    return None

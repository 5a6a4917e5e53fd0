"""Warnings about sites that accept bearer tokens for other services because none was chosen.

Such sites are older than `bearerAudience`. Each has one warning an hour and worker, when a token
passes at it.
"""

from datetime import datetime, timedelta
from typing import Any, Final

from gateway.domain.clock import Clock
from gateway.domain.forward_auth import Allowed, Credential
from gateway.domain.limits.caches import SizedCache

PAUSE: Final = timedelta(hours=1)
_REMEMBERED_BYTES: Final = 256 * 1024
_REMEDY: Final = "bearerAudience of the site, or audiences of the rule"


class AudienceWarnings:
    """Finds out which decisions have a warning."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._warned_at: SizedCache[tuple[str, str], datetime] = SizedCache(_REMEMBERED_BYTES)

    def warning(self, decision: Allowed) -> dict[str, Any] | None:
        """Return the fields of the warning, None without one.

        A request has one that passed with a token whose audience was not checked.
        """
        identity, site = decision.identity, decision.site
        if site.bearer_audience is not None or identity is None:
            return None
        if identity.kind is not Credential.BEARER or decision.rule.audiences:
            return None
        now, key = self._clock.now(), (site.realms[0], site.name)
        before = self._warned_at.get(key)
        if before is not None and before <= now < before + PAUSE:
            return None
        self._warned_at.put(key, now)
        return {
            "realm": identity.realm,
            "site": site.name,
            "rule": decision.rule.name,
            "client": identity.client_id,
            "audiences": sorted(identity.audiences)[:5],
            "remedy": _REMEDY,
        }

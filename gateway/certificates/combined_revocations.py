"""All sources of revocation as one: the first one that refuses a certificate decides."""

from collections.abc import Iterable
from datetime import datetime

from gateway.domain.certificates import CertificationPath
from gateway.domain.ports.certificates import Revocations
from gateway.domain.realm import Realm, configures_revocation


class CombinedRevocations:
    """Revocations of several sources, asked in their order: the cheapest should come first."""

    def __init__(
        self, sources: Iterable[Revocations], of_realms: Iterable[Revocations] = ()
    ) -> None:
        """Ask those of `sources` that are `of_realms` only where the realm configures them."""
        self._sources = tuple(sources)
        apart = tuple(of_realms)
        self._without_realm = tuple(one for one in self._sources if one not in apart)

    async def refusal(self, path: CertificationPath, realm: Realm, now: datetime) -> str | None:
        for source in self._sources if configures_revocation(realm) else self._without_realm:
            refusal = await source.refusal(path, realm, now)
            if refusal is not None:
                return refusal
        return None

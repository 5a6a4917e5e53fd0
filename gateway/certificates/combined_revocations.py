"""All sources of revocation as one: the first one that refuses a certificate decides.

Those that ask servers come last: an address in a certificate is followed only where no other source
refuses it, and in most realms none of them has to be asked.
"""

from collections.abc import Iterable
from datetime import datetime

from gateway.domain.certificates import CertificationPath
from gateway.domain.ports.certificates import Revocations
from gateway.domain.realm import Realm, certificate_revocation_of, configures_revocation


class CombinedRevocations:
    """Revocations of several sources, asked in their order: the cheapest should come first."""

    def __init__(self, sources: Iterable[Revocations], of_realms: Iterable[Revocations]) -> None:
        """Take `of_realms`, the servers that the settings of a realm name or allow."""
        self._sources = tuple(sources)
        self._of_realms = tuple(of_realms)

    async def refusal(self, path: CertificationPath, realm: Realm, now: datetime) -> str | None:
        for source in self._sources:
            refusal = await source.refusal(path, realm, now)
            if refusal is not None:
                return refusal
        if not (configures_revocation(realm) and certificate_revocation_of(realm).asks_servers):
            return None
        for source in self._of_realms:
            refusal = await source.refusal(path, realm, now)
            if refusal is not None:
                return refusal
        return None

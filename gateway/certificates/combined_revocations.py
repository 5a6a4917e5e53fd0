"""All sources of revocation as one: the first one that refuses a certificate decides."""

from collections.abc import Iterable
from datetime import datetime

from gateway.domain.certificates import CertificationPath
from gateway.domain.ports.certificates import Revocations
from gateway.domain.realm import Realm


class CombinedRevocations:
    """Revocations of several sources, asked in their order: the cheapest should come first."""

    def __init__(self, sources: Iterable[Revocations]) -> None:
        self._sources = tuple(sources)

    async def refusal(self, path: CertificationPath, realm: Realm, now: datetime) -> str | None:
        for source in self._sources:
            refusal = await source.refusal(path, realm, now)
            if refusal is not None:
                return refusal
        return None

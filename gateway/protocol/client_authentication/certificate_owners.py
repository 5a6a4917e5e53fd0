"""The client of a request that names none: the one client that its trusted certificate is of.

Devices that only know their certificate need no client_id. Names are looked up in an index, so the
cost does not depend on the number of clients; patterns are not searched. Of several owners those
of administrators win over clients that registered themselves. RFC 8705 §2 asks for the
client_id, so this is an extension: with it, nothing here is asked.
"""

from typing import Final

from gateway.certificates import owns
from gateway.domain.certificates import ClientCertificate
from gateway.domain.clients import terms_of_certificate
from gateway.domain.events import EventError
from gateway.domain.ports.directory import CertificateOwnerIndex, Directory
from gateway.protocol.errors import ClientAuthenticationFailed
from gateway.protocol.requests import ProtocolRequest

_MOST_CANDIDATES: Final = 50
"""Clients that are compared with one certificate: those with templates of the same shape."""
_MOST_WITH_REGISTERED: Final = 1000
"""Clients of which those that registered themselves are left out where there are more."""


class CertificateOwners:
    """Finds the client of a certificate."""

    def __init__(self, directory: Directory, index: CertificateOwnerIndex) -> None:
        self._directory = directory
        self._index = index

    async def client_id(self, request: ProtocolRequest) -> str | None:
        """Return the public name; None for a request without a trusted certificate.

        Raises ClientAuthenticationFailed where none or several clients own the certificate, or
        StoreUnavailable.
        """
        certificate, realm_id = request.certificate, request.realm.realm.id
        if certificate is None or not certificate.identifies:
            return None
        terms = terms_of_certificate(certificate.leaf)
        candidates = await self._index.with_terms(realm_id, terms, _MOST_CANDIDATES + 1)
        if len(candidates) > _MOST_CANDIDATES:
            every = await self._index.with_terms(realm_id, terms, _MOST_WITH_REGISTERED)
            candidates = await self._index.without_registered(realm_id, every)
        if len(candidates) > _MOST_CANDIDATES:
            raise _undecided(f"more than {_MOST_CANDIDATES} clients may own the certificate")
        owning = [each for each in candidates if await self._owns(realm_id, each, certificate)]
        owners = await self._index.without_registered(realm_id, owning)
        if len(owners) != 1:
            found = f"the clients {', '.join(owners)} own" if owners else "no client owns"
            raise _undecided(f"{found} the certificate")
        return owners[0]

    async def _owns(self, realm_id: str, client_id: str, certificate: ClientCertificate) -> bool:
        entry = await self._directory.client(realm_id, client_id)
        return entry is not None and owns(entry.client, certificate)


def _undecided(reason: str) -> ClientAuthenticationFailed:
    return ClientAuthenticationFailed(
        reason=f"the request names no client, and {reason}",
        event_error=EventError.CLIENT_NOT_FOUND,
    )

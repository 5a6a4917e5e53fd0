"""Telling an adapter of its client: by a token, or by the client's own proof.

A public client has nothing to prove, and nothing is told of it that is not public.
Keycloak: client registration provider `install`
"""

from typing import Final

from gateway.domain.events import EventType
from gateway.domain.ports.directory import Directory
from gateway.protocol.client_authentication import authenticate_client
from gateway.protocol.client_registrations.callers import NOT_VIEWED, not_authorized
from gateway.protocol.client_registrations.registering import ClientRegistrations, Seen
from gateway.protocol.errors import OAuthError
from gateway.protocol.requests import ProtocolRequest
from gateway.representations.clients import Installation

_BEARER: Final = "bearer "


class ClientInstallations:
    """The use case."""

    def __init__(self, registrations: ClientRegistrations, directory: Directory) -> None:
        self._registrations = registrations
        self._directory = directory

    async def of(self, request: ProtocolRequest, client_id: str, url: str) -> Installation:
        """Return what the adapter is told; raises OAuthError and StoreUnavailable."""
        if (request.authorization or "").lower().startswith(_BEARER):
            seen = await self._registrations.see(request, client_id)
        else:
            seen = await self._own(request, client_id)
        return Installation(
            request.realm.realm, seen.client, url, has_roles=seen.has_roles, masked=seen.masked
        )

    async def _own(self, request: ProtocolRequest, client_id: str) -> Seen:
        request.event.begin(EventType.CLIENT_INFO)
        entry = await self._directory.client(request.realm.realm.id, client_id)
        if entry is None:
            raise not_authorized(NOT_VIEWED)
        if not entry.client.public_client:
            await self._require_proof(request, client_id)
        request.event.client_id = client_id
        return await self._registrations.own(entry.client)

    async def _require_proof(self, request: ProtocolRequest, client_id: str) -> None:
        try:
            proven = await authenticate_client(request, self._directory)
        except OAuthError as error:
            raise not_authorized("Failed to authenticate client", reason=str(error)) from error
        if proven.entry.client.client_id != client_id:
            raise not_authorized("Different client authenticated")

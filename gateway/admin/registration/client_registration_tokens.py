"""A client's registration access token. Keycloak: clients/{id}/registration-access-token."""

from typing import Any

from gateway.admin.access import Acting, Changes
from gateway.admin.clients import changing_client
from gateway.admin.registration.tokens import RegistrationTokens
from gateway.domain.events import OperationType, ResourceType
from gateway.representations.clients import told_client


class ClientRegistrationTokens:
    """The use case."""

    def __init__(self, changes: Changes, tokens: RegistrationTokens) -> None:
        self._changes = changes
        self._tokens = tokens

    async def renew(self, acting: Acting, client_id: str) -> dict[str, Any]:
        """Replace the client's token; return the client with it. Raises Missing, Forbidden."""
        async with changing_client(self._changes, acting, client_id) as (change, client):
            token = await self._tokens.give(change, client)
            document = told_client(client, masked=False, registration_token=token)
            path = f"clients/{client.id}/registration-access-token"
            change.record(OperationType.ACTION, ResourceType.CLIENT, path, document)
        return document
